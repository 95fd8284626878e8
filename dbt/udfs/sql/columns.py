"""Columns of DuckDB as numpy arrays, and figures as columns: Arrow lists in, Arrow out; NaN becomes NULL.

Each call gets a chunk of groups. Lists that stand side by side in a row are parallel and of equal length; no Python
object is made per element.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, NamedTuple, get_type_hints

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Column = Any
"""A pyarrow Array or ChunkedArray; pyarrow's own types do not say of what."""

_SQL_TYPES: dict[object, str] = {
    str: "VARCHAR", str | None: "VARCHAR", int: "INTEGER", float: "DOUBLE", bool: "BOOLEAN", bool | None: "BOOLEAN",
}  # fmt: skip
_ARROW_TYPES = {"VARCHAR": pa.string(), "INTEGER": pa.int32(), "DOUBLE": pa.float64(), "BOOLEAN": pa.bool_()}


class Entries(NamedTuple):
    """The parallel lists of a chunk of groups, laid end to end; group i is entries offsets[i] to offsets[i + 1]."""

    lists: list[Column]
    offsets: NDArray[np.int64]

    def groups(self) -> Iterator[slice]:
        """Yields where each group lies."""
        for start, stop in zip(self.offsets[:-1].tolist(), self.offsets[1:].tolist(), strict=True):
            yield slice(start, stop)

    def rows(self) -> NDArray[np.int64]:
        """Returns the group of each entry."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))


def whole(column: Column) -> Column:
    """Returns the column in one piece."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def flattened(function: str, columns: dict[str, Column]) -> Entries:
    """Returns the lists of a chunk of groups, flattened; a NULL list is an empty one.

    Raises:
        ValueError: lists of one row differ in length.
    """
    lists, first, offsets = [], "", np.zeros(1, np.int64)
    for name, column in columns.items():
        array = whole(column)
        lengths = integers(pc.list_value_length(array))
        own = np.append(0, np.cumsum(lengths, dtype=np.int64))
        if first and not np.array_equal(own, offsets):
            row = int(np.flatnonzero(np.diff(own) != np.diff(offsets))[0])
            message = (
                f"{function}: lists of one row must be of equal length, "
                f"got {np.diff(offsets)[row]} {first} and {lengths[row]} {name}"
            )
            raise ValueError(message)
        if not first:
            first, offsets = name, own
        lists.append(whole(pc.list_flatten(array)))  # leaves out what lies outside a slice or under a NULL
    return Entries(lists, offsets)


def present_groups(function: str, columns: dict[str, Column]) -> Iterator[list[NDArray[Any]]]:
    """Yields the lists of each group as arrays of its complete entries: an entry with a NULL in any list is left out.

    Raises:
        ValueError: lists of one row differ in length.
    """
    entries = flattened(function, columns)
    kept = all_present(entries.lists)
    arrays = [_as_numpy(array) for array in entries.lists]
    for group in entries.groups():
        yield [array[group][kept[group]] for array in arrays]


def _as_numpy(array: Column) -> NDArray[Any]:
    if pa.types.is_floating(array.type):
        return doubles(array)
    if pa.types.is_boolean(array.type):
        return integers(pc.cast(array, pa.int64())).astype(np.bool_)
    return integers(array)


def integers(array: Column) -> NDArray[np.int64]:
    """Returns integers of a column; NULL is 0."""
    return np.asarray(pc.fill_null(array, 0).to_numpy(zero_copy_only=False), np.int64)


def doubles(array: Column) -> NDArray[np.float64]:
    """Returns floats of a column; NULL is NaN."""
    return np.asarray(pc.fill_null(array, np.nan).to_numpy(zero_copy_only=False), np.float64)


def present(array: Column) -> NDArray[np.bool_]:
    """Returns where a column has a value."""
    return np.asarray(array.is_valid().to_numpy(zero_copy_only=False), np.bool_)


def all_present(arrays: Sequence[Column]) -> NDArray[np.bool_]:
    """Returns where every column has a value."""
    return np.asarray(np.logical_and.reduce([present(array) for array in arrays]), np.bool_)


def values_of(column: Column) -> list[Any]:
    """Returns Python values of a column that has one value a group."""
    return list(whole(column).to_pylist())


def draws(seed: Column, n_resamples: Column) -> list[tuple[int, int]]:
    """Returns the seed and the number of resamples of each group; both are 0 without a seed, which leaves nothing to draw."""
    pairs = zip(values_of(seed), values_of(n_resamples), strict=True)
    return [(own or 0, 0 if own is None else resamples or 0) for own, resamples in pairs]


def null_for_nan(figures: Any) -> Column:  # noqa: ANN401 - a list or an array of floats
    """Returns a column of floats; NaN and None leave as NULL, and a negative zero as zero.

    DuckDB may store a negative zero as zero when it compresses a column anew, and a sealed row would seem altered.
    """
    return pa.array(np.asarray(figures, np.float64) + 0.0, from_pandas=True)


def structs(rows: Sequence[Sequence[float]], names: Sequence[str]) -> Column:
    """Returns rows of floats as structs of these names."""
    table = np.array(rows, np.float64).reshape(-1, len(names))
    return pa.StructArray.from_arrays([null_for_nan(column) for column in table.T], list(names))


def row_structs(rows: Sequence[Any], kind: type) -> Column:
    """Returns rows of one type as structs of its fields, of the SQL type that `row_type` gives; NaN and None become NULL."""
    types = _types_of(kind)
    arrays = [_column([getattr(row, name) for row in rows], sql_type) for name, sql_type in types.items()]
    return pa.StructArray.from_arrays(arrays, list(types))


def _column(values: list[Any], sql_type: str) -> Column:
    return null_for_nan(values) if sql_type == "DOUBLE" else pa.array(values, _ARROW_TYPES[sql_type], from_pandas=True)


def row_lists(tables: Sequence[Sequence[Any]], kind: type) -> Column:
    """Returns a list of rows for each group, as structs of the fields of their type."""
    return list_array(tables, row_structs([row for table in tables for row in table], kind))


def list_array(groups: Sequence[Any], structs: Column) -> Column:
    """Returns lists as long as the groups, over the structs of all groups end to end."""
    offsets: Column = pa.array([0, *accumulate(len(group) for group in groups)], pa.int32())
    return pa.ListArray.from_arrays(offsets, structs)


def doubles_struct(names: Sequence[str]) -> str:
    """Returns the SQL type of a struct of floats."""
    return f"STRUCT({', '.join(f'{name} DOUBLE' for name in names)})"


def row_type(kind: type) -> str:
    """Returns the SQL type of a struct with the fields of a row type."""
    return f"STRUCT({', '.join(f'{name} {sql_type}' for name, sql_type in _types_of(kind).items())})"


def _types_of(kind: type) -> dict[str, str]:
    return {name: _SQL_TYPES[hint] for name, hint in get_type_hints(kind).items()}
