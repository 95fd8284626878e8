"""Keeps a journal of publications in the warehouse, so that the next start completes one that was cut short.

A publication seals, writes Parquet files, the published copy and pages. Its row lands before the first of these and
says what is due. It ends with its last page. One without pages ends when the published copy, which is written last,
has its row too. A publication holds the warehouse, so an open row that this process did not begin was cut short.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from promptaudit.registry.errors import WarehouseError
from promptaudit.system.clock import now
from promptaudit.system.keys import as_json, content_id
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.duckdb_file import Connection
from promptaudit.warehouse.insert import insert_new
from promptaudit.warehouse.rows import frame_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """Lists what a publication has to do.

    derived, compared, erased: as `promptaudit.marts.publish.publish` takes them.
    pages, comparisons: the runs and comparisons whose pages it writes.
    sample: the id and the task (or None) of the sample whose texts are erased; only `erase` completes such a one.
    is_copied: whether it writes the published copy.
    """

    derived: tuple[str, ...] = ()
    compared: tuple[str, ...] = ()
    erased: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()
    comparisons: tuple[str, ...] = ()
    sample: tuple[str | None, ...] = ()
    is_copied: bool = False

    @property
    def runs(self) -> list[str]:
        """Lists its runs."""
        return list(dict.fromkeys([*self.pages, *self.derived, *self.erased]))

    def joined(self, other: Due) -> Due:
        """Joins what two parts of one publication have to do."""
        both: dict[str, Any] = {
            each.name: tuple(dict.fromkeys([*getattr(self, each.name), *getattr(other, each.name)]))
            for each in fields(self)
            if each.name not in ("sample", "is_copied")
        }
        return Due(**both, sample=self.sample or other.sample, is_copied=self.is_copied or other.is_copied)


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """A publication that was begun. `ended_at` is None while its pages are due."""

    audit_run_id: str
    publication_id: str
    due: Due
    begun_at: datetime
    ended_at: datetime | None
    files: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The SHA-256 of each Parquet file that it writes, and before it that of the file in its place, by the path among
    the marts."""

    @property
    def command(self) -> str:
        """Gives the command that completes it."""
        if self.due.sample:
            sample, task = self.due.sample
            of = [] if task is None else [f"--task={task}"]
            return shlex.join(["promptaudit", "erase", f"--sample={sample}", *of])
        return f"promptaudit report {self.audit_run_id}" if self.audit_run_id else "promptaudit report"


_begun: dict[Path, Publication] = {}  # of this process, by file


@contextmanager
def publication(warehouse: Warehouse, due: Due) -> Iterator[None]:
    """Journals what is published inside. Inside another publication of this process it becomes a part of that one.

    After an error it stays open, for the next start to complete.
    """
    file = warehouse.places.file
    outer = _begun.get(file)
    is_ended_by_copy = not (due.pages or due.comparisons or due.sample)
    if outer is None:
        begun_at = now()
        row = Publication(
            audit_run_id=next(iter(due.runs), ""),
            publication_id=content_id("publication", begun_at.isoformat(), os.urandom(8).hex()),
            due=due,
            begun_at=begun_at,
            ended_at=begun_at if is_ended_by_copy else None,
        )
        with warehouse.write() as con:
            insert_new(
                con,
                "publications",
                frame_of("publications", [asdict(row) | {"due": as_json(asdict(due)), "files": None}]),
            )
        _begun[file] = row
    else:
        add(warehouse, due)
    try:
        yield
    finally:
        if outer is None:
            del _begun[file]
    if outer is None and not is_ended_by_copy:
        end(warehouse, [row])


def add(warehouse: Warehouse, due: Due) -> Due:
    """Adds to what the publication has to do that this process has begun, and gives all of it."""
    row = _begun[warehouse.places.file]
    both = row.due.joined(due)
    if both != row.due:
        with warehouse.write() as con:
            _update(con, row.publication_id, due=as_json(asdict(both)))
        _begun[warehouse.places.file] = replace(row, due=both)
    return both


def add_files(con: Connection, warehouse: Warehouse, hashes: Mapping[str, Sequence[str]]) -> None:
    """Records the hashes of Parquet files, before they are put in place, in the publication that this process has begun."""
    row = _begun[warehouse.places.file]
    files = dict(row.files) | {name: [*row.files.get(name, ()), *new] for name, new in hashes.items()}
    _update(con, row.publication_id, files=as_json(files))
    _begun[warehouse.places.file] = replace(row, files=files)


def forget_files(con: Connection, warehouse: Warehouse, names: Collection[str]) -> None:
    """Drops what earlier publications recorded of Parquet files that the one of this process has put in place."""
    own = _begun[warehouse.places.file].publication_id
    for publication_id, files in _rows(con, "publication_id, files"):
        recorded = json.loads(files or "{}")
        left = {name: hashes for name, hashes in recorded.items() if name not in names}
        if publication_id != own and left != recorded:
            _update(con, publication_id, files=as_json(left) if left else None)


def hashes_of_files(con: Connection) -> dict[str, set[str]]:
    """Collects the hashes that any publication recorded, by the file's path among the marts."""
    hashes: dict[str, set[str]] = {}
    for (files,) in _rows(con, "files"):
        for name, recorded in json.loads(files or "{}").items():
            hashes.setdefault(name, set()).update(recorded)
    return hashes


def end(warehouse: Warehouse, publications: Collection[Publication]) -> None:
    """Records that publications have ended."""
    with warehouse.write() as con:
        for each in publications:
            _update(con, each.publication_id, ended_at=now())


def _update(con: Connection, publication_id: str, **values: object) -> None:
    ((name, value),) = values.items()
    con.execute(f"update raw.publications set {name} = ? where publication_id = ?", [value, publication_id])  # noqa: S608 - ours


def cut_short(con: Connection, copy: Connection | None) -> list[Publication]:
    """Finds the publications of a warehouse that were cut short, the oldest first.

    `copy` reads the published copy; None if it is not there or cannot be read, so that nothing is known of it.
    """
    copied = None if copy is None else {row[0] for row in _rows(copy, "publication_id")}
    found = [
        Publication(
            audit_run_id=run,
            publication_id=publication_id,
            due=_read(due),
            begun_at=begun_at,
            ended_at=ended_at,
        )
        for run, publication_id, due, begun_at, ended_at in _rows(
            con, "audit_run_id, publication_id, due, begun_at, ended_at"
        )
    ]
    lacks = [each for each in found if copied is not None and each.due.is_copied and each.publication_id not in copied]
    return [each for each in found if each.ended_at is None or each in lacks]


def _read(due: str) -> Due:
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in json.loads(due).items()
    }
    return Due(**values)


def _rows(con: Connection, columns: str) -> list[tuple[Any, ...]]:
    # a warehouse of an earlier version lacks the table, or a column
    there = (
        "select column_name from information_schema.columns where table_schema = 'raw' and table_name = 'publications'"
    )
    if not set(columns.split(", ")) <= {name for (name,) in con.execute(there).fetchall()}:
        return []
    return con.execute(f"select {columns} from raw.publications order by begun_at, publication_id").fetchall()  # noqa: S608 - ours


def left_open(warehouse: Warehouse) -> list[Publication]:
    """Finds the publications that an earlier process left. The caller holds the warehouse."""
    own = _begun.get(warehouse.places.file)
    with warehouse.write() as con:
        found = None
        if warehouse.published.exists():
            with suppress(WarehouseError), warehouse.published.connect() as copy:
                found = cut_short(con, copy)
        found = cut_short(con, None) if found is None else found
    return [each for each in found if own is None or each.publication_id != own.publication_id]
