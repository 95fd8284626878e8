"""Writes marks as pieces of SVG. Marks that look alike and cannot hide each other share one path or one group."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from promptaudit.report.charts.layers import Spec, stacked
from promptaudit.report.charts.scales import Bands, Linear, Scale
from promptaudit.system.display.figures import LONG, cut
from promptaudit.warehouse import Row

Rows = Sequence[Row]

MIDDLE = 4  # from the middle of a line of text to its foot
OPAQUE = 1.0
FIGURE = "figure"  # of a row of data: the name of the figure that it draws
LINES, DOTS, STROKES = ("area", "line"), ("circle", "point"), ("rule", "line", "tick")
UNBROKEN = [1, 0]
TITLED = ("rect", "bar", "circle", "point", "tick")  # marks that stand for one row each
Piece = tuple[str, str, str]  # style, path, title


@dataclass(frozen=True, slots=True)
class Frame:
    """Where a chart's marks are drawn: both scales, left, top, right and bottom, and the scales of further channels.

    fields: the fields in the titles of marks, with their headings; without any, marks have no titles.
    """

    x: Scale
    y: Scale
    box: tuple[float, float, float, float]
    others: Mapping[str, Spec]
    fields: Mapping[str, str]

    def at(self, side: str, layer: Spec, row: Row) -> float:
        """Computes a row's position in one direction, in the middle of its band if the scale has bands."""
        scale = self.x if side in {"x", "x2"} else self.y
        place = scale(row[layer["encoding"][side]["field"]])
        return place + self.beside(layer, row)[0] if side == "y" else place

    def beside(self, layer: Spec, row: Row) -> tuple[float, float]:
        """Computes how far a row's series lies from the middle of its name's band, and how much room it has."""
        use = layer["encoding"].get("yOffset")
        if not isinstance(self.y, Bands):
            return 0.0, 0.0
        if use is None:
            return 0.0, self.y.width
        series = self.others["yOffset"]["domain"]
        room = self.y.width / len(series)
        return room * (series.index(row[use["field"]]) - (len(series) - 1) / 2), room

    def title(self, layer: Spec, row: Row) -> str:
        """Writes what a pointer on a row's mark shows, a line per field; empty for marks that stand for many rows."""
        mark = layer["mark"]
        if not self.fields or not (mark["type"] in TITLED or mark.get("is_titled")):
            return ""
        values = {heading: row.get(field) for field, heading in self.fields.items()}
        lines = (f"{heading}: {cut(str(value), LONG)}" for heading, value in values.items() if value is not None)
        return f"<title>{escape(chr(10).join(lines), quote=False)}</title>"

    def channel(self, name: str, layer: Spec, row: Row) -> Any:
        """Looks up a row's value in a channel: its colour, shape, dash, size or opacity."""
        use = layer["encoding"].get(name)
        if use is None:
            return layer["mark"].get(name)
        scale = self.others[name]
        value = row[use["field"]]
        if use["type"] != "quantitative":
            return scale["range"][scale["domain"].index(value)]
        (low, high), (least, most) = scale["domain"], scale["range"]
        root: Callable[[float], float] = math.sqrt if scale.get("type") == "sqrt" else float
        return Linear(low=root(low), high=root(high), start=least, end=most, is_clamped=True)(root(value))


def px(place: float) -> str:
    """Writes pixels to a tenth."""
    return f"{place:.1f}".removesuffix(".0").replace("-0.", "-.") if place else "0"


def _styled(paints: Mapping[str, str | None], **attributes: Any) -> str:
    names = " ".join(f"{paint}-{colour[len('var(--') : -1]}" for paint, colour in paints.items() if colour)
    style = f' class="{names}"' if names else ""
    if not paints.get("fill"):
        style += ' fill="none"'
    for name, value in attributes.items():
        if value not in (None, "", OPAQUE):
            style += f' {name.replace("_", "-")}="{value}"'
    return style


def _style(layer: Spec, row: Row, frame: Frame) -> str:
    mark, colour = layer["mark"], frame.channel("color", layer, row)
    dashes = frame.channel("strokeDash", layer, row) or ()
    opacity = None if mark["type"] in DOTS else frame.channel("opacity", layer, row)
    return _styled(
        {"stroke": colour} if mark["type"] in STROKES else {"fill": colour, "stroke": mark.get("stroke")},
        stroke_width=mark.get("thickness", mark.get("strokeWidth")),
        stroke_dasharray="" if list(dashes) == UNBROKEN else " ".join(map(str, dashes)),
        opacity=None if opacity is None else float(f"{opacity:.3g}"),
    )


