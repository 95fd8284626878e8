"""Writes the raw rows of one run as Parquet files beside the warehouse, checks them, and reads them again."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from io import BytesIO

import polars as pl

from promptaudit.registry.errors import WarehouseError
from promptaudit.system.files import file_sha256, force, private_folder, put_in_place, writing
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.duckdb_file import Connection
from promptaudit.warehouse.insert import write_parquet
from promptaudit.warehouse.selection import Selection, of_file, of_run

_Content = tuple[list[tuple[str, str]], int, int | None, int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Archived:
    """One table's rows of a run, in a file; `path` is relative to the warehouse's folder."""

    table_name: str
    path: str
    n_rows: int
    n_bytes: int
    sha256: str


def write_archive(con: Connection, warehouse: Warehouse, table: str, audit_run_id: str) -> Archived | None:
    """Writes a run's rows of `raw.<table>` to `archive/<table>/audit_run_id=<run>/data.parquet`; None without rows.

    The file, forced to the disk, takes its place only after it reads back as the rows it was made of. It replaces the
    remains of an interrupted call.

    Raises:
        WarehouseError: it cannot be written, or reads back otherwise.
    """
    if not re.fullmatch(r"[0-9A-Za-z_-]+", audit_run_id):  # it becomes a folder's name
        msg = f"{warehouse}: {audit_run_id[:80]!r} is no run's id"
        raise WarehouseError(msg)
    rows = of_run(f"raw.{table}", audit_run_id)
    content = _content(con, rows)
    n_rows = content[1]
    if not n_rows:
        return None
    folder = warehouse.places.archive
    place = folder / table / f"audit_run_id={audit_run_id}"
    path, draft = place / "data.parquet", place / "data.parquet.new"
    with writing(path, then="; nothing is dropped"):
        for directory in (folder, place.parent, place):
            private_folder(directory)
            force(directory.parent)
        write_parquet(con, rows, draft)
        if _content(con, of_file(draft)) != content:
            msg = f"{draft}: reads back otherwise than the rows of raw.{table} it was made of; nothing is dropped"
            raise WarehouseError(msg)
        put_in_place(draft, path)
        n_bytes, sha256 = path.stat().st_size, file_sha256(path)
    name = str(path.relative_to(folder.parent))
    return Archived(table_name=table, path=name, n_rows=n_rows, n_bytes=n_bytes, sha256=sha256)


def read_archive(warehouse: Warehouse, path: str, sha256: str) -> pl.DataFrame:
    """Reads the rows of an archived file.

    Raises WarehouseError if it is missing or not the file that was written.
    """
    place = warehouse.places.archive.parent / path
    try:
        written = place.read_bytes()
    except OSError as error:
        msg = f"{place}: cannot be read: {error.strerror}; put it back from a backup"
        raise WarehouseError(msg) from None
    actual = hashlib.sha256(written).hexdigest()
    if actual != sha256:
        msg = f"{place}: not the file that was written: its sha256 is {actual[:12]}…, {sha256[:12]}… is wanted; put it back"
        raise WarehouseError(msg)
    return pl.read_parquet(BytesIO(written))


def _content(con: Connection, rows: Selection) -> _Content:
    # columns with their types, number of rows, and two sums over the rows' hashes, which do not depend on the order
    columns = [(row[0], row[1]) for row in con.execute(f"describe from {rows.sql}", rows.values).fetchall()]
    query = f"select count(*), sum(hash(t)::hugeint), bit_xor(hash(t)) from (from {rows.sql}) as t"  # noqa: S608 - ours
    n_rows, total, mixed = con.execute(query, rows.values).fetchall()[0]
    return columns, n_rows, total, mixed
