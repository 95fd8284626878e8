"""Prints tables on a terminal of any width.

Columns that do not fit go into a further table, so that none is dropped.

A cell may carry the raised number of a footnote. Each footnote stands once under the table.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptaudit.system.display.columns import parts_of
from promptaudit.system.display.figures import NAME, cut

if TYPE_CHECKING:
    from rich.text import Text

LEAST_NAME = 12  # characters of the widest name that stay on its line at least
GAP = 2
INDENT = 2
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One row of a table: its heading, its name, and a text for each column. All may be written by other people."""

    heading: str
    name: str
    cells: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextTable:
    """Headings of columns, which may have several lines, and rows.

    Rows with the same heading stand together.

    Above them stands a title or a folded sentence, and below them further sentences, one per line.
    """

    columns: Sequence[str]
    lines: Sequence[Line]
    title: str = ""
    intro: str = ""
    below: Sequence[str] = ()


def printed(table: TextTable, width: int) -> Iterator[Text]:
    """Yields the lines of a table, none wider than `width`. Columns without room stand in further tables under it."""
    from rich.cells import cell_len

    if table.title:
        yield _text(f"\n{table.title}", "bold")
    if table.intro:
        yield _text("\n" + "\n".join(textwrap.wrap(table.intro, width)))
    columns, lines = table.columns, table.lines
    widths = [
        max(cell_len(text) for text in (*column.split("\n"), *(line.cells[place] for line in lines)))
        for place, column in enumerate(columns)
    ]
    longest = max(cell_len(" " * INDENT + cut(line.name, NAME)) for line in lines)
    room = max(LEAST_NAME, min(longest, width - max(widths, default=0) - GAP, width // 3))
    for place, part in enumerate(parts_of(widths, width, first=room, gap=GAP)):
        if place:
            yield _text("")
        yield from _table(columns, lines, part, [room, *(widths[index] for index in part)])
    yield from map(_text, table.below)


def _table(columns: Sequence[str], lines: Sequence[Line], part: Sequence[int], widths: Sequence[int]) -> Iterator[Text]:
    from rich.cells import chop_cells

    titles = [[""], *(columns[index].split("\n") for index in part)]
    for place in range(-max(map(len, titles)), 0):  # the last lines of all headings are beside each other
        row = [title[place] if len(title) >= -place else "" for title in titles]
        yield _row(row[0], row[1:], widths, "bold")
    yield _text("─" * (sum(widths) + GAP * (len(widths) - 1)), "dim")
    above = None
    for line in lines:
        if line.heading and line.heading != above:
            yield _text(line.heading, "bold")
        above = line.heading
        *before, last = chop_cells(cut(line.name, NAME), widths[0] - INDENT) or [""]
        yield from (_text(" " * INDENT + name) for name in before)
        yield _row(" " * INDENT + last, [line.cells[index] for index in part], widths)


def _row(name: str, cells: Sequence[str], widths: Sequence[int], style: str = "") -> Text:
    from rich.cells import cell_len, set_cell_size

    aligned = [" " * (width - cell_len(cell)) + cell for cell, width in zip(cells, widths[1:], strict=True)]
    return _text((" " * GAP).join([set_cell_size(name, widths[0]), *aligned]).rstrip(), style)


def _text(line: str, style: str = "") -> Text:
    # plain text, since names may hold what rich would read as markup
    from rich.text import Text

    return Text(line, style=style)


class Footnotes:
    """The footnotes of a table, numbered in the order in which they were asked for."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def mark(self, sentence: str) -> str:
        """Gives the mark of a sentence, a raised number."""
        return str(self._numbers.setdefault(sentence, len(self._numbers) + 1)).translate(_RAISED)

    def lines(self, opening: str, width: int) -> Iterator[Text]:
        """Yields the opening sentence, if there is one, and then each footnote; no line is wider than `width`."""
        from rich.text import Text

        marked = [("", opening)] if opening else []
        marked += [(f"{self.mark(sentence)} ", sentence) for sentence in self._numbers]
        for mark, sentence in marked:
            for line in textwrap.wrap(sentence, width, initial_indent=mark, subsequent_indent=" " * len(mark)):
                yield Text(line, style="dim")
