"""Keeps a page small: as many rows a table as fit, and charts and tables of as many tasks."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection, Iterator, Sequence

from promptaudit.report.blocks.blocks import DrawnSection, by
from promptaudit.warehouse import Row

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


MOST_GROUPS = 36  # models and strategies of tasks that a page tells of, beside 0.9 MB of script


def parted(
    scorecard: Sequence[Row], references: Collection[str] = (), most_groups: int | None = None
) -> list[frozenset[str]]:
    """Returns the tasks of each page, those with the highest sensitivity first; no task stands on two pages.

    The sensitivity of `references`, models that answer by chance or err on purpose, counts only where there is no other.
    """
    by_name = by(scorecard, "task_id")
    n_pages = max(1, math.ceil(len(scorecard) / (most_groups or MOST_GROUPS)))
    room = math.ceil(len(scorecard) / n_pages)
    pages: list[frozenset[str]] = [frozenset()]
    n_groups = 0
    for name in sorted(by_name, key=lambda name: -_worst(by_name[name], references)):
        if pages[-1] and n_groups + len(by_name[name]) > room:
            pages.append(frozenset())
            n_groups = 0
        pages[-1] |= {name}
        n_groups += len(by_name[name])
    return pages


def _worst(rows: Sequence[Row], references: Collection[str]) -> float:
    own = [row for row in rows if row["model_id"] not in references] or rows
    return max((row["sensitivity"] for row in own if row["sensitivity"] is not None), default=-1.0)


def only(sections: Sequence[DrawnSection], tasks: frozenset[str]) -> list[DrawnSection]:
    """Returns the sections with what they say of these tasks; none that says something of others alone."""
    kept = [
        dataclasses.replace(section, blocks=[block for block in section.blocks if block.task_id in tasks])
        for section in sections
    ]
    return [part for part, section in zip(kept, sections, strict=True) if part.blocks or not section.blocks]
