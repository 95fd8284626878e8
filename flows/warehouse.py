"""The warehouse: the only memory between the steps, and the only `import duckdb` in flows.

The writer holds the file briefly; readers have the published copy and are never blocked.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from flows.files import copy_durably, private_folder, put_in_place
from flows.selection import Selection
from models_registry.errors import WarehouseError, WarehouseLocked

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows has no flock; DuckDB's own lock still holds there
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    import polars as pl

Connection = duckdb.DuckDBPyConnection  # for what other modules do with a connection of `connect`
DatabaseError = duckdb.Error

SCHEMA_VERSION = 6
DEFAULT_NAME, PUBLISHED = "audit.duckdb", "published"
MIGRATIONS = {  # to version n: what `create table if not exists` does not do
    2: """
    alter table raw.prompt_variants add column answer_schema varchar;
    alter table raw.prompt_variants add column reader varchar;
    alter table raw.predictions add column sampling varchar;
    """,
    3: """
    alter table raw.tasks add column scoring_methods varchar;
    alter table raw.tasks add column token_f1_threshold double;
    alter table raw.tasks add column recorded_at timestamp;
    alter table raw.samples add column options varchar;
    alter table raw.samples add column reference_answers varchar;
    alter table raw.prompt_variants add column template varchar;
    alter table raw.predictions add column option_loglikelihoods varchar;
    drop table raw.verdicts; -- no version before this one wrote to it
    """,
    4: "",  # tables alone
    5: "alter table raw.audit_runs add column manifest varchar;",
    6: "alter table if exists raw.nights add column scheduled_at timestamp;",  # a version before the fourth has none yet
}
SCHEMA_SQL = Path(__file__).with_name("schema.sql")
MOST_LOOK_S = 900  # a page of the largest run takes seconds
STOPS_WITHIN_S = 5.0  # a query that was told to
ONE_LINE = 300
FULL = ("No space left on device", "Disk quota exceeded")
"""What systems say of a disk that takes no more."""

_NAMED = re.compile(r"\$([a-z_]+)")
_BY_RUN = ("audit_run_id",)
KEYS: dict[str, tuple[str, ...]] = {
    "audit_runs": _BY_RUN,
    "models": (*_BY_RUN, "model_id"),
    "tasks": (*_BY_RUN, "task_id", "recorded_at"),
    "task_labels": (*_BY_RUN, "task_id", "label"),
    "samples": (*_BY_RUN, "task_id", "sample_id"),
    "prompt_variants": (*_BY_RUN, "prompt_variant_id"),
    "predictions": (*_BY_RUN, "prediction_id"),
    "attempts": (*_BY_RUN, "prediction_id", "attempted_at"),
    "rephrasings": (*_BY_RUN, "rephrasing_id"),
    "engines": (*_BY_RUN, "model_id", "opened_at"),
    "batches": (*_BY_RUN, "batch_id", "state"),
    "judges": (*_BY_RUN, "judge_id", "recorded_at"),
    "judge_controls": (*_BY_RUN, "control_id"),
    "verdicts": (*_BY_RUN, "verdict_id"),
    "format_checks": (*_BY_RUN, "expectation", "model_id", "task_id", "prompt_variant_id", "checked_at"),
    "comparisons": (*_BY_RUN, "comparison_id"),
    "baselines": (*_BY_RUN, "audit_id", "name", "pinned_at"),
    "waivers": (*_BY_RUN, "waiver_id"),
    "nights": (*_BY_RUN, "night_id", "step"),
    "alarms": (*_BY_RUN, "alarm_id", "event"),
    "notifications": (*_BY_RUN, "notification_id", "state", "recorded_at"),
    "retirements": (*_BY_RUN, "table_name", "retired_at"),
    "reports": (*_BY_RUN, "sha256", "name"),
    "erasures": (*_BY_RUN, "erasure_id", "task_id", "sample_id"),
    "seals": (*_BY_RUN, "seal_index"),
    "row_digests": (*_BY_RUN, "seal_index", "table_name"),
}


def now() -> datetime:
    """This instant in UTC, without a zone, as the warehouse keeps it."""
    return datetime.now(UTC).replace(tzinfo=None)


def published_path(warehouse: Path) -> Path:
    """Where readers find the copy of a warehouse."""
    return warehouse.parent / PUBLISHED / warehouse.name


def folder_of(warehouse: Path, name: str) -> Path:
    """Returns a warehouse's own part of a folder beside it: all of it for `audit.duckdb`, `<file name>.d` below it for others."""
    shared = warehouse.parent / name
    return shared if warehouse.name == DEFAULT_NAME else shared / f"{warehouse.name}.d"


def beside(warehouse: Path, ending: str) -> Path:
    """What belongs to a warehouse and lies beside it: one place, by whatever link the warehouse is reached."""
    real = Path(os.path.realpath(warehouse))
    return real.with_name(real.name + ending)


