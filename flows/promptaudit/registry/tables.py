"""Reads a table of text from a CSV, JSONL, Parquet or XLSX file, every value as it is written."""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from promptaudit.registry.errors import DataError
from promptaudit.registry.read_csv import MAX_TEXT, csv_frame, most_cells, refuse_cells, refuse_columns
from promptaudit.registry.read_json import escape, json_of, lines_of
from promptaudit.registry.unpack import ending_of, stem_of, unpacked

__all__ = ["ESCAPED", "MAX_TEXT", "escape", "nearest_file", "read_text_table", "refuse_long_texts"]

ESCAPED = "is_escaped"
_ROWS_A_BATCH = 100_000
_BYTES_A_BATCH = 1 << 26
_SAVED_AS = dict.fromkeys((".xls", ".xlsb", ".ods", ".numbers"), "; save its sheet as .xlsx or .csv") | dict.fromkeys(
    (".bz2", ".xz", ".zip"), "; unpack it first"
)
_SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".xlsx")


def read_text_table(path: Path, shown: str | None = None, *, keep_floats: bool = False) -> pl.DataFrame:
    """Reads all rows with every column as String, missing values null. `shown` names the file in errors.

    CSV: fields are separated by the comma, semicolon, tab or bar that the header has, in UTF-8 or UTF-16; an empty
    field is an empty string, unless its column also quotes empty strings: then the bare one is missing.

    JSONL: numbers stay as written, nested values are JSON text; lone surrogates are escaped and the boolean column
    `is_escaped`, there only when needed, marks the row.

    Parquet: whole numbers, booleans and times become text, structs JSON. Floats become text too, in another spelling
    than the writer's, unless `keep_floats`.

    XLSX: a cell is the text of its value. Leading zeros of whole numbers stay as the spreadsheet shows them, percent
    and other formats do not.

    Files packed by gzip or Zstandard are unpacked first. Raises DataError in one line, also for a file with more
    columns, values or texts than one of its size may have.
    """
    shown = shown or str(path)
    with unpacked(path) as plain:
        return _read_text_table(plain, shown, keep_floats=keep_floats)


def _read_text_table(path: Path, shown: str, *, keep_floats: bool) -> pl.DataFrame:
    if "\x00" not in str(path) and path.is_dir():
        msg = f"{shown}: a folder; name a file of it"
        raise DataError(msg)
    if "\x00" in str(path) or not path.is_file():
        msg = f"{shown}: no such file{nearest_file(path)}"
        raise DataError(msg)
    reader = dict(zip(_SUFFIXES, (csv_frame, csv_frame, _jsonl, _jsonl, _parquet, _xlsx), strict=True)).get(
        path.suffix.lower()
    )
    if reader is None:
        msg = f"{shown}: not a .csv, .tsv, .jsonl, .parquet or .xlsx file{_SAVED_AS.get(path.suffix.lower(), '')}"
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
        hint = "; save it as UTF-8" if isinstance(error, UnicodeDecodeError) else ""
        msg = f"{shown}: not readable as {path.suffix[1:].upper()}: {str(error).splitlines()[0][:200]}{hint}"
        raise DataError(msg) from None
    refuse_long_texts(frame, shown)
    return frame


def refuse_long_texts(frame: pl.DataFrame, shown: str) -> None:
    """Raises DataError for the first text of a column that is longer than MAX_TEXT bytes."""
    for column, dtype in frame.schema.items():
        if dtype == pl.String and (frame[column].str.len_bytes().max() or 0) > MAX_TEXT:  # type: ignore[operator]
            row = int((frame[column].str.len_bytes() > MAX_TEXT).arg_max() or 0)
            msg = f"{shown} row {row + 1}: {column[:80]}: a text of more than {MAX_TEXT:,} bytes, which is not read"
            raise DataError(msg)


def nearest_file(path: Path) -> str:
    """Suggests the table beside a path whose name is close, as `; nearest: x`; empty if there is none."""
    try:
        beside = {
            stem_of(each): each.name
            for each in path.parent.iterdir()
            if ending_of(each).startswith(_SUFFIXES) and each != path
        }
    except (OSError, ValueError):
        return ""
    close = difflib.get_close_matches(stem_of(path), sorted(beside), n=1, cutoff=0.5)
    return f"; nearest: {beside[close[0]]}" if close else ""


