"""Curves over repetitions, paraphrase temperatures and shares of the samples, a line a series with its intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from promptaudit.report.charts.drawing import drawn
from promptaudit.report.charts.layers import Spec, between, known, layer, names, number, of, threshold, to
from promptaudit.report.charts.panels import DASHES, paints

MOST_TICKS = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Axes:
    """What a curve is drawn on: titles, the places that get a tick, and the ends of the figures (None: from 0)."""

    x: str
    y: str
    ticks: Sequence[float]
    domain: tuple[float, float] | None = None
    format: str = ".3~f"
    level: float | None = None  # where a dashed rule stands


def curves(
    points: Sequence[dict[str, Any]], series: Sequence[str], axes: Axes, fields: Mapping[str, str], label: str
) -> Markup:
    """Draws a line a series with dots and intervals; rows have at, series, value, and low and high where they have an interval.

    `series` are at most four. fields: see `drawing.drawn`.
    """
    places = range(len(series))
    at = sorted({point["at"] for point in points})
    room = (at[-1] - at[0]) * 0.04 or 0.5
    shown = list(axes.ticks[:: max(1, -(-len(axes.ticks) // MOST_TICKS))])
    if axes.domain is None:
        up: Spec = {"title": axes.y, "scale": {"zero": True, "nice": True}, "axis": {"tickMinStep": 1, "format": "~s"}}
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
