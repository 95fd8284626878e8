"""Missing answers for a terminal: the bounds of measures whose asks were not all answered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flows.display.figures import ABSENT, NAME, count, cut, in_unit
from flows.report.sections.missing_answers import AS_MODAL, AS_NA, BOUNDED, bounded, lacking, n_unanswered
from flows.report.terminal.tables import Columns, tables
from flows.warehouse import Row
from models_registry.mart_columns import mart_columns

if TYPE_CHECKING:
    from rich.console import RenderableType


def missing_of_rows(scores: list[Row], width: int) -> Iterator[RenderableType]:
    """Yields what stands under the scorecard where asks were not answered: the rows of marts.rpt_audit with their bounds.

    The upper figure of a cell has all missing asks as N/A, the lower one as the label that the sample got most often.
    """
    from rich.text import Text

    rows = lacking(scores)
    if not rows:
        return
    yield Text("\nmissing answers: measures with all of them N/A, below with all of them the sample's commonest label")
    named = [
        (row["model_id"], f"{cut(row['task_id'], NAME)} · {cut(row['strategy'], NAME)}", cells(row)) for row in rows
    ]
    yield from tables("model\ntask · strategy", columns(), named, width)


def columns() -> Columns:
    """Returns the heading and the width of each column."""
    return [("unanswered\nasks", 10), *((mart_columns("rpt_audit")[name].label, 12) for name in BOUNDED)]


def cells(row: Row) -> tuple[str, ...]:
    """Returns a row's printed figures in the order of `columns`, those with N/A above the others."""
    defined = {column.name: column for column in bounded(row)}

    def bounds(name: str) -> str:
        if name not in defined:
            return ABSENT
        return "\n".join(in_unit(row[f"{name}_{end}"], defined[name].unit) for end in (AS_NA, AS_MODAL))

    return (count(n_unanswered(row)), *(bounds(name) for name in BOUNDED))
