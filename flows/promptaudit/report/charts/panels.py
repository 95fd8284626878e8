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
UNIT: Spec = {
    "scale": {"domain": [0, 1], "nice": False},
    "axis": {"values": [0, 0.2, 0.4, 0.6, 0.8, 1], "tickCount": 6, "format": ".1f"},
}

Rows = Sequence[dict[str, Any]]


def binned(bins: Rows, rows: str, title: str, what: str, most: float) -> tuple[Spec, list[dict[str, Any]]]:
    """Builds a layer that counts something in each twentieth of [0, 1], with its data. Rows have bin (from 0) and n."""
    encoding = {
        "x": number("low", title=title, **UNIT),
        "x2": to("high"),
        "y": number("n", title=what, axis={"tickMinStep": 1, "format": "~s"}, scale=from_zero(most)),
        "y2": to("zero"),
    }
    data = [{"low": row["bin"] / 20, "high": (row["bin"] + 1) / 20, "n": row["n"], "zero": 0} for row in bins]
    return layer(rows, "rect", encoding, color=PAINT["first"]), data


def histogram(bins: Rows, mean: float, label: str, most: float = 0.0) -> Markup:
    """Draws how many samples lie in each twentieth of [0, 1].

    `bins` has bin (from 0) and n.

    A dashed rule marks the mean. most: the largest n of the panels beside it, which share one axis.
    """
    counted, data = binned(bins, "rows", "sensitivity", "samples", max(most, *(row["n"] for row in bins)))
    at = {"x": number("at", title="sensitivity", **UNIT)}
    rule = layer("rule", "rule", at, color=PAINT["second"], strokeWidth=2, strokeDash=[4, 3])
    return drawn(
        [counted, rule],
        label,
        {"rows": data, "rule": [{"at": mean}]},
        fields={"low": "from", "high": "to", "n": "samples"},
    )


def bars(rows: Rows, label: str) -> Markup:
    """Draws a bar per name from 0 to 1, with its interval if it has one. Rows have name, value, low, high."""
    data = [{**row, "name": cut(row["name"], 24)} for row in rows]
    order = [row["name"] for row in data]
    y = names("name", sort=order, title=None, axis={"labelLimit": 130, "ticks": False})
    layers = [
        layer(
            "rows",
            "bar",
            {"x": number("value", title="consistency", **UNIT), "y": y},
            color=PAINT["first"],
            opacity=0.85,
            height={"band": 0.62},
        ),
        layer(
            "rows",
            "rule",
            {"x": number("low", title="consistency", **UNIT), "x2": to("high"), "y": y},
            where=known("low", "high"),
            color=PAINT["ink"],
            strokeWidth=1.5,
        ),
    ]
    return drawn(
        layers,
        label,
        {"rows": data},
        height=max(70, ROW * len(data) + 46),
        has_table=False,
        fields={"name": "class", "value": "consistency", "low": "low", "high": "high"},
    )


