"""Draws the rows of a query for a terminal. A column that does not fit goes into a further table, unsqueezed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from promptaudit.system.display.columns import drawn, parts_of

if TYPE_CHECKING:
    from rich.table import Table

WIDEST = 64  # of a column, a sha256's; longer texts go on in the next line
FRAME = 3  # what a column takes beside its width: a space on either side, and a line
NUMBER = "#"


def tables(names: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> Iterator[Table]:
    """Makes one table where all columns fit into `width`, else several of some columns each, with numbered rows."""
    from rich.cells import cell_len

    room = width - FRAME - 1
    columns = [(name, *(row[index] for row in rows)) for index, name in enumerate(names)]
    widths = [min(max(map(cell_len, column)), WIDEST, max(room, 1)) for column in columns]
    parts = parts_of(widths, width, first=1, gap=FRAME)
    if len(parts) == 1:
        yield _table(names, rows, widths)
        return
    digits = len(str(len(rows)))
    inside = max(room - digits - FRAME, 1)
    widths = [min(each, inside) for each in widths]
    for part in parts_of(widths, width, first=1 + digits + FRAME, gap=FRAME):
        yield _table(
            [NUMBER, *(names[index] for index in part)],
            [[str(number), *(row[index] for index in part)] for number, row in enumerate(rows, start=1)],
            [digits, *(widths[index] for index in part)],
        )


def _table(names: Sequence[str], rows: Sequence[Sequence[str]], widths: Sequence[int]) -> Table:
    options = [{"overflow": "fold", "min_width": width, "max_width": width} for width in widths]
    return drawn(zip(names, options, strict=True), rows, header_style="bold")