@contextmanager
def hold(
    warehouse: Path, wait_s: float = 60, say: Callable[[str], None] | None = None, what: str = ""
) -> Iterator[None]:
    """The one lock of a run, with who holds it; waits `wait_s` seconds, saying so once, then raises WarehouseLocked.

    `what` names a lock of its own: a night's, which lasts beyond its run.
    """
    private_folder(warehouse.parent)
    path = beside(warehouse, f".{what}.lock" if what else ".lock")
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        msg = f"{path}: cannot be written: {error.strerror}"
        raise WarehouseError(msg) from None
    try:
        deadline, has_said = time.monotonic() + wait_s, False
        while fcntl is not None:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                holder = os.pread(handle, 1000, 0).decode("utf-8", "replace").strip() or "another process"
                if time.monotonic() >= deadline:
                    msg = f"{warehouse} is held by {holder}; waited {wait_s:g} s"
                    raise WarehouseLocked(msg) from None
                if say and not has_said:
                    say(f"waiting for {warehouse}: held by {holder}")
                    has_said = True
                time.sleep(0.2)
        who = f"process {os.getpid()} on {socket.gethostname()} since {now():%Y-%m-%d %H:%M:%S} UTC"
        os.ftruncate(handle, 0)
        os.pwrite(handle, who.encode(), 0)
        try:
            yield
        finally:
            os.ftruncate(handle, 0)
    finally:
        os.close(handle)


@dataclass(slots=True)
class _File:
    """A file that this process has open: the connection that keeps it so, and how many work with it or keep it open."""

    root: duckdb.DuckDBPyConnection | None = None
    n_users: int = 0
    n_keepers: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def close_idle(self, *, even_if_kept: bool = False) -> None:
        """Closes the file where nobody works with it, unless it is kept open."""
        if self.root is not None and not self.n_users and (even_if_kept or not self.n_keepers):
            root, self.root = self.root, None
            root.close()


_files: dict[Path, _File] = {}


def _file(warehouse: Path) -> _File:
    return _files.setdefault(beside(warehouse, ""), _File())


@contextmanager
def connect(warehouse: Path, *, wait_s: float = 30) -> Iterator[duckdb.DuckDBPyConnection]:
    """A writer's connection around one piece of work; DuckDB's errors leave as one line.

    The file is open in this process once: whoever connects meanwhile shares it, and the last one closes it, since threads
    that open and close one file of their own get a BinderException. Another program that has the file open is waited for,
    then named.
    """
    private_folder(warehouse.parent)
    file = _file(warehouse)
    with file.lock:
        if file.root is None:
            file.root = _opened(warehouse, wait_s)
        try:
            con = file.root.cursor()
        except duckdb.Error as error:  # of a database that an earlier error made invalid
            file.root = None
            raise _translated(error, warehouse) from None
        file.n_users += 1
    is_broken = False
    try:
        yield con
    except duckdb.Error as error:
        is_broken = isinstance(error, duckdb.FatalException | duckdb.InternalException)
        raise _translated(error, warehouse) from None
    finally:
        with file.lock:
            file.n_users -= 1
            try:
                con.close()
            finally:
                file.close_idle(even_if_kept=is_broken)


@contextmanager
def kept_open(warehouse: Path) -> Iterator[None]:
    """Keeps the file open between the pieces of work inside, since each opening reads its catalog; `let_go` still closes it."""
    file = _file(warehouse)
    with file.lock:
        file.n_keepers += 1
    try:
        yield
    finally:
        with file.lock:
            file.n_keepers -= 1
            file.close_idle()


def let_go(warehouse: Path) -> bool:
    """Closes a file that is kept open, so that another process can write to it; returns False where somebody works with it.

    Whoever opens the file by other means than DuckDB calls this first: to close any handle of a file ends every lock that a
    process has on it.
    """
    file = _file(warehouse)
    with file.lock:
        file.close_idle(even_if_kept=True)
        return file.root is None


