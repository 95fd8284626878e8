"""Opens, closes, reopens and finds runs: the row of a run says what it is, what it used and whether it is closed."""

from __future__ import annotations

import functools
import importlib.metadata
import os
import subprocess
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from promptaudit.audit.manifest import manifest_of
from promptaudit.cards.prices import price_of
from promptaudit.plan.design import Design, used_fields
from promptaudit.registry.errors import UsageError
from promptaudit.registry.samples import critical_ids
from promptaudit.system.clock import now
from promptaudit.system.helper_processes import environment
from promptaudit.system.keys import as_json, content_id
from promptaudit.system.prefect_server import flow_run_id
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.rows import frame_of, label_rows, sample_row, task_row
from promptaudit.warehouse.sql import sql

LIBRARIES = ("duckdb", "dbt-core", "dbt-duckdb", "numpy", "scipy", "polars", "prefect", "great-expectations", "openai")
_CLOSE = "update raw.audit_runs set state = ?, finished_at = ? where audit_run_id = ? and state != 'complete'"
_REOPEN = "update raw.audit_runs set state = 'running', finished_at = null where audit_run_id = $run"


@dataclass(frozen=True, slots=True)
class Run:
    """A landed run."""

    audit_run_id: str
    state: str
    started_at: datetime
    plan_fingerprint: str
    flow_run_id: str | None

    @property
    def is_of_this_flow_run(self) -> bool:
        """Checks whether the flow run of Prefect that this code is in opened the run."""
        return self.flow_run_id is not None and self.flow_run_id == flow_run_id()


def run_row(  # noqa: PLR0913 - one row's columns
    *,
    audit_run_id: str,
    audit_id: str,
    origin: str,
    fingerprint: str,
    plan_fingerprint: str,
    card: str,
    format_limits: str,
    seed: int,
    n_resamples: int,
    manifest: dict[str, Any],
    source: dict[str, Any] | None = None,
) -> pl.DataFrame:
    """Builds the row that opens a run, with the versions of the code and libraries that make it."""
    commit, is_dirty = code_commit()
    row = {
        "audit_run_id": audit_run_id,
        "audit_id": audit_id,
        "origin": origin,
        "state": "running",
        "started_at": now(),
        "finished_at": None,
        "fingerprint": fingerprint,
        "plan_fingerprint": plan_fingerprint,
        "card": card,
        "format_limits": format_limits,
        "seed": seed,
        "n_resamples": n_resamples,
        "code_version": importlib.metadata.version("promptaudit"),
        "code_commit": commit,
        "is_code_dirty": is_dirty,
        "library_versions": as_json(library_versions()),
        "source": None if source is None else as_json(source),
        "manifest": as_json(manifest),
        "flow_run_id": flow_run_id(),
    }
    return frame_of("audit_runs", [row])


def close_run(warehouse: Warehouse, audit_run_id: str, state: str) -> None:
    """Closes a run as complete or failed.

    A complete run stays complete; a failed one may still become complete under other limits.
    """
    with warehouse.write() as con:
        con.execute(_CLOSE, [state, now(), audit_run_id])


def close_abandoned(warehouse: Warehouse, origin: str, audit_id: str | None = None) -> None:
    """Closes the runs as failed that nobody will go on with: of one origin, and of one audit or of any."""
    query = (
        "select audit_run_id from raw.audit_runs "
        "where origin = $1 and state = 'running' and audit_id = coalesce($2, audit_id)"
    )
    with warehouse.write() as con:
        for (run,) in con.execute(query, [origin, audit_id]).fetchall():
            con.execute(_CLOSE, ["failed", now(), run])


