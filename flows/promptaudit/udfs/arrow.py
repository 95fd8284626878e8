"""Passes DuckDB's columns to functions that `sql_function` declares, and passes their figures back: NaN becomes NULL.

Each call gets a chunk of groups. The lists of one row are parallel and of equal length; no element becomes a Python
object.
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args, get_origin

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from promptaudit.udfs.attempts import note
from promptaudit.udfs.codes import dense_codes
from promptaudit.udfs.sql_function import SqlFunction
from promptaudit.udfs.sql_types import (
    Keyed,
    Listed,
    Null,
    Place,
    Words,
    element,
    fields,
    is_array,
    is_row,
    is_table,
    marker,
    parameters,
    places,
    plain,
    returns,
    sql_type,
)
from promptaudit.udfs.sql_values import AS_THEY_ARE, from_sql, to_sql

Column = Any
"""A pyarrow Array or ChunkedArray; pyarrow's own types do not name the element type."""

_ARROW_TYPES = {
    "VARCHAR": pa.string(),
    "INTEGER": pa.int32(),
    "BIGINT": pa.int64(),
    "DOUBLE": pa.float64(),
    "BOOLEAN": pa.bool_(),
}


def of_columns(function: SqlFunction, *, is_tried: bool = False) -> Callable[..., Column]:
    """Turns a declared function into a function of the columns of a chunk of groups, or into its `try_` function."""

    def of_chunk(*columns: Column) -> Column:
        return attempt(function, *columns) if is_tried else call(function, *columns)

    names = ("group_keys",) * is_tried + tuple(parameters(function))
    counted = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in names]  # by DuckDB
    of_chunk.__signature__ = inspect.Signature(counted)  # type: ignore[attr-defined]
    return of_chunk


def attempt(function: SqlFunction, group_keys: Column, *columns: Column) -> Column:
    """Runs `call`; a group on which the function raises gets NULL, or an empty list, and is noted as `group_keys`.

    Raises:
        MemoryError: it is not the fault of a group.
    """
    with contextlib.suppress(Exception):
        return call(function, *columns)
    kind = encoded([], returns(function)).type
    nothing = pa.array([[] if pa.types.is_list(kind) else None], kind)
    results = []
    for group, name in enumerate(values_of(group_keys)):
        try:
            results.append(call(function, *(column.slice(group, 1) for column in columns)))
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a measure raises, the other groups keep theirs
            note(function.name, name, error)
            results.append(nothing)
    return pa.concat_arrays(results)


def call(function: SqlFunction, *columns: Column) -> Column:
    """Applies a function to the columns of a chunk of groups, and gives one column back.

    Raises:
        ValueError: lists of one row differ in length.
    """
    hints = parameters(function)
    named = dict(zip(hints, columns, strict=True))
    if "seed" in named and "n_resamples" in named:  # without a seed nothing is drawn
        named["n_resamples"] = pc.if_else(named["seed"].is_valid(), named["n_resamples"], 0)
    marks = {name: marker(hint) for name, hint in hints.items()}
    listed = {name: mark for name, mark in marks.items() if isinstance(mark, Listed)}
    types = {name: element(hints[name]) for name in listed if is_array(hints[name])}
    entries = _Entries.of(function.name, {name: named[name] for name in listed}, listed, types) if listed else None
    own = {name: hint for name, hint in hints.items() if name not in listed}
    if function.is_at_once:
        given = {} if entries is None else entries.end_to_end(places(function))
        returned = function.function(**given, **{name: _at_once(named[name], hint) for name, hint in own.items()})
        return encoded(returned, returns(function))
    columns_of_own = [_each(named[name], hint) for name, hint in own.items()]
    if entries is None:  # by place, in a third of the time
        return encoded(list(map(function.function, *columns_of_own)), returns(function))
    figures = zip(*columns_of_own, strict=True) if own else itertools.repeat(())
    results = []
    for (lists, codes), each in zip(entries.groups(), figures, strict=bool(own)):
        result = function.function(**lists, **dict(zip(own, each, strict=True)))
        for field, parameter in function.own_codes.items():
            result = _with_own_codes(result, field, codes[parameter])
        results.append(result)
    return encoded(results, returns(function))


