"""Describes charts in the vocabulary of Vega-Lite, as plain dicts, which `plot` draws as SVG."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from promptaudit.warehouse import Row

Spec = dict[str, Any]

COLOURS = (
    *("ink", "muted", "line", "first", "second", "third", "fourth", "fifth"),
    *("sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth"),
)
PAINT = {name: f"var(--{name})" for name in COLOURS}  # a colour of the page's light or dark theme


def number(field: str, **more: Any) -> Spec:
    """Makes a channel of numbers."""
    return {"field": field, "type": "quantitative", **more}


def names(field: str, **more: Any) -> Spec:
    """Makes a channel of names, or of numbers that stand for them."""
    return {"field": field, "type": "nominal", **more}


def places(field: str, **more: Any) -> Spec:
    """Makes a channel of ordered names."""
    return {"field": field, "type": "ordinal", **more}


def to(field: str) -> Spec:
    """Makes the channel for the end of a mark whose start another channel gives."""
    return {"field": field}


def of(domain: Iterable[Any], reach: Iterable[Any]) -> Spec:
    """Makes a scale that maps each value of a domain to its own value."""
    return {"domain": list(domain), "range": list(reach)}


def between(domain: Sequence[float], **more: Any) -> Spec:
    """Makes a scale with exactly the given ends."""
    return {"domain": list(domain), "nice": False, "zero": False, **more}


def layer(rows: str, kind: str, encoding: Spec, *, where: Spec | None = None, **mark: Any) -> Spec:
    """Makes a layer of marks of one kind, one for each of the named rows that pass the filter."""
    marks: Spec = {"data": {"name": rows}, "mark": {"type": kind, **mark}, "encoding": encoding}
    return marks if where is None else {**marks, "transform": [{"filter": where}]}


def threshold(level: float | None, domain: Sequence[float], encoding: Spec) -> list[Spec]:
    """Makes a dashed rule at a level, if it lies within the domain. Its rows are the data named `threshold`."""
    if level is None or not domain or not min(domain) <= level <= max(domain):
        return []
    return [layer("threshold", "rule", encoding, color=PAINT["muted"], strokeDash=[4, 3], strokeWidth=1)]


def known(*fields: str) -> Spec:
    """Makes a filter for rows that have a number in each of the fields."""
    return {"and": [{"field": field, "valid": True} for field in fields]}


def is_set(field: str, *, to: bool = True) -> Spec:
    """Makes a filter for rows in which a field is true, or false."""
    return {"field": field, "equal": to}


def passes(row: Spec, where: Spec) -> bool:
    """Checks whether a row passes a filter."""
    if "and" in where:
        return all(passes(row, part) for part in where["and"])
    value = row.get(where["field"])
    return value is not None if "valid" in where else bool(value == where["equal"])


def stacked(layer: Spec, rows: Sequence[Row]) -> Iterator[tuple[Row, float, float]]:
    """Yields each row of stacked bars with its start and end. The last colour is at the bottom."""
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
