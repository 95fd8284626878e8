"""Opens, shares and closes the DuckDB files.

Only this module of flows and `lake` import DuckDB. The writer's file is opened once in a process, before the first
piece of work that needs it, and closed after the last. Its published copy is opened read-only.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from promptaudit.registry.errors import WarehouseError, WarehouseLocked
from promptaudit.system.files import private_folder, put_in_place
from promptaudit.warehouse.places import PUBLISHED, Places
from promptaudit.warehouse.reaching_out import refuse_foreign, refuse_reaching_out

if TYPE_CHECKING:
    import polars as pl

    from promptaudit.warehouse.lake import Lake

Connection = duckdb.DuckDBPyConnection
DatabaseError = duckdb.Error

MOST_LOOK_S = 900  # a page of the largest run takes seconds
WARN_AFTER_S = 2.0  # our own processes wait for each other for less
STOPS_WITHIN_S = 5.0  # a query that was interrupted
ONE_LINE = 300
_FULL = ("No space left on device", "Disk quota exceeded")
DISK_FULL = "the disk is full; what had landed is kept"
"""Error texts of systems for a disk that takes no more."""

DAMAGED = ("Corrupt database file", "does not match stored checksum")

_NAMED = re.compile(r"\$([A-Za-z_]\w*)")


@dataclass(slots=True)
class _File:
    # a file that this process has open: the connection that keeps it open, and how many threads use it or keep it open
    root: Connection | None = None
    n_users: int = 0
    n_keepers: int = 0
    is_ours: bool = False  # it holds nothing foreign
    lock: threading.Lock = field(default_factory=threading.Lock)

    def close_idle(self, *, even_if_kept: bool = False) -> None:
        if self.root is not None and not self.n_users and (even_if_kept or not self.n_keepers):
            root, self.root = self.root, None
            root.close()


_files: dict[Path, _File] = {}


def _file(path: Path) -> _File:
    return _files.setdefault(Places(path).file, _File())


@contextmanager
def connect(path: Path, *, wait_s: float = 30) -> Iterator[Connection]:
    """Yields a writer's connection for one piece of work; errors of DuckDB become one line.

    The file is open in this process once: other threads that connect meanwhile share it, and the last one closes it,
    since threads that open and close the same file each get a BinderException. If another program has the file open,
    the call waits for it, then names it.
    """
    private_folder(path.parent)
    file = _file(path)
    with file.lock:
        if file.root is None:
            file.is_ours |= not path.exists()  # made here
            file.root = _ours(_opened(path, wait_s), path, file)
        try:
            con = file.root.cursor()
        except duckdb.Error as error:  # of a database that an earlier error made invalid
            file.root = None
            raise _translated(error, path) from None
        file.n_users += 1
    is_broken = False
    try:
        yield con
    except duckdb.Error as error:
        is_broken = isinstance(error, duckdb.FatalException | duckdb.InternalException)
        raise _translated(error, path) from None
    finally:
        with file.lock:
            file.n_users -= 1
            try:
                con.close()
            finally:
                file.close_idle(even_if_kept=is_broken)


def _ours(con: Connection, path: Path, file: _File) -> Connection:
    # checks once per process that a file holds nothing foreign; raises WarehouseError if it does
    if file.is_ours:
        return con
    try:
        with _one_line(path):
            refuse_foreign(lambda asked, **values: con.execute(asked, values).fetchall(), path)
    except WarehouseError:
        con.close()
        raise
    file.is_ours = True
    return con


@contextmanager
def _one_line(path: Path) -> Iterator[None]:
    try:
        yield
    except duckdb.Error as error:
        raise _translated(error, path) from None


@contextmanager
def kept_open(path: Path) -> Iterator[None]:
    """Keeps the file open between the pieces of work inside, since each opening reads its catalog.

    `let_go` closes it even so.
    """
    file = _file(path)
    with file.lock:
        file.n_keepers += 1
    try:
        yield
    finally:
        with file.lock:
            file.n_keepers -= 1
            file.close_idle()


def let_go(path: Path) -> bool:
    """Closes a file that is kept open, so that another process can write to it.

    Returns False if a thread still uses it.

    Code that opens the file by other means than DuckDB calls this first: closing any handle of a file ends every lock
    that the process has on it.
    """
    file = _file(path)
    with file.lock:
        file.close_idle(even_if_kept=True)
        return file.root is None


@contextmanager
def inspect(path: Path) -> Iterator[Connection]:
    """Yields a reader's connection to one of our files for our own queries. Nothing else writes the file meanwhile."""
    let_go(path)
    with _one_line(path):
        con = duckdb.connect(str(path), read_only=True, config={"autoinstall_known_extensions": "false"})
    with closing(con), _one_line(path):
        # its contents may come from somebody else: queries may read files of the warehouse's folder and write none
        folder = Places(path).file.parent
        home = folder.parent if folder.name == PUBLISHED else folder  # a copy's is the one above
        con.execute("set allowed_directories = $folders", {"folders": [f"{home}{os.sep}"]})
        con.execute("set enable_external_access = false")
        refuse_foreign(lambda asked, **values: con.execute(asked, values).fetchall(), path, macros_alone=True)
        yield con


