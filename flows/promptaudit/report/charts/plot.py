"""Draws a chart of layers (`layers.py`) as inline SVG, without a library or a script. Its colours are CSS classes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any

from markupsafe import Markup

from promptaudit.report.charts.layers import Spec, passes, stacked
from promptaudit.report.charts.marks import Frame, painted, px
from promptaudit.report.charts.scales import FONT_SIZE, Bands, Linear, Scale, fitted, niced, ticks, width_of, written
from promptaudit.warehouse import Row

Rows = Sequence[Row]

PADDING = 6
TICK, LABEL_PADDING, TITLE_PADDING, N_TICKS = 4, 4, 6, 5
NAME_LIMIT = 180  # pixels of a label
BARS = ("bar", "rect")
ROOM_BETWEEN_LABELS = 3
OFFSETS = 0.2  # room between and around names that have several series


def plotted(spec: Spec, data: Mapping[str, Rows], label: str, fields: Mapping[str, str]) -> Markup:
    """Draws the chart as one image named `label`.

    It holds only numbers and escaped text: nothing can run, load or link.

    fields: the fields in the title of a mark, with their headings; without any, marks have no titles.
    """
    width, height = spec["width"], spec["height"]
    layers = [(layer, [row for row in data[layer["data"]["name"]] if _is_in(layer, row)]) for layer in spec["layer"]]
    x, y = _Axis("x", layers), _Axis("y", layers)
    below = (TICK + x.padding + FONT_SIZE + (TITLE_PADDING + FONT_SIZE if x.title else 0)) if x.has_labels else 0
    bottom = height - PADDING - below
    top = PADDING + (FONT_SIZE / 2 if y.has_labels else 0)
    left: float = PADDING
    if y.has_labels:
        y.laid(bottom, top)
        longest = max((width_of(text) for _, text in y.labels()), default=0)
        left += (FONT_SIZE + TITLE_PADDING if y.title else 0) + longest + y.padding + y.tick
    y.laid(bottom, top)
    right = width - PADDING
    for _ in range(2):  # the last label may reach over the end
        x.laid(left, right)
        over = max((place + width_of(text) / 2 for place, text in x.labels()), default=0) - (width - PADDING)
        right -= max(0, over)
    frame = Frame(x.laid(left, right), y.laid(bottom, top), (left, top, right, bottom), _others(layers), fields)
    inner = "".join((*_ruled(x, y, frame), *(painted(layer, rows, frame) for layer, rows in layers)))
    return Markup(  # noqa: S704 - numbers, names of classes, and escaped text
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(label)}" '
        f'width="{width}" height="{height}" viewBox="0 0 {width} {height}">{inner}</svg>'
    )


def _is_in(layer: Spec, row: Row) -> bool:
    # a row is drawn if it passes the layer's filters and, for bars, has the figures that place it
    uses = (layer["encoding"].get(side, {}) for side in ("x", "x2", "y", "y2"))
    places = [use["field"] for use in uses if "field" in use] if layer["mark"]["type"] in BARS else []
    return all(passes(row, each["filter"]) for each in layer.get("transform", ())) and all(
        row.get(field) is not None for field in places
    )


Layers = Sequence[tuple[Spec, Rows]]


class _Axis:
    # joins what the layers of a chart set for one direction

    def __init__(self, side: str, layers: Layers) -> None:
        self.side = side
        self.uses = [(layer, rows, layer["encoding"][side]) for layer, rows in layers if side in layer["encoding"]]
        own = [use for _, _, use in self.uses]
        self.title: str = next((use["title"] for use in own if use.get("title")), "")
        self.axis: Spec = next((use["axis"] or {} for use in own if "axis" in use), {})
        self.has_labels = any(use.get("axis", {}) is not None for use in own)
        self.padding: float = self.axis.get("labelPadding", LABEL_PADDING)
        self.is_number = bool(own) and own[0]["type"] == "quantitative"
        self.tick = TICK if self.axis.get("ticks", True) else 0
        self.has_grid = side == "y" and self.is_number and self.axis.get("grid", True) and self.has_labels
        self.scale_spec: Spec = next((use["scale"] for use in own if "scale" in use), {})
        self.is_offset = any(f"{side}Offset" in layer["encoding"] for layer, _, _ in self.uses)
        self.domain = self._numbers() if self.is_number else self._names()
        self.scale: Scale = Linear(low=0, high=1, start=0, end=1)

    def _numbers(self) -> list[float]:
        if "domain" in self.scale_spec:
            return [float(end) for end in self.scale_spec["domain"]]
        values = [end for layer, rows, _ in self.uses for _, _, end in stacked(layer, rows) if self.side == "y"]
        for layer, rows, _ in self.uses:
            fields = (layer["encoding"].get(side, {}).get("field") for side in (self.side, f"{self.side}2"))
            values += [row[field] for field in fields for row in rows if row.get(field) is not None]
        return list(niced(min([0, *values]), max([0, *values]) or 1))

    def _names(self) -> list[Any]:
        if "domain" in self.scale_spec:
            return list(self.scale_spec["domain"])
        order = next((use["sort"] for _, _, use in self.uses if "sort" in use), None)
        known = dict.fromkeys(row[use["field"]] for _, rows, use in self.uses for row in rows)
        return [name for name in order if name in known] if order is not None else sorted(known)

    def laid(self, start: float, end: float) -> Scale:
        if self.is_number:
            low, high = self.domain
            is_clamped = self.scale_spec.get("clamp", False)
            self.scale = Linear(low=low, high=high, start=start, end=end, is_clamped=is_clamped)
            return self.scale
        between, around = 1.0, 0.5
        if self.scale_spec.get("type") == "point":
            around = self.scale_spec.get("padding", 0)
        elif self.is_offset:
            between, around = OFFSETS, OFFSETS
        elif any(layer["mark"]["type"] in BARS for layer, _, _ in self.uses):
            between, around = 0.1, 0.05
        low, high = sorted((start, end))  # names go down
        self.scale = Bands(names=self.domain, start=low, end=high, between=between, around=around)
        return self.scale

    def marked(self) -> list[tuple[float, str]]:
        if isinstance(self.scale, Bands):
            chosen = self.axis.get("values", self.domain)
            limit = self.axis.get("labelLimit", NAME_LIMIT)
            return [(self.scale(name), fitted(str(name), limit)) for name in chosen if name in self.domain]
        n, form = self.axis.get("tickCount", N_TICKS), self.axis.get("format")
        values, step = ticks(self.domain[0], self.domain[1], n, self.axis.get("tickMinStep"))
        low, high = sorted(self.domain)
        chosen = [value for value in self.axis.get("values", values) if low <= value <= high]
        most = max(map(abs, self.domain))
        return [(self.scale(value), written(value, form, step, most)) for value in chosen]

    def labels(self) -> list[tuple[float, str]]:
        # every second label is dropped as long as two would touch
        if not self.has_labels:
            return []
        labels = self.marked()
        while len(labels) > 1 and self._touch(labels):
            labels = labels[::2]
        return labels

    def _touch(self, labels: Sequence[tuple[float, str]]) -> bool:
        if not self.is_number and self.side == "y":
            return False
        for (one, first), (other, second) in itertools.pairwise(labels):
            room = FONT_SIZE if self.side == "y" else (width_of(first) + width_of(second)) / 2 + ROOM_BETWEEN_LABELS
            if abs(other - one) < room:
                return True
        return False


def _others(layers: Layers) -> dict[str, Spec]:
    # the first layer that sets a scale for a channel decides
    scales: dict[str, Spec] = {}
    for layer, _ in layers:
        for channel, use in layer["encoding"].items():
            if channel not in {"x", "y"} and "scale" in use:
                scales.setdefault(channel, use["scale"])
    return scales


def _ruled(x: _Axis, y: _Axis, frame: Frame) -> Iterator[str]:
    left, top, right, bottom = frame.box
    lines, texts = "", ""
    if y.has_labels:
        places = [place for place, _ in y.marked()]
        across = "".join(f"M{px(left)} {px(place)}H{px(right)}" for place in places if y.has_grid)
        lines += f"{across}M{px(left)} {px(top)}V{px(bottom)}"
        lines += "".join(f"M{px(left)} {px(place)}h-{TICK}" for place in places if y.tick)
        at = left - y.tick - y.padding
        texts += _labelled("end", ((at, place + 4, text) for place, text in y.labels()))
        if y.title:
            place = f"translate({PADDING + FONT_SIZE - 2} {px((top + bottom) / 2)})rotate(-90)"
            texts += f'<text text-anchor="middle" transform="{place}">{escape(y.title, quote=False)}</text>'
    if x.has_labels:
        lines += f"M{px(left)} {px(bottom)}H{px(right)}"
        lines += "".join(f"M{px(place)} {px(bottom)}v{TICK}" for place, _ in x.marked())
        at = bottom + TICK + x.padding + FONT_SIZE - 2
        title = ((left + right) / 2, at + FONT_SIZE + TITLE_PADDING - 1, x.title)
        labels = [(place, at, text) for place, text in x.labels()]
        texts += _labelled("middle", [*labels, title] if x.title else labels)
    if lines:
        yield f'<path class="stroke-line" fill="none" d="{lines}"/>'
    yield texts


def _labelled(anchor: str, texts: Iterable[tuple[float, float, str]]) -> str:
    inner = "".join(f'<text x="{px(x)}" y="{px(y)}">{escape(text, quote=False)}</text>' for x, y, text in texts)
    return f'<g text-anchor="{anchor}">{inner}</g>'
