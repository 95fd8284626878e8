"""Reads CSV files from any source, with any usual separator, in UTF-8 or UTF-16.

It limits the number of cells by the size of the file.
"""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

import polars as pl

from promptaudit.registry.errors import DataError

MAX_COLUMNS = 1000
MAX_TEXT = 1 << 24  # bytes of one value
MAX_SIGNS = 1_000_000  # separators in one line
MAX_LINE = 1 << 26  # characters
MAX_CELLS = 8_000_000  # beyond one for each four bytes of the file: an empty one takes sixteen in memory
_SEPARATORS = (",", ";", "\t", "|")
_HEAD = 1 << 16  # characters by which the separator is found
_BELOW_A_TITLE = 12  # lines in which the names of columns are looked for
_NAME = re.compile(r"[^\W\d][\w .()/-]{0,60}")
_NAMED_SEPARATOR = re.compile(
    r"sep=([,;\t|])\r?\n", re.IGNORECASE
)  # what spreadsheets write above the header, and read
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def csv_frame(path: Path, shown: str) -> pl.DataFrame:
    """Reads the rows of a CSV file as text.

    An empty field is an empty string, unless its column also quotes empty strings: then the bare one is null.
    Raises DataError, UnicodeDecodeError or an error of polars.
    """
    with path.open("rb") as file:
        start = file.read(2)
        if start not in _UTF16 and b"\x00" in start + file.readline(1_000_000):
            msg = f"{shown} line 1: NUL bytes in the header: a binary file, not CSV"
            raise DataError(msg)
    encoding = "utf-16" if start in _UTF16 else "utf-8-sig"
    csv.field_size_limit(MAX_TEXT)
    try:
        with path.open(encoding=encoding, newline="") as file:
            head = file.read(_HEAD)
            if "\r" in head and "\n" not in head:
                msg = f"{shown}: its lines end with CR alone; save it with LF or CRLF at their ends"
                raise DataError(msg)
            named = _NAMED_SEPARATOR.match(head)
            separator = named[1] if named else _separator(head)
            below = io.StringIO(head[named.end() if named else 0 :], newline="")
            refuse_title(csv.reader(below, delimiter=separator), shown)
            file.seek(0)
            if named:
                file.readline()
            _refuse_uneven(csv.reader(_bounded(file, separator, shown), delimiter=separator), path, shown)
    except csv.Error as error:
        msg = f"{shown}: not readable as CSV: {error}"
        raise DataError(msg) from None
    content = path if encoding == "utf-8-sig" else path.read_text(encoding).encode()
    frame = pl.read_csv(content, infer_schema=False, separator=separator, skip_lines=1 if named else 0)
    frame = with_bare_names(frame.columns, frame.get_columns(), shown)
    for column in frame.columns:
        head, _, number = column.rpartition("_duplicated_")
        if head in frame.columns and number.isdigit():
            msg = f"{shown} line 1: column '{head}' stands twice"
            raise DataError(msg)
    quotes_empty = [c for c in frame.columns if (frame[c] == "").any()]
    return frame.with_columns(pl.col(c).fill_null("") for c in frame.columns if c not in quotes_empty)


def with_bare_names(names: Sequence[str], columns: Sequence[pl.Series], shown: str) -> pl.DataFrame:
    """Strips the blanks around the columns' names: `model; sample_id` names two columns.

    Raises DataError for equal names.
    """
    bare = [name.strip() for name in names]
    double = next((name for name, n in Counter(bare).items() if n > 1), None)
    if double is not None:
        msg = f"{shown} line 1: column '{double}' stands twice"
        raise DataError(msg)
    return pl.DataFrame(dict(zip(bare, columns, strict=True)))


def _separator(head: str) -> str:
    # the sign that splits header and first rows into the same number of fields, and into the most; if none does, the
    # sign that splits the header into most fields, so that the row with another number of fields is named
    fields: dict[str, int] = {}
    for sign in _SEPARATORS:
        counts = [len(record) for record in csv.reader(io.StringIO(head, newline=""), delimiter=sign) if record]
        counts = counts[:-1] if len(head) == _HEAD and len(counts) > 1 else counts  # the last one is cut
        fields[sign] = counts[0] if len(set(counts)) == 1 else 1
        fields.setdefault(f"{sign} in the header", counts[0] if counts else 1)
    even = max(_SEPARATORS, key=lambda sign: fields[sign])
    return even if fields[even] > 1 else max(_SEPARATORS, key=lambda sign: fields[f"{sign} in the header"])


def refuse_title(records: Iterator[list[str]], shown: str) -> None:
    """Raises DataError if line 1 is a title and a line below names as many columns or more.

    Most fields of a title are blank. If none is, all lines below have more fields than line 1, and the next one names
    them.
    """
    first, *others = [*itertools.islice(records, _BELOW_A_TITLE)] or [[]]
    n_blank = sum(not field.strip() for field in first)
    if len(first) > 1 and n_blank < 2:  # noqa: PLR2004 - an index has a column without a name
        widths = {len(row) for row in others if row}
        if len(others) < 2 or len(widths) > 1 or widths.pop() <= len(first):  # noqa: PLR2004 - names and a row
            return
        others = others[:1]
    for number, names in enumerate(others, start=2):
        bare = [name.strip() for name in names]
        are_names = len(set(bare)) == len(bare) >= max(2, len(first)) and all(map(_NAME.fullmatch, bare))
        if are_names:
            blank = "has columns without a name" if n_blank > 1 else "is no header"
            named = f"where line {number} names them ({', '.join(bare)[:80]}), delete what is above"
            msg = f"{shown} line 1 {blank}; {named}"
            raise DataError(msg)


def _refuse_uneven(records: Iterator[list[str]], path: Path, shown: str) -> None:
    # a file that was cut off must not read as blank answers
    n_columns, limit = len(next(records, ())), most_cells(path)
    refuse_columns(n_columns, path, shown)
    for number, record in enumerate(records, start=1):
        if record and len(record) != n_columns:
            msg = f"{shown} row {number}: {len(record)} fields, the header has {n_columns}"
            raise DataError(msg)
        refuse_cells(number, n_columns, limit, shown)


def _bounded(file: IO[str], separator: str, shown: str) -> Iterator[str]:
    # raises DataError for a line that is longer, or has more separators, than any row
    number = 0
    while line := file.readline(MAX_LINE):
        number += 1
        if len(line) == MAX_LINE or line.count(separator) > MAX_SIGNS:
            msg = f"{shown} line {number}: a line of {MAX_LINE:,} characters, or {MAX_SIGNS:,} separators; is it really CSV?"
            raise DataError(msg)
        yield line


def refuse_columns(n: int, path: Path, shown: str) -> None:
    """Raises DataError for more than MAX_COLUMNS columns, more than any table has that a person made."""
    if n > MAX_COLUMNS:
        msg = f"{shown}: {n} columns, at most {MAX_COLUMNS} are read; is it really {path.suffix[1:].upper()}?"
        raise DataError(msg)


def most_cells(path: Path) -> int:
    """Limits how many cells a table may have, including empty ones. Cells of real tables take about four bytes each."""
    return MAX_CELLS + path.stat().st_size // 4


def refuse_cells(n_rows: int, n_columns: int, limit: int, shown: str) -> None:
    """Raises DataError for more cells than `most_cells` of the file."""
    if n_rows * n_columns > limit:
        msg = (
            f"{shown} row {n_rows}: {n_rows:,} rows of {n_columns} columns are more cells than a file of its size may have; "
            "split it, or leave out the columns that are empty"
        )
        raise DataError(msg)
