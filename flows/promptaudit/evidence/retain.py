"""Moves the raw rows of older nights into the archive beside the warehouse, and back.

Marts stay, with the completions in marts.fct_predictions and marts.fct_verdicts: a retired night is read, charted and
compared as before. Only deriving it again needs its raw rows, which `restore` lands. The tables that grow with every
answer move. Cards, samples and wordings stay, since later runs reuse wordings. The caller holds the warehouse
(`promptaudit.warehouse.hold`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from promptaudit.registry.errors import UsageError, WarehouseError
from promptaudit.system.clock import now
from promptaudit.udfs.retired import HEAVY, RETIRED_RUNS
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.archive import read_archive, write_archive
from promptaudit.warehouse.duckdb_file import first_row
from promptaudit.warehouse.insert import insert_new
from promptaudit.warehouse.rows import frame_of
from promptaudit.warehouse.sql import over, sql


@dataclass(frozen=True, slots=True, kw_only=True)
class RetiredRun:
    """A run whose raw rows are in the archive now."""

    audit_run_id: str
    started_at: datetime
    n_rows: int
    n_bytes: int


def retain(warehouse: Warehouse, audit_id: str, raw_nights: int, keep: Collection[str] = ()) -> list[RetiredRun]:
    """Moves the raw rows of an audit's complete runs to the archive, except for the newest `raw_nights` of them.

    Some runs keep their raw rows: imports, runs that are not complete, the run that a baseline's name stands for, the
    base runs of open alarms and the runs in `keep`. Each run moves in one transaction: its rows are written, read back
    and compared, forced to the disk, and only then deleted from the warehouse. A kill or a full disk loses nothing, and
    the next call goes on.

    The file shrinks little, and later nights use the freed space. The published copy still holds the rows until the
    next `publish`.

    Args:
        warehouse: the writer's file, held by the caller.
        audit_id: whose runs.
        raw_nights: how many newest complete runs keep their raw rows, 1 or more.
        keep: ids of further runs that are still needed.

    Returns:
        The runs that moved, oldest first; empty when nothing was due.

    Raises:
        ValueError: `raw_nights` is below 1.
        WarehouseError: the archive cannot be written, or reads back otherwise; that run and the later ones stay whole.
    """
    if raw_nights < 1:
        msg = f"raw_nights is {raw_nights}: the newest night keeps its raw rows, so at least 1 is wanted"
        raise ValueError(msg)
    raw_rows = " union ".join(f"select audit_run_id from raw.{table}" for table in HEAVY)  # noqa: S608 - ours
    query = over(sql("evidence", "due_runs"), raw_rows=raw_rows, retired=RETIRED_RUNS)
    due = warehouse.read(query, audit=audit_id, raw_nights=raw_nights, keep=list(keep))
    retired = [_retire(warehouse, row["audit_run_id"], row["started_at"]) for row in due]
    if retired:
        with warehouse.write() as con:
            con.execute("force checkpoint")
    return retired


def restore(warehouse: Warehouse, audit_run_id: str) -> int:
    """Lands the archived rows of a run again and counts the rows that were missing. Landing twice adds nothing.

    The archive keeps its files, and a `retain` that finds the run due moves it again. The caller holds the warehouse.

    Raises:
        UsageError: the run was never retired.
        WarehouseError: a file is missing or is not the one that was written; nothing is landed.
    """
    rows = warehouse.read(sql("evidence", "archived_files"), run=audit_run_id, tables=list(HEAVY))
    if not rows:
        msg = f"run {audit_run_id} was never retired: {warehouse.places.archive} holds nothing of it"
        raise UsageError(msg)
    return warehouse.land([(row["table_name"], read_archive(warehouse, row["path"], row["sha256"])) for row in rows])


def retired_runs(warehouse: Warehouse) -> set[str]:
    """Finds the runs whose raw rows are in the archive and not in the warehouse."""
    return {row["audit_run_id"] for row in warehouse.read(RETIRED_RUNS)}


def without_retired(warehouse: Warehouse, audit_run_ids: Sequence[str]) -> list[str]:
    """Drops retired runs from a list of runs to derive again, because the marts of a retired run would come out empty.

    Raises:
        UsageError: every run of the list is retired.
    """
    retired = retired_runs(warehouse)
    kept = [audit_run_id for audit_run_id in audit_run_ids if audit_run_id not in retired]
    if audit_run_ids and not kept:
        run = audit_run_ids[-1]
        msg = (
            f"run {run} is retired: its raw rows are in {warehouse.places.archive}; "
            f"`promptaudit rebuild {run} --restore` lands them again"
        )
        raise UsageError(msg)
    return kept


def retire_again(warehouse: Warehouse, audit_run_id: str) -> RetiredRun:
    """Moves the rows of a restored run back to the archive and replaces its files there."""
    (row,) = warehouse.read(
        "select started_at from raw.audit_runs where audit_run_id = $audit_run_id", audit_run_id=audit_run_id
    )
    return _retire(warehouse, audit_run_id, row["started_at"])


def _retire(warehouse: Warehouse, audit_run_id: str, started_at: datetime) -> RetiredRun:
    retired_at = now()
    with warehouse.write() as con:
        con.execute("begin")
        files = [file for table in HEAVY if (file := write_archive(con, warehouse, table, audit_run_id)) is not None]
        rows = [
            {
                "audit_run_id": audit_run_id,
                "table_name": file.table_name,
                "path": file.path,
                "n_rows": file.n_rows,
                "sha256": file.sha256,
                "retired_at": retired_at,
            }
            for file in files
        ]
        insert_new(con, "retirements", frame_of("retirements", rows))
        for file in files:
            statement = f"delete from raw.{file.table_name} where audit_run_id = ?"  # noqa: S608 - ours
            deleted = first_row(con, statement, [audit_run_id])
            if deleted != (file.n_rows,):
                msg = f"{warehouse}: {deleted} rows of raw.{file.table_name} would go, {file.n_rows} are in the archive"
                raise WarehouseError(msg)
        con.execute("commit")
    n_rows, n_bytes = sum(file.n_rows for file in files), sum(file.n_bytes for file in files)
    return RetiredRun(audit_run_id=audit_run_id, started_at=started_at, n_rows=n_rows, n_bytes=n_bytes)
