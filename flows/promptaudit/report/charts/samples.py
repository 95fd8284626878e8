"""Draws charts of samples: boxes by class, clouds of dots, stacked shares of labels, densities, a matrix of pairs.

As in `panels.py`, data arrive as data, and names are made visible before they become an axis label.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from promptaudit.report.charts.drawing import WIDTH, drawn
from promptaudit.report.charts.layers import COLOURS, PAINT, between, layer, names, number, of, to
from promptaudit.report.charts.panels import COUNTS, SHAPES, UNIT, beside, distinct, height_of, paints, unit
from promptaudit.system.display.figures import cut

Rows = Sequence[dict[str, Any]]

BEHIND = {"random": "muted", "noisy": "fifth"}  # clouds of references
LABELS = COLOURS[3:]
NOT_VALID, OTHER = "muted", "line"


def boxes(rows: Rows, all_names: Sequence[str], series: Sequence[str], label: str) -> Markup:
    """Draws the middle half, the middle nine tenths and the median of each name and series, side by side.

    Rows have name, series, n, low, lower, median, upper, high. `all_names` are unique and in order; `series` at most
    four.
    """
    short = distinct(all_names)
    data = [{**row, "name": short[row["name"]], "place": series.index(row["series"])} for row in rows]
    shared = beside(short, "place", len(series), {"labelLimit": 120, "ticks": False, "labelPadding": 8})
    outer = {**shared, "x": unit("low", "sensitivity"), "x2": to("high")}
    inner = {**shared, "x": unit("lower", "sensitivity"), "x2": to("upper")}
    middle = {**shared, "x": unit("median", "sensitivity")}
    layers = [
        layer("boxes", "rule", outer, strokeWidth=1.5),
        layer("boxes", "bar", inner, opacity=0.45, height={"band": 0.75}),
        layer("boxes", "tick", middle, thickness=2.5, opacity=1, bandSize=10),
    ]
    fields = {
        "name": "class",
        "series": "strategy",
        "n": "samples",
        "low": "5 %",
        "lower": "lower quartile",
        "median": "median",
        "upper": "upper quartile",
        "high": "95 %",
    }
    height = height_of(len(all_names), len(series))
    return drawn(layers, label, {"boxes": data}, height, fields=fields, has_table=False)


def cloud(behind: Rows, rows: Rows, series: Sequence[str], label: str) -> Markup:
    """Draws mean consistency against sensitivity, with one dot for samples at the same place, larger for more samples.

    Rows have who (a strategy of `series`; behind: random or noisy), sensitivity, mean_consistency, n.
    """
    keys = [*BEHIND, *map(str, range(len(series)))]
    encoding = {
        "x": unit("sensitivity", "sensitivity"),
        "y": number("mean_consistency", title="mean consistency", scale=UNIT),
        "color": names("key", scale=of(keys, [*(PAINT[name] for name in BEHIND.values()), *paints(len(series))])),
        "shape": names("key", scale=of(keys, ["circle", "cross", *SHAPES[: len(series)]])),
        "size": number("n", scale={**of([1, 50], [22, 260]), "type": "sqrt", "clamp": True}),
    }
    layers = [layer(name, "point", encoding, opacity=opacity) for name, opacity in (("behind", 0.4), ("dots", 0.75))]
    data = {
        "behind": [{**row, "key": row["who"]} for row in behind],
        "dots": [{**row, "key": str(series.index(row["who"]))} for row in rows],
    }
    fields = {"who": "of", "sensitivity": "sensitivity", "mean_consistency": "mean consistency", "n": "samples"}
    return drawn(layers, label, data, 260, fields=fields, has_table=False)


def shares(rows: Rows, all_names: Sequence[str], colours: Sequence[str], label: str) -> Markup:
    """Draws a bar from 0 to 1 for each name, divided into parts.

    Rows have name, part (its place in `colours`), label, start, end, p_tau.
    """
    short = distinct(all_names)
    encoding = {
        "y": names("name", sort=list(short.values()), title=None, axis={"labelLimit": 120, "ticks": False}),
        "x": unit("start", "share of wordings"),
        "x2": to("end"),
        "color": names("part", scale=of(range(len(colours)), [PAINT[name] for name in colours])),
    }
    # a small gap between two parts, so that they are distinct without their colours too
    data = [{**row, "name": short[row["name"]], "end": max(row["start"], row["end"] - 0.006)} for row in rows]
    fields = {"name": "sample", "label": "label", "p_tau": "share of wordings"}
    height = max(90, 30 * len(all_names) + 46)
    bars = layer("shares", "bar", encoding, height={"band": 0.7})
    return drawn([bars], label, {"shares": data}, height, fields=fields, has_table=False)


def violins(outlines: Rows, middles: Rows, series: Sequence[str], label: str) -> Markup:
    """Draws a density for each series.

    All are equally wide at their modes.

    Outlines have place (of the series), at (x), low and high (y); middles have place, series, n, median, low, high.
    """
    paint = names("place", scale=of(range(len(series)), paints(len(series))))
    ends = between([len(series), -0.15])
    y = number("low", title=None, scale=ends, axis=None)
    outline = {
        "x": unit("at", "mean consistency"),
        "y": y,
        "y2": to("high"),
        "color": paint,
        "detail": names("place"),
    }
    middle = {"x": unit("median", "mean consistency"), "y": y, "y2": to("high"), "color": paint}
    words = {
        "x": number("start", scale=UNIT),
        "y": number("top", scale=ends, axis=None),
        "text": {"field": "name", "type": "nominal"},
    }
    layers = [
        layer("outlines", "area", outline, opacity=0.5),
        layer("middles", "rule", middle, strokeWidth=2.5, is_titled=True),
        layer("middles", "text", words, dx=2),
    ]
    data = [{**row, "start": 0, "top": row["place"], "name": cut(row["series"], 30)} for row in middles]
    fields = {"series": "strategy", "median": "median", "n": "samples"}
    height = 62 * len(series) + 46
    return drawn(layers, label, {"outlines": outlines, "middles": data}, height, fields=fields, has_table=False)


def matrix(cells: Rows, n: int, label: str) -> Markup:
    """Draws pairs of n samples, in a stronger shade for more alike pairs.

    Rows have row, start, end (places from 0) and similarity in [0, 1].
    """
    ticks = {"values": list(range(0, n + 1, max(1, -(-n // 40) * 5))), "format": "d", "grid": False}
    encoding = {
        "x": number("start", title="place in the table below", scale={"domain": [0, n], "nice": False}, axis=ticks),
        "x2": to("end"),
        "y": number("row", title=None, scale=between([n, 0]), axis=ticks),
        "y2": to("below"),
        "opacity": number("similarity", scale=of([0, 1], [0.03, 1])),
    }
    squares = layer("cells", "rect", encoding, color=PAINT["first"])
    data = [{**row, "below": row["row"] + 1} for row in cells]
    fields = {"row": "sample", "start": "from place", "end": "to place", "similarity": "1 - TVD"}
    return drawn([squares], label, {"cells": data}, WIDTH - 30, fields=fields, has_table=False)


def steps(bars: Rows, label: str) -> Markup:
    """Draws how many pairs have which similarity.

    Rows have value, and start and end in [0, 1], equal for exactly 0 and exactly 1. Bars of exactly 0 or 1 stand
    outside the axis of the others.
    """
    ends = {"values": [0, 0.2, 0.4, 0.6, 0.8, 1], "tickCount": 6, "format": ".1f"}
    encoding = {
        "x": number("low", title="1 - TVD of a pair", scale={"domain": [-0.06, 1.06], "nice": False}, axis=ends),
        "x2": to("high"),
        "y": number("value", title="pairs", axis=COUNTS),
        "y2": to("zero"),
        "color": names("is_exact", scale=of([False, True], [PAINT["first"], PAINT["second"]])),
    }
    data = []
    for row in bars:
        outside = 0.06 if row["start"] == row["end"] else 0.0
        low, high = row["start"] - outside * (row["start"] == 0), row["end"] + outside * (row["start"] == 1)
        data.append({**row, "low": low, "high": high, "zero": 0, "is_exact": outside > 0})
    fields = {"start": "from", "end": "to", "value": "pairs"}
    return drawn([layer("bars", "rect", encoding)], label, {"bars": data}, fields=fields, has_table=False)
