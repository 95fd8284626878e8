"""Tables for a terminal of any width: columns that do not fit go into a further table, none is dropped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from flows.display.columns import parts_of
from flows.display.figures import NAME, cut

if TYPE_CHECKING:
    from rich.table import Table

NAME_WIDTH = 18  # at least; wide terminals give more
GAP = 1

Columns = Sequence[tuple[str, int]]  # heading, width
Named = tuple[str, str, Sequence[str]]  # a row's name, what stands below it, its cells


def tables(heading: str, columns: Columns, rows: Sequence[Named], width: int) -> Iterator[Table]:
    """Returns the rows as one table, or as several under each other where the width is too small for all columns."""
    for part in parts_of([needed for _, needed in columns], width, first=NAME_WIDTH, gap=GAP):
        yield _table(heading, columns, rows, part)


def _table(heading: str, columns: Columns, rows: Sequence[Named], part: Sequence[int]) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=0, show_edge=False)
    table.add_column(heading, overflow="fold", min_width=NAME_WIDTH, max_width=40)
    for index in part:
        title, width = columns[index]
        table.add_column(title, justify="right", min_width=width, no_wrap=True)
    for name, below, cells in rows:
        # Text, never markup: names are other people's
        named = Text(cut(name, NAME), style="bold")
        named.append(f"\n{below}", style="not bold")
        table.add_row(named, *(Text(cells[index]) for index in part))
    return table
