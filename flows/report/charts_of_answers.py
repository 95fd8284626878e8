"""Curves over repetitions, paraphrase temperatures and shares of the samples, a line a series with its intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from flows.report.charts import SERIES
from flows.report.drawing import PAINT, drawn

DASHES = ([1, 0], [6, 3], [2, 2], [8, 2, 2, 2])
MOST_TICKS = 7


@dataclass(frozen=True, slots=True)
class Axes:
    """What a curve is drawn on: titles, the places that get a tick, and the ends of the figures (None: from 0)."""

    x: str
    y: str
    ticks: Sequence[float]
    domain: tuple[float, float] | None = None
    format: str = ".3~f"


def curves(
    points: Sequence[dict[str, Any]], series: Sequence[str], axes: Axes, fields: Mapping[str, str], label: str
) -> Markup:
    """A line a series with dots and intervals; rows have at, series, value, and low and high where they have an interval.

    `series` are at most four. fields: see `drawing.drawn`.
    """
    import altair as alt

    places = list(range(len(series)))
    paints = [PAINT[name] for name in SERIES[: len(series)]]
    known = sorted({point["at"] for point in points})
    room = (known[-1] - known[0]) * 0.04 or 0.5
    step = max(1, -(-len(axes.ticks) // MOST_TICKS))
    x = alt.X(
        "x:Q", title=axes.x, scale=alt.Scale(domain=[known[0] - room, known[-1] + room], nice=False, zero=False),
        axis=alt.Axis(values=list(axes.ticks[::step]), format=axes.format),
    )  # fmt: skip
    if axes.domain is None:
        scale, ticks = alt.Scale(zero=True, nice=True), alt.Axis(tickMinStep=1, format="~s")
    else:
        scale, ticks = alt.Scale(domain=list(axes.domain), nice=False, zero=False), alt.Axis()
    base = alt.Chart(alt.NamedData(name="points")).encode(
        x=x, color=alt.Color("place:N", legend=None, scale=alt.Scale(domain=places, range=paints))
    )
    y = alt.Y("value:Q", title=axes.y, scale=scale, axis=ticks)
    dashes = alt.Scale(domain=places, range=list(DASHES[: len(series)]))
    layers = [
        base.transform_filter("isValid(datum.low) && isValid(datum.high)")
        .mark_rule(strokeWidth=1.5, opacity=0.55, clip=True)
        .encode(y=alt.Y("low:Q", title=axes.y, scale=scale, axis=ticks), y2="high:Q"),
        base.transform_filter("isValid(datum.value)")
        .mark_line(strokeWidth=2, clip=True)
        .encode(y=y, strokeDash=alt.StrokeDash("place:N", legend=None, scale=dashes)),
        base.transform_filter("isValid(datum.value)").mark_circle(size=34, opacity=1).encode(y=y),
    ]
    # side by side, so that intervals do not hide each other
    beside = room / 2 / max(1, len(series))
    data = []
    for point in points:
        place = series.index(point["series"])
        data.append({**point, "place": place, "x": point["at"] + (place - (len(series) - 1) / 2) * beside})
    return drawn(layers, label, {"points": data}, fields=fields, has_table=False)
