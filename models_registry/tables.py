"""Reads a table of text from a file: CSV, JSONL or Parquet, every value as it is written."""

from __future__ import annotations

import csv
import difflib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from models_registry.errors import DataError

ESCAPED = "is_escaped"
MAX_COLUMNS = 1000
_LINES_A_BATCH = 100_000
_SUFFIXES = (".csv", ".jsonl", ".ndjson", ".parquet")


def read_text_table(path: Path, shown: str | None = None, *, keep_floats: bool = False) -> pl.DataFrame:
    """Returns all rows with every column as String, missing values null; `shown` names the file in errors.

    CSV: an empty field is an empty string, unless its column also quotes empty strings: then the bare one is missing.
    JSONL: numbers stay as written, nested values are JSON text; lone surrogates are escaped and the boolean column
    `is_escaped`, there only when needed, marks the row. Parquet: whole numbers, booleans and times become text, structs
    JSON; so do floats, whose spelling is not the writer's, unless `keep_floats`. Raises DataError in one line.
    """
    shown = shown or str(path)
    reader = dict(zip(_SUFFIXES, (_csv, _jsonl, _jsonl, _parquet), strict=True)).get(path.suffix.lower())
    if reader is None:
        msg = f"{shown}: not a .csv, .jsonl or .parquet file"
        raise DataError(msg)
    if "\x00" in str(path) or not path.is_file():
        msg = f"{shown}: no such file{_nearest_file(path)}"
        raise DataError(msg)
    try:
        frame = reader(path, shown)
        if not keep_floats:
            frame = frame.with_columns(pl.col(c).cast(pl.String) for c, t in frame.schema.items() if t.is_float())
    except OSError as error:
        msg = f"{shown}: cannot be read: {error.strerror or error}"
        raise DataError(msg) from None
    except (pl.exceptions.PolarsError, UnicodeDecodeError) as error:
        if isinstance(error, pl.exceptions.NoDataError):
            return pl.DataFrame()
        msg = f"{shown}: not readable as {path.suffix[1:].upper()}: {str(error).splitlines()[0][:200]}"
        raise DataError(msg) from None
    if len(frame.columns) > MAX_COLUMNS:
        msg = f"{shown}: {len(frame.columns)} columns, at most {MAX_COLUMNS} are read; is it really {path.suffix[1:].upper()}?"
        raise DataError(msg)
    return frame


def _nearest_file(path: Path) -> str:
    """`; nearest: x` for the table beside it whose name is close, else nothing."""
    try:
        beside = {
            each.stem: each.name for each in path.parent.iterdir() if each.suffix.lower() in _SUFFIXES and each != path
        }
    except (OSError, ValueError):
        return ""
    close = difflib.get_close_matches(path.stem, sorted(beside), n=1, cutoff=0.5)
    return f"; nearest: {beside[close[0]]}" if close else ""


def _csv(path: Path, shown: str) -> pl.DataFrame:
    with path.open("rb") as file:
        if b"\x00" in file.readline(1_000_000):
            msg = f"{shown} line 1: NUL bytes in the header: a binary file, not CSV"
            raise DataError(msg)
    _even(path, shown)
    frame = pl.read_csv(path, infer_schema=False)
    for column in frame.columns:
        head, _, number = column.rpartition("_duplicated_")
        if head in frame.columns and number.isdigit():
            msg = f"{shown} line 1: column '{head}' stands twice"
            raise DataError(msg)
    quotes_empty = [c for c in frame.columns if (frame[c] == "").any()]
    return frame.with_columns(pl.col(c).fill_null("") for c in frame.columns if c not in quotes_empty)


def _even(path: Path, shown: str) -> None:
    """Refuses a record of fewer or more fields than the header: a file cut off must not read as blank answers."""
    csv.field_size_limit(sys.maxsize)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            records = csv.reader(file)
            n_columns = len(next(records, ()))
            for number, record in enumerate(records, start=1):
                if record and len(record) != n_columns:
                    msg = f"{shown} row {number}: {len(record)} fields, the header has {n_columns}"
                    raise DataError(msg)
    except csv.Error as error:
        msg = f"{shown}: not readable as CSV: {error}"
        raise DataError(msg) from None


def _parquet(path: Path, shown: str) -> pl.DataFrame:
    frame = pl.read_parquet(path)
    texts = []
    for name, dtype in frame.schema.items():
        if dtype == pl.String or dtype.is_float():
            texts.append(pl.col(name))
        elif isinstance(dtype, pl.List) and (dtype.inner == pl.String or dtype.inner.is_integer()):
            texts.append(
                pl.col(name).map_elements(lambda v: json.dumps(list(v), ensure_ascii=False), return_dtype=pl.String)
            )
        elif isinstance(dtype, pl.Struct):
            texts.append(pl.col(name).struct.json_encode())
        elif dtype.is_numeric() or dtype in (pl.Boolean, pl.Null, pl.Categorical, pl.Enum) or dtype.is_temporal():
            texts.append(pl.col(name).cast(pl.String))
        else:
            msg = f"{shown}: column '{name}' is {dtype}; text, numbers or booleans are read"
            raise DataError(msg)
    return frame.select(texts)


def _jsonl(path: Path, shown: str) -> pl.DataFrame:
    batches, columns, any_escaped = [], {}, False
    for rows in _batched(_json_rows(path, shown)):
        for row in rows:
            columns.update(dict.fromkeys(row))
        any_escaped = any_escaped or ESCAPED in columns
        batches.append(rows)
    columns.pop(ESCAPED, None)
    if not columns:
        return pl.DataFrame()
    frames = [
        pl.DataFrame({name: pl.Series(name, [r.get(name) for r in rows], dtype=pl.String) for name in columns})
        for rows in batches
    ]
    frame = pl.concat(frames)
    if any_escaped:
        flags = [ESCAPED in row for rows in batches for row in rows]
        frame = frame.with_columns(pl.Series(ESCAPED, flags, dtype=pl.Boolean))
    return frame


def _batched(rows: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    for row in rows:
        batch.append(row)
        if len(batch) == _LINES_A_BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _json_rows(path: Path, shown: str) -> Iterator[dict[str, Any]]:
    decode = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str, object_pairs_hook=_no_doubles).decode
    with path.open(encoding="utf-8-sig", newline="\n") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                row = decode(line)
            except (ValueError, RecursionError) as error:
                msg = f"{shown} line {number}: not JSON: {error}"
                raise DataError(msg) from None
            if not isinstance(row, dict):
                msg = f"{shown} line {number}: an object is wanted, found {type(row).__name__}"
                raise DataError(msg)
            if ESCAPED in row:
                msg = f"{shown} line {number}: the name '{ESCAPED}' is kept for promptaudit"
                raise DataError(msg)
            yield _as_text(row)


def _no_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) != len(pairs):
        msg = "a key stands twice"
        raise ValueError(msg)
    return row


def _as_text(row: dict[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, value in row.items():
        key = escape(name)[0]
        if value is not None and not isinstance(value, str):
            value = json.dumps(value, ensure_ascii=False)  # noqa: PLW2901
        if value is not None and not value.isascii():
            value, is_escaped = escape(value)  # noqa: PLW2901
            if is_escaped:
                out[ESCAPED] = True
        out[key] = value
    return out


def escape(text: str) -> tuple[str, bool]:
    r"""Returns the text with lone surrogates, which UTF-8 cannot hold, written as \udXXX, and whether there were any."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode(), True
    return text, False
