"""Tables across tasks: a line for each task and what else names it, a column for each model, as papers print them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from promptaudit.report.blocks.blocks import MOST_ROWS, Table
from promptaudit.report.blocks.cells import Printed
from promptaudit.system.display.figures import NAME, cut
from promptaudit.warehouse import Row

Key = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pivot:
    """How rows of a mart become a table: `heads` are the headings of the columns that name a line, with the mart's names.

    across: the column whose values are the table's columns. cell: what prints one row. last: further columns behind these,
    printed from what names a line.
    """

    caption: str
    heads: Mapping[str, str]
    cell: Callable[[Row], Printed]
    file: str
    across: str = "model_id"
    last: Mapping[str, Callable[[Key], Printed]] = field(default_factory=dict)
    note: str = ""
    is_open: bool = True


def pivoted(pivot: Pivot, rows: Sequence[Row]) -> Table:
    """Returns the table of these rows; models that others are held against (`is_reference`) stand last."""
    across = {row[pivot.across]: row.get("is_reference", False) for row in sorted(rows, key=_is_reference)}
    lines: dict[Key, dict[str, Row]] = {}
    for row in rows:
        lines.setdefault(tuple(row[name] for name in pivot.heads.values()), {})[row[pivot.across]] = row
    headings = [cut(name, NAME) + (" (reference)" if is_reference else "") for name, is_reference in across.items()]
    return Table(
        caption=pivot.caption,
        columns=(*pivot.heads, *headings, *pivot.last),
        rows=[
            (
                *key,
                *(pivot.cell(own[name]) if name in own else "" for name in across),
                *(column(key) for column in pivot.last.values()),
            )
            for key, own in list(lines.items())[:MOST_ROWS]
        ],
        n_heads=len(pivot.heads),
        n_figures=len(across) + len(pivot.last),
        is_open=pivot.is_open,
        note=pivot.note,
        n_in_all=len(lines),
        has_traces=False,
        file=pivot.file,
    )


def n_tasks(rows: Sequence[Row]) -> int:
    """Returns how many tasks rows are about."""
    return len({row["task_id"] for row in rows})


def _is_reference(row: Row) -> bool:
    return bool(row.get("is_reference"))