@contextmanager
def connect_published(path: Path, lake: Lake | None = None) -> Iterator[Connection]:
    """Yields a reader's connection to a published copy or a lake.

    All queries see one publication and have the usual limits.
    """
    with _reader(path, lake, "4GB") as con, _limited(con, MOST_LOOK_S):
        try:
            _refuse_other_version(con, lake or path)
            yield con
        except duckdb.InterruptException:
            raise WarehouseError(stopped_after(MOST_LOOK_S)) from None
        except duckdb.Error as error:
            raise _translated(error, lake or path) from None


def _refuse_other_version(con: Connection, place: object) -> None:
    # the warehouse's next publication replaces a copy of another version
    from promptaudit.warehouse.schema import SCHEMA_VERSION, unknown_version

    try:
        (version,) = first_row(con, "select max(version) from raw.schema_versions") or (None,)
    except duckdb.CatalogException:
        return  # no warehouse at all: the first query says what it lacks
    if version not in (None, SCHEMA_VERSION):
        raise unknown_version(version, place)


def _reader(path: Path, lake: Lake | None, memory: str) -> AbstractContextManager[Connection]:
    if lake is None:
        return _published(_there(path), memory)
    from promptaudit.warehouse.lake import attached

    return attached(lake, is_writer=False, memory=memory)


@contextmanager
def _published(path: Path, memory: str) -> Iterator[Connection]:
    # read-only, no files, no network, limited memory: the contents of a copy may come from somebody else
    with _one_line(path):
        con = duckdb.connect(
            str(path),
            read_only=True,
            config={
                "enable_external_access": "false",
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
                "allow_community_extensions": "false",
                "memory_limit": memory,
                "temp_directory": "",
                "allow_persistent_secrets": "false",
                "python_enable_replacements": "false",
                "http_proxy": "none",  # the default is the environment's, with the password in it
                "lock_configuration": "true",
            },
        )
    with closing(con):
        yield con


@contextmanager
def _limited(con: Connection, seconds: float, give_up: Callable[[], object] | None = None) -> Iterator[None]:
    # stops a query that takes longer; `give_up` is called if DuckDB goes on, in the middle of a function
    timers = [threading.Timer(seconds, con.interrupt)]
    if give_up is not None:
        timers.append(threading.Timer(seconds + STOPS_WITHIN_S, give_up))
    for timer in timers:
        timer.daemon = True
        timer.start()
    try:
        yield
    finally:
        for timer in timers:
            timer.cancel()


def _there(published: Path) -> Path:
    if published.is_file():
        return published
    msg = f"{published}: nothing is published yet; run `promptaudit run` or `promptaudit import` first"
    raise WarehouseError(msg)


def _opened(path: Path, wait_s: float) -> Connection:
    began, has_warned = time.monotonic(), False
    while True:
        try:
            is_new = not path.exists()
            con = duckdb.connect(
                str(path),
                config={
                    "autoinstall_known_extensions": "false",
                    "autoload_known_extensions": "false",
                    "preserve_insertion_order": "true",
                },
            )
            if is_new:
                path.chmod(0o600)
        except duckdb.IOException as error:
            waited_s = time.monotonic() - began
            if "lock" in str(error) and waited_s < wait_s:
                if not has_warned and waited_s > WARN_AFTER_S:
                    has_warned = True
                    _warn_of(path, _holder(" ".join(str(error).split())))
                time.sleep(0.2)
                continue
            if is_new and is_full(str(error)):
                Places(path).file.unlink(missing_ok=True)  # without a header it would be refused once there is room
            raise _translated(error, path) from None
        except (duckdb.Error, OSError) as error:
            raise _translated(error, path) from None
        else:
            return con


def _holder(text: str) -> str:
    # who has a file open, as DuckDB's error names them
    return text.partition("Conflicting lock is held in ")[2].partition(". ")[0] or "another process"


def _warn_of(path: Path, holder: str) -> None:
    from promptaudit.system.display.progress import Progress

    Progress().warn(f"{path} is open in {holder}, which is waited for")


def is_full(text: str) -> bool:
    """Checks whether the words of an error say that a disk is full."""
    return any(phrase in text for phrase in _FULL)


def _translated(error: Exception, path: Path | Lake) -> WarehouseError:
    text = " ".join(str(error).split())
    if "Conflicting lock" in text:
        return WarehouseLocked(f"{path} is open in {_holder(text)}; close it and run again")
    return WarehouseError(f"{path}{_fault(error, text)}")


def _fault(error: Exception, text: str) -> str:
    if any(phrase in text for phrase in DAMAGED):
        then = "`promptaudit verify` names what is sound and the command that restores it"
        return f" is damaged: {text[:ONE_LINE].rstrip('.')}; {then}"
    if "not a valid DuckDB database file" in text:
        return " is no DuckDB file"
    if is_full(text):
        return f": {DISK_FULL}: {text[:ONE_LINE]}"
    if "Permission denied" in text or "read-only" in text.lower():
        return " cannot be written: permission denied"
    if lacks := _lacks(error, text):
        return f" {lacks}, being of an earlier version: the next night or `promptaudit rebuild` publishes it anew"
    return f": {_outside(error)}{text[:ONE_LINE]}"


