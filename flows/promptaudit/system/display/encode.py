"""Encodes results for `--json`: frozen results become plain values that JSON has."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

NOT_ENCODED: Mapping[str, bool] = {"is_encoded": False}
"""Metadata of a field of a result that only people see: `field(metadata=NOT_ENCODED)`."""


if TYPE_CHECKING:
    encoded_property = property  # mypy knows the type of no other property
else:

    class encoded_property(property):  # noqa: N801 - a decorator, as `property` is
        """A property that is part of what `--json` prints of its result, after the fields."""


def encoded(value: object) -> Any:  # noqa: ANN401, PLR0911 - whatever JSON has, one kind a line
    """Converts a result to dictionaries, lists, strings, numbers, booleans and None.

    A dataclass becomes a dictionary of its fields, without those marked NOT_ENCODED, and of its encoded properties.
    Paths become strings, times ISO 8601, bytes hexadecimal digits, keys strings, infinity and NaN None, and any other
    value that JSON does not have becomes its `str`.
    """
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in fields(value) if field.metadata.get("is_encoded", True)]
        return {name: encoded(getattr(value, name)) for name in [*names, *_properties(type(value))]}
    if isinstance(value, Mapping):
        return {str(key): encoded(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        items = sorted(value) if isinstance(value, set | frozenset) else value
        return [encoded(item) for item in items]
    if isinstance(value, date):
        return value.isoformat()
    return value.hex() if isinstance(value, bytes) else str(value)


def _properties(kind: type) -> list[str]:
    own = [vars(base) for base in reversed(kind.__mro__)]
    return [name for each in own for name, member in each.items() if isinstance(member, encoded_property)]
