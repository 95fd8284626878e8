"""Sets texts in columns: lines of fixed widths, tables that rich draws, and tables that are split to fit a width."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

FOLDED: Mapping[str, Any] = {"overflow": "fold"}
FIGURES: Mapping[str, Any] = {"justify": "right", "no_wrap": True}
"""Options of columns of words, which go on in the next line, and of figures."""


def aligned(cells: Iterable[str], widths: Iterable[int]) -> str:
    """Sets cells in columns of these widths, one behind the other; a negative width aligns its column right."""
    placed = zip(cells, widths, strict=True)
    return "".join(cell.ljust(width) if width >= 0 else cell.rjust(-width) for cell, width in placed).rstrip()


def drawn(
    columns: Iterable[tuple[str, Mapping[str, Any]]],
    rows: Iterable[Sequence[str]],
    **style: Any,  # noqa: ANN401 - as rich takes them
) -> Table:
    """Draws a table of columns, a heading each with rich's options for it. No heading and no cell is read as markup."""
    from rich.table import Table
    from rich.text import Text

    table = Table(**style)
    for heading, options in columns:
        table.add_column(Text(heading), **options)
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def parts_of(widths: Sequence[int], width: int, *, first: int = 0, gap: int = 1) -> list[list[int]]:
    """Lists the indices of the columns of each table, in order; at least one per table, however narrow `width` is.

    No column is dropped. `first` is the width of what stands before the columns of each table, `gap` what each column
    takes beside its own width.
    """
    parts: list[list[int]] = [[]]
    used = first
    for index, needed in enumerate(widths):
        if parts[-1] and used + needed + gap > width:
            parts.append([])
            used = first
        parts[-1].append(index)
        used += needed + gap
    return parts