@contextmanager
def look_into(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A reader's connection to a file of ours for queries of ours; nothing else writes it meanwhile."""
    let_go(path)
    try:
        con = duckdb.connect(str(path), read_only=True, config={"autoinstall_known_extensions": "false"})
        # what stands in it may be somebody else's: it reads files of the warehouse's folder and writes none
        folders = sorted({str(beside(path, "").parent) + os.sep, str(path.resolve().parent.parent) + os.sep})
        con.execute("set allowed_directories = $folders", {"folders": folders})
        con.execute("set enable_external_access = false")
    except duckdb.Error as error:
        raise _translated(error, path) from None
    try:
        yield con
    except duckdb.Error as error:
        raise _translated(error, path) from None
    finally:
        con.close()


@contextmanager
def look_into_published(warehouse: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A reader's connection to the published copy for queries of ours, which all see one publication; limited as any query.

    Whoever reads the copy inside, by this or by `read_published`, shares the open file: to open it takes 30 ms.
    """
    path = _there(published_path(warehouse))
    with _published(path, "4GB") as con, _limited(con, MOST_LOOK_S):
        try:
            yield con
        except duckdb.Error as error:
            raise _translated(error, path) from None


@contextmanager
def _published(path: Path, memory: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """Read-only, no files, no network, limited memory: what stands in a copy may be somebody else's."""
    try:
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
                "lock_configuration": "true",
            },
        )
    except duckdb.Error as error:
        raise _translated(error, path) from None
    try:
        yield con
    finally:
        con.close()


@contextmanager
def _limited(
    con: duckdb.DuckDBPyConnection, seconds: float, give_up: Callable[[], object] | None = None
) -> Iterator[None]:
    """Stops a query of the connection that takes longer; `give_up` is called where DuckDB goes on, in the midst of a function."""
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


def _opened(warehouse: Path, wait_s: float) -> duckdb.DuckDBPyConnection:
    deadline = time.monotonic() + wait_s
    while True:
        try:
            is_new = not warehouse.exists()
            con = duckdb.connect(
                str(warehouse),
                config={
                    "autoinstall_known_extensions": "false",
                    "autoload_known_extensions": "false",
                    "preserve_insertion_order": "true",
                },
            )
            if is_new:
                warehouse.chmod(0o600)
        except duckdb.IOException as error:
            if "lock" in str(error) and time.monotonic() < deadline:
                time.sleep(0.2)
                continue
            raise _translated(error, warehouse) from None
        except (duckdb.Error, OSError) as error:
            raise _translated(error, warehouse) from None
        else:
            return con


def _translated(error: Exception, warehouse: Path) -> WarehouseError:
    text = " ".join(str(error).split())
    if "Conflicting lock" in text:
        holder = text.partition("Conflicting lock is held in ")[2].partition(". ")[0] or "another process"
        return WarehouseLocked(f"{warehouse} is open in {holder}; close it and run again")
    if "not a valid DuckDB database file" in text:
        return WarehouseError(f"{warehouse} is no DuckDB file")
    if any(said in text for said in FULL):
        return WarehouseError(f"{warehouse}: the disk is full; what had landed is kept: {text[:ONE_LINE]}")
    if "Permission denied" in text or "read-only" in text.lower() or "Read-only" in text:
        return WarehouseError(f"{warehouse} cannot be written: permission denied")
    return WarehouseError(f"{warehouse}: {text[:ONE_LINE]}")


def apply_schema(warehouse: Path) -> None:
    """Makes schema raw where it is missing, backs up and migrates an older one, refuses a newer one."""
    with connect(warehouse) as con:
        is_known = con.execute(
            "select count(*) from information_schema.tables where table_schema = 'raw' and table_name = 'schema_versions'"
        ).fetchone()
        found = None
        if is_known and is_known[0]:
            row = con.execute("select max(version) from raw.schema_versions").fetchone()
            found = row[0] if row else None
        if found is not None and found > SCHEMA_VERSION:
            msg = f"{warehouse} has schema version {found}, this promptaudit knows {SCHEMA_VERSION}; use a newer one"
            raise WarehouseError(msg)
        if found == SCHEMA_VERSION:
            return
        if found is not None:
            con.execute("checkpoint")
    if found is not None:
        let_go(warehouse)
        copy_durably(warehouse, warehouse.with_name(f"{warehouse.name}.v{found}.backup"))
    with connect(warehouse) as con:
        con.execute("begin")
        for version in range((found or SCHEMA_VERSION) + 1, SCHEMA_VERSION + 1):
            con.execute(MIGRATIONS[version])
        con.execute(SCHEMA_SQL.read_text(encoding="utf-8"))
        con.execute("insert into raw.schema_versions values (?, ?)", [SCHEMA_VERSION, now()])
        con.execute("commit")


def insert_new(con: duckdb.DuckDBPyConnection, table: str, rows: pl.DataFrame) -> int:
    """Lands rows of one run in `raw.<table>`; rows whose key is there already add nothing. Returns how many were new."""
    if rows.is_empty():
        return 0
    key = list(KEYS[table])
    incoming = rows.unique(subset=key, keep="first", maintain_order=True).to_arrow()  # noqa: F841 - read by name in SQL
    matches = " and ".join(f"landed.{column} = incoming.{column}" for column in key)
    # one run a call: the constant lets DuckDB skip the row groups of every other night
    run_ids = rows["audit_run_id"].unique()
    if len(run_ids) != 1:
        msg = f"insert_new lands one run at a time, got {len(run_ids)}"
        raise ValueError(msg)
    statement = (
        f"insert into raw.{table} by name select * from incoming where not exists "  # noqa: S608 - names are ours
        f"(select 1 from raw.{table} as landed where landed.audit_run_id = $run and {matches})"
    )
    inserted = con.execute(statement, {"run": run_ids[0]}).fetchone()
    return int(inserted[0]) if inserted else 0


