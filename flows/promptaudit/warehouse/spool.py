"""Keeps rows on disk from the moment they are known until they have landed: append-only files, a few a run.

When `append` returns, the operating system has the row, so it survives any end of this process. A segment is forced to
the disk before it lands, so a power cut costs at most the rows since. A segment is removed once the warehouse has it,
and the next start lands what a killed run left behind. Landing twice adds nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl

from promptaudit.registry.errors import BrokenFile, WarehouseError
from promptaudit.registry.tables import escape
from promptaudit.system.files import private_folder, read_regular, writing
from promptaudit.system.shared_folder import MOST_BYTES
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.raw_tables import TABLES

SEGMENT = re.compile(r"[0-9]{1,18}\.([a-z_]+)\.jsonl")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Spool:
    """The rows of one run that are to land in the warehouse, in a folder of their own; one writer."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        private_folder(self._folder)
        self._number = 1 + max(
            (number_of(path.name) for path in self._folder.iterdir() if is_segment(path.name)), default=0
        )
        self._open: dict[str, tuple[Path, int]] = {}  # table to its file and handle
        self.n_rows = self.n_bytes = 0  # of the segment that is open

    def append(self, table: str, row: Mapping[str, Any]) -> None:
        """Writes a row of `raw.<table>`.

        Raises WarehouseError if the disk is full, and then keeps nothing of the row.
        """
        path, handle = self._open.get(table) or self._opened(table)
        length = os.fstat(handle).st_size
        line = _line(row)
        try:
            written = os.write(handle, line)
            while written < len(line):  # a file takes all or, when it is full, a part
                written += os.write(handle, line[written:])
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(handle, length)
            msg = f"{path}: {error.strerror}: an answer could not be kept; all before it are, run again to continue"
            raise WarehouseError(msg) from None
        self.n_rows += 1
        self.n_bytes += len(line)

    def turn(self) -> list[Path]:
        """Closes the segment, forces it to the disk, and returns its files; the next row opens another."""
        # let go of first: a handle that is closed may be another file's by the time of the next row
        closing, self._open = self._open, {}
        self._number += bool(closing)
        self.n_rows = self.n_bytes = 0
        failure = None
        for path, handle in closing.values():
            try:
                os.fsync(handle)
            except OSError as error:
                failure = f"{path}: {error.strerror}: what it holds is landed by the next start, if the disk kept it"
            finally:
                os.close(handle)
        if failure is not None:
            raise WarehouseError(failure)
        return [path for path, _ in closing.values()]

    def close(self) -> None:
        """Closes what is open, and removes the folder if it holds no rows."""
        self.turn()
        with contextlib.suppress(OSError):  # rows that could not be landed wait for the next start
            self._folder.rmdir()
            self._folder.parent.rmdir()

    def _opened(self, table: str) -> tuple[Path, int]:
        path = self._folder / f"{self._number:08d}.{table}.jsonl"
        with writing(path):
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        self._open[table] = (path, handle)
        return path, handle


def spool_of(warehouse: Warehouse, audit_run_id: str) -> Spool:
    """Opens the spool of a run beside its warehouse."""
    return Spool(warehouse.places.spool / audit_run_id)


def land_segment(warehouse: Warehouse, files: Sequence[Path]) -> None:
    """Lands the files of one segment in one transaction, then removes them."""
    warehouse.land([(table_of(path.name), read_spooled(path)) for path in files])
    for path in files:
        path.unlink()


def read_spooled(path: Path) -> pl.DataFrame:
    """Reads the rows of a spool file, except for a last line that a kill cut off.

    Raises BrokenFile naming the first line that is no row.
    """
    return rows_of(read_regular(path, MOST_BYTES), table_of(path.name), str(path))


def rows_of(written: bytes, table: str, name: str) -> pl.DataFrame:
    """Reads the rows of `raw.<table>` from the contents of a spool file of this name, as `read_spooled` does."""
    schema = TABLES[table].columns
    times = [name for name, dtype in schema.items() if isinstance(dtype, pl.Datetime)]
    whole = written[: written.rfind(b"\n") + 1]
    if not whole:
        return pl.DataFrame(schema=schema)
    try:
        rows = pl.read_ndjson(whole, schema={**schema, **dict.fromkeys(times, pl.Int64())})
        return rows.cast({name: schema[name] for name in times})
    except pl.exceptions.PolarsError:
        number = next((n for n, line in enumerate(whole.splitlines(), 1) if not _is_row(line)), 0)
        msg = f"{name} line {number}: no row that can be landed"
        raise BrokenFile(msg) from None


def _is_row(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _line(row: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(row, ensure_ascii=False, default=_microseconds).encode() + b"\n"
    except UnicodeEncodeError:
        escaped = {name: escape(value)[0] if isinstance(value, str) else value for name, value in row.items()}
        return json.dumps(escaped, ensure_ascii=False, default=_microseconds).encode() + b"\n"


def _microseconds(value: object) -> int:
    if not isinstance(value, datetime):
        msg = f"no column holds a {type(value).__name__}"
        raise TypeError(msg)
    since = (value.replace(tzinfo=UTC) if value.tzinfo is None else value) - EPOCH
    return since // timedelta(microseconds=1)


def is_segment(name: str) -> bool:
    """Checks whether a file of this name belongs to a spool."""
    return SEGMENT.fullmatch(name) is not None


def number_of(name: str) -> int:
    """Reads the number of the segment from the name of a spool file."""
    return int(name.partition(".")[0])


def table_of(name: str) -> str:
    """Reads the table from the name of a spool file; raises BrokenFile if it names none."""
    found = SEGMENT.fullmatch(name)
    if found is None or found[1] not in TABLES:
        msg = f"{name}: no file of a spool"
        raise BrokenFile(msg)
    return found[1]
