"""Draws a chart twice: as inline SVG, here and now, and as the spec that a browser may draw again, with its figures.

Both are made from the same layers and are of the page's colours.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

from markupsafe import Markup

from flows.display.figures import ABSENT, count, number, shown
from flows.report.blocks.blocks import MOST_ROWS, Table
from flows.report.blocks.cells import Cell, Printed
from flows.report.charts.layers import PAINT, Spec
from flows.report.charts.plot import PADDING, plotted
from flows.warehouse import Row

WIDTH = 340
HEIGHT = 190
FIGURE = "figure"  # of a row of data: the name of the figure that it draws
_AXIS = {
    "labelColor": PAINT["muted"], "titleColor": PAINT["muted"], "titleFontWeight": "normal", "labelFontSize": 11,
    "titleFontSize": 11, "gridColor": PAINT["line"], "domainColor": PAINT["line"], "tickColor": PAINT["line"],
    "tickSize": 4, "labelPadding": 4, "titlePadding": 6, "tickCount": 5, "labelFlush": False,
}  # fmt: skip
# what every chart of a page has: its width, the colours of the theme, tooltips with the row of data behind a mark, none on
# lines and areas
COMMON = {
    "width": WIDTH, "padding": PADDING, "autosize": {"type": "fit", "contains": "padding"},
    "config": {
        "view": {"stroke": None}, "axis": _AXIS, "axisX": {"grid": False}, "legend": {"disable": True},
        "aria": False, "background": "transparent", "mark": {"tooltip": {"content": "data"}},
        "line": {"tooltip": None}, "area": {"tooltip": None},
    },
}  # fmt: skip
_is_drawing: ContextVar[bool] = ContextVar("_is_drawing", default=True)


class Drawing(Markup):
    """An SVG, with what it is drawn from and a table of its figures (None where a section prints them anyway)."""

    spec: Spec
    table: Table | None

    @classmethod
    def of(cls, svg: Markup, spec: Spec, table: Table | None) -> Drawing:
        """Returns the three as one."""
        drawing = cls(svg)
        drawing.spec, drawing.table = spec, table
        return drawing


@contextlib.contextmanager
def undrawn() -> Iterator[None]:
    """Leaves charts empty within it: for whoever wants the tables alone."""
    before = _is_drawing.set(False)
    try:
        yield
    finally:
        _is_drawing.reset(before)


def drawn(  # noqa: PLR0913 - what a chart has
    layers: Sequence[Spec],
    label: str,
    data: Mapping[str, Sequence[Row]],
    height: int = HEIGHT,
    *,
    fields: Mapping[str, str] | None = None,
    has_table: bool = True,
) -> Drawing:
    """Draws a chart of layers, as an image named `label`, unique on its page.

    data: what the layers name. fields: the fields of the data that tooltips and the table show, with their headings, the
    figure itself first behind what it is of; default: all. A row of data may have `figure`, the name of the figure it
    draws. has_table: False where the section's own table holds every figure that is drawn.
    """
    if not _is_drawing.get():
        return Drawing.of(Markup(""), {}, None)
    used = {each["data"]["name"] for each in layers}
    datasets = {name: [_settled(row) for row in rows] for name, rows in data.items() if name in used}
    svg = plotted({"layer": layers, "width": WIDTH, "height": height}, datasets, label)
    rows: list[Row] = max(datasets.values(), key=len, default=[])
    headings = dict(fields) if fields is not None else _headings(rows)
    alive: Spec = {
        "height": height,
        "layer": [*layers, *map(_pointed, filter(_is_line, layers))],
        "datasets": {name: _columns(rows) for name, rows in datasets.items()},
    }
    page_spec = {"spec": alive, "fields": [*headings.items(), (FIGURE, "figure")]}
    return Drawing.of(svg, page_spec, _table(rows, headings) if has_table else None)


def _settled(row: Row) -> Row:
    """A row with twelve digits of what is no mart's figure: sums in a query end in other digits each time."""
    if FIGURE in row:
        return row
    return {name: float(f"{value:.12g}") if isinstance(value, float) else value for name, value in row.items()}


def _columns(rows: Sequence[Row]) -> dict[str, list[Any]]:
    """Rows with their names said once: half as long."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return {"names": names, "rows": [[row.get(name) for name in names] for row in rows]}


def _is_line(layer: dict[str, Any]) -> bool:
    return bool(layer["mark"]["type"] == "line")


def _pointed(layer: dict[str, Any]) -> dict[str, Any]:
    """Points over a line, unseen, so that each of its figures has a tooltip."""
    encoding = {name: channel for name, channel in layer["encoding"].items() if name not in {"strokeDash", "order"}}
    return {**layer, "mark": {"type": "point", "opacity": 0, "filled": True, "size": 90}, "encoding": encoding}


def _headings(rows: Sequence[Row]) -> dict[str, str]:
    names = dict.fromkeys(name for row in rows for name in row if name != FIGURE)
    return {name: name.replace("_", " ") for name in names}


def _table(rows: Sequence[Row], headings: Mapping[str, str]) -> Table | None:
    """The rows of data as they are drawn; the figure that a name stands for is the first number with a decimal point."""
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
    for field in headings:
        value = row.get(field)
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