@dataclass(frozen=True, slots=True)
class _Entries:
    # The parallel lists of a chunk of groups, laid end to end; group i is entries offsets[i] to offsets[i + 1]. `types`
    # holds the types of the arrays that the function takes. `groups` copies a list into an array of another type for
    # one group at a time, since such a copy of ten million entries is 80 MB.
    lists: Mapping[str, Column]
    kinds: Mapping[str, Listed]
    types: Mapping[str, Any]
    offsets: NDArray[np.int64]
    is_kept: NDArray[np.bool_]

    @classmethod
    def of(
        cls, function: str, columns: Mapping[str, Column], kinds: Mapping[str, Listed], types: Mapping[str, Any]
    ) -> _Entries:
        # a NULL list is an empty one
        lists, first, offsets = {}, "", np.zeros(1, np.int64)
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
            lists[name] = whole(pc.list_flatten(array))  # leaves out what lies outside a slice or under a NULL
        is_kept = np.ones(int(offsets[-1]), np.bool_)
        for name, array in lists.items():
            if kinds[name].null is Null.LEAVES_OUT_ITS_ENTRY and array.null_count:
                is_kept &= present(array)
        return cls(lists, kinds, types, offsets, is_kept)

    def groups(self) -> Iterator[tuple[dict[str, Any], dict[str, NDArray[np.int64]]]]:
        # with the codes that SQL has for the dense codes of each list
        arrays = {name: self._array(name) for name in self.lists}
        is_present = {
            name: present(self.lists[name])
            for name, kind in self.kinds.items()
            if kind.is_coded and self.lists[name].null_count
        }
        is_whole = bool(self.is_kept.all())
        for start, stop in zip(self.offsets[:-1].tolist(), self.offsets[1:].tolist(), strict=True):
            kept = self.is_kept[start:stop]
            lists: dict[str, Any] = {}
            codes = {}
            for name, kind in self.kinds.items():
                array = arrays[name]
                if isinstance(array, Words):
                    lists[name] = _words_of(array, start, stop, kept)
                    continue
                own = array[start:stop] if is_whole else array[start:stop][kept]
                own = own.astype(self.types[name], copy=False)
                if kind.is_coded:
                    valid = is_present[name][start:stop][kept] if name in is_present else None
                    own, codes[name] = dense_codes(own, valid)
                lists[name] = own
            yield lists, codes

    def end_to_end(self, places: Mapping[str, Place]) -> dict[str, Any]:
        groups = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))[self.is_kept]
        lengths = np.bincount(groups, minlength=len(self.offsets) - 1)
        found = {Place.GROUP: groups, Place.OFFSETS: np.append(0, np.cumsum(lengths))}
        lists = {}
        for name, kind in self.kinds.items():
            own = self._array(name)[self.is_kept].astype(self.types[name], copy=False)
            lists[name] = dense_codes(own, present(self.lists[name])[self.is_kept])[0] if kind.is_coded else own
        return lists | {name: found[place] for name, place in places.items()}

    def _array(self, name: str) -> Any:  # noqa: ANN401 - an array, or words
        array, kind = self.lists[name], self.kinds[name]
        if kind.sql_type == "VARCHAR[]":
            return _words(array)
        if kind.sql_type == "DOUBLE[]":
            return doubles(array)
        if kind.sql_type == "BOOLEAN[]":
            return integers(pc.cast(array, pa.int64())).astype(np.bool_)
        return _filled(array, -1 if kind.null is Null.IS_MINUS_ONE else 0)


def _words(array: Column) -> Words:
    # numbered in the order of their spelling, so that nothing depends on the order of the rows
    encoded = array.dictionary_encode()
    order = pc.array_sort_indices(encoded.dictionary)
    rank = np.argsort(order.to_numpy(zero_copy_only=False)).astype(np.int32)
    # an entry without a text has the place behind the last
    code = np.append(rank, np.int32(-1))[_filled(encoded.indices, -1)]
    return Words(code, encoded.dictionary.take(order).to_pylist())


def _words_of(words: Words, start: int, stop: int, kept: NDArray[np.bool_]) -> Words:
    # only the texts of this group, renumbered
    code = words.code[start:stop][kept]
    own, distinct = dense_codes(code, code >= 0)
    return Words(np.where(code < 0, np.int32(-1), own), [words.distinct[each] for each in distinct.tolist()])


def _with_own_codes(result: Any, field: str, codes: NDArray[np.int64]) -> Any:  # noqa: ANN401 - rows, or a table
    if isinstance(result, list):
        return [row._replace(**{field: int(codes[getattr(row, field)])}) for row in result]
    return result._replace(**{field: codes[getattr(result, field)]})


def _at_once(column: Column, hint: Any) -> Any:  # noqa: ANN401 - a column, by its annotation
    kind = element(hint)
    if is_array(hint):
        return doubles(whole(column)) if kind is np.float64 else integers(whole(column).cast(pa.int64())).astype(kind)
    return values_of(column)


def _each(column: Column, hint: Any) -> list[Any]:  # noqa: ANN401 - a column, by its annotation
    values = values_of(column)
    return values if plain(hint) in AS_THEY_ARE and not column.null_count else list(map(from_sql(hint), values))


