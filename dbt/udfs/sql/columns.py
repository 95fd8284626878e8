"""Columns of DuckDB as numpy arrays and back: Arrow lists in, Arrow out, NaN leaves as NULL.

Each call gets a chunk of groups. Lists that stand side by side in a row are parallel and of equal length; no Python
object is made per element.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Column = Any
"""A pyarrow Array or ChunkedArray; pyarrow's own types do not say of what."""


class Entries(NamedTuple):
    """Parallel lists of a chunk of groups, laid end to end; group i is entries offsets[i] to offsets[i + 1]."""

    lists: list[Column]
    offsets: NDArray[np.int64]

    def groups(self) -> Iterator[slice]:
        """Where each group lies."""
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


def null_for_nan(figures: Any) -> Column:  # noqa: ANN401 - a list or an array of floats
    """Returns a column of floats; NaN leaves as NULL."""
    return pa.array(np.asarray(figures, np.float64), from_pandas=True)


def structs(rows: Sequence[Sequence[float]], names: Sequence[str]) -> Column:
    """Returns rows of floats as structs of these names."""
    table = np.array(rows, np.float64).reshape(-1, len(names))
    return pa.StructArray.from_arrays([null_for_nan(column) for column in table.T], list(names))


def list_array(groups: Sequence[Any], structs: Column) -> Column:
    """Returns lists as long as the groups, over the structs of all groups end to end."""
    offsets: Column = pa.array([0, *accumulate(len(group) for group in groups)], pa.int32())
    return pa.ListArray.from_arrays(offsets, structs)


def doubles_struct(names: Sequence[str]) -> str:
    """Returns the SQL type of a struct of floats."""
    return f"STRUCT({', '.join(f'{name} DOUBLE' for name in names)})"
