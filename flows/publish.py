"""Publishes a warehouse: seals what is new, then leaves the copy that readers open, and a run's marts as Parquet beside it."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from flows.lineage.follow import published
from flows.seal import marts, seal_runs
from flows.warehouse import Connection, connect, copy_durably, private_folder, published_path, write_parquet


def publish(warehouse: Path, audit_run_ids: Collection[str] = (), erased: Collection[str] = ()) -> Path:
    """Seals, checkpoints, copies to the published place, fsyncs and renames; and these runs' marts as Parquet beside it.

    `audit_run_ids` are the runs whose marts are new, `erased` those whose texts were taken out (`flows.seal.seal_runs`).
    A reader in mid-query keeps the file it opened; a killed writer's rows are in the copy, since opening replays its log.
    """
    target = published_path(warehouse)
    private_folder(target.parent)
    with connect(warehouse) as con:
        new = seal_runs(con, audit_run_ids, erased)
        con.execute("force checkpoint")
        for audit_run_id in sorted({*audit_run_ids, *new}):
            _export_marts(con, target.parent / "marts", audit_run_id)
    copy_durably(warehouse, target)
    published(warehouse, audit_run_ids)
    return target


def _export_marts(con: Connection, folder: Path, audit_run_id: str) -> None:
    for mart, of_run in marts(con).items():
        place = folder / mart / f"audit_run_id={audit_run_id}"
        private_folder(place)
        draft = place / "data.parquet.new"
        write_parquet(con, f"select * from marts.\"{mart}\" where {of_run} = '{audit_run_id}'", draft)  # noqa: S608 - ours, hex
        draft.replace(place / "data.parquet")
