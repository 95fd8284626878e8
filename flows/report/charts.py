"""Draws small panels with Altair (`drawing.py`): each kind of chart a function.

Data arrive as data, never as expressions; names are made visible (`text.shown`) before they become an axis label.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from flows.report.drawing import CONFIG, HEIGHT, PAINT, WIDTH, drawn, undrawn
from flows.report.text import cut

if TYPE_CHECKING:
    import altair as alt

__all__ = [
    "CONFIG", "HEIGHT", "MOST_BARS", "PAINT", "PSS_SERIES", "SERIES", "SHAPES", "STATUSES", "WIDTH", "bars", "domain_of",
    "dots", "drawn", "histogram", "lines", "nights", "ranges", "stacks", "told_apart", "undrawn",
]  # fmt: skip

ROW = 20
MOST_BARS = 20
_PAINT = PAINT
STATUSES = {"unparsed": "first", "refused": "second", "empty": "third", "truncated": "fourth"}
SERIES = ("first", "second", "third", "fourth")
SHAPES = ["circle", "diamond", "square", "triangle-up"]
PSS_SERIES = {"valid": "first", "verbatim": "second"}

Rows = Sequence[dict[str, Any]]


def histogram(bins: Rows, mean: float, label: str) -> Markup:
    """How many samples in each twentieth of [0, 1]; `bins` has bin (from 0) and n. The rule stands at the mean."""
    import altair as alt

    data = [{"low": row["bin"] / 20, "high": (row["bin"] + 1) / 20, "n": row["n"], "zero": 0} for row in bins]
    bars = (
        alt.Chart(alt.NamedData(name="rows"))
        .mark_rect(color=_PAINT["first"])
        .encode(
            x=alt.X("low:Q", title="sensitivity", scale=_unit(), axis=_fifths()),
            x2="high:Q",
            y=alt.Y("n:Q", title="samples", axis=alt.Axis(tickMinStep=1, format="~s")),
            y2="zero:Q",
        )
    )
    return drawn(
        [bars, _rule()],
        label,
        {"rows": data, "rule": [{"at": mean}]},
        fields={"low": "from", "high": "to", "n": "samples"},
    )


def bars(found: Rows, label: str) -> Markup:
    """A bar a name from 0 to 1 with its interval where there is one; rows have name, value, low, high."""
    import altair as alt

    data = [{**row, "name": cut(row["name"], 24)} for row in found]
    order = [row["name"] for row in data]
    base = alt.Chart(alt.NamedData(name="rows")).encode(
        y=alt.Y("name:N", sort=order, title=None, axis=alt.Axis(labelLimit=130, ticks=False))
    )
    layers = [
        base.mark_bar(color=_PAINT["first"], opacity=0.85, height={"band": 0.62}).encode(
            x=alt.X("value:Q", title="consistency", scale=_unit(), axis=_fifths())
        ),
        base.transform_filter("isValid(datum.low)")
        .mark_rule(color=_PAINT["ink"], strokeWidth=1.5)
        .encode(x=alt.X("low:Q", title="consistency", scale=_unit(), axis=_fifths()), x2="high:Q"),
    ]
    return drawn(
        layers, label, {"rows": data}, height=max(70, ROW * len(data) + 46), has_table=False,
        fields={"name": "class", "value": "consistency", "low": "low", "high": "high"},
    )  # fmt: skip


def lines(points: Rows, domain: tuple[float, float], title: str, label: str, *, has_table: bool = True) -> Markup:
    """PSS against the number of annotators with its band; rows have series (valid, verbatim), k, pss, low, high.

    has_table: see `drawing.drawn`.
    """
    import altair as alt

    names = list(PSS_SERIES)
    colour = alt.Color(
        "series:N", legend=None, scale=alt.Scale(domain=names, range=[_PAINT[PSS_SERIES[name]] for name in names])
    )
    most = max((row["k"] for row in points), default=2)
    ticks = _ticks(2, max(most, 3))
    x = alt.X(
        "k:Q", title=title, scale=alt.Scale(domain=[2, max(most, 3)], nice=False),
        axis=alt.Axis(values=ticks, tickCount=len(ticks), format="d"),
    )  # fmt: skip
    base = alt.Chart(alt.NamedData(name="rows")).encode(x=x, color=colour)
    layers = [
        base.transform_filter("isValid(datum.low) && isValid(datum.high)")
        .mark_area(opacity=0.16, clip=True)
        .encode(y=alt.Y("low:Q", title="PSS", scale=_between(domain)), y2="high:Q"),
        base.transform_filter("isValid(datum.pss)")
        .mark_line(strokeWidth=2, clip=True, point={"size": 14, "filled": True} if most <= 12 else False)  # noqa: PLR2004
        .encode(
            y=alt.Y("pss:Q", title="PSS", scale=_between(domain)),
            strokeDash=alt.StrokeDash("series:N", legend=None, scale=alt.Scale(domain=names, range=[[1, 0], [5, 3]])),
        ),
    ]
    fields = {"series": "answers", "k": "annotators", "pss": "PSS", "low": "low", "high": "high"}
    return drawn(layers, label, {"rows": points}, fields=fields, has_table=has_table)


def stacks(found: Rows, n_variants: int, label: str) -> Markup:
    """Invalid answers of each variant in per cent, by what became of them; rows have place (from 0), status, rate."""
    import altair as alt

    names = list(STATUSES)
    most = n_variants - 1
    chart = (
        alt.Chart(alt.NamedData(name="rows"))
        .mark_bar(width={"band": 0.8} if most <= 60 else {"band": 1})  # noqa: PLR2004
        .encode(
            x=alt.X(
                "place:O", title="prompt variant", scale=alt.Scale(domain=list(range(max(most + 1, 8)))),
                axis=alt.Axis(values=_ticks(0, most), tickCount=8, labelAngle=0),
            ),
            y=alt.Y("rate:Q", title="invalid", axis=alt.Axis(format="~%")),
            color=alt.Color(
                "status:N", legend=None, scale=alt.Scale(domain=names, range=[_PAINT[STATUSES[name]] for name in names])
            ),
        )
    )  # fmt: skip
    return drawn([chart], label, {"rows": found}, fields={"place": "variant", "status": "became", "rate": "rate"})


def dots(found: Rows, domain: tuple[float, float], label: str) -> Markup:
    """Accuracy of each variant, least first, originals marked; rows have place (from 1), accuracy, is_original."""
    import altair as alt

    most = max(row["place"] for row in found)
    base = alt.Chart(alt.NamedData(name="rows")).encode(
        x=alt.X(
            "place:Q", title="prompt variants, least accurate first", scale=alt.Scale(domain=[0.5, most + 0.5],
            nice=False),
            axis=alt.Axis(tickMinStep=1, format="d"),
        ),
        y=alt.Y("accuracy:Q", title="accuracy", scale=_between(domain)),
    )  # fmt: skip
    layers = [
        base.transform_filter("!datum.is_original").mark_circle(color=_PAINT["first"], size=30, opacity=0.85),
        base.transform_filter("datum.is_original").mark_point(
            color=_PAINT["second"], size=70, filled=True, opacity=1, shape="diamond"
        ),
    ]
    return drawn(
        layers, label, {"rows": found}, fields={"place": "place", "is_original": "original", "accuracy": "accuracy"}
    )


def ranges(  # noqa: PLR0913 - what the axes say
    found: Rows, series: Sequence[str], domain: tuple[float, float], title: str, label: str, of: str = "scored by"
) -> Markup:
    """A point with its range for each name and series, side by side; rows have name, series, value, low, high.

    of: what the series are, in tooltips.
    """
    import altair as alt

    names = told_apart([row["name"] for row in found])
    data = [
        {**row, "name": names[row["name"]], "series": series.index(row["series"]), "method": cut(row["series"], 60)}
        for row in found
        if row["value"] is not None
    ]  # fmt: skip
    places, paints = list(range(len(series))), [_PAINT[name] for name in SERIES[: len(series)]]
    scale = alt.Scale(domain=list(domain), nice=False, zero=False, clamp=True)
    axis = alt.Axis(tickCount=4)
    base = alt.Chart(alt.NamedData(name="rows")).encode(
        y=alt.Y(
            "name:N", sort=list(names.values()), title=None, axis=alt.Axis(labelLimit=130, ticks=False, labelPadding=9)
        ),
        yOffset=alt.YOffset("series:N", scale=alt.Scale(domain=places)),
        color=alt.Color("series:N", legend=None, scale=alt.Scale(domain=places, range=paints)),
    )
    layers = [
        base.transform_filter("isValid(datum.low) && isValid(datum.high)")
        .mark_rule(strokeWidth=2, opacity=0.6)
        .encode(x=alt.X("low:Q", title=title, scale=scale, axis=axis), x2="high:Q"),
        base.mark_point(filled=True, size=48, opacity=1).encode(
            x=alt.X("value:Q", title=title, scale=scale, axis=axis),
            shape=alt.Shape("series:N", legend=None, scale=alt.Scale(domain=places, range=SHAPES[: len(series)])),
        ),
    ]
    return drawn(
        layers, label, {"rows": data}, height=max(90, (8 + 13 * len(series)) * len(names) + 46), has_table=False,
        fields={"name": "model", "method": of, "value": title, "low": "low", "high": "high"},
    )  # fmt: skip


def nights(
    points: Rows, names: Sequence[str], domain: tuple[float, float], changed: Sequence[str], label: str
) -> Markup:
    """A line a series over nights with its band, broken where nights do not compare; diamonds and dashed rules mark nights.

    `names` are all nights in order. Rows have night, series (from 0, at most four), segment (a number within the series: what
    is joined), value, low, high, is_alone (of its segment), is_marked. `changed` are the nights that get a rule.
    """
    import altair as alt

    places, paints = list(range(len(SERIES))), [_PAINT[name] for name in SERIES]
    room = 44 if len(names[0]) <= 5 else 100  # noqa: PLR2004 - pixels of `11-04`, and of one with its hour
    ticks = names[:: max(1, math.ceil(len(names) / (WIDTH // room)))]
    x = alt.X(
        "night:O", title=None, scale=alt.Scale(domain=list(names), type="point", padding=0.5),
        axis=alt.Axis(values=ticks, labelAngle=0),
    )  # fmt: skip
    y = alt.Y("value:Q", title=None, scale=_between(domain))
    colour = alt.Color("series:N", legend=None, scale=alt.Scale(domain=places, range=paints))
    dashes = alt.Scale(domain=places, range=[[1, 0], [6, 3], [2, 2], [8, 2, 2, 2]])
    base = alt.Chart(alt.NamedData(name="points")).encode(x=x, color=colour, detail="segment:N")
    layers = [
        alt.Chart(alt.NamedData(name="changed"))
        .mark_rule(color=_PAINT["muted"], strokeWidth=1.5, strokeDash=[4, 3])
        .encode(x=x),
        base.transform_filter("isValid(datum.low) && isValid(datum.high)")
        .mark_area(opacity=0.13, clip=True)
        .encode(y=alt.Y("low:Q", title=None, scale=_between(domain)), y2="high:Q"),
        base.transform_filter("datum.is_alone && isValid(datum.low) && isValid(datum.high)")
        .mark_rule(strokeWidth=1.5, opacity=0.5, clip=True)
        .encode(y=alt.Y("low:Q", title=None, scale=_between(domain)), y2="high:Q"),
        base.mark_line(strokeWidth=2, clip=True).encode(
            y=y, strokeDash=alt.StrokeDash("series:N", legend=None, scale=dashes)
        ),
        base.transform_filter("datum.is_alone").mark_circle(size=26, opacity=1).encode(y=y),
        base.transform_filter("datum.is_marked")
        .mark_point(shape="diamond", filled=True, size=110, opacity=1, stroke=_PAINT["ink"], strokeWidth=1.5)
        .encode(y=y),
    ]
    return drawn(
        layers, label, {"points": points, "changed": [{"night": night} for night in changed]},
        fields={"model": "model", "night": "night", "value": "value", "low": "low", "high": "high"}, has_table=False,
    )  # fmt: skip


def told_apart(names: Sequence[str]) -> dict[str, str]:
    """Names as an axis shows them: cut, and numbered where that makes two of them one."""
    found: dict[str, str] = {}
    for name in dict.fromkeys(names):
        short, place = cut(name, 24), 1
        while short in found.values():
            place += 1
            short = f"{cut(name, 20)} ({place})"
        found[name] = short
    return found


def domain_of(values: Sequence[float | None], least: float = -1.0) -> tuple[float, float]:
    """An axis to 1 that starts at the tenth below the smallest value, at .9 at most."""
    known = [value for value in values if value is not None]
    return max(least, min(0.9, math.floor(min(known, default=0.0) * 10) / 10)), 1.0


def _ticks(start: int, end: int) -> list[int]:
    step = max(1, math.ceil((end - start + 1) / 7))
    return list(range(start, end + 1, step))


def _unit() -> alt.Scale:
    import altair as alt

    return alt.Scale(domain=[0, 1], nice=False)


def _fifths() -> alt.Axis:
    import altair as alt

    return alt.Axis(values=[0, 0.2, 0.4, 0.6, 0.8, 1], tickCount=6, format=".1f")


def _between(domain: tuple[float, float]) -> alt.Scale:
    import altair as alt

    return alt.Scale(domain=list(domain), nice=False, zero=False)


def _rule() -> alt.Chart:
    import altair as alt

    rule = alt.Chart(alt.NamedData(name="rule")).mark_rule(color=_PAINT["second"], strokeWidth=2, strokeDash=[4, 3])
    encoded: alt.Chart = rule.encode(x=alt.X("at:Q", title="sensitivity", scale=_unit(), axis=_fifths()))
    return encoded
