"""Missing answers for a terminal: the bounds of measures whose asks were not all answered."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

from promptaudit.registry.mart_columns import mart_columns
from promptaudit.report.sections.answers import AS_MODAL, AS_NA, BOUNDED, bounded, lacking, n_unanswered
from promptaudit.report.terminal.tables import Line, tables
from promptaudit.system.display.figures import ABSENT, NAME, count, cut, in_unit
from promptaudit.warehouse import Row

if TYPE_CHECKING:
    from rich.console import RenderableType

MISSING = "Missing answers: measures with all of them N/A, and behind the stroke with all of them the sample's commonest label."


def missing_of_rows(scores: list[Row], width: int) -> Iterator[RenderableType]:
    """Yields what stands under the scorecard where asks were not answered: the rows of marts.rpt_audit with their bounds."""
    from rich.text import Text

    rows = lacking(scores)
    if not rows:
        return
    yield Text("\n" + "\n".join(textwrap.wrap(MISSING, width)))
    lines = [
        Line(
            heading=f"{cut(row['task_id'], NAME)} · {cut(row['strategy'], NAME)}",
            name=row["model_id"],
            cells=cells(row),
        )
        for row in rows
    ]
    yield from tables("", columns(), lines, width)


def columns() -> list[str]:
    """Returns the heading of each column."""
    return ["Unanswered", *(mart_columns("rpt_audit")[name].label for name in BOUNDED)]


def cells(row: Row) -> list[str]:
    """Returns a row's printed figures in the order of `columns`."""
    defined = {column.name: column for column in bounded(row)}

    def bounds(name: str) -> str:
        if name not in defined:
            return ABSENT
        return " / ".join(in_unit(row[f"{name}_{end}"], defined[name].unit) for end in (AS_NA, AS_MODAL))

    return [count(n_unanswered(row)), *(bounds(name) for name in BOUNDED)]
