"""Reads the one sheet with rows of a spreadsheet's .xlsx file, every cell as the text of its value."""

from __future__ import annotations

import datetime as dt
import re
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from promptaudit.registry.errors import DataError, PromptauditError, UsageError
from promptaudit.registry.extras import is_installed, needs_extra
from promptaudit.registry.read_csv import most_cells, refuse_cells, refuse_columns, refuse_title, with_bare_names
from promptaudit.registry.unpack import MAX_FILE, MAX_UNPACKED, TIMES_UNPACKED

if TYPE_CHECKING:
    from openpyxl.worksheet.worksheet import Worksheet

MAX_XML = 1 << 26  # bytes of all members, beyond `TIMES_XML` for each byte of the file
TIMES_XML = 30
MAX_ELEMENTS = 1 << 20  # beyond one for each two bytes of the file: a row is in memory with all that it nests
LOSES_DIGITS = 10**15  # from here on Excel has put zeros, or a double another digit, in the place of the last ones
MAX_ROWS = 1 << 20  # which no spreadsheet has more of
_CHUNK = 1 << 20
_FORMULA = b"<f"
_ZEROS = re.compile("0+")


def xlsx_frame(path: Path, shown: str) -> pl.DataFrame:
    """Reads the rows of the only sheet that has rows; blank cells are treated like empty fields of CSV.

    Raises UsageError without the extra `xlsx`, and DataError for a file with several such sheets, with a formula that
    was never computed, or that unpacks to more than a file of its size may.
    """
    if not is_installed("xlsx"):
        raise UsageError(needs_extra(f"{shown}: a file of a spreadsheet", "xlsx"))
    try:
        has_formulas = _look_at_members(path, shown)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # styles and charts that openpyxl does not know
            return _frame_of(path, shown, has_formulas=has_formulas)
    except (PromptauditError, OSError):
        raise
    except zipfile.BadZipFile:
        msg = f"{shown}: not readable as XLSX: save it as .xlsx, without a password"
    except Exception as error:  # noqa: BLE001 - what openpyxl raises for a broken file is of any kind
        msg = f"{shown}: not readable as XLSX: {type(error).__name__}: {str(error)[:200]}"
    raise DataError(msg)


def _look_at_members(path: Path, shown: str) -> bool:
    # returns whether a sheet may have a formula; refuses members that are too large by the sizes that they state,
    # beyond which no reader unpacks them
    size = path.stat().st_size
    limit, most = min(MAX_FILE, MAX_XML + TIMES_XML * size), MAX_ELEMENTS + size // 2
    n_elements, has_formulas = 0, False
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        if sum(member.file_size for member in members) > limit:
            msg = f"{shown}: more than {limit:,} bytes when unpacked; split it, or save its sheet as .csv"
            raise DataError(msg)
        for member in members:
            if not member.filename.endswith((".xml", ".rels")):
                continue
            is_sheet, rest = member.filename.startswith("xl/worksheets/"), b""
            with archive.open(member) as file:
                while n_elements <= 2 * most and (part := file.read(_CHUNK)):
                    n_elements += part.count(b"<")
                    has_formulas |= is_sheet and _FORMULA in rest + part
                    rest = part[-1:]
    if n_elements > 2 * most:  # each begins and ends
        msg = f"{shown}: more cells than a file of its size may have; split it, or save its sheet as .csv"
        raise DataError(msg)
    return has_formulas


