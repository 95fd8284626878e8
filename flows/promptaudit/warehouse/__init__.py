"""The only memory between the steps of an audit: a DuckDB file and its published copy.

Every other room works with a `Warehouse`. One writer per process opens its file, briefly; readers use the published
copy and are never blocked.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from promptaudit.registry.errors import WarehouseError
from promptaudit.warehouse.lock import lock
from promptaudit.warehouse.places import PUBLISHED, Places

if TYPE_CHECKING:
    import polars as pl

    from promptaudit.warehouse.duckdb_file import Connection
    from promptaudit.warehouse.lake import Lake

__all__ = ["PUBLISHED", "Ask", "Places", "Published", "Row", "Warehouse", "rows_as"]

Row = dict[str, Any]
"""A row by the names of its columns."""


class Ask(Protocol):
    """A function that reads the rows of a query about one run.

    `values` are bound to the query's `$names`, beside `$run`.
    """

    def __call__(self, query: str, /, **values: object) -> list[Row]:
        """Reads the rows."""


Kind = TypeVar("Kind")


def rows_as(kind: type[Kind], rows: Iterable[Row]) -> list[Kind]:
    """Converts the rows of a query to `kind`, a NamedTuple or frozen dataclass with the query's columns as its fields.

    Raises:
        WarehouseError: a column is missing, or `kind` has no field of its name.
    """
    try:
        return [kind(**row) for row in rows]
    except TypeError as error:
        msg = f"a query's columns are not the fields of {kind.__name__}: {error}"
        raise WarehouseError(msg) from None


@dataclass(frozen=True)
class Warehouse:
    """A warehouse, named by the path of its DuckDB file, which need not exist yet.

    Only `duckdb_file` knows how the file is opened, shared between threads and closed. All other code uses this class.
    """

    path: Path

    def __str__(self) -> str:
        """Gives the path as the user wrote it."""
        return str(self.path)

    @property
    def places(self) -> Places:
        """Names the places of the warehouse's files."""
        return Places(self.path)

    @property
    def published(self) -> Published:
        """Finds the copy for readers, or the lake if neither the copy nor the warehouse is on this machine."""
        copy = self.places.copy
        if copy.is_file() or self.exists() or not os.environ.get("PROMPTAUDIT_LAKE"):
            return Published(copy)
        from promptaudit.warehouse.lake import lake_of_settings

        return Published(copy, lake_of_settings())

    def exists(self) -> bool:
        """Checks whether its file exists."""
        return self.path.exists()

    def hold(
        self, wait_s: float = 60, say: Callable[[str], None] | None = None, what: str = "", by: str = ""
    ) -> AbstractContextManager[None]:
        """Holds the one lock of a run; waits `wait_s` seconds, says so at once, then raises WarehouseLocked.

        `by` names the holder to others who wait. `what` names a lock of its own: a night's, which lasts beyond its run.
        """
        return lock(self.path, self.places.beside(f".{what}.lock" if what else ".lock"), wait_s, say, by)

    def write(self, *, wait_s: float = 30) -> AbstractContextManager[Connection]:
        """Opens a writer's connection for one piece of work; errors of DuckDB become one line.

        Raises:
            WarehouseLocked: another program has the file open, for longer than `wait_s` seconds.
            WarehouseError: the file cannot be opened, or a query failed.
        """
        from promptaudit.warehouse.duckdb_file import connect

        return connect(self.path, wait_s=wait_s)

    def read(self, query: str, /, **values: object) -> list[Row]:
        """Reads the rows of a query on the writer's file as dicts; `values` are bound to the query's `$names`."""
        from promptaudit.warehouse.duckdb_file import rows_of

        with self.write() as con:
            return rows_of(con, query, **values)

    def frame(self, query: str, /, **values: object) -> pl.DataFrame:
        """Reads the rows of a query on the writer's file as a frame in the types of their columns.

        Otherwise as `read`.
        """
        from promptaudit.warehouse.duckdb_file import frame_of_rows

        with self.write() as con:
            return frame_of_rows(con, query, values)

    def land(self, tables: Iterable[tuple[str, pl.DataFrame]]) -> int:
        """Lands rows of tables of schema raw in one transaction; returns how many were new.

        Rows of one table land before the rows of the next are made.
        """
        from promptaudit.warehouse.insert import insert_new

        with self.write() as con:
            con.execute("begin")
            n_new = sum(insert_new(con, table, rows) for table, rows in tables)
            con.execute("commit")
        return n_new

    def apply_schema(self) -> None:
        """Creates schema raw if it is missing, or migrates it from an earlier version.

        Raises WarehouseError for any other.
        """
        from promptaudit.warehouse.schema import apply_schema

        apply_schema(self)

    def kept_open(self) -> AbstractContextManager[None]:
        """Keeps the file open between the pieces of work inside, since each opening reads its catalog.

        `let_go` closes it even so.
        """
        from promptaudit.warehouse.duckdb_file import kept_open

        return kept_open(self.path)

    def let_go(self) -> bool:
        """Closes a file that is kept open, so that another process can write to it.

        Returns False if a thread still uses it.

        Code that opens the file by other means than DuckDB calls this first: closing any handle of a file ends every
        lock that the process has on it.
        """
        from promptaudit.warehouse.duckdb_file import let_go

        return let_go(self.path)

    def rewrite(self) -> None:
        """Writes the file again from its present contents, since deleted rows would remain in the old file."""
        from promptaudit.warehouse.duckdb_file import rewrite

        rewrite(self.path)

    def inspect(self) -> AbstractContextManager[Connection]:
        """Opens a reader's connection to the file, only for our own queries.

        It can also read files of the same folder.
        """
        from promptaudit.warehouse.duckdb_file import inspect

        return inspect(self.places.file)


