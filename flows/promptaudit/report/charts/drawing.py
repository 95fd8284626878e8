"""Draws a chart as inline SVG in the page's colours, and keeps its layers and rows for files."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field

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

    @classmethod
    def of(cls, svg: Markup, source: Source, table: Table | None) -> Drawing:
        """Joins an SVG, its source and its table."""
        drawing = cls(svg)
        drawing.source, drawing.table = source, table
        return drawing


@contextlib.contextmanager
def undrawn() -> Iterator[None]:
    """Leaves charts empty inside the `with` block, for callers that need only the tables."""
    before = _is_drawing.set(False)
    try:
        yield
    finally:
        _is_drawing.reset(before)


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
        return Drawing.of(Markup(""), Source(), None)
    used = {each["data"]["name"] for each in layers}
    source = Source(
        label=label,
        height=height,
        layers=layers,
        datasets={name: [_settled(row) for row in rows] for name, rows in data.items() if name in used},
    )
    titles = {**fields, FIGURE: FIGURE} if names_figures else fields
    svg = plotted({"layer": layers, "width": WIDTH, "height": height}, source.datasets, label, titles)
    return Drawing.of(svg, source, _table(source.rows, fields) if has_table else None)


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
    name: str | None = row.get(FIGURE)
    cells: list[Printed] = []
    for name_of_field in headings:
        value = row.get(name_of_field)
        text = _text(value)
        if name and isinstance(value, float):
            cells.append(Cell(text, name, value))
            name = None
        else:
            cells.append(text)
    return tuple(cells)


def _text(value: object) -> str:
    if value is None:
        return ABSENT
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return count(value)
    return number(value) if isinstance(value, float) else shown(str(value))