def _frame_of(path: Path, shown: str, *, has_formulas: bool) -> pl.DataFrame:
    sheets = _sheets(path, is_computed=True)
    filled = [name for name, sheet in sheets.items() if next(_rows(sheet, path, shown), None)]
    if not filled:
        return pl.DataFrame()
    if len(filled) > 1:
        names = ", ".join(name[:60] for name in filled[:10])
        msg = f"{shown}: {len(filled)} sheets have rows ({names}); leave the one to be read, or save it as .csv"
        raise DataError(msg)
    sheet = sheets[filled[0]]
    refuse_title(([text or "" for text in row] for row in _rows(sheet, path, shown)), shown)
    (header, *rows) = _rows(sheet, path, shown)
    while not header[-1]:
        header.pop()
    refuse_columns(len(header), path, shown)
    for number, row in enumerate(rows, start=1):
        if any(row[len(header) :]):
            msg = f"{shown} row {number}: {len(row)} fields, the header has {len(header)}"
            raise DataError(msg)
        row.extend([None] * (len(header) - len(row)))
    columns = {n: pl.Series(str(n), [row[n] for row in rows], pl.String) for n in range(len(header))}
    kept = [n for n in columns if header[n] or columns[n].str.len_bytes().sum()]  # what parts others has neither
    if has_formulas and any(columns[n].has_nulls() for n in kept):
        _refuse_uncomputed(path, filled[0], shown)
    blank_is_text = [n for n in kept if not (columns[n] == "").any()]
    frame = with_bare_names([header[n] or "" for n in kept], [columns[n] for n in kept], shown)
    return frame.with_columns(pl.nth(kept.index(n)).fill_null("") for n in blank_is_text)


def _sheets(path: Path, *, is_computed: bool) -> dict[str, Worksheet]:
    import openpyxl

    book = openpyxl.load_workbook(path, read_only=True, data_only=is_computed, keep_links=False)
    for sheet in book.worksheets:
        sheet.reset_dimensions()  # those that the file states may be any
    return {sheet.title: sheet for sheet in book.worksheets}


def _rows(sheet: Worksheet, path: Path, shown: str) -> Iterator[list[str | None]]:
    # rows that have a text; refuses more cells or texts than a file of its size may have
    limit = min(MAX_FILE, MAX_UNPACKED + TIMES_UNPACKED * path.stat().st_size)
    n_cells = n_characters = 0
    for number, cells in enumerate(sheet.iter_rows(), start=1):
        row = [_text(cell, shown) for cell in cells]
        n_cells += max(1, len(row))
        refuse_cells(number, -(-n_cells // number), most_cells(path), shown)
        n_characters += sum(len(text) for text in row if text)
        if n_characters > limit or number > MAX_ROWS:
            msg = (
                f"{shown} row {number}: more than {limit:,} bytes of text, or {MAX_ROWS:,} rows; save its sheet as .csv"
            )
            raise DataError(msg)
        if any(row):
            yield row


def _text(cell: Any, shown: str) -> str | None:  # noqa: ANN401 - of a sheet that is read, or one for all that are blank
    value = cell.value
    if value is None:
        return None
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int | float) and abs(value) >= LOSES_DIGITS:
        msg = (
            f"{shown}: cell {cell.coordinate} is a number of more than 15 digits, of which a spreadsheet keeps 15: format its "
            "column as text and enter it anew"
        )
        raise DataError(msg)
    if isinstance(value, int):
        zeros = _ZEROS.fullmatch(cell.number_format or "")  # 007 may be a number that is shown so
        return f"{'-' * (value < 0)}{abs(value):0{len(zeros[0]) if zeros else 1}d}"
    if isinstance(value, float):
        return f"{value:.15g}"
    if isinstance(value, dt.datetime):
        return str(value.date() if value.time() == dt.time() else value)
    return str(value).replace("_x000D_", "\r")


def _refuse_uncomputed(path: Path, name: str, shown: str) -> None:
    # a formula has no value if a program wrote it and no spreadsheet has saved the file since
    both = (_sheets(path, is_computed=is_computed)[name].iter_rows() for is_computed in (True, False))
    for values, cells in zip(*both, strict=True):
        for value, cell in zip(values, cells, strict=True):
            if value.value is None and value.data_type != "str" and cell.data_type == "f":
                msg = f"{shown}: cell {cell.coordinate} is a formula without a value; open the file in a spreadsheet and save it"
                raise DataError(msg)
