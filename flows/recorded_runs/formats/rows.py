"""Reads rows of nested values from JSONL, a JSON list or Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from promptaudit.flows.recorded_runs.formats.source import head_of, json_file, json_lines
from promptaudit.models_registry.errors import DataError
from promptaudit.models_registry.read_parquet import parquet_frame

_BATCH = 10_000


def rows_of(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Gives number and values of every row; raises DataError for a row that is no object.

    A JSON document is a list of rows, or an object one of whose values is the only list of objects in it.
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
    rows = _listed(document)
    if rows is None:
        msg = f"{path}: no list of rows: a JSON list, or an object with one list of objects, is wanted"
        raise DataError(msg)
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            msg = f"{path} row {number}: an object is wanted, found {type(row).__name__}"
            raise DataError(msg)
        yield number, row


def _listed(document: Any) -> list[Any] | None:  # noqa: ANN401
    if isinstance(document, list):
        return document
    lists = [value for value in document.values() if isinstance(value, list) and value and isinstance(value[0], dict)]
    return lists[0] if len(lists) == 1 else None


def _of_parquet(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    frame = parquet_frame(path, str(path))
    number = 0
    for batch in frame.iter_slices(_BATCH):
        for row in batch.to_dicts():
            number += 1
            yield number, row
