"""Keeps a page small: as many rows a table as fit, and charts and tables of as many tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

PAGE_BYTES = 5_000_000
GRID_BYTES = 1_500_000
"""What of it is kept for the answers grid: everything else has the rest."""

ROWS = (100, 40, 20, 10)
"""How many rows a table may have: the first of these with which the page fits."""

Draw = Callable[[int], str]


def fits(page: str) -> bool:
    """Returns whether a page without its answers grid is small enough."""
    return len(page.encode()) <= PAGE_BYTES - GRID_BYTES


def drawn_to_fit(draw: Draw, rows: Sequence[int] = ROWS) -> tuple[str, int]:
    """Returns the page that `draw` makes with the most rows a table with which it fits, and these; else with the fewest."""
    page = ""
    for most in rows:
        page = draw(most)
        if fits(page):
            return page, most
    return page, rows[-1]


def fewer(groups: int) -> Iterator[int]:
    """Yields how many models, tasks and strategies a page may tell of: so many, and where that is too large fewer."""
    while groups:
        yield groups
        groups //= 2
