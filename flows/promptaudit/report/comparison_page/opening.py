"""Says in a word and a sentence how a comparison came out, and which command helps on."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from promptaudit.marts.comparison.decision import sentence_of
from promptaudit.report.comparison_page.gather import ComparisonData
from promptaudit.report.summary import ID, command, diagnosis_of
from promptaudit.system.display.figures import cut

SIGNS = {
    "regressed": "✕",
    "improved": "✓",
    "changed": "≠",
    "unconfirmed": "?",
    "same": "=",
    "none shown": "=",
    "not comparable": "?",
}
GRAVEST = ("regressed", "improved", "changed", "unconfirmed", "same")
REASON = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How a comparison came out: what became of its measures, in a word of SIGNS and a sentence on how many."""

    state: str
    reason: str
    rules: tuple[str, ...] = ()

    @property
    def sign(self) -> str:
        """Returns the sign that stands before the word."""
        return SIGNS[self.state]

    @property
    def word(self) -> str:
        """Returns the state as it begins a sentence."""
        return self.state.capitalize()


def verdict_of(data: ComparisonData) -> Verdict:
    """Returns the verdict on a comparison: regressed where any measure did, else improved, else changed."""
    measures = data.comparison.measures
    counts = Counter(row["verdict"] for row in measures)
    n_judged = sum(counts[verdict] for verdict in (*GRAVEST, "none_shown"))
    if not n_judged:
        reasons = Counter(row["reason"] for row in measures if row["verdict"] == "not_comparable")
        why = f": {cut(reasons.most_common(1)[0][0], REASON)}" if reasons else ""
        return Verdict(state="not comparable", reason=f"No measure could be tested{why}.")
    reason = sentence_of(data.comparison, is_short=True)
    if counts["same"] < n_judged:
        counts["same"] = 0
    return Verdict(state=next((verdict for verdict in GRAVEST if counts[verdict]), "none shown"), reason=reason)


def next_command(data: ComparisonData) -> str:
    """Returns the command that helps on: what makes the group that differs most so, what its figure rests on, or the gate."""
    run, largest = data.sides[1].run.audit_run_id[:ID], data.largest
    if largest is None or not largest.is_news:
        return command("check", run)
    if largest.is_of_labels:
        return diagnosis_of(run, *(largest.row[name] for name in ("model_id", "task_id", "strategy")))
    return command("trace", largest.figure_id)
