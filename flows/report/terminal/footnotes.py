"""Footnotes of a terminal's tables: each sentence once, with a raised number."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.text import Text

_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


class Footnotes:
    """The sentences that the marks of a table stand for, in the order in which they were asked for."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def mark(self, sentence: str) -> str:
        """Returns the mark of a sentence."""
        return str(self._numbers.setdefault(sentence, len(self._numbers) + 1)).translate(_RAISED)

    def lines(self, opening: str, width: int) -> Iterator[Text]:
        """Yields a sentence about the whole table, where there is one, and then each footnote; no line is wider than `width`."""
        from rich.text import Text

        told = [("", opening)] if opening else []
        told += [(f"{self.mark(sentence)} ", sentence) for sentence in self._numbers]
        for mark, sentence in told:
            for line in textwrap.wrap(sentence, width, initial_indent=mark, subsequent_indent=" " * len(mark)):
                yield Text(line, style="dim")