def _paths(pieces: Iterable[Piece]) -> str:
    groups: dict[str, list[tuple[str, str]]] = {}
    for style, path, title in pieces:
        groups.setdefault(style, []).append((path, title))
    return "".join(_path(style, own) for style, own in groups.items())


def _path(style: str, own: Sequence[tuple[str, str]]) -> str:
    if not any(title for _, title in own):
        together = "".join(path for path, _ in own)
        return f'<path{style} d="{together}"/>'
    apart = "".join(f'<path d="{path}">{title}</path>' for path, title in own)
    return f"<g{style}>{apart}</g>"


def _box(left: float, top: float, right: float, bottom: float) -> str:
    return f"M{px(left)} {px(top)}H{px(right)}V{px(bottom)}H{px(left)}z"


def _clipped(layer: Spec, rows: Rows, frame: Frame, inner: str) -> str:
    # only if the mark asks for it and a row reaches beyond the frame
    left, top, right, bottom = frame.box
    if not layer["mark"].get("clip") or not isinstance(frame.y, Linear):
        return inner
    low, high = sorted((frame.y.low, frame.y.high))
    fields = [layer["encoding"][side]["field"] for side in ("y", "y2") if side in layer["encoding"]]
    if all(low <= row[field] <= high for row in rows for field in fields if row.get(field) is not None):
        return inner
    place = " ".join(px(value) for value in (left, top, right - left, bottom - top))
    x, y, width, height = place.split(" ")
    return f'<svg class="clip" x="{x}" y="{y}" width="{width}" height="{height}" viewBox="{place}">{inner}</svg>'


# the path of one row's mark


def _bar(layer: Spec, row: Row, frame: Frame) -> str:
    encoding = layer["encoding"]
    left = frame.at("x", layer, row) if "x2" in encoding else frame.x(0)
    right = frame.at("x2" if "x2" in encoding else "x", layer, row)
    if "y2" in encoding:
        top, bottom = sorted((frame.at("y", layer, row), frame.at("y2", layer, row)))
    else:
        _, room = frame.beside(layer, row)
        middle, half = frame.at("y", layer, row), room * layer["mark"]["height"]["band"] / 2
        top, bottom = middle - half, middle + half
    return _box(left, top, right, bottom)


def _rule(layer: Spec, row: Row, frame: Frame) -> str:
    encoding, (_, top, _, bottom) = layer["encoding"], frame.box
    x = px(frame.at("x", layer, row))
    if "x2" in encoding:
        return f"M{x} {px(frame.at('y', layer, row))}H{px(frame.at('x2', layer, row))}"
    if "y2" in encoding:
        top, bottom = frame.at("y", layer, row), frame.at("y2", layer, row)
    return f"M{x} {px(top)}V{px(bottom)}"


def _tick(layer: Spec, row: Row, frame: Frame) -> str:
    x, y, half = frame.at("x", layer, row), frame.at("y", layer, row), layer["mark"]["bandSize"] / 2
    return f"M{px(x)} {px(y - half)}V{px(y + half)}"


def _dot(layer: Spec, row: Row, frame: Frame) -> str:
    shape = "circle" if layer["mark"]["type"] == "circle" else frame.channel("shape", layer, row) or "circle"
    return symbol(shape, frame.at("x", layer, row), frame.at("y", layer, row), frame.channel("size", layer, row))


def symbol(shape: str, x: float, y: float, size: float) -> str:
    """Writes the path of a shape around a position, with its area in square pixels, as Vega draws it."""
    half = math.sqrt(size) / 2
    if shape == "circle":
        r = math.sqrt(size / math.pi)
        return f"M{px(x - r)} {px(y)}a{px(r)} {px(r)} 0 1 1 {px(2 * r)} 0a{px(r)} {px(r)} 0 1 1-{px(2 * r)} 0z"
    if shape == "square":
        return _box(x - half, y - half, x + half, y + half)
    if shape == "cross":
        s = half / 2.5
        steps = (half - s, -s), (s, -half)
        (a, _), _ = steps
        return (
            f"M{px(x - half)} {px(y - s)}h{px(a)}v-{px(a)}h{px(2 * s)}v{px(a)}h{px(a)}v{px(2 * s)}"
            f"h-{px(a)}v{px(a)}h-{px(2 * s)}v-{px(a)}h-{px(a)}z"
        )
    if shape == "triangle-up":
        height = half * math.sqrt(3) / 2
        return f"M{px(x)} {px(y - height)}L{px(x - half)} {px(y + height)}H{px(x + half)}z"
    return f"M{px(x)} {px(y - half)}L{px(x + half)} {px(y)}L{px(x)} {px(y + half)}L{px(x - half)} {px(y)}z"


