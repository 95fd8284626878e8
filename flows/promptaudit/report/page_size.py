"""Keeps a page small: as many rows per table as fit, and charts and tables of as many tasks."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection, Iterator, Sequence

from promptaudit.report.blocks.blocks import DrawnSection, by
from promptaudit.warehouse import Row

PAGE_BYTES = 5_000_000
GRID_BYTES = 1_500_000
"""The bytes of a page that are kept for the answers grid. All other parts share the rest."""

ROWS = (100, 40, 20, 10)
"""How many rows a table may have. The first number with which the page fits is used."""

Draw = Callable[[int], str]


def fits(page: str) -> bool:
    """Checks whether a page without its answers grid is small enough."""
    return len(page.encode()) <= PAGE_BYTES - GRID_BYTES


def drawn_to_fit(draw: Draw, rows: Sequence[int] = ROWS) -> tuple[str, int]:
    """Draws the page with the most rows per table that fit, and gives both; if none fits, with the fewest."""
    page = ""
    for most in rows:
        page = draw(most)
        if fits(page):
            return page, most
    return page, rows[-1]


def fewer(groups: int) -> Iterator[int]:
    """Yields numbers of groups (model, task and strategy) for a page to try: `groups`, then half as many, down to 1."""
    while groups:
        yield groups
        groups //= 2


MOST_GROUPS = 36  # groups of model, task and strategy on a page, beside 0.9 MB of script


def parted(
    scorecard: Sequence[Row], references: Collection[str] = (), most_groups: int | None = None
) -> list[frozenset[str]]:
    """Distributes the tasks over pages, highest sensitivity first.

    No task stands on two pages.

    The sensitivity of `references`, models that answer by chance or err on purpose, counts only if a task has no other
    model.
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
    """Keeps the sections' blocks on these tasks, and drops sections that have blocks only on other tasks."""
    kept = [
        dataclasses.replace(section, blocks=[block for block in section.blocks if block.task_id in tasks])
        for section in sections
    ]
    return [part for part, section in zip(kept, sections, strict=True) if part.blocks or not section.blocks]