def land(warehouse: Path, tables: Sequence[tuple[str, pl.DataFrame]]) -> int:
    """Lands several tables' rows in one transaction; returns how many rows were new."""
    with connect(warehouse) as con:
        con.execute("begin")
        n_new = sum(insert_new(con, table, rows) for table, rows in tables)
        con.execute("commit")
    return n_new


def rewrite(path: Path) -> None:
    """Writes a DuckDB file anew from what it holds now, in the old one's place: what was deleted stays in a file otherwise."""
    path = beside(path, "")  # a link stays one
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


def fetch(
    warehouse: Path, query: str, parameters: Sequence[object] | Mapping[str, object] = ()
) -> list[dict[str, Any]]:
    """Rows of a query on the writer's file as dicts; for the few small looks a step takes."""
    with connect(warehouse) as con:
        return rows_of(con, query, parameters)


def rows_of(
    con: Connection, query: str, parameters: Sequence[object] | Mapping[str, object] = ()
) -> list[dict[str, Any]]:
    """Returns the rows of a query as dicts; of named values those are bound that the query names."""
    if isinstance(parameters, Mapping):
        wanted = set(_NAMED.findall(query))
        parameters = {name: value for name, value in parameters.items() if name in wanted}
    cursor = con.execute(query, parameters)
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def write_parquet(con: Connection, rows: Selection, draft: Path) -> None:
    """Writes rows to a file that its owner alone reads; none stays where that fails."""
    try:
        con.execute(
            f"copy (from {rows.sql}) to $draft (format parquet, compression zstd, use_tmp_file false)",
            {**rows.values, "draft": str(draft)},
        )
        draft.chmod(0o600)
    except (duckdb.Error, OSError) as error:
        with contextlib.suppress(OSError):
            draft.unlink()
        text = " ".join(str(error).split())[:ONE_LINE]
        msg = f"{draft}: cannot be written: {'the disk is full: ' * any(said in text for said in FULL)}{text}"
        raise WarehouseError(msg) from None


@contextmanager
def open_published(  # noqa: PLR0913 - one limit each
    warehouse: Path,
    query: str,
    parameters: Sequence[object] | Mapping[str, object] = (),
    *,
    memory: str = "4GB",
    seconds: float = 60,
    give_up: Callable[[], object] | None = None,
) -> Iterator[tuple[list[str], Iterator[tuple[Any, ...]]]]:
    """One untrusted query on the published copy: read-only, no files, no network, limited memory and time.

    Yields the column names and the rows as they stream; the file is closed again on leaving. `give_up` is called where a
    query goes on though it was stopped.
    """
    with _published(_there(published_path(warehouse)), memory) as con:
        ends_at = time.monotonic() + seconds
        try:
            n_statements = len(con.extract_statements(query))
            if n_statements != 1:
                msg = f"one statement is asked at a time, found {n_statements}"
                raise WarehouseError(msg)
            with _limited(con, seconds, give_up):
                cursor = con.execute(query, parameters)
            yield (
                [column[0] for column in cursor.description or ()],
                _streamed(cursor, ends_at - time.monotonic(), give_up),
            )
        except duckdb.InterruptException:
            raise WarehouseError(stopped_after(seconds)) from None
        except duckdb.Error as error:
            msg = " ".join(str(error).partition("\n\n")[0].split())[:ONE_LINE] or type(error).__name__
            raise WarehouseError(msg) from None


def stopped_after(seconds: float) -> str:
    """What is said of a query that took longer."""
    return f"the query was stopped after {seconds:g} s"


def _streamed(
    cursor: duckdb.DuckDBPyConnection, seconds: float, give_up: Callable[[], object] | None
) -> Iterator[tuple[Any, ...]]:
    """The rows of a query; the time that whoever takes them needs is not the query's."""
    while True:
        began = time.monotonic()
        with _limited(cursor, max(seconds, 0.001), give_up):
            rows = cursor.fetchmany(10_000)
        if not rows:
            return
        seconds -= time.monotonic() - began
        yield from rows


def read_published(
    warehouse: Path,
    query: str,
    parameters: Sequence[object] | Mapping[str, object] = (),
    *,
    memory: str = "4GB",
    seconds: float = 60,
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Returns the column names and all rows of a query on the published copy."""
    with open_published(warehouse, query, parameters, memory=memory, seconds=seconds) as (names, rows):
        return names, list(rows)
