"""Room for the charts and rows of a section, and what its charts are drawn from."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from functools import partial
from typing import Any, NamedTuple

from markupsafe import Markup

from promptaudit.report.blocks.blocks import MOST_ROWS, Block, Panel, by, by_pair
from promptaudit.report.charts.panels import SERIES
from promptaudit.report.data import ReportData
from promptaudit.system.display.figures import NAME, cut
from promptaudit.warehouse import Row
from promptaudit.warehouse.figure_names import figure_id

MOST_DRAWN = 6  # charts a section, over all tasks
MOST_PAIRS = 12  # charts of model and strategy pairs, a task and section
MOST_PAIRS_IN_ALL = 120  # of the report: about a tenth of a second each
N_SECTIONS_OF_PAIRS = 6
LEAST_ROWS = 20

_is_limited: ContextVar[bool] = ContextVar("_is_limited", default=True)

Drawn = tuple[str, Markup]  # a detail for the caption, and the drawing


class Chart(NamedTuple):
    """A chart to be: what or whom it is about, in which respect, and what draws it."""

    name: str
    beside: str
    draw: Callable[[], Drawn]


@contextlib.contextmanager
def unlimited() -> Iterator[None]:
    """Gives sections room for all of their charts within it: for whoever wants them as files."""
    before = _is_limited.set(False)
    try:
        yield
    finally:
        _is_limited.reset(before)


def is_limited() -> bool:
    """Returns whether a page is drawn, which has room for some of the charts."""
    return _is_limited.get()


class Room:
    """How much a section may draw and print, so that a page of many tasks stays as small as one of few."""

    def __init__(self, data: ReportData, most: int = MOST_DRAWN) -> None:
        n_tasks = max(1, len({row["task_id"] for row in data.scorecard}))
        self.n_left = most
        self.n_a_task = max(1, most // n_tasks)
        self.n_pairs = max(1, min(MOST_PAIRS, MOST_PAIRS_IN_ALL // (N_SECTIONS_OF_PAIRS * n_tasks)))
        self.n_rows = max(LEAST_ROWS, min(MOST_ROWS, 2 * MOST_ROWS // n_tasks))

    def draw(self, block: Block, charts: Sequence[Chart], what: str = "charts") -> None:
        """Draws of a task's charts what the section has room for, and notes how many were left out."""
        n = min(self.n_a_task, self.n_left, len(charts)) if _is_limited.get() else len(charts)
        self.n_left -= n
        some = f"{n} of {len(charts)} {what}" if n else f"No {what}"
        _draw(block, charts, n, f"{some} are drawn here, to keep the page small")

    def draw_pairs(self, block: Block, charts: Sequence[Chart], n_sharing: int = 1) -> None:
        """Draws charts of model and strategy pairs likewise; `n_sharing` calls share the room of one task."""
        n = min(max(1, self.n_pairs // n_sharing), len(charts)) if _is_limited.get() else len(charts)
        _draw(block, charts, n, f"{n} of {len(charts)} model and strategy pairs are drawn here")


def _draw(block: Block, charts: Sequence[Chart], n: int, some: str) -> None:
    block.panels += [Panel(chart.name, chart.beside, *chart.draw()) for chart in charts[:n]]
    note = f"{some}; the figures below hold all of them."
    if n < len(charts) and note not in block.notes:
        block.notes.append(note)


def charts_of_models(
    rows: Sequence[Row], task_id: str, beside: str, draw: Callable[[list[Row], str], Drawn]
) -> list[Chart]:
    """Returns a chart for each model; `draw` gets its rows and, for the label, whom the chart is about."""
    return [
        Chart(model, beside, partial(draw, own, who(model, task_id))) for model, own in by(rows, "model_id").items()
    ]


def charts_of_pairs(rows: Sequence[Row], task_id: str, draw: Callable[[list[Row], str], Drawn]) -> list[Chart]:
    """Returns a chart for each model and strategy likewise."""
    return [Chart(*pair, partial(draw, own, who(*pair, task_id))) for pair, own in by_pair(rows).items()]


def who(*names: str) -> str:
    """Returns names for the label of a chart."""
    return ", ".join(cut(name, NAME) for name in names)


def colour(block: Block, rows: Sequence[Row]) -> list[str]:
    """Writes the legend of a block; returns the strategies that have a colour and notes how many have none."""
    everything = list(dict.fromkeys(row["strategy"] for row in rows))
    shown = everything[: len(SERIES)]
    block.legend = tuple(zip(SERIES, shown, strict=False))
    if len(everything) > len(shown):
        block.notes.append(
            f"{len(shown)} of {len(everything)} strategies are drawn; the figures below hold all of them."
        )
    return shown


def point(mart: str, row: Row, column: str, /, **about: Any) -> Row:
    """Returns what a chart draws of a mart's figure: value, interval (None without one) and name, beside `about`."""
    return {
        **about,
        "value": row[column],
        "low": row.get(f"{column}_low"),
        "high": row.get(f"{column}_high"),
        "figure": figure_id(mart, row, column),
    }