def land_changed_tasks(warehouse: Warehouse, audit_run_id: str, design: Design) -> list[str]:
    """Lands the task cards that changed since the run opened, and returns their names.

    A changed reader, level or scoring method then holds for the answers that have landed. A change of what is asked
    opens a new run instead.
    """
    newest = warehouse.read(
        "select task_id, fingerprint from raw.tasks where audit_run_id = $audit_run_id "
        "qualify recorded_at is not distinct from max(recorded_at) over (partition by task_id)",
        audit_run_id=audit_run_id,
    )
    known = {(row["task_id"], row["fingerprint"]) for row in newest}
    changed = {name: card for name, card in design.tasks.items() if (name, card.fingerprint()) not in known}
    warehouse.land([("tasks", frame_of("tasks", [task_row(audit_run_id, n, c) for n, c in changed.items()]))])
    return list(changed)


def reopen_run(warehouse: Warehouse, audit_run_id: str) -> None:
    """Marks a complete run as open again when its rules or judges have changed.

    It stays open until it has been derived again.
    """
    with warehouse.write() as con:
        con.execute(_REOPEN, {"run": audit_run_id})


def open_errors(warehouse: Warehouse, audit_run_id: str) -> int:
    """Moves cells that landed as errors to `raw.failed_predictions` and reopens their run; returns how many."""
    errors, run = sql("audit", "errors_of_run"), {"run": audit_run_id}
    with warehouse.write() as con:
        con.execute("begin")
        con.execute(f"create or replace temp table errors as {errors}", run)
        ((n_errors,),) = con.execute("select count(*) from errors").fetchall()
        # an error that a spool landed a second time is kept once
        con.execute(
            "insert into raw.failed_predictions by name select * from errors "
            "anti join raw.failed_predictions using (audit_run_id, prediction_id, landed_at)"
        )
        if n_errors:
            con.execute(
                "delete from raw.predictions where audit_run_id = $run and prediction_id in (select prediction_id from errors)",
                run,
            )
            con.execute(_REOPEN, run)
        con.execute("drop table errors")
        con.execute("commit")
    return int(n_errors)


def newest_run(warehouse: Warehouse, audit_id: str) -> Run | None:
    """Finds the run of an audit that landed last, without imports and trials; None if there is none.

    Raises UsageError if this code is in a flow run of Prefect that is taken again and that began an earlier run: that
    run is over.
    """
    rows = warehouse.read(
        "select audit_run_id, state, started_at, plan_fingerprint, flow_run_id from raw.audit_runs "
        "where audit_id = $audit_id and origin = 'run' order by run_index desc limit 1",
        audit_id=audit_id,
    )
    newest = Run(**rows[0]) if rows else None
    if newest is not None and (flow_run := flow_run_id()) is not None and not newest.is_of_this_flow_run:
        query = "select audit_run_id from raw.audit_runs where audit_id = $audit and flow_run_id = $flow_run"
        if earlier := warehouse.read(query, audit=audit_id, flow_run=flow_run):
            msg = f"run {earlier[0]['audit_run_id']}, which this flow run began, was followed by {newest.audit_run_id}"
            raise UsageError(msg)
    return newest


def flow_runs_of(warehouse: Warehouse) -> set[str]:
    """Reads the ids of the flow runs of Prefect that have begun or gone on with a run of a warehouse."""
    rows = warehouse.read(
        "select flow_run_id from raw.audit_runs where origin = 'run' "
        "union select outcome ->> 'flow_run_id' from raw.nights where step != 'finished'"
    )
    return {row["flow_run_id"] for row in rows if row["flow_run_id"] is not None}


def count_runs(warehouse: Warehouse, design: Design) -> int:
    """Counts all runs that an audit began, whatever its cards asked: an edit does not restart the round of panels."""
    (row,) = warehouse.read(
        "select count(*) as n from raw.audit_runs where audit_id = $audit_id and origin = 'run'",
        audit_id=design.audit_id,
    )
    return int(row["n"])


