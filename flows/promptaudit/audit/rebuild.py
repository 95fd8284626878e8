"""Derives complete runs again from what has landed, and makes an answered run complete."""

from __future__ import annotations

from pathlib import Path

from promptaudit.audit.run import make_ready
from promptaudit.audit.steps import AuditRun, derive
from promptaudit.cards.trust.readers import trusted_readers
from promptaudit.evidence.retain import restore, without_retired
from promptaudit.lineage.openlineage.emit import following
from promptaudit.marts.comparison.compare import compare_again
from promptaudit.marts.of_landed import mart_of_landed
from promptaudit.marts.publish import publish
from promptaudit.marts.transform import judge_nights, own_readers, transform
from promptaudit.registry.errors import ChangedCode, DataError, MeasureError, UsageError
from promptaudit.system.child_processes import guarded
from promptaudit.system.display.progress import Progress
from promptaudit.system.helper_processes import DBT, start
from promptaudit.system.settings import Settings
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.run_names import one_run


def rebuild_runs(
    settings: Settings, audit_run_id: str | None, progress: Progress, *, restore_first: bool = False
) -> Path:
    """Derives the marts of complete runs again and publishes; returns the copy's path.

    `audit_run_id` may be the beginning of a run's id; None is every complete run. A run that is open and named by its
    whole id is made complete if all of its answers have landed. A retired run has no raw rows to derive from and keeps
    its marts, unless `restore_first` lands its archive again. Where all runs are derived, a run also keeps its marts if
    the user's own code that read its answers has changed since. Raises UntrustedCard if a run names code that nobody
    trusts.
    """
    if restore_first and audit_run_id is None:
        msg = "--restore lands the archive of one run again; name the run"
        raise UsageError(msg)
    warehouse = Warehouse(settings.warehouse)
    with guarded(), warehouse.hold(settings.lock_wait_s, progress.wait, by="a rebuild"):
        start(DBT, warehouse.places.file.name)
        make_ready(warehouse, progress, settings)
        rows = warehouse.read("select audit_run_id, state from raw.audit_runs order by run_index")
        runs = [row["audit_run_id"] for row in rows if row["state"] == "complete"]
        is_open = [
            row["audit_run_id"] for row in rows if row["state"] != "complete" and row["audit_run_id"] == audit_run_id
        ]
        if is_open:
            return _derive_answered(warehouse, is_open[0], progress)
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
        if audit_run_id is None and kept:
            kept = [run for run in kept if _can_be_read_again(warehouse, run, progress)]
            if not kept:
                msg = f"the answers of no run of {warehouse} can be read again"
                raise DataError(msg)
        progress.say(f"rebuilding {len(kept)} runs")
        transform(warehouse, kept, "up_to_formats")
        transform(warehouse, kept, "after_formats")
        judged = judge_nights(warehouse, kept)
        return publish(warehouse, list(dict.fromkeys([*kept, *judged])), compare_again(warehouse, kept))


def _derive_answered(warehouse: Warehouse, audit_run_id: str, progress: Progress) -> Path:
    planned = int(mart_of_landed(warehouse, "int_cells_planned", audit_run_id)["n_planned"].sum())
    query = (
        "select audit_id, (select count(*) from raw.predictions where audit_run_id = $run) as n_landed, "
        "coalesce((card -> 'judges')::varchar not in ('[]', '{}'), false) as is_judged "
        "from raw.audit_runs where audit_run_id = $run"
    )
    (run,) = warehouse.read(query, run=audit_run_id)
    if not planned or run["n_landed"] < planned or run["is_judged"]:
        what = f"has {run['n_landed']} of {planned} answers" + (" and is judged" if run["is_judged"] else "")
        msg = f"run {audit_run_id} is not complete: it {what}; `promptaudit run {run['audit_id']}` goes on with it"
        raise MeasureError(msg)
    with following(warehouse, audit_run_id, progress.warn):
        derive(AuditRun(warehouse=warehouse, audit_run_id=audit_run_id, progress=progress))
    return warehouse.published.path


def _can_be_read_again(warehouse: Warehouse, audit_run_id: str, progress: Progress) -> bool:
    try:
        trusted_readers(own_readers(warehouse, [audit_run_id]))
    except ChangedCode as error:
        progress.say(f"{error}; the run keeps its marts as they are")
        return False
    return True
