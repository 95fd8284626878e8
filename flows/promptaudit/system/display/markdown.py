"""Writes other people's words in Markdown: in code spans, where nothing is markup, a link, HTML or a mention."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from promptaudit.system.display.figures import cut

MOST = 1000  # characters a cell
# figures and plain words: nothing here begins a link, a mention, an element or an emphasis; a full stop is
# allowed only before a digit, never in a name
_HARMLESS = re.compile(r"(?:[A-Za-z0-9 ,;'/%–×±†$\[\]+-]|\.(?=\d))*")


def code(text: str) -> str:
    """Makes a code span for one table cell, even with back quotes and bars in the text.

    Invisible characters are written out.
    """
    safe = cut(text, MOST).replace("|", "\\|")
    longest = max((len(run) for run in re.findall("`+", safe)), default=0)
    fence = "`" * (longest + 1)
    space = " " if safe[:1] in ("`", " ") or safe[-1:] in ("`", " ") else ""
    return f"{fence}{space}{safe or ' '}{space}{fence}"


def cell(text: str) -> str:
    """Leaves figures and plain words as they are, and makes any other text a code span."""
    return text if _HARMLESS.fullmatch(text) else code(text)


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], n_figures: int = 0) -> list[str]:
    """Writes the lines of a table. Cells must be inert already; the last `n_figures` columns are aligned right."""
    rule = ["---"] * (len(columns) - n_figures) + ["---:"] * n_figures
    return [f"| {' | '.join(line)} |" for line in (columns, rule, *rows)]
