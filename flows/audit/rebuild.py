"""Derives runs again from what has landed."""

from __future__ import annotations

from pathlib import Path

from flows.audit.run_audit import make_ready
from flows.comparison.compare import compare_again
from flows.display.progress import Progress
from flows.evidence.retain import restore, without_retired
from flows.marts.publish import publish
from flows.marts.transform import transform
from flows.settings import Settings
from flows.system.child_processes import guarded
from flows.system.helper_processes import DBT, start
from flows.warehouse import Warehouse
from flows.warehouse.run_names import one_run
from models_registry.errors import DataError, UsageError


def rebuild_runs(
    settings: Settings, audit_run_id: str | None, progress: Progress, *, restore_first: bool = False
) -> Path:
    """Derives the marts of complete runs, or of the one whose id begins so, again, and publishes; returns the copy's path.

    A retired run has no raw rows to derive from and keeps its marts, unless its archive is landed again first.
    """
    if restore_first and audit_run_id is None:
        msg = "--restore lands the archive of one run again; name the run"
        raise UsageError(msg)
    warehouse = Warehouse(settings.warehouse)
    with guarded(), warehouse.hold(settings.lock_wait_s, progress.say):
        start(DBT, warehouse.places.file.name)
        make_ready(warehouse, progress, settings.spool)
        rows = warehouse.read("select audit_run_id from raw.audit_runs where state = 'complete' order by started_at")
        runs = [row["audit_run_id"] for row in rows]
        if audit_run_id is not None:
            runs = [one_run(runs, audit_run_id)]
        if not runs:
            msg = f"{warehouse} holds no complete run"
            raise DataError(msg)
        if restore_first:
            progress.say(f"landed {restore(warehouse, runs[0])} rows of the archive again")
        kept = without_retired(warehouse, runs)
        if len(kept) < len(runs):
            progress.say(f"{len(runs) - len(kept)} retired runs keep their marts as they are")
        progress.say(f"rebuilding {len(kept)} runs")
        transform(warehouse, kept, "up_to_formats")
        transform(warehouse, kept, "after_formats")
        return publish(warehouse, kept, compare_again(warehouse, kept))