def _json_of_list(values: pl.Series) -> str:
    return json.dumps(values.to_list(), ensure_ascii=False)


def _json_of_floats(texts: pl.Series) -> str:
    # JSON has null for what is not finite
    numbers = (None if text is None else float(text) for text in texts)
    return json.dumps([number if number is not None and math.isfinite(number) else None for number in numbers])


def _parquet(path: Path, shown: str) -> pl.DataFrame:
    from promptaudit.registry.read_parquet import parquet_frame  # most commands read none

    frame = parquet_frame(path, shown)
    texts = []
    for name, dtype in frame.schema.items():
        if dtype == pl.String or dtype.is_float():
            texts.append(pl.col(name))
        elif isinstance(dtype, pl.List) and (
            dtype.inner == pl.String or dtype.inner.is_integer() or dtype.inner.is_float()
        ):
            # a float of 32 bits has as many digits as it needs; as one of 64 bits it would have others
            listed = pl.col(name).cast(pl.List(pl.String)) if dtype.inner.is_float() else pl.col(name)
            made = _json_of_floats if dtype.inner.is_float() else _json_of_list
            texts.append(listed.map_elements(made, return_dtype=pl.String))
        elif isinstance(dtype, pl.Struct):
            texts.append(pl.col(name).struct.json_encode())
        elif dtype.is_numeric() or dtype in (pl.Boolean, pl.Null, pl.Categorical, pl.Enum) or dtype.is_temporal():
            texts.append(pl.col(name).cast(pl.String))
        else:
            msg = f"{shown}: column '{name}' is {dtype}; text, numbers or booleans are read"
            raise DataError(msg)
    return frame.select(texts)


def _xlsx(path: Path, shown: str) -> pl.DataFrame:
    from promptaudit.registry.read_xlsx import xlsx_frame  # most commands read none

    return xlsx_frame(path, shown)


def _jsonl(path: Path, shown: str) -> pl.DataFrame:
    frames = [
        pl.DataFrame(
            {
                name: pl.Series(
                    name, [row.get(name) for row in rows], dtype=pl.Boolean if name == ESCAPED else pl.String
                )
                for name in dict.fromkeys(name for row in rows for name in row)
            }
        )
        for rows in _batches(path, shown)
    ]
    if not frames:
        return pl.DataFrame()
    frame = pl.concat(frames, how="diagonal")
    if ESCAPED not in frame.columns:
        return frame
    return frame.select(pl.exclude(ESCAPED), pl.col(ESCAPED).fill_null(False))  # noqa: FBT003


def _batches(path: Path, shown: str) -> Iterator[list[dict[str, Any]]]:
    # in batches: as dicts, rows take several times the memory that they take in a frame
    batch: list[dict[str, Any]] = []
    columns: set[str] = set()
    n_rows = n_bytes = 0
    limit = most_cells(path)
    for number, line in lines_of(path, shown):
        row = _json_row(line, f"{shown} line {number}")
        if not row.keys() <= columns:
            columns |= row.keys()
            refuse_columns(len(columns - {ESCAPED}), path, shown)
        n_rows, n_bytes = n_rows + 1, n_bytes + len(line)
        refuse_cells(n_rows, len(columns), limit, shown)
        batch.append(row)
        if len(batch) == _ROWS_A_BATCH or n_bytes > _BYTES_A_BATCH:
            yield batch
            batch, n_bytes = [], 0
    if batch and columns:
        yield batch


def _json_row(line: bytes, place: str) -> dict[str, Any]:
    row = json_of(line, place, as_written=True)
    if not isinstance(row, dict):
        msg = f"{place}: an object is wanted, found {type(row).__name__}"
        raise DataError(msg)
    if ESCAPED in row:
        msg = f"{place}: the name '{ESCAPED}' is kept for promptaudit"
        raise DataError(msg)
    return _as_text(row)


def _as_text(row: dict[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, value in row.items():
        if value is not None and not isinstance(value, str):
            value = json.dumps(value, ensure_ascii=False)  # noqa: PLW2901
        if value is not None and not value.isascii():
            value, is_escaped = escape(value)  # noqa: PLW2901
            if is_escaped:
                out[ESCAPED] = True
        out[name] = value
    return out
