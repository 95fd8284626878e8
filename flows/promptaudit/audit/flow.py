"""Runs the audit as a Prefect flow: its steps are tasks, and what one returns the next one takes.

Prefect keeps the name, the state and the edges of a task and the parameters of a flow, and nothing that is asked or
answered. The functions of the tasks, and the order in which `measure` takes them, are in `audit.steps`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from prefect import flow, task
from prefect.assets import Asset, AssetProperties, materialize
from prefect.cache_policies import NO_CACHE

from promptaudit.audit import steps
from promptaudit.audit.steps import AuditRun, Outcome, Steps
from promptaudit.lineage.openlineage.names import asset_of
from promptaudit.system.prefect_server import LONGEST_S, as_flow_run, is_locked, step
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.figure_names import grains

# no tags: for each, Prefect asks its server for a place, through a queue that an outage may leave waiting
ASKS: dict[str, Any] = {"cache_policy": NO_CACHE, "persist_result": False}
CHECKS: dict[str, Any] = ASKS | {"timeout_seconds": LONGEST_S}
# where another program has the warehouse open, a task waits and is taken again
AGAIN: dict[str, Any] = {"retries": 2, "retry_delay_seconds": [5, 30], "retry_condition_fn": is_locked}
DERIVES: dict[str, Any] = CHECKS | AGAIN


def tasks_of(warehouse: Warehouse) -> Steps:
    """Makes tasks of a run's steps. Those that land or publish tables materialize assets under the warehouse's name."""

    def lands(*tables: str, made_of: Sequence[str], **options: Any) -> Any:  # noqa: ANN401 - Prefect's
        made_of = _assets(warehouse, "raw", made_of)
        return materialize(*_assets(warehouse, "raw", tables), by="promptaudit", asset_deps=made_of, **options)

    variants = lands("prompt_variants", "grid", "option_orders", made_of=("tasks", "samples", "designs"), **ASKS)
    named = {"task_run_name": "infer {asked}"}
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
    """Makes Prefect's `materialize` of the marts and of the copy of the warehouse that readers have."""
    made = [*_assets(warehouse, "marts", sorted(grains())), *_assets(warehouse, "published", [warehouse.path.name])]
    return materialize(*made, by="promptaudit", asset_deps=_assets(warehouse, "raw", ("predictions",)), **DERIVES)


def _assets(warehouse: Warehouse, schema: str, tables: Sequence[str]) -> list[Any]:
    named = {table: AssetProperties(name=f"{schema}.{table}") for table in tables}
    return [Asset(key=asset_of(warehouse, schema, name), properties=about) for name, about in named.items()]


def measure(run: AuditRun) -> Outcome:
    """Takes the steps of a run as tasks: in the flow run `audit` that this code is in, or else in a new one."""

    def shown(body: Callable[[], Any]) -> None:
        @flow(name="audit", flow_run_name="{audit_id} {audit_run_id}", persist_result=False, validate_parameters=False)
        def audit(
            audit_id: str, audit_run_id: str, *, rephrase: bool, max_usd: float | None, max_requests: int | None
        ) -> Any:  # noqa: ANN401 - what the body gives
            return body()

        audit_id, rephrase = run.designed().audit_id, run.options.rephrase
        audit(audit_id, run.audit_run_id, rephrase=rephrase, max_usd=run.max_usd, max_requests=run.max_requests)

    work = partial(steps.measure, run, tasks_of(run.warehouse))
    return as_flow_run(work, shown, "audit", run.warehouse.places.prefect, run.progress)
