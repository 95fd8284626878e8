"""Inserts rows into schema raw, and writes rows of the warehouse to Parquet files."""

from __future__ import annotations

import contextlib
from pathlib import Path

import polars as pl

from promptaudit.registry.errors import WarehouseError
from promptaudit.warehouse.duckdb_file import ONE_LINE, Connection, DatabaseError, is_full
from promptaudit.warehouse.raw_tables import TABLES
from promptaudit.warehouse.selection import Selection

LAST_INDEX = "(select coalesce(max(run_index), 0) from raw.audit_runs)"
"""The place of the newest run in the order of landing; NEXT_INDEX is that of the run that lands next."""
NEXT_INDEX = f"(1 + {LAST_INDEX})"


def insert_new(con: Connection, table: str, rows: pl.DataFrame) -> int:
    """Lands rows of one run in `raw.<table>` and returns how many were new.

    Rows whose key is there already add nothing.
    """
    if rows.is_empty():
        return 0
    key = list(TABLES[table].key)
    own = rows.drop("run_index", "after_run_index", strict=False).unique(subset=key, keep="first", maintain_order=True)
    incoming = own.to_arrow()  # noqa: F841 - read by name in SQL
    matches = " and ".join(f"landed.{column} = incoming.{column}" for column in key)
    # one run a call: the constant lets DuckDB skip the row groups of every other night
    run_ids = rows["audit_run_id"].unique()
    if len(run_ids) != 1:
        msg = f"insert_new lands one run at a time, got {len(run_ids)}"
        raise ValueError(msg)
    given = {"run_index": NEXT_INDEX, "after_run_index": LAST_INDEX}
    order = [f", {index} as {column}" for column, index in given.items() if column in TABLES[table].columns]
    statement = (
        f"insert into raw.{table} by name select *{''.join(order)} from incoming where not exists "  # noqa: S608 - names are ours
        f"(select 1 from raw.{table} as landed where landed.audit_run_id = $run and {matches})"
    )
    return sum(n_inserted for (n_inserted,) in con.execute(statement, {"run": run_ids[0]}).fetchall())


def write_parquet(con: Connection, rows: Selection, draft: Path) -> None:
    """Writes rows to a file that only its owner can read; leaves no file if that fails."""
    try:
        con.execute(
            f"copy (from {rows.sql}) to $draft (format parquet, compression zstd, use_tmp_file false)",
            {**rows.values, "draft": str(draft)},
        )
        draft.chmod(0o600)
    except (DatabaseError, OSError) as error:
        with contextlib.suppress(OSError):
            draft.unlink()
        text = " ".join(str(error).split())[:ONE_LINE]
        msg = f"{draft}: cannot be written: {'the disk is full: ' * is_full(text)}{text}"
        raise WarehouseError(msg) from None
