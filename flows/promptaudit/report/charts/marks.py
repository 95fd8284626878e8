"""Writes marks as pieces of SVG. Marks that look alike and cannot hide each other share one path or one group."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
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


def _rects(layer: Spec, rows: Rows, frame: Frame) -> str:
    mark, encoding = layer["mark"], layer["encoding"]
    pieces = []
    for row, start, end in stacked(layer, rows):
        half = frame.x.width * mark["width"]["band"] / 2 if isinstance(frame.x, Bands) else 0.0
        middle = frame.at("x", layer, row)
        box = _box(middle - half, frame.y(end), middle + half, frame.y(start))
        pieces.append((_filled(layer, row, frame), box, frame.title(layer, row)))
    if pieces:
        return _paths(pieces)
    for row in rows:
        left = frame.at("x", layer, row) if "x2" in encoding else frame.x(0)
        right = frame.at("x2" if "x2" in encoding else "x", layer, row)
        if "y2" in encoding:
            top, bottom = sorted((frame.at("y", layer, row), frame.at("y2", layer, row)))
        else:
            _, room = frame.beside(layer, row)
            middle, half = frame.at("y", layer, row), room * mark["height"]["band"] / 2
            top, bottom = middle - half, middle + half
        pieces.append((_filled(layer, row, frame), _box(left, top, right, bottom), frame.title(layer, row)))
    return _paths(pieces)


def _filled(layer: Spec, row: Row, frame: Frame) -> str:
    opacity = frame.channel("opacity", layer, row)
    return _styled(
        {"fill": frame.channel("color", layer, row)}, opacity=None if opacity is None else float(f"{opacity:.3g}")
    )


def _rules(layer: Spec, rows: Rows, frame: Frame) -> str:
    mark, encoding = layer["mark"], layer["encoding"]
    pieces = []
    _, top, _, bottom = frame.box
    for row in rows:
        x = frame.at("x", layer, row)
        if "x2" in encoding:
            piece = f"M{px(x)} {px(frame.at('y', layer, row))}H{px(frame.at('x2', layer, row))}"
        elif "y2" in encoding:
            piece = f"M{px(x)} {px(frame.at('y', layer, row))}V{px(frame.at('y2', layer, row))}"
        else:
            piece = f"M{px(x)} {px(top)}V{px(bottom)}"
        dash = " ".join(map(str, mark.get("strokeDash", ())))
        style = _styled(
            {"stroke": frame.channel("color", layer, row)},
            stroke_width=mark.get("strokeWidth"),
            stroke_dasharray=dash,
            opacity=mark.get("opacity"),
        )
        pieces.append((style, piece, frame.title(layer, row)))
    return _clipped(layer, rows, frame, _paths(pieces))


def _series(layer: Spec, rows: Rows) -> list[list[Row]]:
    encoding = layer["encoding"]
    parting = [encoding[name]["field"] for name in ("color", "detail", "strokeDash") if name in encoding]
    lines: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        lines.setdefault(tuple(row[field] for field in parting), []).append(row)
    return list(lines.values())


def _areas(layer: Spec, rows: Rows, frame: Frame) -> str:
    out = []
    for own in _series(layer, rows):
        points = sorted(
            (frame.at("x", layer, row), frame.at("y", layer, row), frame.at("y2", layer, row)) for row in own
        )
        there = "L".join(f"{px(x)} {px(low)}" for x, low, _ in points)
        back = "L".join(f"{px(x)} {px(high)}" for x, _, high in reversed(points))
        style = _styled({"fill": frame.channel("color", layer, own[0])}, opacity=layer["mark"].get("opacity"))
        out.append(f'<path{style} d="M{there}L{back}z"/>')
    return _clipped(layer, rows, frame, "".join(out))


def _lines(layer: Spec, rows: Rows, frame: Frame) -> str:
    out = []
    for own in _series(layer, rows):
        points = sorted(
            ((frame.at("x", layer, row), frame.at("y", layer, row), frame.title(layer, row)) for row in own),
            key=lambda point: point[:2],
        )
        dashes = frame.channel("strokeDash", layer, own[0]) or ()
        colour = frame.channel("color", layer, own[0])
        style = _styled(
            {"stroke": colour},
            stroke_width=layer["mark"].get("strokeWidth"),
            stroke_dasharray="" if list(dashes) == [1, 0] else " ".join(map(str, dashes)),
        )
        path = "L".join(f"{px(x)} {px(y)}" for x, y, _ in points)
        out.append(f'<path{style} d="M{path}"/>')
        dot = layer["mark"].get("point")
        if dot and (dot["is_seen"] or frame.fields):
            style = _styled({"fill": colour}, opacity=None if dot["is_seen"] else 0)
            shape = "circle" if dot["is_seen"] else "square"  # which takes less room
            out.append(_paths((style, symbol(shape, x, y, dot["size"]), title) for x, y, title in points))
    return _clipped(layer, rows, frame, "".join(out))


def _points(layer: Spec, rows: Rows, frame: Frame) -> str:
    mark = layer["mark"]
    pieces = []
    for row in rows:
        shape = "circle" if mark["type"] == "circle" else frame.channel("shape", layer, row) or "circle"
        piece = symbol(shape, frame.at("x", layer, row), frame.at("y", layer, row), frame.channel("size", layer, row))
        paints = {"fill": frame.channel("color", layer, row), "stroke": mark.get("stroke")}
        pieces.append((_styled(paints, stroke_width=mark.get("strokeWidth")), piece, frame.title(layer, row)))
    opacity = mark.get("opacity", OPAQUE)
    if opacity == OPAQUE:
        return _paths(pieces)
    # where they lie on each other they are darker: each is a mark of its own
    return "".join(f'<path{style} opacity="{opacity}" d="{piece}">{title}</path>' for style, piece, title in pieces)


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


def _ticks(layer: Spec, rows: Rows, frame: Frame) -> str:
    mark = layer["mark"]
    half = mark["bandSize"] / 2
    pieces = []
    for row in rows:
        x, y = frame.at("x", layer, row), frame.at("y", layer, row)
        style = _styled({"stroke": frame.channel("color", layer, row)}, stroke_width=mark["thickness"])
        pieces.append((style, f"M{px(x)} {px(y - half)}V{px(y + half)}", frame.title(layer, row)))
    return _paths(pieces)


def _texts(layer: Spec, rows: Rows, frame: Frame) -> str:
    field = layer["encoding"]["text"]["field"]
    return "".join(
        f'<text x="{px(frame.at("x", layer, row) + layer["mark"].get("dx", 0))}" '
        f'y="{px(frame.at("y", layer, row) + MIDDLE)}">{escape(str(row[field]), quote=False)}</text>'
        for row in rows
    )


PAINTERS: dict[str, Callable[[Spec, Rows, Frame], str]] = {
    "rect": _rects,
    "bar": _rects,
    "rule": _rules,
    "area": _areas,
    "line": _lines,
    "circle": _points,
    "point": _points,
    "tick": _ticks,
    "text": _texts,
}
