"""Draws a chart as inline SVG in the page's colours, and keeps its layers and rows for files."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Self

from markupsafe import Markup

from promptaudit.report.blocks.blocks import MOST_ROWS, Table
from promptaudit.report.blocks.cells import Cell, Printed
from promptaudit.report.charts.layers import Spec
from promptaudit.report.charts.marks import FIGURE
from promptaudit.report.charts.plot import plotted
from promptaudit.system.display.figures import ABSENT, count, number, shown
from promptaudit.warehouse import Row

WIDTH = 340
HEIGHT = 190
_is_drawing: ContextVar[bool] = ContextVar("_is_drawing", default=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What a chart is drawn from: its label, its height, its layers, and the rows that the layers name."""

    label: str = ""
    height: int = HEIGHT
    layers: Sequence[Spec] = ()
    datasets: Mapping[str, Sequence[Row]] = field(default_factory=dict)

    @property
    def rows(self) -> Sequence[Row]:
        """The rows of the largest data set."""
        return max(self.datasets.values(), key=len, default=())


class Drawing(Markup):
    """An SVG with its source and a table of its figures (None if the section prints them anyway)."""

    source: Source
    table: Table | None

    def __new__(cls, svg: str = "", source: Source | None = None, table: Table | None = None) -> Self:
        """Joins an SVG, its source and its table."""
        drawing = super().__new__(cls, svg)
        drawing.source, drawing.table = source or Source(), table
        return drawing


@contextlib.contextmanager
def switched_off(switch: ContextVar[bool]) -> Iterator[None]:
    """Turns a switch off inside the `with` block."""
    before = switch.set(False)
    try:
        yield
    finally:
        switch.reset(before)


def undrawn() -> contextlib.AbstractContextManager[None]:
    """Leaves charts empty inside the `with` block, for callers that need only the tables."""
    return switched_off(_is_drawing)


def drawn(
    layers: Sequence[Spec],
    label: str,
    data: Mapping[str, Sequence[Row]],
    height: int = HEIGHT,
    *,
    fields: Mapping[str, str],
    has_table: bool = True,
    names_figures: bool = True,
) -> Drawing:
    """Draws a chart of layers, as an image named `label`, unique on its page.

    data: the rows that the layers name. fields: the fields shown in titles of marks and in the table, with their
    headings; the figure itself comes first after what it is about. A row of data may have `figure`, the name of the
    figure it draws, which titles give too unless `names_figures` is False. has_table: False if the section's own table
    holds every figure that is drawn.
    """
    if not _is_drawing.get():
        return Drawing()
    used = {each["data"]["name"] for each in layers}
    source = Source(
        label=label,
        height=height,
        layers=layers,
        datasets={name: [_settled(row) for row in rows] for name, rows in data.items() if name in used},
    )
    titles = {**fields, FIGURE: FIGURE} if names_figures else fields
    svg = plotted({"layer": layers, "width": WIDTH, "height": height}, source.datasets, label, titles)
    return Drawing(svg, source, _table(source.rows, fields) if has_table else None)


def _settled(row: Row) -> Row:
    # sums in a query differ in their last digits each time, so figures that no mart holds keep twelve
    if FIGURE in row:
        return row
    return {name: float(f"{value:.12g}") if isinstance(value, float) else value for name, value in row.items()}


def _table(rows: Sequence[Row], headings: Mapping[str, str]) -> Table | None:
    # in each line, the first number with a decimal point is the figure that `figure` names
    if not rows:
        return None
    lines = [_line(row, headings) for row in rows[:MOST_ROWS]]
    note = "" if len(rows) <= MOST_ROWS else f"The first {MOST_ROWS} of {len(rows):,} that are drawn."
    columns = tuple(heading[:1].upper() + heading[1:] for heading in headings.values())
    return Table(
        caption="Figures of this chart",
        columns=columns,
        rows=lines,
        n_heads=1,
        n_figures=max(0, len(columns) - 1),
        note=note,
    )


def _line(row: Row, headings: Mapping[str, str]) -> tuple[Printed, ...]:
    named = next((field for field in headings if isinstance(row.get(field), float)), None) if row.get(FIGURE) else None
    texts = {field: _text(row.get(field)) for field in headings}
    return tuple(Cell(text, row[FIGURE], row[field]) if field == named else text for field, text in texts.items())


def _text(value: object) -> str:
    if value is None:
        return ABSENT
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return count(value)
    return number(value) if isinstance(value, float) else shown(str(value))
