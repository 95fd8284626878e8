"""Draws a chart twice: as inline SVG, here and now, and as the spec that a browser may draw again, with its figures.

The SVG is made by vl-convert, without JavaScript on the page and without a network. Both are of the page's colours.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from flows.report.blocks import MOST_ROWS, Row, Table
from flows.report.cells import Cell, Printed
from flows.report.live import as_json
from flows.report.svg import COLOURS, clean
from flows.report.text import ABSENT, count, number, shown

if TYPE_CHECKING:
    import altair as alt

WIDTH = 340
HEIGHT = 190
PAINT = {name: colour for colour, name in COLOURS.items()}
FIGURE = "figure"  # of a row of data: the name of the figure that it draws
_AXIS = {
    "labelColor": PAINT["muted"], "titleColor": PAINT["muted"], "titleFontWeight": "normal", "labelFontSize": 11,
    "titleFontSize": 11, "gridColor": PAINT["line"], "domainColor": PAINT["line"], "tickColor": PAINT["line"],
    "tickSize": 4, "labelPadding": 4, "titlePadding": 6, "tickCount": 5, "labelFlush": False,
}  # fmt: skip
_DRAWN = {"view": {"stroke": None}, "axis": _AXIS, "axisX": {"grid": False}}
_is_drawing: ContextVar[bool] = ContextVar("_is_drawing", default=True)


def _themed(value: Any) -> Any:
    """The same in the colours of the page's theme, whichever it is."""
    if isinstance(value, str):
        return f"var(--{COLOURS[value]})" if value in COLOURS else value
    if isinstance(value, dict):
        return {key: _themed(each) for key, each in value.items()}
    return [_themed(each) for each in value] if isinstance(value, list) else value


# of all charts of a page: the colours of its theme, tooltips with the row of data behind a mark, none on lines and areas
CONFIG = {
    **_themed(_DRAWN), "aria": False, "background": "transparent", "mark": {"tooltip": {"content": "data"}},
    "line": {"tooltip": None}, "area": {"tooltip": None},
}  # fmt: skip


class Drawing(Markup):
    """An SVG, with the spec it is drawn from as JSON and a table of its figures (None where a section prints them anyway)."""

    spec: Markup
    table: Table | None

    @classmethod
    def of(cls, svg: Markup, spec: Markup, table: Table | None) -> Drawing:
        """The three as one."""
        drawing = cls(svg)
        drawing.spec, drawing.table = spec, table
        return drawing


@contextlib.contextmanager
def undrawn() -> Iterator[None]:
    """Within it charts are empty: for whoever wants the tables alone."""
    before = _is_drawing.set(False)
    try:
        yield
    finally:
        _is_drawing.reset(before)


def drawn(  # noqa: PLR0913 - what a chart has
    layers: Sequence[alt.Chart],
    label: str,
    data: Mapping[str, Sequence[Row]],
    height: int = HEIGHT,
    *,
    fields: Mapping[str, str] | None = None,
    has_table: bool = True,
) -> Drawing:
    """A chart of layers, as an image named `label`, unique on its page.

    data: what the layers name; inside them Altair would copy it with each step. fields: the fields
    of the data that tooltips and the table show, with their headings, the figure itself first behind what it is of;
    default: all. A row of data may have `figure`, the name of the figure it
    draws. has_table: False where the section's own table holds every figure that is drawn.
    """
    import altair as alt
    import vl_convert

    if not _is_drawing.get():
        return Drawing.of(Markup(""), Markup(""), None)
    chart = alt.layer(*layers).properties(
        width=WIDTH,
        height=height,
        autosize=alt.AutoSizeParams(type="fit", contains="padding"),
        padding=6,
        background="transparent",
    )
    spec = chart.to_dict(validate=False)  # a check against the schema takes as long as drawing
    spec["datasets"] = {name: [_settled(row) for row in rows] for name, rows in data.items()}
    spec["config"] = _DRAWN
    version = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    svg = clean(vl_convert.vegalite_to_svg(spec, vl_version=version, allowed_base_urls=[]), label)
    rows: list[Row] = max(spec["datasets"].values(), key=len, default=[])
    headings = dict(fields) if fields is not None else _headings(rows)
    alive = {key: value for key, value in spec.items() if key not in {"$schema", "config", "background"}}
    alive["datasets"] = {name: _columns(rows) for name, rows in spec["datasets"].items()}
    alive["layer"] = [*alive["layer"], *map(_pointed, filter(_is_line, alive["layer"]))]
    shown_fields = [*headings.items(), (FIGURE, "figure")]
    told = as_json({"spec": _themed(alive), "fields": shown_fields})
    return Drawing.of(svg, told, _table(rows, headings) if has_table else None)


def _settled(row: Row) -> Row:
    """A row with twelve digits of what is no mart's figure: sums in a query end in other digits each time."""
    if FIGURE in row:
        return row
    return {name: float(f"{value:.12g}") if isinstance(value, float) else value for name, value in row.items()}


def _columns(rows: Sequence[Row]) -> dict[str, list[Any]]:
    """Rows with their names told once: half as long."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return {"names": names, "rows": [[row.get(name) for name in names] for row in rows]}


def _is_line(layer: dict[str, Any]) -> bool:
    mark = layer.get("mark")
    return (mark.get("type") if isinstance(mark, dict) else mark) == "line"


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
    return Table("Figures of this chart", columns, lines, 1, max(0, len(columns) - 1), note=note)


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
