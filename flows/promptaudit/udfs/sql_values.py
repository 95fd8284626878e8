"""Converts values of SQL to annotations of Python, and back: structs to rows of a type, lists to lists or tuples."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, get_args, get_origin

from promptaudit.udfs.sql_types import Keyed, fields, is_row, marker, plain

AS_THEY_ARE = (str, int, float, bool)
"""Types whose values are the same in both, except for NULL."""
_EMPTY = {int: 0, float: math.nan, bool: False}

Change = Callable[[Any], Any]


@functools.cache
def from_sql(hint: Any) -> Change:  # noqa: ANN401 - an annotation
    """Makes a function that converts a value as SQL gives it into a value of an annotation.

    NULL becomes None where the annotation allows it, else 0, NaN, false, an empty list or mapping; for text and rows it
    is always None.
    """
    mark, kind = marker(hint), plain(hint)
    change: Change | None = None
    empty: Any = _EMPTY.get(kind)
    if isinstance(mark, Keyed):
        key, row = mark.key, from_sql(get_args(kind)[1])
        empty, change = {}, lambda value: {each[key]: row(each) for each in value}
    elif is_row(kind):
        columns = {name: from_sql(own) for name, own in fields(kind).items()}
        change = lambda value: kind(**{name: column(value[name]) for name, column in columns.items()})  # noqa: E731
    elif get_origin(kind) in (list, tuple, Sequence):
        collected, one = (tuple if get_origin(kind) is tuple else list), from_sql(get_args(kind)[0])
        empty, change = collected(), lambda value: collected(map(one, value))
    if type(None) in get_args(hint):
        empty = None

    def convert(value: Any) -> Any:  # noqa: ANN401 - a value of SQL
        return empty if value is None else value if change is None else change(value)

    return convert


@functools.cache
def to_sql(hint: Any) -> Change:  # noqa: ANN401 - an annotation
    """Makes the opposite function of `from_sql`: from a value of an annotation to a value of SQL; NaN becomes None."""
    mark, kind = marker(hint), plain(hint)
    change: Change | None = None
    if isinstance(mark, Keyed):
        key, row = mark.key, to_sql(get_args(kind)[1])
        change = lambda value: [{key: name, **row(each)} for name, each in sorted(value.items())]  # noqa: E731
    elif is_row(kind):
        columns = {name: to_sql(own) for name, own in fields(kind).items()}
        change = lambda value: {name: column(getattr(value, name)) for name, column in columns.items()}  # noqa: E731
    elif get_origin(kind) in (list, tuple):
        one = to_sql(get_args(kind)[0])
        change = lambda value: list(map(one, value))  # noqa: E731
    elif kind is float:
        change = lambda value: None if math.isnan(value) else value + 0.0  # noqa: E731 - no negative zero

    def convert(value: Any) -> Any:  # noqa: ANN401 - a value of the annotation
        return value if value is None or change is None else change(value)

    return convert
