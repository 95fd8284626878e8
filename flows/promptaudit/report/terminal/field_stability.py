"""The fields of extraction for a terminal: under the scorecard a table a task, with a line a model and field."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from promptaudit.registry.mart_columns import ENDS, mart_columns
from promptaudit.report.blocks.blocks import by
from promptaudit.report.terminal.tables import Line, tables
from promptaudit.system.display.figures import NAME, cut, ranged
from promptaudit.warehouse import Row

if TYPE_CHECKING:
    from rich.console import RenderableType

MEASURES = ("accuracy", "sensitivity", "pss_inter")
MOST = 30  # rows a task


def fields_of_tasks(fields: Sequence[Row], width: int) -> Iterator[RenderableType]:
    """Gives what stands under the scorecard, task by task: rows of marts.fct_field_stability, each figure with its interval."""
    from rich.text import Text

    columns = mart_columns("fct_field_stability")
    for task_id, rows in by(fields, "task_id").items():
        yield Text(f"\nfields: {cut(task_id, NAME)}", style="bold")
        lines = [
            Line(
                heading=f"{cut(row['model_id'], NAME)} · {cut(row['strategy'], NAME)}",
                name=cut(row["field"], NAME),
                cells=[ranged(row[name], *(row[name + end] for end in ENDS)) for name in MEASURES],
            )
            for row in rows[:MOST]
        ]
        yield from tables("", [columns[name].label for name in MEASURES], lines, width)
        if len(rows) > MOST:
            yield Text(f"the first {MOST} of {len(rows)} rows; the report has the rest")