def lines(points: Rows, domain: tuple[float, float], title: str, label: str, *, has_table: bool = True) -> Markup:
    """Draws PSS against the number of annotators with its band.

    Rows have series (labels_and_na, verbatim), k, pss, low, high. has_table: see `drawing.drawn`.
    """
    series = list(PSS_SERIES)
    most = max((row["k"] for row in points), default=2)
    ticks = _ticks(2, max(most, 3))
    ends = {"domain": [2, max(most, 3)], "nice": False}
    shared = {
        "x": number("k", title=title, scale=ends, axis={"values": ticks, "tickCount": len(ticks), "format": "d"}),
        "color": names("series", scale=of(series, [PAINT[PSS_SERIES[name]] for name in series])),
    }
    band = {**shared, "y": number("low", title="PSS", scale=between(domain)), "y2": to("high")}
    line = {
        **shared,
        "y": number("pss", title="PSS", scale=between(domain)),
        "strokeDash": names("series", scale=of(series, [[1, 0], [5, 3]])),
    }
    dots = {"size": 14 if most <= MOST_DOTS else UNSEEN, "is_seen": most <= MOST_DOTS}
    layers = [
        layer("rows", "area", band, where=known("low", "high"), opacity=0.16, clip=True),
        layer("rows", "line", line, where=known("pss"), strokeWidth=2, clip=True, is_titled=True, point=dots),
    ]
    across = {"x": number("from", scale=ends), "x2": to("to"), "y": number("level", title="PSS", scale=between(domain))}
    layers += threshold(STABLE, domain, across)
    fields = {"series": "answers", "k": "annotators", "pss": "PSS", "low": "low", "high": "high"}
    data = {"rows": points, "threshold": [{"from": 2, "to": max(most, 3), "level": STABLE}]}
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
    most = max(row["place"] for row in rows)
    encoding = {
        "x": number(
            "place",
            title="prompt variants, least accurate first",
            scale={"domain": [0.5, most + 0.5], "nice": False},
            axis={"tickMinStep": 1, "format": "d"},
        ),
        "y": number("accuracy", title="accuracy", scale=between(domain)),
    }
    layers = [
        layer(
            "rows",
            "circle",
            encoding,
            where=is_set("is_original", to=False),
            color=PAINT["first"],
            size=30,
            opacity=0.85,
        ),
        layer(
            "rows",
            "point",
            encoding,
            where=is_set("is_original"),
            color=PAINT["second"],
            size=70,
            opacity=1,
            shape="diamond",
        ),
    ]
    return drawn(
        layers, label, {"rows": rows}, fields={"place": "place", "is_original": "original", "accuracy": "accuracy"}
    )


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
    own = range(len(series))
    scale = between(domain, clamp=True)
    shared = beside(short, "series", len(series), {"labelLimit": 130, "ticks": False, "labelPadding": 9})
    span = {**shared, "x": number("low", title=title, scale=scale, axis={"tickCount": 4}), "x2": to("high")}
    point = {
        **shared,
        "x": number("value", title=title, scale=scale, axis={"tickCount": 4}),
        "shape": names("series", scale=of(own, SHAPES[: len(series)])),
    }
    layers = [
        layer("rows", "rule", span, where=known("low", "high"), strokeWidth=2, opacity=0.6),
        layer("rows", "point", point, size=48, opacity=1),
        *threshold(level, domain, {"x": number("level", title=title, scale=scale)}),
    ]
    datasets = {"rows": data, "threshold": [{"level": level}]}
    return drawn(
        layers,
        label,
        datasets,
        height=height_of(len(short), len(series)),
        has_table=False,
        fields={"name": names_what, "method": of_what, "value": title, "low": "low", "high": "high"},
    )


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
    ticks = all_nights[:: max(1, math.ceil(len(all_nights) / (WIDTH // room)))]
    x = places(
        "night",
        title=None,
        scale={"domain": list(all_nights), "type": "point", "padding": 0.5},
        axis={"values": list(ticks), "labelAngle": 0},
    )
    shared = {"x": x, "color": names("series", scale=of(own, paints(len(SERIES)))), "detail": names("segment")}
    at = {**shared, "y": number("value", title=None, scale=between(domain))}
    span = {**shared, "y": number("low", title=None, scale=between(domain)), "y2": to("high")}
    normal = {**span, "y": number("normal_low", title=None, scale=between(domain)), "y2": to("normal_high")}
    dashes = names("series", scale=of(own, DASHES))
    is_alone = {"and": [is_set("is_alone"), *known("low", "high")["and"]]}
    layers = [
        layer("changed", "rule", {"x": x}, color=PAINT["muted"], strokeWidth=1.5, strokeDash=[4, 3]),
        layer("noted", "rule", {"x": x}, color=PAINT["muted"], strokeWidth=1),
        layer("points", "area", span, where=known("low", "high"), opacity=0.13, clip=True),
        layer("points", "area", normal, where=known("normal_low", "normal_high"), opacity=0.3, clip=True),
        layer("points", "rule", span, where=is_alone, strokeWidth=1.5, opacity=0.5, clip=True),
        layer(
            "points",
            "line",
            {**at, "strokeDash": dashes},
            strokeWidth=2,
            clip=True,
            is_titled=True,
            point={"size": UNSEEN, "is_seen": False},
        ),
        layer("points", "circle", at, where=is_set("is_alone"), size=26, opacity=1),
        layer(
            "points",
            "point",
            at,
            where=is_set("is_marked"),
            shape="diamond",
            size=110,
            opacity=1,
            stroke=PAINT["ink"],
            strokeWidth=1.5,
        ),
    ]
    return drawn(
        layers,
        label,
        {
            "points": points,
            "changed": [{"night": night} for night in changed],
            "noted": [{"night": night} for night in noted],
        },
        fields={"night": "night", "value": "value"},
        has_table=False,
        names_figures=False,
    )


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
    """The axes of a curve: titles, places with a tick, and the ends of the figures (None: from 0)."""

    x: str
    y: str
    ticks: Sequence[float]
    domain: tuple[float, float] | None = None
    format: str = ".3~f"
    level: float | None = None  # where a dashed rule stands
    most: float = 0.0  # the largest figure of the panels beside it, where there are no ends


def curves(
    points: Sequence[dict[str, Any]], series: Sequence[str], axes: Axes, fields: Mapping[str, str], label: str
) -> Drawing:
    """Draws a line per series with dots and intervals.

    Rows have at, series, value, and low and high of their intervals.

    `series` are at most four. fields: see `drawing.drawn`.
    """
    places = range(len(series))
    at = sorted({point["at"] for point in points})
    room = (at[-1] - at[0]) * 0.04 or 0.5
    shown = list(axes.ticks[:: max(1, -(-len(axes.ticks) // MOST_TICKS))])
    if axes.domain is None:
        most = max(axes.most, *(point["value"] or 0 for point in points))
        up: Spec = {"title": axes.y, "scale": from_zero(most), "axis": {"tickMinStep": 1, "format": "~s"}}
    else:
        up = {"title": axes.y, "scale": between(axes.domain)}
    shared = {
        "x": number(
            "x",
            title=axes.x,
            scale=between([at[0] - room, at[-1] + room]),
            axis={"values": shown, "tickCount": len(shown), "format": axes.format},
        ),
        "color": names("place", scale=of(places, paints(len(series)))),
    }
    value = {**shared, "y": number("value", **up)}
    span = {**shared, "y": number("low", **up), "y2": to("high")}
    dashes = names("place", scale=of(places, DASHES[: len(series)]))
    layers = [
        layer("points", "rule", span, where=known("low", "high"), strokeWidth=1.5, opacity=0.55, clip=True),
        layer("points", "line", {**value, "strokeDash": dashes}, where=known("value"), strokeWidth=2, clip=True),
        layer("points", "circle", value, where=known("value"), size=34, opacity=1),
        *threshold(axes.level, axes.domain or (), {"x": number("from"), "x2": to("to"), "y": number("level", **up)}),
    ]
    # side by side, so that intervals do not hide each other
    beside = room / 2 / max(1, len(series))
    data = []
    for point in points:
        place = series.index(point["series"])
        data.append({**point, "place": place, "x": point["at"] + (place - (len(series) - 1) / 2) * beside})
    ruled = [{"from": at[0] - room, "to": at[-1] + room, "level": axes.level}]
    return drawn(layers, label, {"points": data, "threshold": ruled}, fields=fields, has_table=False)
