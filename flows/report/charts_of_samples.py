"""Charts of samples: boxes by class, clouds of dots, stacked shares of labels, densities, and a matrix of pairs.

As in `charts.py`, data arrive as data and names are made visible before they become an axis label.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from flows.report.charts import SERIES, SHAPES, told_apart
from flows.report.drawing import PAINT, WIDTH, drawn
from flows.report.text import cut

if TYPE_CHECKING:
    import altair as alt

Rows = Sequence[dict[str, Any]]

BEHIND = {"random": "muted", "noisy": "fifth"}  # clouds of references
LABELS = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth",
)  # fmt: skip
NOT_VALID, OTHER = "muted", "line"
_FIFTHS = [0, 0.2, 0.4, 0.6, 0.8, 1]


def boxes(found: Rows, names: Sequence[str], series: Sequence[str], label: str) -> Markup:
    """The middle half, the middle nine tenths and the median of each name and series, side by side.

    Rows have name, series, n, low, lower, median, upper, high. `names` are unique and in order; `series` at most four.
    """  # fmt: skip
    import altair as alt

    short = told_apart(names)
    data = [{**row, "name": short[row["name"]], "place": series.index(row["series"])} for row in found]
    places = list(range(len(series)))
    base = alt.Chart(alt.NamedData(name="boxes")).encode(
        y=alt.Y(
            "name:N", sort=list(short.values()), title=None, axis=alt.Axis(labelLimit=120, ticks=False, labelPadding=8)
        ),
        yOffset=alt.YOffset("place:N", scale=alt.Scale(domain=places)),
        color=alt.Color("place:N", legend=None, scale=alt.Scale(domain=places, range=_paints(series))),
    )
    layers = [
        base.mark_rule(strokeWidth=1.5).encode(x=_unit("low", "sensitivity"), x2="high:Q"),
        base.mark_bar(opacity=0.45, height={"band": 0.75}).encode(x=_unit("lower", "sensitivity"), x2="upper:Q"),
        base.mark_tick(thickness=2.5, opacity=1, bandSize=10).encode(x=_unit("median", "sensitivity")),
    ]
    fields = {
        "name": "class", "series": "strategy", "n": "samples", "low": "5 %", "lower": "lower quartile", "median": "median",
        "upper": "upper quartile", "high": "95 %",
    }  # fmt: skip
    height = max(90, (8 + 13 * len(series)) * len(names) + 46)
    return drawn(layers, label, {"boxes": data}, height, fields=fields, has_table=False)


def cloud(behind: Rows, found: Rows, series: Sequence[str], label: str) -> Markup:
    """Mean consistency against sensitivity, one dot where samples fall on each other, larger for more of them.

    Rows have who (a strategy of `series`; behind: random or noisy), sensitivity, mean_consistency, n.
    """
    import altair as alt

    keys = [*BEHIND, *map(str, range(len(series)))]
    paint = alt.Color(
        "key:N", legend=None,
        scale=alt.Scale(domain=keys, range=[*(PAINT[name] for name in BEHIND.values()), *_paints(series)]),
    )  # fmt: skip
    shape = alt.Shape(
        "key:N", legend=None, scale=alt.Scale(domain=keys, range=["circle", "cross", *SHAPES[: len(series)]])
    )
    size = alt.Size("n:Q", legend=None, scale=alt.Scale(type="sqrt", domain=[1, 50], range=[22, 260], clamp=True))
    x, y = _unit("sensitivity", "sensitivity"), alt.Y("mean_consistency:Q", title="mean consistency", scale=_whole())
    layers = [
        alt.Chart(alt.NamedData(name=name))
        .mark_point(filled=True, opacity=opacity)
        .encode(x=x, y=y, size=size, color=paint, shape=shape)
        for name, opacity in (("behind", 0.4), ("dots", 0.75))
    ]
    data = {
        "behind": [{**row, "key": row["who"]} for row in behind],
        "dots": [{**row, "key": str(series.index(row["who"]))} for row in found],
    }
    fields = {"who": "of", "sensitivity": "sensitivity", "mean_consistency": "mean consistency", "n": "samples"}
    return drawn(layers, label, data, 260, fields=fields, has_table=False)


def shares(found: Rows, names: Sequence[str], paints: Sequence[str], label: str) -> Markup:
    """A bar from 0 to 1 a name, in parts; rows have name, part (its place in `paints`), label, start, end, p_tau."""
    import altair as alt

    short = told_apart(names)
    places = list(range(len(paints)))
    bars = (
        alt.Chart(alt.NamedData(name="shares"))
        .mark_bar(height={"band": 0.7})
        .encode(
            y=alt.Y("name:N", sort=list(short.values()), title=None, axis=alt.Axis(labelLimit=120, ticks=False)),
            x=_unit("start", "share of wordings"),
            x2="end:Q",
            color=alt.Color(
                "part:N", legend=None, scale=alt.Scale(domain=places, range=[PAINT[paint] for paint in paints])
            ),
        )
    )
    # a hair of room between two parts, so that they part without their colours too
    data = [{**row, "name": short[row["name"]], "end": max(row["start"], row["end"] - 0.006)} for row in found]
    fields = {"name": "sample", "label": "label", "p_tau": "share of wordings"}
    return drawn([bars], label, {"shares": data}, max(90, 30 * len(names) + 46), fields=fields, has_table=False)


def violins(outlines: Rows, middles: Rows, series: Sequence[str], label: str) -> Markup:
    """A density a series, each as wide at its mode.

    Outlines have place (of the series), at (x), low and high (y); middles have place, series, n, median, low, high.
    """
    import altair as alt

    paint = alt.Color(
        "place:N", legend=None, scale=alt.Scale(domain=list(range(len(series))), range=_paints(series))
    )  # fmt: skip
    ends = alt.Scale(domain=[len(series), -0.15], nice=False, zero=False)
    y = alt.Y("low:Q", title=None, scale=ends, axis=None)
    layers = [
        alt.Chart(alt.NamedData(name="outlines"))
        .mark_area(orient="vertical", opacity=0.5, line=False)
        .encode(x=_unit("at", "mean consistency"), y=y, y2="high:Q", color=paint, detail="place:N"),
        alt.Chart(alt.NamedData(name="middles"))
        .mark_rule(strokeWidth=2.5)
        .encode(x=_unit("median", "mean consistency"), y=y, y2="high:Q", color=paint),
        alt.Chart(alt.NamedData(name="middles"))
        .mark_text(align="left", baseline="middle", fontSize=11, color=PAINT["muted"], dx=2)
        .encode(x=alt.X("start:Q", scale=_whole()), y=alt.Y("top:Q", scale=ends, axis=None), text="name:N"),
    ]
    data = [{**row, "start": 0, "top": row["place"], "name": cut(row["series"], 30)} for row in middles]
    fields = {"series": "strategy", "median": "median", "n": "samples"}
    height = 62 * len(series) + 46
    return drawn(layers, label, {"outlines": outlines, "middles": data}, height, fields=fields, has_table=False)


def matrix(cells: Rows, n: int, label: str) -> Markup:
    """Pairs of n samples, of a stronger shade where they are alike.

    Rows have row, start, end (places from 0) and similarity in [0, 1].
    """
    import altair as alt

    ticks = alt.Axis(values=list(range(0, n + 1, max(1, -(-n // 40) * 5))), format="d", grid=False)
    scale = alt.Scale(domain=[0, n], nice=False)
    down = alt.Scale(domain=[n, 0], nice=False, zero=False)
    squares = (
        alt.Chart(alt.NamedData(name="cells"))
        .mark_rect(color=PAINT["first"], strokeWidth=0)
        .encode(
            x=alt.X("start:Q", title="place in the table below", scale=scale, axis=ticks),
            x2="end:Q",
            y=alt.Y("row:Q", title=None, scale=down, axis=ticks),
            y2="below:Q",
            opacity=alt.Opacity("similarity:Q", legend=None, scale=alt.Scale(domain=[0, 1], range=[0.03, 1])),
        )
    )
    data = [{**row, "below": row["row"] + 1} for row in cells]
    fields = {"row": "sample", "start": "from place", "end": "to place", "similarity": "1 - TVD"}
    return drawn([squares], label, {"cells": data}, WIDTH - 30, fields=fields, has_table=False)


def spread(bins: Rows, title: str, count: str, label: str) -> Markup:
    """How many of something in each twentieth of [0, 1]; rows have bin (from 0) and n."""
    import altair as alt

    data = [{"low": row["bin"] / 20, "high": (row["bin"] + 1) / 20, "n": row["n"], "zero": 0} for row in bins]
    bars = (
        alt.Chart(alt.NamedData(name="bins"))
        .mark_rect(color=PAINT["first"])
        .encode(
            x=_unit("low", title), x2="high:Q",
            y=alt.Y("n:Q", title=count, axis=alt.Axis(tickMinStep=1, format="~s")), y2="zero:Q",
        )
    )  # fmt: skip
    return drawn([bars], label, {"bins": data}, fields={"low": "from", "high": "to", "n": count})


def _paints(series: Sequence[str]) -> list[str]:
    return [PAINT[name] for name in SERIES[: len(series)]]


def _whole() -> alt.Scale:
    import altair as alt

    return alt.Scale(domain=[0, 1], nice=False)


def _unit(field: str, title: str) -> alt.X:
    import altair as alt

    axis = alt.Axis(values=_FIFTHS, tickCount=6, format=".1f")
    return alt.X(f"{field}:Q", title=title, scale=_whole(), axis=axis)
