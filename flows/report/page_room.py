"""How much a section may draw and print: a page of many tasks stays as small as one of few."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from markupsafe import Markup

from flows.report.blocks.blocks import MOST_ROWS, Block, Panel, Table
from flows.report.blocks.cells import Printed
from flows.report.charts.panels import SERIES
from flows.report.gather import Gathered
from flows.warehouse import Row

MOST_DRAWN = 6  # charts a section, over all tasks
LEAST_ROWS = 20


class Wanted(NamedTuple):
    """A chart to be: what or whom it is about, in which respect, and what draws it, with a detail."""

    name: str
    beside: str
    draw: Callable[[], tuple[str, Markup]]


class Room:
    """What a section may still draw: some charts of each task, as far as they go, and rows of its tables."""

    def __init__(self, found: Gathered, most: int = MOST_DRAWN) -> None:
        n_tasks = max(1, len({row["task_id"] for row in found.scorecard}))
        self.left = most
        self.a_task = max(1, most // n_tasks)
        self.n_rows = max(LEAST_ROWS, min(MOST_ROWS, 2 * MOST_ROWS // n_tasks))

    def draw(self, block: Block, wanted: Sequence[Wanted], what: str = "charts") -> None:
        """Draws what there is room for and says how much was left out."""
        drawn = wanted[: min(self.a_task, self.left)]
        self.left -= len(drawn)
        for name, beside, draw in drawn:
            detail, drawing = draw()
            block.panels.append(Panel(name, beside, detail, drawing))
        if len(drawn) < len(wanted):
            n = f"{len(drawn)} of {len(wanted)}" if drawn else f"None of {len(wanted)}"
            block.notes.append(
                f"{n} {what} are drawn here, to keep the page small; the figures below hold all of them."
            )

    def table(  # noqa: PLR0913 - what a table has
        self,
        caption: str,
        columns: tuple[str, ...],
        lines: Sequence[tuple[Printed, ...]],
        n_heads: int,
        n_figures: int,
        *,
        note: str = "",
        rest: str = "`promptaudit sql` has the rest.",
    ) -> Table:
        """A table of as many rows as there is room for, which says so."""
        cut = "" if len(lines) <= self.n_rows else f"The first {self.n_rows} of {len(lines):,} rows; {rest}"
        told = " ".join(part for part in (note, cut) if part)
        return Table(
            caption=caption, columns=columns, rows=lines[: self.n_rows], n_heads=n_heads, n_figures=n_figures, note=told
        )


def by_model(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows by model, in their order."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["model_id"], []).append(row)
    return found


def strategies(rows: Sequence[Row]) -> list[str]:
    """The strategies that a chart has colours for, in their order."""
    return list(dict.fromkeys(row["strategy"] for row in rows))[: len(SERIES)]


def coloured(block: Block, rows: Sequence[Row]) -> list[str]:
    """The same, with the block's legend; says how many strategies have no colour."""
    shown, n = strategies(rows), len({row["strategy"] for row in rows})
    block.legend = tuple(zip(SERIES, shown, strict=False))
    if n > len(shown):
        block.notes.append(f"{len(shown)} of {n} strategies are drawn; the figures below hold all of them.")
    return shown
