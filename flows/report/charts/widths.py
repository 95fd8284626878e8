"""Curves of interval width against requests: a line a series, and the run itself as a diamond."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from promptaudit.flows.report.charts.drawing import drawn
from promptaudit.flows.report.charts.layers import PAINT, Spec, between, is_set, layer, names, number, of
from promptaudit.flows.report.charts.panels import DASHES, paints
from promptaudit.flows.report.charts.scales import log_ticks, niced

ROOM = 1.25  # times the ends of the axis of requests
ALL_LABELS = 20  # ticks of logarithms beyond the first of a decade are labelled only where there is room for so many


def widths(points: Sequence[dict[str, Any]], series: Sequence[str], fields: Mapping[str, str], label: str) -> Markup:
    """Draws width against requests, by their logarithm; rows have series, requests, value, is_this_run.

    `series` are at most four. fields: see `drawing.drawn`.
    """
    own = range(len(series))
    requests = [row["requests"] for row in points]
    ends = min(requests) / ROOM, max(requests) * ROOM
    values = log_ticks(*ends)
    _, top = niced(0, max(row["value"] for row in points))
    encoding: Spec = {
        "x": number(
            "requests",
            title="requests",
            scale={"domain": list(ends), "type": "log", "nice": False},
            axis={"values": values, "tickCount": ALL_LABELS, "format": "~s"},
        ),
        "y": number("value", title="width", scale=between((0, top))),
        "color": names("place", scale=of(own, paints(len(series)))),
    }
    dashes = {"strokeDash": names("place", scale=of(own, DASHES[: len(series)]))}
    least = is_set("is_this_run", to=False)
    layers = [
        layer("points", "line", {**encoding, **dashes}, where=least, strokeWidth=2),
        layer("points", "circle", encoding, where=least, size=22, opacity=1),
        layer(
            "points",
            "point",
            encoding,
            where=is_set("is_this_run"),
            shape="diamond",
            size=110,
            opacity=1,
            stroke=PAINT["ink"],
            strokeWidth=1.5,
        ),
    ]
    data = [{**row, "place": series.index(row["series"])} for row in points]
    return drawn(layers, label, {"points": data}, fields=fields, has_table=False)
