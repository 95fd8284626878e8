"""Hashes rows, so that a table can be compared with an earlier state of it.

The text of a row is the texts of its columns as netstrings, in the order of their names. Its digest is the first 16
bytes of the sha256. A key's digest is 8 bytes of an md5: it identifies the row and proves nothing. Values are hashed as
DuckDB writes them, which is the same on every machine: floating point numbers as the shortest text that reads back.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from promptaudit.warehouse.duckdb_file import Connection, frame_of_rows
from promptaudit.warehouse.selection import Selection
from promptaudit.warehouse.sql import over, sql

BATCH = 100_000  # rows
WORDS = ("row_high", "row_low", "key")


def columns_of(con: Connection, rows: Selection) -> tuple[str, ...]:
    """Lists the names of the rows' columns, sorted."""
    return tuple(sorted(row[0] for row in con.execute(f"describe from {rows.sql}", rows.values).fetchall()))


def has_rows(con: Connection, rows: Selection) -> bool:
    """Checks whether there is at least one row."""
    return bool(con.execute(f"select 1 from {rows.sql} limit 1", rows.values).fetchall())  # noqa: S608 - names of ours


def digests(con: Connection, rows: Selection, columns: Sequence[str], key: Sequence[str]) -> pl.DataFrame:
    """Computes the digest of each row (`row_high`, `row_low`) and of its key (`key`), one line a row, sorted.

    All are unsigned 64-bit numbers. `columns` and `key` are names of the rows' columns.
    """
    texts = f"select {netstrings(columns)} as text, {netstrings(key)} as key_text from {rows.sql}"  # noqa: S608 - names of ours
    return frame_of_rows(con, over(sql("marts", "digests"), texts=texts), rows.values)


def table_sha256(
    con: Connection, rows: Selection, columns: Sequence[str], by: str = "''"
) -> dict[str, tuple[int, str]]:
    """Counts the rows and hashes all of them with one sha256, whatever their order, for each value of `by`."""
    texts = f"select {by} as part, {netstrings(columns)} as text from {rows.sql}"  # noqa: S608 - names of ours
    sums: dict[str, Any] = {}
    n_rows: Counter[str] = Counter()
    # a batch at a time: the digests of ten million rows in one text would be 640 MB, and several times that on the way
    for batch in con.execute(over(sql("marts", "sums"), texts=texts), rows.values).to_arrow_reader(BATCH):
        for (part,), own in pl.DataFrame(batch).group_by("part", maintain_order=True):
            n_rows[part] += own.height
            text = own["digest"].bin.encode("hex").str.join().item()
            sums.setdefault(part, hashlib.sha256()).update(text.encode())
    return {part: (n_rows[part], own.hexdigest()) for part, own in sums.items()}


NO_ROWS = (0, "")  # what a table without rows of a run has


def netstrings(columns: Sequence[str]) -> str:
    """Writes the SQL for the text of a row. No two different rows have the same text."""
    names = ['"' + name.replace('"', '""') + '"' for name in columns]
    # one call with all parts: a chain of `||` copies the growing text once a part; concat leaves out what is NULL
    parts = [
        f"coalesce(strlen({name}::varchar)::varchar, '-'), if({name} is null, '', ':'), {name}::varchar"
        for name in names
    ]
    return f"concat({', '.join(parts)})"


def packed(rows: pl.DataFrame) -> bytes:
    """Packs digests into bytes, 24 a row, big-endian."""
    return rows.select(WORDS).to_numpy().astype(">u8").tobytes()


def unpacked(content: bytes) -> pl.DataFrame:
    """Unpacks digests from bytes; raises ValueError for bytes that are no whole rows."""
    words = np.frombuffer(content, dtype=">u8").astype("u8").reshape(-1, len(WORDS))
    return pl.DataFrame({name: words[:, place] for place, name in enumerate(WORDS)})
