"""Reads rows of nested values from JSONL, a JSON list or Parquet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from promptaudit.exchange.recorded_runs.formats.source import head_of, json_file, json_lines
from promptaudit.registry.errors import DataError
from promptaudit.registry.read_parquet import parquet_frame

_BATCH = 10_000
# what programs call their rows, in a document with lists of other objects beside them
_ROWS_OF_PROGRAMS = ("testcases", "rows", "results", "records", "predictions", "samples", "examples", "data")


def rows_of(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yields number and values of every row. Raises DataError for a row that is no object.

    A JSON document is a list of rows; or an object in which one value is the only list of objects, or has a name that
    programs give their rows; or a table of `columns` and `data`, or of each column's values by number, as MLflow and
    pandas write it.
    """
    if path.suffix.lower() == ".parquet":
        yield from _of_parquet(path)
        return
    start = head_of(path).lstrip()
    is_document = start.startswith(b"{") and path.suffix.lower() not in (".jsonl", ".ndjson")
    if not is_document and not start.startswith(b"["):  # a line of JSONL is no list
        yield from json_lines(path)
        return
    document = json_file(path)
    rows = _listed(document, path)
    if rows is None:
        msg = f"{path}: no list of rows: a JSON list, or an object with one list of objects, is wanted"
        raise DataError(msg)
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            msg = f"{path} row {number}: an object is wanted, found {type(row).__name__}"
            raise DataError(msg)
        yield number, row


def _listed(document: Any, path: Path) -> list[Any] | None:  # noqa: ANN401
    if isinstance(document, list):
        return document
    columns, data = document.get("columns"), document.get("data")
    if isinstance(columns, list) and isinstance(data, list) and all(isinstance(row, list) for row in data):
        names = [str(name) for name in columns]
        odd = next((n for n, row in enumerate(data, start=1) if len(row) != len(names)), None)
        if odd is not None:
            msg = f"{path} row {odd}: {len(data[odd - 1])} values, there are {len(names)} columns"
            raise DataError(msg)
        return [dict(zip(names, row, strict=True)) for row in data]
    lists = {
        name: value
        for name, value in document.items()
        if isinstance(value, list) and value and isinstance(value[0], dict)
    }
    if len(lists) > 1:
        lists = {name: value for name, value in lists.items() if name.replace("_", "").lower() in _ROWS_OF_PROGRAMS}
    if lists:
        return next(iter(lists.values())) if len(lists) == 1 else None
    return _of_numbered(document)


def _of_numbered(document: Mapping[str, Any]) -> list[Any] | None:
    # as pandas writes a table: for each column its values by the number of their row
    columns = list(document.values())
    if not columns or not all(isinstance(column, dict) and column for column in columns):
        return None
    places = dict.fromkeys(place for column in columns for place in column)
    if not all(place.isdecimal() for place in places) or len(places) * len(columns) > 2 * sum(map(len, columns)):
        return None
    return [{name: column.get(place) for name, column in document.items()} for place in places]


def _of_parquet(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    frame = parquet_frame(path, str(path))
    number = 0
    for batch in frame.iter_slices(_BATCH):
        for row in batch.to_dicts():
            number += 1
            yield number, row