def _lacks(error: Exception, text: str) -> str | None:
    if isinstance(error, duckdb.BinderException) and "run_index" in text:
        return "numbers no runs"
    missing = re.search(r"Table with name (\w+) does not exist", text)
    if missing is None:
        return None
    from promptaudit.warehouse.figure_names import project_models

    return f"has no table marts.{missing[1]}" if missing[1] in project_models() else None


def _outside(error: Exception) -> str:
    # an error about a file that a catalog, or a view in a copy, names gets these words in front
    is_so = isinstance(error, duckdb.PermissionException)
    return "what is published there leads to a file elsewhere, which is not read: " if is_so else ""


def rewrite(path: Path) -> None:
    """Writes a DuckDB file again from its present contents, since deleted rows would remain in the old file."""
    path = Places(path).file  # a link stays one
    draft = path.with_name(path.name + ".new")
    for left in (draft, draft.with_name(draft.name + ".wal")):
        left.unlink(missing_ok=True)
    with connect(path) as con:
        con.execute("force checkpoint")
        names = [
            row[0] for row in con.execute("select database_name from duckdb_databases() where not internal").fetchall()
        ]
        name = str(draft).replace("'", "''")  # an ATTACH takes no parameter
        con.execute(f"attach '{name}' as rewritten")
        draft.chmod(0o600)  # before there is anything in it
        con.execute(f'copy from database "{names[0]}" to rewritten')
        con.execute("detach rewritten")
    if not let_go(path):
        msg = f"{path} is open in this process: it cannot be put in place"
        raise WarehouseError(msg)
    put_in_place(draft, path)


def rows_of(con: Connection, query: str, /, **values: object) -> list[dict[str, Any]]:
    """Reads the rows of a query as dicts. Only those `values` are bound that the query names."""
    wanted = set(_NAMED.findall(re.sub(r"--[^\n]*", "", query)))
    cursor = con.execute(query, {name: value for name, value in values.items() if name in wanted})
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def first_row(con: Connection, query: str, values: object = None) -> tuple[Any, ...] | None:
    """Reads the first row of a query of few rows; None if it has none.

    All are read: DuckDB 2 refuses other work on a connection with rows that nobody has read.
    """
    return next(iter(con.execute(query, values).fetchall()), None)


def frame_of_rows(con: Connection, query: str, values: object = None) -> pl.DataFrame:
    """Reads the rows of a query as a frame in the types of their columns."""
    import polars as pl

    return pl.DataFrame(con.execute(query, values).to_arrow_table())


@contextmanager
def stream_published(
    path: Path,
    query: str,
    *,
    memory: str,
    seconds: float,
    give_up: Callable[[], object],
    lake: Lake | None = None,
) -> Iterator[tuple[list[str], Iterator[tuple[Any, ...]]]]:
    """Yields the column names of one untrusted query on a published copy, and its rows as they stream.

    A table that is named without its schema is one of the marts, which SHOW TABLES lists.
    """
    with _reader(path, lake, memory) as con:
        with suppress(duckdb.CatalogException):  # of a copy without marts
            con.execute("set schema = 'marts'")
        ends_at = time.monotonic() + seconds
        try:
            try:
                query.encode()
            except UnicodeEncodeError as error:
                msg = f"the query is no UTF-8 at character {error.start + 1}"
                raise WarehouseError(msg) from None
            n_statements = len(con.extract_statements(query))
            if n_statements != 1:
                msg = f"one statement is asked at a time, found {n_statements}"
                raise WarehouseError(msg)
            refuse_reaching_out(lambda asked, **values: con.execute(asked, values).fetchall(), query)
            with _limited(con, seconds, give_up):
                cursor = con.execute(query)
            yield (
                [column[0] for column in cursor.description or ()],
                _streamed(cursor, ends_at - time.monotonic(), give_up),
            )
        except duckdb.InterruptException:
            raise WarehouseError(stopped_after(seconds)) from None
        except duckdb.Error as error:
            msg = _outside(error) + " ".join(str(error).partition("\n\n")[0].split())[:ONE_LINE]
            raise WarehouseError(msg or type(error).__name__) from None


def stopped_after(seconds: float) -> str:
    """Writes the message about a query that took longer."""
    return f"the query was stopped after {seconds:g} s"


def _streamed(cursor: Connection, seconds: float, give_up: Callable[[], object]) -> Iterator[tuple[Any, ...]]:
    # the time that the caller takes between rows does not count as the query's
    while True:
        began = time.monotonic()
        with _limited(cursor, max(seconds, 0.001), give_up):
            rows = cursor.fetchmany(10_000)
        if not rows:
            return
        seconds -= time.monotonic() - began
        yield from rows
