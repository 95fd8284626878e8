"""The section on missing answers: what the scorecard's measures would be, were they all N/A or all the commonest label."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from promptaudit.registry.mart_columns import MartColumn, mart_columns
from promptaudit.report.blocks.blocks import DrawnSection
from promptaudit.report.blocks.cells import Printed, Traced
from promptaudit.report.data import ReportData
from promptaudit.report.sections.columns import MODEL, STRATEGY, Column, table, words
from promptaudit.report.sections.room import Room
from promptaudit.report.sections.section import Section
from promptaudit.system.display.figures import count
from promptaudit.warehouse import Row

MART = "rpt_audit"
BOUNDED = ("sensitivity", "consistency", "micro_f1", "invalid_rate")
AS_NA, AS_MODAL = "if_missing_na", "if_missing_modal"


def lacking(scorecard: Iterable[Row]) -> list[Row]:
    """Returns the rows of rpt_audit that have bounds: those of groups with asks that nobody answered."""
    return [row for row in scorecard if row[f"invalid_rate_{AS_NA}"] is not None]


def n_unanswered(row: Row) -> int:
    """Returns the asks of a row of rpt_audit without an answer: not landed, or ended in an error."""
    return int(row["n_planned"] - row["n_landed"] + row["n_error"])


def bounded(row: Row) -> Iterator[MartColumn]:
    """Yields the measures of a row of rpt_audit that have bounds, in the scorecard's order."""
    columns = mart_columns(MART)
    return (columns[name] for name in BOUNDED if row[f"{name}_{AS_NA}"] is not None)


def _fill(section: DrawnSection, data: ReportData, _room: Room) -> None:
    rows = lacking(data.scorecard)
    if not rows:
        return
    for _, block, own in section.of_tasks(rows):
        lines = [
            {**row, "measure": column.name, "label": column.label, "n_unanswered": f"{n_unanswered(row):,}"}
            for row in own
            for column in bounded(row)
        ]
        block.tables.append(table("Measures and their bounds", _COLUMNS, lines, MART, n_heads=3, is_open=True))


def _bound(of: Traced, end: str) -> Printed:
    return of.measure(mart_columns(MART)[f"{of.row['measure']}_{end}"])


_COLUMNS = (
    MODEL,
    STRATEGY,
    words("Measure", "label"),
    Column("Unanswered asks", lambda of: of.row["n_unanswered"], is_figure=True),
    Column("Without them", lambda of: of.measure(mart_columns(MART)[of.row["measure"]]), is_figure=True),
    Column("All N/A", lambda of: _bound(of, AS_NA), is_figure=True),
    Column("All the commonest label", lambda of: _bound(of, AS_MODAL), is_figure=True),
)


def _finding(data: ReportData) -> str:
    n = sum(map(n_unanswered, lacking(data.scorecard)))
    return f"{count(n)} of {count(sum(row['n_planned'] or 0 for row in data.scorecard))} asks have no answer"


missing_answers = Section(
    name="missing_answers",
    title="Missing answers",
    intro=(
        "Asks that ended in an error or never landed count in no measure. Beside each figure stands what it would "
        "be if all of them were N/A, and if all of them were the label that the sample got most often."
    ),
    fill=_fill,
    finding=_finding,
    is_optional=True,
)
