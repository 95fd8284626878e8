"""Draws small panels, with one function for each kind of chart, which builds its layers (`layers.py`).

Data arrive as data, never as expressions. Invisible characters in names are made visible (`figures.shown`) before they
become an axis label.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from promptaudit.report.charts.drawing import WIDTH, Drawing, drawn
from promptaudit.report.charts.layers import (
    PAINT,
    Spec,
    between,
    is_set,
    known,
    layer,
    names,
    number,
    of,
    places,
    threshold,
    to,
)
from promptaudit.report.charts.scales import niced
from promptaudit.system.display.figures import cut

ROW = 20
MOST_BARS = 20
STATUSES = {"unparsed": "first", "refused": "second", "empty": "third", "truncated": "fourth"}
Domain = tuple[float, float]
STABLE = 0.8  # the PSS from which a prompt is often called stable
MOST_DOTS = 12  # dots drawn on a line
UNSEEN = 90  # square pixels of a dot that is there for its title alone
DEEPEST = 0.3  # how far below a figure its interval is drawn
SERIES = ("first", "second", "third", "fourth")
DASHES = ([1, 0], [6, 3], [2, 2], [8, 2, 2, 2])
SHAPES = ["circle", "diamond", "square", "triangle-up"]
PSS_SERIES = {"labels_and_na": "first", "verbatim": "second"}
UNIT: Spec = {"domain": [0, 1], "nice": False}
COUNTS: Spec = {"tickMinStep": 1, "format": "~s"}

Rows = Sequence[dict[str, Any]]


def unit(field: str, title: str) -> Spec:
    """Makes a channel of numbers from 0 to 1."""
    return number(
        field, title=title, scale=UNIT, axis={"values": [0, 0.2, 0.4, 0.6, 0.8, 1], "tickCount": 6, "format": ".1f"}
    )


def histogram(bins: Rows, mean: float, label: str, most: float = 0.0) -> Markup:
    """Draws how many samples lie in each twentieth of [0, 1].

    `bins` has bin (from 0) and n.

    A dashed rule marks the mean. most: the largest n of the panels beside it, which share one axis.
    """
    most = max(most, *(row["n"] for row in bins))
    counted = {
        "x": unit("low", "sensitivity"),
        "x2": to("high"),
        "y": number("n", title="samples", axis=COUNTS, scale=from_zero(most)),
        "y2": to("zero"),
    }
    at = {"x": unit("at", "sensitivity")}
    layers = [
        layer("rows", "rect", counted, color=PAINT["first"]),
        layer("rule", "rule", at, color=PAINT["second"], strokeWidth=2, strokeDash=[4, 3]),
    ]
    data = [{"low": row["bin"] / 20, "high": (row["bin"] + 1) / 20, "n": row["n"], "zero": 0} for row in bins]
    fields = {"low": "from", "high": "to", "n": "samples"}
    return drawn(layers, label, {"rows": data, "rule": [{"at": mean}]}, fields=fields)


def bars(rows: Rows, label: str) -> Markup:
    """Draws a bar per name from 0 to 1, with its interval if it has one. Rows have name, value, low, high."""
    data = [{**row, "name": cut(row["name"], 24)} for row in rows]
    axis = {"labelLimit": 130, "ticks": False}
    name = {"y": names("name", sort=[row["name"] for row in data], title=None, axis=axis)}
    bar = {"x": unit("value", "consistency"), **name}
    span = {"x": unit("low", "consistency"), "x2": to("high"), **name}
    layers = [
        layer("rows", "bar", bar, color=PAINT["first"], opacity=0.85, height={"band": 0.62}),
        layer("rows", "rule", span, where=known("low", "high"), color=PAINT["ink"], strokeWidth=1.5),
    ]
    fields = {"name": "class", "value": "consistency", "low": "low", "high": "high"}
    return drawn(layers, label, {"rows": data}, max(70, ROW * len(data) + 46), fields=fields, has_table=False)


def lines(points: Rows, domain: tuple[float, float], title: str, label: str, *, has_table: bool = True) -> Markup:
    """Draws PSS against the number of annotators with its band.

    Rows have series (labels_and_na, verbatim), k, pss, low, high. has_table: see `drawing.drawn`.
    """
    series, last = list(PSS_SERIES), max(3, *(row["k"] for row in points))
    ticks, ends = _ticks(2, last), {"domain": [2, last], "nice": False}
    shared = {
        "x": number("k", title=title, scale=ends, axis={"values": ticks, "tickCount": len(ticks), "format": "d"}),
        "color": names("series", scale=of(series, [PAINT[PSS_SERIES[name]] for name in series])),
    }
    up = {"title": "PSS", "scale": between(domain)}
    band = {**shared, "y": number("low", **up), "y2": to("high")}
    line = {**shared, "y": number("pss", **up), "strokeDash": names("series", scale=of(series, [[1, 0], [5, 3]]))}
    is_seen = max(row["k"] for row in points) <= MOST_DOTS
    dots = {"size": 14 if is_seen else UNSEEN, "is_seen": is_seen}
    layers = [
        layer("rows", "area", band, where=known("low", "high"), opacity=0.16, clip=True),
        layer("rows", "line", line, where=known("pss"), strokeWidth=2, clip=True, is_titled=True, point=dots),
        *threshold(STABLE, domain, {"x": number("from", scale=ends), "x2": to("to"), "y": number("level", **up)}),
    ]
    fields = {"series": "answers", "k": "annotators", "pss": "PSS", "low": "low", "high": "high"}
    data = {"rows": points, "threshold": [{"from": 2, "to": last, "level": STABLE}]}
    return drawn(layers, label, data, fields=fields, has_table=has_table)


def stacks(rows: Rows, n_variants: int, label: str, most_rate: float) -> Markup:
    """Draws the rate of invalid answers of each variant in per cent, stacked by status.

    Rows have place (from 0), status, rate. most_rate: the largest rate of the panels beside it, which share one axis.
    """
    most = n_variants - 1
    encoding = {
        "x": places(
            "place",
            title="prompt variant",
            scale={"domain": list(range(max(most + 1, 8)))},
            axis={"values": _ticks(0, most), "tickCount": 8, "labelAngle": 0},
        ),
        "y": number("rate", title="invalid", axis={"format": "~%"}, scale=from_zero(most_rate)),
        "color": names("status", scale=of(STATUSES, [PAINT[paint] for paint in STATUSES.values()])),
    }
    chart = layer("rows", "bar", encoding, width={"band": 0.8 if most <= 60 else 1})  # noqa: PLR2004
    return drawn([chart], label, {"rows": rows}, fields={"place": "variant", "status": "became", "rate": "rate"})


def dots(rows: Rows, domain: tuple[float, float], label: str) -> Markup:
    """Draws accuracy of each variant, least first, originals marked.

    Rows have place (from 1), accuracy, is_original.
    """
    ends = {"domain": [0.5, max(row["place"] for row in rows) + 0.5], "nice": False}
    axis = {"tickMinStep": 1, "format": "d"}
    at = {
        "x": number("place", title="prompt variants, least accurate first", scale=ends, axis=axis),
        "y": number("accuracy", title="accuracy", scale=between(domain)),
    }
    original, others = is_set("is_original"), is_set("is_original", to=False)
    layers = [
        layer("rows", "circle", at, where=others, color=PAINT["first"], size=30, opacity=0.85),
        layer("rows", "point", at, where=original, color=PAINT["second"], size=70, opacity=1, shape="diamond"),
    ]
    fields = {"place": "place", "is_original": "original", "accuracy": "accuracy"}
    return drawn(layers, label, {"rows": rows}, fields=fields)


def ranges(
    rows: Rows,
    series: Sequence[str],
    domain: tuple[float, float],
    title: str,
    label: str,
    of_what: str = "scored by",
    level: float | None = None,
    names_what: str = "model",
) -> Markup:
    """Draws a point with its range for each name and series, side by side.

    Rows have name, series, value, low, high. of_what, names_what: what the series and the names are, in titles of
    marks. level: where a dashed rule stands.
    """
    short = distinct([row["name"] for row in rows])
    data = [
        {**row, "name": short[row["name"]], "series": series.index(row["series"]), "method": cut(row["series"], 60)}
        for row in rows
        if row["value"] is not None
    ]
    shared = beside(short, "series", len(series), {"labelLimit": 130, "ticks": False, "labelPadding": 9})
    along = {"title": title, "scale": between(domain, clamp=True)}
    span = {**shared, "x": number("low", **along, axis={"tickCount": 4}), "x2": to("high")}
    point = {
        **shared,
        "x": number("value", **along, axis={"tickCount": 4}),
        "shape": names("series", scale=of(range(len(series)), SHAPES[: len(series)])),
    }
    layers = [
        layer("rows", "rule", span, where=known("low", "high"), strokeWidth=2, opacity=0.6),
        layer("rows", "point", point, size=48, opacity=1),
        *threshold(level, domain, {"x": number("level", **along)}),
    ]
    fields = {"name": names_what, "method": of_what, "value": title, "low": "low", "high": "high"}
    height = height_of(len(short), len(series))
    return drawn(layers, label, {"rows": data, "threshold": [{"level": level}]}, height, fields=fields, has_table=False)


def nights(
    points: Rows,
    all_nights: Sequence[str],
    domain: tuple[float, float],
    changed: Sequence[str],
    label: str,
    noted: Sequence[str] = (),
) -> Markup:
    """Draws a line with its bands for each series over nights, broken between nights that do not compare.

    Diamonds and rules mark nights. `all_nights` are in order. Rows have night, series (from 0, at most four), segment
    (a number within the series; points of one segment are joined), value, low, high, is_alone (in its segment),
    is_marked, and the normal band from normal_low to normal_high. `changed` are the nights with a dashed rule, `noted`
    the nights with a solid one.
    """
    own = range(len(SERIES))
    room = 44 if len(all_nights[0]) <= 5 else 100  # noqa: PLR2004 - pixels of `11-04`, and of one with its hour
    ticks = list(all_nights[:: max(1, math.ceil(len(all_nights) / (WIDTH // room)))])
    ends = {"domain": list(all_nights), "type": "point", "padding": 0.5}
    x = places("night", title=None, scale=ends, axis={"values": ticks, "labelAngle": 0})
    shared = {"x": x, "color": names("series", scale=of(own, paints(len(SERIES)))), "detail": names("segment")}
    up = {"title": None, "scale": between(domain)}
    at = {**shared, "y": number("value", **up)}
    line = {**at, "strokeDash": names("series", scale=of(own, DASHES))}
    span = {**shared, "y": number("low", **up), "y2": to("high")}
    normal = {**shared, "y": number("normal_low", **up), "y2": to("normal_high")}
    is_alone = {"and": [is_set("is_alone"), *known("low", "high")["and"]]}
    titles: Spec = {"is_titled": True, "point": {"size": UNSEEN, "is_seen": False}}
    diamond: Spec = {"shape": "diamond", "size": 110, "opacity": 1, "stroke": PAINT["ink"], "strokeWidth": 1.5}
    layers = [
        layer("changed", "rule", {"x": x}, color=PAINT["muted"], strokeWidth=1.5, strokeDash=[4, 3]),
        layer("noted", "rule", {"x": x}, color=PAINT["muted"], strokeWidth=1),
        layer("points", "area", span, where=known("low", "high"), opacity=0.13, clip=True),
        layer("points", "area", normal, where=known("normal_low", "normal_high"), opacity=0.3, clip=True),
        layer("points", "rule", span, where=is_alone, strokeWidth=1.5, opacity=0.5, clip=True),
        layer("points", "line", line, strokeWidth=2, clip=True, **titles),
        layer("points", "circle", at, where=is_set("is_alone"), size=26, opacity=1),
        layer("points", "point", at, where=is_set("is_marked"), **diamond),
    ]
    ruled = {"changed": changed, "noted": noted}
    data = {"points": points, **{name: [{"night": night} for night in own] for name, own in ruled.items()}}
    fields = {"night": "night", "value": "value"}
    return drawn(layers, label, data, fields=fields, has_table=False, names_figures=False)


def from_zero(most: float) -> Spec:
    """Makes a scale from 0 to a round number that is at least the largest figure."""
    return between(niced(0, most or 1))


def paints(n: int) -> list[str]:
    """Lists the colours of the first n series, at most four."""
    return [PAINT[name] for name in SERIES[:n]]


def beside(short: dict[str, str], field: str, n_series: int, axis: Spec) -> Spec:
    """Makes the channels for names below each other with their series side by side.

    `field` has the place of a series.
    """
    own = range(n_series)
    return {
        "y": names("name", sort=list(short.values()), title=None, axis=axis),
        "yOffset": names(field, scale={"domain": list(own)}),
        "color": names(field, scale=of(own, paints(n_series))),
    }


def height_of(n_names: int, n_series: int) -> int:
    """Computes the height in pixels of a chart of names with their series side by side."""
    return max(90, (8 + 13 * n_series) * n_names + 46)


def distinct(given: Sequence[str]) -> dict[str, str]:
    """Maps names to what an axis shows: cut, and numbered if two become the same."""
    shown: dict[str, str] = {}
    for name in dict.fromkeys(given):
        short, place = cut(name, 24), 1
        while short in shown.values():
            place += 1
            short = f"{cut(name, 20)} ({place})"
        shown[name] = short
    return shown


def domain_of(values: Sequence[float | None], least: float = -1.0) -> tuple[float, float]:
    """Computes an axis that ends at 1 and starts at the tenth below the smallest value, at .9 at most."""
    known = [value for value in values if value is not None]
    return max(least, min(0.9, math.floor(min(known, default=0.0) * 10) / 10)), 1.0


def near_domain(figures: Sequence[tuple[float, float | None]]) -> tuple[float, float]:
    """Computes an axis for figures and the lower ends of their intervals, at most .3 below each figure.

    The interval of a few samples may reach down to -1. Its end is cut off, so that the other figures do not look flat.
    """
    return domain_of([value if low is None else max(low, value - DEEPEST) for value, low in figures])


def _ticks(start: int, end: int) -> list[int]:
    step = max(1, math.ceil((end - start + 1) / 7))
    return list(range(start, end + 1, step))


MOST_TICKS = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Axes:
    """The axes of a curve: titles, and the ends of the figures (None: from 0).

    at, value, of, n: what a place, a figure, a series and a count are called in titles of marks; by default as the axes
    are, and after the strategies.
    """

    x: str
    y: str
    domain: Domain | None = None
    format: str = ".3~f"
    level: float | None = None  # where a dashed rule stands
    most: float = 0.0  # the largest figure of the panels beside it, where there are no ends
    at: str = ""
    value: str = ""
    of: str = "strategy"
    n: str = "samples"

    @property
    def fields(self) -> Mapping[str, str]:
        """What titles of marks show, with headings."""
        value = {"value": self.value or self.y, "low": "low", "high": "high", "n": self.n}
        return {"series": self.of, "at": self.at or self.x, **value}


def curves(points: Rows, series: Sequence[str], axes: Axes, label: str) -> Drawing:
    """Draws a line per series with dots and intervals, and a tick at each place.

    Rows have at, series, value, and low and high of their intervals; some have n.

    `series` are at most four.
    """
    own = range(len(series))
    at = sorted({point["at"] for point in points})
    room = (at[-1] - at[0]) * 0.04 or 0.5
    ends = between([at[0] - room, at[-1] + room])
    ticks = at[:: max(1, -(-len(at) // MOST_TICKS))]
    up: Spec = {"title": axes.y, "scale": between(axes.domain or ())}
    if axes.domain is None:
        most = max(axes.most, *(point["value"] or 0 for point in points))
        up = {"title": axes.y, "scale": from_zero(most), "axis": COUNTS}
    axis = {"values": ticks, "tickCount": len(ticks), "format": axes.format}
    shared = {
        "x": number("x", title=axes.x, scale=ends, axis=axis),
        "color": names("place", scale=of(own, paints(len(series)))),
    }
    value = {**shared, "y": number("value", **up)}
    line = {**value, "strokeDash": names("place", scale=of(own, DASHES[: len(series)]))}
    span = {**shared, "y": number("low", **up), "y2": to("high")}
    layers = [
        layer("points", "rule", span, where=known("low", "high"), strokeWidth=1.5, opacity=0.55, clip=True),
        layer("points", "line", line, where=known("value"), strokeWidth=2, clip=True),
        layer("points", "circle", value, where=known("value"), size=34, opacity=1),
        *threshold(axes.level, axes.domain or (), {"x": number("from"), "x2": to("to"), "y": number("level", **up)}),
    ]
    # side by side, so that intervals do not hide each other
    beside = room / 2 / max(1, len(series))
    placed = [(point, series.index(point["series"])) for point in points]
    data = [
        {**point, "place": place, "x": point["at"] + (place - (len(series) - 1) / 2) * beside}
        for point, place in placed
    ]
    ruled = [{"from": at[0] - room, "to": at[-1] + room, "level": axes.level}]
    return drawn(layers, label, {"points": data, "threshold": ruled}, fields=axes.fields, has_table=False)
