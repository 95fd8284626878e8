"""The audit as a Prefect flow: its steps in their order, each a task of its own.

Parameters are ids and small values. What a step makes stays in this process, in the run's `Execution`; Prefect is told how it
ended (`prefect_steps`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prefect import flow, task
from prefect.client.schemas.objects import State
from prefect.runtime import flow_run
from prefect.states import Failed

from flows.audit.execution import Execution
from flows.audit.prefect_steps import (
    AGAIN,
    DERIVES,
    STEP,
    StepOutcome,
    Steps,
    at_hand,
    end_of,
    end_of_batch,
    kept_at_hand,
)
from flows.marts.transform import Part


@task(name="paraphrase", task_run_name="paraphrase", **STEP)
def paraphrase(audit_run_id: str) -> State[Any]:
    """Makes the prompt variants of a run, or finds those that it has."""
    return end_of("paraphrase", audit_run_id, Execution.paraphrase)


@task(name="infer", task_run_name="infer {model_id} {strategy}", **STEP)
async def infer(audit_run_id: str, model_id: str, strategy: str) -> State[Any]:
    """Asks every missing cell of a model under one strategy."""
    return await end_of_batch("infer", audit_run_id, model_id, strategy)


@task(name="transform", task_run_name="transform {part}", **STEP | AGAIN | DERIVES)
def transform(audit_run_id: str, part: Part) -> State[Any]:
    """Derives one part of the marts."""
    return end_of("transform", audit_run_id, lambda run: run.transform(part), part)


@task(name="validate", task_run_name="validate", **STEP | DERIVES)
def validate(audit_run_id: str) -> State[Any]:
    """Checks the formats of the answers."""
    return end_of("validate", audit_run_id, Execution.validate)


@task(name="judge", task_run_name="judge", **STEP)
def judge(audit_run_id: str) -> State[Any]:
    """Asks the judges for the rulings that are missing."""
    return end_of("judge", audit_run_id, Execution.judge)


@task(name="compare", task_run_name="compare", **STEP | AGAIN | DERIVES)
def compare(audit_run_id: str) -> State[Any]:
    """Derives the comparisons with this run anew."""
    return end_of("compare", audit_run_id, Execution.compare)


@task(name="publish", task_run_name="publish", **STEP | AGAIN | DERIVES)
def publish(audit_run_id: str) -> State[Any]:
    """Publishes the run's marts."""
    return end_of("publish", audit_run_id, Execution.publish)


@task(name="report", task_run_name="report", **STEP | AGAIN | DERIVES)
def report(audit_run_id: str) -> State[Any]:
    """Writes the run's page."""
    return end_of("report", audit_run_id, Execution.report)


def ask(execution: Execution, steps: Steps[Execution]) -> None:
    """Takes the steps that ask the models."""
    steps.run(paraphrase)
    steps.run_batches(infer, execution.infer)


def measure(execution: Execution, steps: Steps[Execution]) -> None:
    """Takes the steps of an audit, in their order; raises what the first of them raises that fails."""
    ask(execution, steps)
    if execution.is_pilot:
        steps.run(transform, "pilot")
        return
    with execution.warehouse.kept_open():
        steps.run(transform, "up_to_formats")
        steps.run(validate)
    if execution.judges:
        steps.run(judge)
    with execution.warehouse.kept_open():
        steps.run(transform, "after_formats")
        steps.run(compare)
        steps.run(publish)
    if execution.reports:
        steps.run(report)


def run_name() -> str:
    """Returns what a person calls a run of the flow: the audit, and its run where that is known."""
    parameters: dict[str, Any] = flow_run.parameters or {}
    return " ".join(str(parameters[name]) for name in ("audit_id", "audit_run_id") if parameters.get(name))


@flow(name="audit", flow_run_name=run_name, persist_result=False)
def audit(  # noqa: PLR0913 - what the command takes
    audit_id: str,
    audit_run_id: str | None = None,
    warehouse: str | None = None,
    *,
    new: bool = False,
    rephrase: bool = False,
    max_usd: float | None = None,
    max_requests: int | None = None,
) -> State[Any]:
    """Executes an audit.

    The run is at hand where a command began it. A deployment names the audit alone: the run is begun, or gone on with, here.
    """
    steps = at_hand(audit_run_id)
    if steps is not None:
        steps.whole = StepOutcome().do(lambda: measure(steps.work, steps))
        return steps.whole.state
    if audit_run_id is not None:
        return Failed(
            message=f"run {audit_run_id} was begun by a process that has ended; `promptaudit run` goes on with it"
        )
    from flows.audit.run_audit import run_audit
    from flows.display.progress import Progress
    from flows.settings import registry_of, settings_of, work_in_audit_folder

    progress = Progress()

    def execute(execution: Execution) -> None:
        with kept_at_hand(Steps(execution)) as steps:
            measure(execution, steps)

    def begin() -> None:
        work_in_audit_folder()
        settings = settings_of(None if warehouse is None else Path(warehouse))
        run_audit(
            settings, registry_of(settings), audit_id, progress, execute=execute, new=new, rephrase=rephrase,
            max_usd=max_usd, max_requests=max_requests,
        )  # fmt: skip

    ended = StepOutcome().do(begin)
    if ended.error is not None:
        progress.warn(str(ended.error))  # on the worker, whole; Prefect hears its kind
    return ended.state
