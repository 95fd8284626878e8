"""Defines a section of the page: its queries, its blocks per task, its finding, and the room for charts and rows."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from markupsafe import Markup

from promptaudit.report.blocks.blocks import MOST_ROWS, Block, DrawnSection, Panel, by, by_pair
from promptaudit.report.charts.drawing import switched_off
from promptaudit.report.charts.panels import SERIES
from promptaudit.report.data import ReportData
from promptaudit.report.sections.columns import Column, table
from promptaudit.report.sections.words import why_no_answers, why_open
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
Draw = Callable[[list[Row], str], Drawn]  # takes rows and, for the label, whom the chart is about


class Chart(NamedTuple):
    """A chart to draw: what or whom it is about, in which respect, and the function that draws it."""

    name: str
    beside: str
    draw: Callable[[], Drawn]


def unlimited() -> contextlib.AbstractContextManager[None]:
    """Lets sections draw all of their charts inside the `with` block, for callers that write them as files."""
    return switched_off(_is_limited)


def is_limited() -> bool:
    """Checks whether charts are drawn for a page, which has room for only some of them."""
    return _is_limited.get()


class Room:
    """How much a section may draw and print, so that a page of many tasks stays as small as a page of few."""

    def __init__(self, data: ReportData, most: int = MOST_DRAWN) -> None:
        n_tasks = max(1, len({row["task_id"] for row in data.scorecard}))
        self.n_left = most
        self.n_a_task = max(1, most // n_tasks)
        self.n_pairs = max(1, min(MOST_PAIRS, MOST_PAIRS_IN_ALL // (N_SECTIONS_OF_PAIRS * n_tasks)))
        self.n_rows = max(LEAST_ROWS, min(MOST_ROWS, 2 * MOST_ROWS // n_tasks))

    def draw(self, block: Block, charts: Sequence[Chart], what: str = "charts") -> None:
        """Draws as many of a task's charts as the section has room for, and notes how many were left out."""
        n = min(self.n_a_task, self.n_left, len(charts)) if is_limited() else len(charts)
        self.n_left -= n
        some = f"{n} of {len(charts)} {what}" if n else f"No {what}"
        _draw(block, charts, n, f"{some} are drawn here, to keep the page small")

    def draw_pairs(self, block: Block, charts: Sequence[Chart], n_sharing: int = 1) -> None:
        """Draws charts of model and strategy pairs in the same way. `n_sharing` calls share the room of one task."""
        n = min(max(1, self.n_pairs // n_sharing), len(charts)) if is_limited() else len(charts)
        _draw(block, charts, n, f"{n} of {len(charts)} model and strategy pairs are drawn here")


def _draw(block: Block, charts: Sequence[Chart], n: int, some: str) -> None:
    block.panels += [Panel(chart.name, chart.beside, *chart.draw()) for chart in charts[:n]]
    if n < len(charts):
        note_some(block, some)


def note_some(block: Block, some: str) -> None:
    """Notes once that only some of what a block is about is drawn."""
    note = f"{some}; the figures below hold all of them."
    if note not in block.notes:
        block.notes.append(note)


def colour(block: Block, names: Sequence[str], n_in_all: int, what: str) -> None:
    """Writes the legend of the series, a colour each, and notes how many of all are drawn."""
    block.legend = tuple(zip(SERIES, names, strict=False))
    if len(names) < n_in_all:
        note_some(block, f"{len(names)} of {n_in_all}{what} are drawn")


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One task of a run as a section fills it: its block, its rows of the section's query, its scorecard rows."""

    data: ReportData
    room: Room
    block: Block
    rows: list[Row]
    scored: list[Row]

    @property
    def name(self) -> str:
        """The task's name, cut, for the label of a chart."""
        return cut(self.block.task_id, NAME)

    @property
    def n_rows(self) -> int:
        """How many rows a long table has room for."""
        return self.room.n_rows

    def of(self, query: str) -> list[Row]:
        """Finds this task's rows of another query."""
        return self.data.of_task(query, self.block.task_id)

    def is_open(self) -> bool:
        """Checks whether the task is without labels."""
        return why_open(self.data, self.block.task_id) is not None

    def table(
        self, caption: str, columns: Sequence[Column], rows: Sequence[Row], mart: str = "", **options: Any
    ) -> None:
        """Adds a table of these rows, if there are any. For the options see `columns.table`."""
        if rows:
            self.block.tables.append(table(caption, columns, rows, mart, **options))

    def draw(self, charts: Sequence[Chart], what: str = "charts") -> None:
        """Draws as many of the charts as there is room for."""
        self.room.draw(self.block, charts, what)

    def models(self, rows: Sequence[Row], beside: str, draw: Draw) -> list[Chart]:
        """Makes a chart for each model."""
        own = by(rows, "model_id").items()
        return [Chart(model, beside, partial(draw, of, who(model, self.block.task_id))) for model, of in own]

    def pairs(self, rows: Sequence[Row], draw: Draw) -> list[Chart]:
        """Makes a chart for each model and strategy."""
        own = by_pair(rows).items()
        return [Chart(*pair, partial(draw, of, who(*pair, self.block.task_id))) for pair, of in own]

    def draw_models(self, beside: str, draw: Draw, rows: Sequence[Row] | None = None) -> None:
        """Draws a chart for each model, as many as there is room for."""
        self.draw(self.models(self.rows if rows is None else rows, beside, draw))

    def draw_pairs(self, draw: Draw, rows: Sequence[Row] | None = None, n_sharing: int = 1) -> None:
        """Draws a chart for each model and strategy, as many as there is room for."""
        self.room.draw_pairs(self.block, self.pairs(self.rows if rows is None else rows, draw), n_sharing)

    def strategies(self, rows: Sequence[Row] | None = None) -> list[str]:
        """Writes the legend of the strategies that have a colour, lists them, and notes how many have none."""
        everything = list(dict.fromkeys(row["strategy"] for row in (self.rows if rows is None else rows)))
        shown = everything[: len(SERIES)]
        colour(self.block, shown, len(everything), " strategies")
        return shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """What a section asks of the published copy, how it is filled, and what it finds.

    name: its anchor on the page, and the name of its own query if it has one (`queries/<name>.sql`).
    queries: the names of the queries whose rows it reads, as `data["name"]`; by default its own where it has no `rows`.
    finding: what the blocks say in a sentence; empty if the figures for it are missing.
    rows: the rows that it is about; by default the rows of the first query.
    fill: adds charts and tables for one task that has such rows.
    absent: why a task of the scorecard without such rows has nothing, beyond the reasons common to all sections; without
    it such a task has no block, and the section stands on the page only if it has blocks. of_labels: whether all of it
    is about labels, which some tasks lack.
    also: adds what a task has with or without such rows. whole: fills what is not task by task, behind the tasks.
    """

    name: str
    title: str | Callable[[ReportData], str]
    intro: str | Callable[[ReportData], str]
    finding: Callable[[ReportData], str]
    queries: tuple[str, ...] = ()
    rows: Callable[[ReportData], Sequence[Row]] | None = None
    fill: Callable[[Task], None] | None = None
    absent: str | Callable[[Task], str] | None = None
    of_labels: bool = False
    also: Callable[[Task], None] | None = None
    whole: Callable[[DrawnSection, ReportData], None] | None = None

    @property
    def is_optional(self) -> bool:
        """True if the section stands on the page only if it has blocks."""
        return self.absent is None

    @property
    def reads(self) -> tuple[str, ...]:
        """The names of all queries whose rows the section reads."""
        return self.queries or ((self.name,) if self.fill is not None and self.rows is None else ())

    def drawn(self, data: ReportData, room: Room | None = None) -> DrawnSection:
        """Draws the section of a run.

        Without anything to show it has no blocks. room: by default a section's usual room.
        """
        title, intro = (said(data) if callable(said) else said for said in (self.title, self.intro))
        section = DrawnSection(self.name, title, intro)
        if self.fill is not None:
            self._fill_tasks(section, data, room or Room(data))
        if self.whole is not None:
            self.whole(section, data)
        if section.blocks and all(block.is_absent for block in section.blocks):
            section.finding = section.blocks[0].absent[0].rstrip(".")
        elif section.blocks:
            section.finding = self.finding(data)
        return section

    def _fill_tasks(self, section: DrawnSection, data: ReportData, room: Room) -> None:
        rows_of = by(data[self.reads[0]] if self.rows is None else self.rows(data), "task_id")
        scored_of = by(data.scorecard, "task_id")
        for task_id in rows_of if self.absent is None else scored_of:
            rows, scored = rows_of.get(task_id, []), scored_of.get(task_id, [])
            task = Task(data=data, room=room, block=section.add(task_id), rows=rows, scored=scored)
            if rows and self.fill is not None:
                self.fill(task)
            elif not rows:
                task.block.absent.append(self._why_absent(task))
            if self.also is not None:
                self.also(task)

    def _why_absent(self, task: Task) -> str:
        of_all = (self.of_labels and why_open(task.data, task.block.task_id)) or why_no_answers(task.scored)
        return of_all or (self.absent(task) if callable(self.absent) else self.absent or "")


def who(*names: str) -> str:
    """Joins names for the label of a chart, each cut."""
    return ", ".join(cut(name, NAME) for name in names)


def point(mart: str, row: Row, column: str, /, **about: Any) -> Row:
    """Makes a chart's row for a mart's figure: value, interval (None without one), the figure's name, and `about`."""
    ends = {end: row.get(f"{column}_{end}") for end in ("low", "high")}
    return {**about, "value": row[column], **ends, "figure": figure_id(mart, row, column)}