def encoded(values: Any, hint: Any) -> Column:  # noqa: ANN401 - values, by their annotation
    """Builds a column of one value a group, of the SQL type that `sql_type` gives for their annotation."""
    kind = plain(hint)
    if is_row(kind) and is_table(kind):
        return _tables(values, kind)
    if is_row(kind):
        return _rows(values, kind)
    if get_origin(kind) is list and is_row(element(kind)):
        return _lists(values, _rows([row for table in values for row in table], element(kind)))
    if is_array(hint):
        return _lists(values, pa.array(np.concatenate([np.empty(0, element(kind)), *values])))
    return _figures(values, hint)


def _figures(values: Any, hint: Any) -> Column:  # noqa: ANN401 - values, by their annotation
    if plain(hint) in (float, np.float64):
        return null_for_nan(values)
    return pa.array(values, arrow_type(hint), from_pandas=True)


def _rows(rows: Sequence[Any], kind: type) -> Column:
    own = fields(kind)
    if any(_is_nested(hint) for hint in own.values()):
        return pa.array(list(map(to_sql(kind), rows)), arrow_type(kind))
    columns = [_figures([getattr(row, name) for row in rows], hint) for name, hint in own.items()]
    return pa.StructArray.from_arrays(columns, list(own))


def _is_nested(hint: Any) -> bool:  # noqa: ANN401 - an annotation
    return isinstance(marker(hint), Keyed) or is_row(plain(hint)) or get_origin(plain(hint)) in (tuple, list)


def _tables(tables: Sequence[Any], kind: type) -> Column:
    # tables of columns become lists of rows; a figure of a whole table stands in each of its rows
    measured = next(name for name, hint in fields(kind).items() if is_array(hint))
    groups = [getattr(table, measured) for table in tables]
    columns = []
    for name, hint in fields(kind).items():
        values = [getattr(table, name) for table in tables]
        if not is_array(hint):
            values = [np.full(len(group), value) for group, value in zip(groups, values, strict=True)]
        own_type = np.float64 if sql_type(element(hint) if is_array(hint) else hint) == "DOUBLE" else np.int64
        joined = np.concatenate([np.empty(0, own_type), *values])
        columns.append(null_for_nan(joined) if own_type is np.float64 else pa.array(joined))
    return _lists(groups, pa.StructArray.from_arrays(columns, list(fields(kind))))


def _lists(groups: Sequence[Any], values: Column) -> Column:
    starts: Column = pa.array([0, *itertools.accumulate(len(group) for group in groups)], pa.int32())
    return pa.ListArray.from_arrays(starts, values)


def arrow_type(hint: Any) -> Column:  # noqa: ANN401 - an annotation
    """Gives the Arrow type of an annotation, which matches DuckDB's type from `sql_type`."""
    mark, kind = marker(hint), plain(hint)
    if isinstance(mark, Keyed):
        _, row = get_args(kind)
        return pa.list_(pa.struct([(mark.key, pa.string()), *arrow_type(row)]))
    if is_row(kind):
        return pa.struct([(name, arrow_type(own)) for name, own in fields(kind).items()])
    name = sql_type(hint)
    return pa.list_(arrow_type(element(kind))) if name.endswith("[]") else _ARROW_TYPES[name]


def whole(column: Column) -> Column:
    """Joins a column into one piece."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def integers(array: Column) -> NDArray[np.int64]:
    """Reads the integers of a column; NULL is 0."""
    return np.asarray(_filled(array, 0), np.int64)


def doubles(array: Column) -> NDArray[np.float64]:
    """Reads the floats of a column; NULL is NaN."""
    return np.asarray(_filled(array, np.nan), np.float64)


def _filled(array: Column, null: float) -> NDArray[Any]:
    # shares the column's memory where it has no NULL
    return np.asarray((pc.fill_null(array, null) if array.null_count else array).to_numpy(zero_copy_only=False))


def present(array: Column) -> NDArray[np.bool_]:
    """Marks where a column has a value."""
    return np.asarray(array.is_valid().to_numpy(zero_copy_only=False), np.bool_)


def values_of(column: Column) -> list[Any]:
    """Lists the Python values of a column that has one value a group."""
    return list(whole(column).to_pylist())


def null_for_nan(figures: Any) -> Column:  # noqa: ANN401 - a list or an array of floats
    """Builds a column of floats; NaN and None become NULL, and a negative zero becomes zero.

    DuckDB may store a negative zero as zero when it compresses a column again, and a sealed row would then seem
    altered.
    """
    return pa.array(np.asarray(figures, np.float64) + 0.0, from_pandas=True)
