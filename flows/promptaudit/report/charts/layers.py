"""Says charts in Vega-Lite's words, as plain dicts, which `plot` draws as SVG."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from promptaudit.warehouse import Row

Spec = dict[str, Any]

COLOURS = (
    *("ink", "muted", "line", "first", "second", "third", "fourth", "fifth"),
    *("sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth"),
)
PAINT = {name: f"var(--{name})" for name in COLOURS}  # a colour of the page's theme, whichever it is


def number(field: str, **more: Any) -> Spec:
    """Returns a channel of numbers."""
    return {"field": field, "type": "quantitative", **more}


def names(field: str, **more: Any) -> Spec:
    """Returns a channel of names, or of places that stand for them."""
    return {"field": field, "type": "nominal", **more}


def places(field: str, **more: Any) -> Spec:
    """Returns a channel of names in an order."""
    return {"field": field, "type": "ordinal", **more}


def to(field: str) -> Spec:
    """Returns where a mark ends that another channel begins."""
    return {"field": field}


def of(domain: Iterable[Any], reach: Iterable[Any]) -> Spec:
    """Returns a scale that gives each value of a domain its own."""
    return {"domain": list(domain), "range": list(reach)}


def between(domain: Sequence[float], **more: Any) -> Spec:
    """Returns a scale with the ends that are given, as they are."""
    return {"domain": list(domain), "nice": False, "zero": False, **more}


def layer(rows: str, kind: str, encoding: Spec, *, where: Spec | None = None, **mark: Any) -> Spec:
    """Returns marks of one kind, one a row of the named rows for which the filter holds."""
    marks: Spec = {"data": {"name": rows}, "mark": {"type": kind, **mark}, "encoding": encoding}
    return marks if where is None else {**marks, "transform": [{"filter": where}]}


def threshold(level: float | None, domain: Sequence[float], encoding: Spec) -> list[Spec]:
    """Returns a dashed rule at a level that lies within the domain; the rows that say where are named `threshold`."""
    if level is None or not domain or not min(domain) <= level <= max(domain):
        return []
    return [layer("threshold", "rule", encoding, color=PAINT["muted"], strokeDash=[4, 3], strokeWidth=1)]


def known(*fields: str) -> Spec:
    """Returns the filter that lets rows through which have a number in each of the fields."""
    return {"and": [{"field": field, "valid": True} for field in fields]}


def is_set(field: str, *, to: bool = True) -> Spec:
    """Returns the filter that lets rows through in which a field is true, or false."""
    return {"field": field, "equal": to}


def passes(row: Spec, where: Spec) -> bool:
    """Returns whether a filter lets a row through."""
    if "and" in where:
        return all(passes(row, part) for part in where["and"])
    value = row.get(where["field"])
    return value is not None if "valid" in where else bool(value == where["equal"])


def stacked(layer: Spec, rows: Sequence[Row]) -> Iterator[tuple[Row, float, float]]:
    """Gives each row of bars that stand on each other with where it starts and ends: the last colour lowest."""
    encoding = layer["encoding"]
    if layer["mark"]["type"] != "bar" or encoding["x"]["type"] != "ordinal":
        return
    order, field = encoding["color"]["scale"]["domain"], encoding["color"]["field"]
    heights: dict[Any, float] = {}
    for row in sorted(rows, key=lambda row: -order.index(row[field])):
        place = row[encoding["x"]["field"]]
        start = heights.get(place, 0.0)
        heights[place] = start + row[encoding["y"]["field"]]
        yield row, start, heights[place]
