"""Publishes a warehouse: seals what is new, then leaves the copy that readers open, and a run's marts as Parquet beside it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from flows.files import copy_durably, private_folder
from flows.lineage.follow import published
from flows.seal import marts, seal_runs
from flows.warehouse import (
    Connection,
    connect,
    look_into_published,
    published_path,
    write_parquet,
)


def publish(
    warehouse: Path,
    audit_run_ids: Collection[str] = (),
    compared: Collection[str] = (),
    erased: Collection[str] = (),
) -> Path:
    """Seals, checkpoints, copies to the published place, fsyncs and renames; and the marts that are new as Parquet beside it.

    `audit_run_ids` are the runs whose marts are new, `compared` those that were held against others, `erased` those whose
    texts were taken out (`flows.seal.seal_runs`).
    A reader in mid-query keeps the file it opened; a killed writer's rows are in the copy, since opening replays its log.
    """
    target = published_path(warehouse)
    private_folder(target.parent)
    with connect(warehouse) as con:
        remade = seal_runs(con, audit_run_ids, compared, erased)
        con.execute("force checkpoint")
        of_runs = marts(con)
        for audit_run_id in sorted({*audit_run_ids, *remade}):
            names = of_runs if audit_run_id in audit_run_ids else remade[audit_run_id]
            _export(con, target.parent / "marts", audit_run_id, {name: of_runs[name] for name in names})
    copy_durably(warehouse, target)
    published(warehouse, {*audit_run_ids, *compared})
    return target


def is_published(warehouse: Path, audit_run_id: str) -> bool:
    """Whether the published copy has marts of a run."""
    return published_has(warehouse, "rpt_audit", "audit_run_id", audit_run_id)


def published_has(warehouse: Path, mart: str, column: str, value: str) -> bool:
    """Whether a mart of the published copy has such a row; not where there is no copy, or no such mart in it."""
    if not published_path(warehouse).exists():
        return False
    tables = "select 1 from information_schema.tables where table_schema = 'marts' and table_name = ?"
    with look_into_published(warehouse) as con:
        if not con.execute(tables, [mart]).fetchall():
            return False
        return bool(con.execute(f"select 1 from marts.{mart} where {column} = ? limit 1", [value]).fetchall())  # noqa: S608 - ours


def _export(con: Connection, folder: Path, audit_run_id: str, of_runs: Mapping[str, str]) -> None:
    for mart, of_run in of_runs.items():
        place = folder / mart / f"audit_run_id={audit_run_id}"
        private_folder(place)
        draft = place / "data.parquet.new"
        write_parquet(con, f"select * from marts.\"{mart}\" where {of_run} = '{audit_run_id}'", draft)  # noqa: S608 - ours, hex
        draft.replace(place / "data.parquet")