@dataclass(frozen=True)
class Published:
    """The published copy of a warehouse, or a lake: read-only, no files, no network, limited memory and time."""

    path: Path
    lake: Lake | None = None

    def exists(self) -> bool:
        """Checks whether anything is published yet."""
        return self.lake is not None or self.path.is_file()

    def read(self, query: str, /, **values: object) -> list[Row]:
        """Reads the rows of one of our queries as dicts; `values` are bound to the query's `$names`.

        Raises:
            WarehouseError: nothing is published yet, or the query failed or took longer than 15 minutes.
        """
        from promptaudit.warehouse.duckdb_file import rows_of

        with self.connect() as con:
            return rows_of(con, query, **values)

    def frame(self, query: str, /, **values: object) -> pl.DataFrame:
        """Reads the rows of one of our queries as a frame in the types of their columns; otherwise as `read`."""
        from promptaudit.warehouse.duckdb_file import frame_of_rows

        with self.connect() as con:
            return frame_of_rows(con, query, values)

    def connect(self) -> AbstractContextManager[Connection]:
        """Opens a reader's connection for our own queries, which all see one publication.

        Every read of the copy inside shares the open file, since opening it takes 30 ms.
        """
        from promptaudit.warehouse.duckdb_file import connect_published

        return connect_published(self.path, self.lake)

    def inspect(self) -> AbstractContextManager[Connection]:
        """Opens a reader's connection to the copy, only for our own queries.

        It can also read files of the same folder.
        """
        from promptaudit.warehouse.duckdb_file import inspect

        return inspect(self.path)

    @contextmanager
    def query(
        self,
        query: str,
        *,
        memory: str = "4GB",
        seconds: float = 60,
        give_up: Callable[[], object],
    ) -> Iterator[tuple[list[str], Iterator[tuple[Any, ...]]]]:
        """Yields the column names of one query of somebody else's, and its rows as they stream.

        The file is closed on leaving. `give_up` is called if the query goes on though it was stopped after `seconds`.
        """
        from promptaudit.warehouse.duckdb_file import stream_published

        with stream_published(
            self.path, query, memory=memory, seconds=seconds, give_up=give_up, lake=self.lake
        ) as streamed:
            yield streamed
