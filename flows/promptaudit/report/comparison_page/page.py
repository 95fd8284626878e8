"""Writes the page about a comparison beside the pages of runs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from promptaudit.marts.comparison.decision import sentence_of
from promptaudit.marts.comparison.result import RunComparison, run_comparison
from promptaudit.report import BELOW, page_size
from promptaudit.report.blocks.filters import rendered, trace_links
from promptaudit.report.comparison_page.gather import ComparisonData, gather
from promptaudit.report.comparison_page.sections import heat, sections
from promptaudit.report.record import record
from promptaudit.report.sections.run import TRACING
from promptaudit.report.summary import ID, Outcome, command, diagnosis_of, outcome
from promptaudit.system.display.figures import NAME, cut
from promptaudit.system.display.policy import Policy
from promptaudit.system.files import private_folder, write_text
from promptaudit.system.settings import Settings
from promptaudit.warehouse import Warehouse

TEMPLATE = "comparison.html.j2"
MOST_CAUSES = 2
ROWS = (2000, 500, *page_size.ROWS)
_ID = re.compile(r'<meta name="comparison" content="([0-9a-f]{32})">')


def write_page(
    warehouse: Warehouse, comparison: RunComparison, text: Policy | None = None, *, is_held: bool = True
) -> Path | None:
    """Writes `reports/comparison-<id>.html` beside the published copy and gives its path.

    A comparison without rows has no page (None). With `is_held` (the caller holds the warehouse) the page's hash lands
    and is sealed, so that `verify` recognises the page. text: none, excerpt or full; default: PROMPTAUDIT_TEXT, else
    excerpts, none of sensitive tasks.
    """
    if not comparison.measures:
        return None
    page = _page(warehouse, comparison, text)
    path = warehouse.places.comparison(comparison.comparison_id)
    private_folder(path.parent)
    write_text(page, path)
    if is_held:
        record(warehouse, comparison.measures[0]["candidate_run_id"], {f"{BELOW}/{path.name}": page})
    return path


def write_again(warehouse: Warehouse, comparison_ids: Iterable[str]) -> None:
    """Writes existing pages of these comparisons again, and removes a page whose comparison has no rows any more."""
    for comparison_id in comparison_ids:
        path = warehouse.places.comparison(comparison_id)
        if path.is_file() and write_page(warehouse, run_comparison(warehouse, comparison_id)) is None:
            path.unlink()


def as_written(warehouse: Warehouse, page: str, text: Policy | None = None) -> str | None:
    """Renders anew the page about the comparison that `page` is about.

    None if `page` is about no comparison with rows.
    """
    named = _ID.search(page)
    comparison = None if named is None else run_comparison(warehouse, named[1])
    return None if comparison is None or not comparison.measures else _page(warehouse, comparison, text)


def _page(warehouse: Warehouse, comparison: RunComparison, text: Policy | None) -> str:
    return page_of(gather(warehouse, comparison, text or Settings().text))


def title_of(data: ComparisonData) -> str:
    """Names the two sides that are compared."""
    names = [cut(side.run.audit_id if side.called is None else side.called, NAME) for side in data.sides]
    return f"Two runs of {names[0]}" if names[0] == names[1] else " and ".join(names)


def page_of(data: ComparisonData) -> str:
    """Renders the page as text, without a script. The template escapes, isolates and makes visible all data."""
    base, candidate = data.sides
    verdict = verdict_of(data)

    def drawn(most_rows: int) -> str:
        return rendered(
            TEMPLATE,
            title=title_of(data),
            anchors=(),
            is_of_one_run=base.run.audit_run_id == candidate.run.audit_run_id,
            verdict=verdict,
            sign=SIGNS[verdict.state],
            most_causes=MOST_CAUSES,
            data=data,
            next_command=next_command(data),
            heat=heat(data.comparison.measures),
            sections=sections(data.comparison),
            trace=trace_links(candidate.run.audit_run_id, frozenset()),
            most_rows=most_rows,
            tracing=TRACING,
        )

    return page_size.drawn_to_fit(drawn, ROWS)[0]


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


def verdict_of(data: ComparisonData) -> Outcome:
    """Decides the verdict on a comparison: regressed if any measure regressed, else improved, else changed."""
    measures = data.comparison.measures
    counts = Counter(row["verdict"] for row in measures)
    n_judged = sum(counts[verdict] for verdict in (*GRAVEST, "none_shown"))
    if not n_judged:
        reasons = Counter(row["reason"] for row in measures if row["verdict"] == "not_comparable")
        why = f": {cut(reasons.most_common(1)[0][0], REASON)}" if reasons else ""
        return outcome("not comparable", f"No measure could be tested{why}.")
    reason = sentence_of(data.comparison, is_short=True)
    if counts["same"] < n_judged:
        counts["same"] = 0
    return outcome(next((verdict for verdict in GRAVEST if counts[verdict]), "none shown"), reason)


def next_command(data: ComparisonData) -> str:
    """Suggests the next command: a diagnosis of the group that differs most, the trace of its figure, or the gate."""
    run, largest = data.sides[1].run.audit_run_id[:ID], data.largest
    if largest is None or not largest.is_news:
        return command("check", run)
    if largest.is_of_labels:
        return diagnosis_of(run, *(largest.row[name] for name in ("model_id", "task_id", "strategy")))
    return command("trace", largest.figure_id)
