"""The audit as a Prefect flow: its steps are tasks, and what one returns the next one takes.

Of a task Prefect keeps its name, its state and its edges, and of a flow its parameters: nothing that is asked or answered. The
functions of the tasks, and the order in which `measure` takes them, are in `audit.steps`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from prefect import flow, task
from prefect.assets import Asset, AssetProperties, materialize
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.runtime import flow_run
from prefect.states import Completed

from promptaudit.audit import steps
from promptaudit.audit.run import run_audit
from promptaudit.audit.steps import AuditRun, Outcome, RunOptions, Steps
from promptaudit.lineage.openlineage.names import asset_of
from promptaudit.system.display.progress import Progress
from promptaudit.system.prefect_server import LONGEST_S, PAUSES_S, as_flow_run, events_sent, failed, is_locked, step
from promptaudit.system.settings import registry_of, settings_of, silence, work_in_audit_folder
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.figure_names import grains

# without tags: for each, Prefect asks its server for a place, in a queue of the process that an outage may leave waiting
ASKS: dict[str, Any] = {"cache_policy": NO_CACHE, "persist_result": False}
CHECKS: dict[str, Any] = ASKS | {"timeout_seconds": LONGEST_S}
DERIVES: dict[str, Any] = CHECKS | {
    "retries": len(PAUSES_S),
    "retry_delay_seconds": list(PAUSES_S),
    "retry_condition_fn": is_locked,
}


def tasks_of(warehouse: Warehouse) -> Steps:
    """The steps of a run as tasks; those that land or publish tables materialize assets, which bear the warehouse's file name."""

    def lands(*tables: str, made_of: Sequence[str], **options: Any) -> Any:  # noqa: ANN401 - Prefect's
        made_of = _assets(warehouse, "raw", made_of)
        return materialize(*_assets(warehouse, "raw", tables), by="promptaudit", asset_deps=made_of, **options)

    variants = lands("prompt_variants", "grid", "option_orders", made_of=("tasks", "samples", "designs"), **ASKS)
    named = {"task_run_name": "infer {model_id} {strategy}"}
    answers = lands("predictions", "attempts", made_of=("models", "samples"), **named, **ASKS)
    checks = lands("format_checks", "format_validations", made_of=("predictions",), **CHECKS)
    return Steps(
        paraphrase=step(variants, steps.paraphrase),
        infer=step(answers, steps.infer),
        transform=step(task(task_run_name="transform {part}", **DERIVES), steps.transform),
        validate=step(checks, steps.validate),
        judge=step(lands("verdicts", made_of=("predictions",), **ASKS), steps.judge),
        compare=step(task(**DERIVES), steps.compare),
        publish=step(publishes(warehouse), steps.publish),
        report=step(task(**DERIVES), steps.report),
    )


def publishes(warehouse: Warehouse) -> Any:  # noqa: ANN401 - Prefect's
    """Prefect's `materialize` of the marts, and of the copy of the warehouse that readers have."""
    made = [*_assets(warehouse, "marts", sorted(grains())), *_assets(warehouse, "published", [warehouse.path.name])]
    return materialize(*made, by="promptaudit", asset_deps=_assets(warehouse, "raw", ("predictions",)), **DERIVES)


def _assets(warehouse: Warehouse, schema: str, tables: Sequence[str]) -> list[Any]:
    named = {table: AssetProperties(name=f"{schema}.{table}") for table in tables}
    return [Asset(key=asset_of(warehouse, schema, name), properties=about) for name, about in named.items()]


def measure(run: AuditRun) -> Outcome:
    """Takes the steps of a run as tasks of a flow run: of this one, or of one that a command begins."""
    audit_id = run.designed().audit_id
    return as_flow_run(
        lambda: steps.measure(run, tasks_of(run.warehouse)),
        name="audit",
        run_name=f"{audit_id} {run.audit_run_id}",
        parameters={
            "audit_id": audit_id,
            "audit_run_id": run.audit_run_id,
            "rephrase": run.options.rephrase,
            "max_usd": run.max_usd,
            "max_requests": run.max_requests,
        },
        folder=run.warehouse.places.prefect,
        progress=run.progress,
    )


def run_name() -> str:
    """What a person calls a run of the flow: the audit."""
    return str((flow_run.parameters or {}).get("audit_id", ""))


@flow(name="audit", flow_run_name=run_name, persist_result=False)
def audit(
    audit_id: str,
    warehouse: str | None = None,
    *,
    new: bool = False,
    rephrase: bool = False,
    max_usd: float | None = None,
    max_requests: int | None = None,
) -> State[Any]:
    """Executes an audit; a run that was begun goes on, also where this flow run is taken again."""
    silence()
    progress = Progress()
    try:
        work_in_audit_folder()
        place = None if warehouse is None else Path(warehouse)
        settings = settings_of(place, max_usd=max_usd, max_requests=max_requests)
        with events_sent():
            options = RunOptions(new=new, rephrase=rephrase)
            done = run_audit(settings, registry_of(settings), audit_id, progress, options, measure=measure)
    except Exception as error:  # noqa: BLE001 - one that Prefect sees it logs and pickles
        return failed(error, progress.warn)
    return Completed(message=done.headline)