# the pieces of a layer


def _stacks(layer: Spec, rows: Rows, frame: Frame) -> Iterator[Piece]:
    width = frame.x.width if isinstance(frame.x, Bands) else 0.0
    for row, start, end in stacked(layer, rows):
        middle, half = frame.at("x", layer, row), width * layer["mark"]["width"]["band"] / 2
        box = _box(middle - half, frame.y(end), middle + half, frame.y(start))
        yield _style(layer, row, frame), box, frame.title(layer, row)


def _series(layer: Spec, rows: Rows) -> Iterable[list[Row]]:
    encoding = layer["encoding"]
    parting = [encoding[name]["field"] for name in ("color", "detail", "strokeDash") if name in encoding]
    lines: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        lines.setdefault(tuple(row[field] for field in parting), []).append(row)
    return lines.values()


def _area(layer: Spec, own: list[Row], frame: Frame) -> str:
    points = sorted(tuple(frame.at(side, layer, row) for side in ("x", "y", "y2")) for row in own)
    there = "L".join(f"{px(x)} {px(low)}" for x, low, _ in points)
    back = "L".join(f"{px(x)} {px(high)}" for x, _, high in reversed(points))
    return f'<path{_style(layer, own[0], frame)} d="M{there}L{back}z"/>'


def _line(layer: Spec, own: list[Row], frame: Frame) -> str:
    points = sorted(
        ((frame.at("x", layer, row), frame.at("y", layer, row), frame.title(layer, row)) for row in own),
        key=lambda point: point[:2],
    )
    path = "L".join(f"{px(x)} {px(y)}" for x, y, _ in points)
    line, dot = f'<path{_style(layer, own[0], frame)} d="M{path}"/>', layer["mark"].get("point")
    if not dot or not (dot["is_seen"] or frame.fields):
        return line
    style = _styled({"fill": frame.channel("color", layer, own[0])}, opacity=None if dot["is_seen"] else 0)
    shape = "circle" if dot["is_seen"] else "square"  # which takes less room
    return line + _paths((style, symbol(shape, x, y, dot["size"]), title) for x, y, title in points)


def _text(layer: Spec, row: Row, frame: Frame) -> str:
    x, y = frame.at("x", layer, row) + layer["mark"].get("dx", 0), frame.at("y", layer, row) + MIDDLE
    text = escape(str(row[layer["encoding"]["text"]["field"]]), quote=False)
    return f'<text x="{px(x)}" y="{px(y)}">{text}</text>'


PATHS: dict[str, Callable[[Spec, Row, Frame], str]] = {
    "rect": _bar,
    "bar": _bar,
    "rule": _rule,
    "circle": _dot,
    "point": _dot,
    "tick": _tick,
}


def painted(layer: Spec, rows: Rows, frame: Frame) -> str:
    """Draws the marks of a layer."""
    kind, opacity = layer["mark"]["type"], layer["mark"].get("opacity", OPAQUE)
    if kind == "text":
        return "".join(_text(layer, row, frame) for row in rows)
    if kind in LINES:
        draw = _area if kind == "area" else _line
        return _clipped(layer, rows, frame, "".join(draw(layer, own, frame) for own in _series(layer, rows)))
    pieces = list(_stacks(layer, rows, frame)) or [
        (_style(layer, row, frame), PATHS[kind](layer, row, frame), frame.title(layer, row)) for row in rows
    ]
    if kind in DOTS and opacity != OPAQUE:
        # where they lie on each other they are darker: each is a mark of its own
        return "".join(f'<path{style} opacity="{opacity}" d="{piece}">{title}</path>' for style, piece, title in pieces)
    return _clipped(layer, rows, frame, _paths(pieces))