def samples_of_run(warehouse: Warehouse, audit_run_id: str) -> dict[str, set[str]]:
    """Reads the ids of the samples that a run asks, by task."""
    rows = warehouse.read(
        "select task_id, list(sample_id) as sample_ids from raw.samples where audit_run_id = $audit_run_id group by all",
        audit_run_id=audit_run_id,
    )
    return {row["task_id"]: set(row["sample_ids"]) for row in rows}


@functools.cache
def library_versions() -> dict[str, str]:
    """Reads the versions of the installed libraries that decide a run's figures."""
    versions = {}
    for name in LIBRARIES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


@functools.cache
def code_commit() -> tuple[str | None, bool | None]:
    """Finds the commit of the checkout this code runs from and whether it has changes; None for both in a wheel."""
    root = Path(__file__).resolve().parents[3]
    if not (root / ".git").exists():
        return None, None

    def git(*arguments: str) -> str:
        done = subprocess.run(  # noqa: S603 - fixed words, no shell
            ["git", "-C", str(root), *arguments],  # noqa: S607
            env=environment(),
            capture_output=True,
            text=True,
            timeout=20,
            check=True,
        )
        return done.stdout.strip()

    try:
        return git("rev-parse", "HEAD"), bool(git("status", "--porcelain", "--untracked-files=no"))
    except (OSError, subprocess.SubprocessError):
        return None, None


def open_run(warehouse: Warehouse, design: Design) -> str:
    """Lands a new run's row and everything that the run uses, in one transaction, and returns the run's id.

    A run of the audit that was not finished is closed as failed: the new one takes its place.
    """
    audit_run_id = content_id("run", design.audit_id, design.plan_fingerprint, now().isoformat(), os.urandom(8).hex())
    used = design.registry.used_by(design.audit_id)
    cards = {
        kind: {name: entry.card.model_dump(mode="json", exclude_defaults=True) for name, entry in entries.items()}
        for kind, entries in used.items()
    }
    models = []
    for name, card in design.models.items():
        price = price_of(card)
        models.append(
            {
                "audit_run_id": audit_run_id,
                "model_id": name,
                "engine": card.engine,
                "model": card.model,
                "card": card.canonical_json(),
                "fingerprint": card.fingerprint(),
                "input_usd_per_mtok": None if price is None else price.input_usd_per_mtok,
                "output_usd_per_mtok": None if price is None else price.output_usd_per_mtok,
            }
        )
    close_abandoned(warehouse, design.origin, design.audit_id)
    audit = design.audit
    asked = {"audit_run_id": audit_run_id, "twice": audit.repetitions.twice, "seed": audit.samples.seed}
    critical = {task_id: critical_ids(own.samples, audit.critical) for task_id, own in design.samples.items()}
    samples = [
        sample_row(
            audit_run_id,
            task_id,
            index,
            sample,
            used_fields(design.tasks[task_id], design.templates.get(task_id), sample),
            is_critical=sample.sample_id in critical[task_id],
        )
        for task_id, chosen in design.samples.items()
        for index, sample in enumerate(chosen.samples)
    ]
    warehouse.land(
        [
            (
                "audit_runs",
                run_row(
                    audit_run_id=audit_run_id,
                    audit_id=design.audit_id,
                    origin=design.origin,
                    fingerprint=design.fingerprint,
                    plan_fingerprint=design.plan_fingerprint,
                    card=as_json(cards),
                    format_limits=audit.format.model_dump_json(),
                    seed=audit.seed,
                    n_resamples=audit.resamples,
                    manifest=manifest_of(design),
                    source=None if design.source is None else dict(design.source),
                ),
            ),
            ("models", frame_of("models", models)),
            ("tasks", frame_of("tasks", [task_row(audit_run_id, n, c) for n, c in design.tasks.items()])),
            (
                "task_labels",
                frame_of(
                    "task_labels", [row for n, c in design.tasks.items() for row in label_rows(audit_run_id, n, c)]
                ),
            ),
            ("samples", frame_of("samples", samples)),
            ("designs", frame_of("designs", [asked])),
        ]
    )
    return audit_run_id
