"""The section on the gate: the rules of the audit's card, held against the run whatever its age."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from flows.display.figures import cut
from flows.report.blocks.blocks import Section
from flows.report.sections.columns import table, words

if TYPE_CHECKING:
    from flows.gate.outcome import GateResult

LONGEST = 400  # characters of a rule, of what is found, of a command


_COLUMNS = (
    words("Outcome", "outcome"),
    words("Rule", "rule"),
    words("Found", "found"),
    words("Look closer", "look_closer"),
)


def checked(outcome: GateResult | None) -> list[Section]:
    """Returns each rule with what became of it, the gravest first; no section where the card has none."""
    from flows.gate.outcome import NAMED
    from flows.gate.terminal import figures_of, name_of, shown_rows

    if outcome is None or not outcome.rules:
        return []
    section = Section(
        "verdict",
        "Verdict of the gate",
        "The rules of the audit's card, each held against every row of this run that it is about. A rule without a figure is "
        "no pass. What was accepted and pinned since counts; the run's age does not.",
    )
    block = section.add()
    order = list(NAMED)  # the gravest first
    results = sorted(outcome.rules, key=lambda result: order.index(result.outcome))
    lines = []
    for result in results:
        shown, n_more = shown_rows(result)
        reasons = [result.reason, *(f"{name_of(each)}: {figures_of(each)}" for each in shown)]
        lines.append(
            {"outcome": NAMED[result.outcome].capitalize(), "rule": cut(result.rule, LONGEST),
             "found": "; ".join([*_cut(reasons), *([f"and {n_more} more"] if n_more else [])]),
             "look_closer": "; ".join(_cut(result.look_closer))}
        )  # fmt: skip
    block.tables.append(table("Rules of the gate", _COLUMNS, lines, is_open=True))
    return [section]


def _cut(texts: Iterable[str]) -> list[str]:
    return [cut(text, LONGEST) for text in texts]
