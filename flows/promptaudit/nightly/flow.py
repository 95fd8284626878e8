"""Runs the night as a Prefect flow: its run is a flow of its own (`audit.flow`), and the steps that follow are tasks.

Parameters, artifacts and logs hold ids and figures; nothing is pickled. The functions of the tasks, and their order,
are in `nightly.after_run`.
"""

from __future__ import annotations

import logging
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from functools import partial
from typing import Any

from prefect import flow, task
from prefect.client.schemas.objects import State
from prefect.context import FlowRunContext
from prefect.exceptions import FailedRun
from prefect.logging import get_run_logger
from prefect.runtime import flow_run
from prefect.states import Completed, Failed

from promptaudit.audit.flow import ASKS, CHECKS, DERIVES, publishes
from promptaudit.audit.run import run_audit
from promptaudit.audit.runs import flow_runs_of
from promptaudit.audit.steps import RunOptions
from promptaudit.nightly import after_run
from promptaudit.nightly.after_run import Steps
from promptaudit.nightly.artifacts import Bar, show_artifacts
from promptaudit.nightly.limits import forget_limits, hold_limits, limits_of
from promptaudit.nightly.night import night
from promptaudit.nightly.tonight import longest, refuse_missed
from promptaudit.registry.cards import AuditCard
from promptaudit.registry.errors import NightMissed, PromptauditError
from promptaudit.system.display.progress import Progress
from promptaudit.system.prefect_server import StepFailed, deployed, step
from promptaudit.system.settings import Settings, registry_of
from promptaudit.warehouse import Warehouse


def tasks_of(warehouse: Warehouse) -> Steps:
    """Makes tasks of the steps that follow a night's run."""
    return Steps(
        compare=step(task(**DERIVES), after_run.compare),
        report=step(task(**DERIVES), after_run.report),
        gate=step(task(**CHECKS), after_run.gate),
        alert=step(task(**ASKS), after_run.alert),
        publish=step(publishes(warehouse), after_run.publish),
    )


def night_name() -> str:
    """Names a run of the flow as a person would: `nightly quickstart 2026-11-22`."""
    parameters: dict[str, Any] = flow_run.parameters or {}
    return f"nightly {parameters.get('audit_id', '')} {datetime.now(UTC):%Y-%m-%d}"


OUTCOMES = {1: "Gate failed", 3: "Could not measure", 4: "Budget reached"}


@flow(name="nightly", flow_run_name=night_name, persist_result=False)
def nightly(
    audit_id: str, warehouse: str | None = None, *, new: bool = False, max_usd: float | None = None
) -> State[Any]:
    """Runs one night of an audit; the flow run fails when its gate does, or when it could not be measured, and says so.

    Taken again, by Retry or after a pause, it goes on with the run that it began.
    """
    for logger in ("prefect.engine", "prefect.flow_runs"):
        logging.getLogger(logger).addFilter(_is_news)
    log = get_run_logger()
    bar = Bar(log.info, log.warning)
    work = partial(_night_of, audit_id=audit_id, bar=bar, new=new)
    return deployed(work, bar.warn, warehouse, OUTCOMES, max_usd=max_usd)


def _night_of(settings: Settings, audit_id: str, bar: Bar, *, new: bool) -> State[Any]:
    card, limits = _card_and_limits(settings, audit_id)
    scheduled_at = _scheduled_at()
    # other nights of the warehouse may be due, too
    if card is not None and "lock_wait_s" not in settings.model_fields_set:
        settings = settings.model_copy(update={"lock_wait_s": longest(card, scheduled_at).total_seconds()})
    forget_limits(bar)
    warehouse = Warehouse(settings.warehouse)
    load, steps = partial(registry_of, settings), tasks_of(warehouse)

    def places() -> AbstractContextManager[None]:
        # this night has the lock of the warehouse, so those that had it before have ended
        return hold_limits(limits, bar, ended=flow_runs_of(warehouse))

    try:
        if card is not None:
            refuse_missed(card, scheduled_at)  # before it waits, and once more when it has the warehouse
        result = night(settings, load, audit_id, bar, new=new, scheduled_at=scheduled_at, steps=steps, places=places)
    except NightMissed as error:
        bar.warn(str(error))
        return Failed(name="Missed", message=str(StepFailed(error)))
    show_artifacts(settings, result, bar)
    message = f"exit code {result.exit_code}: {result.check.headline}"
    if result.is_repeated:
        message = f"nothing was asked, this night had been measured; {message}"
    if result.exit_code:
        return Failed(name=OUTCOMES[result.exit_code], message=message)
    return Completed(name="Already measured" if result.is_repeated else None, message=message)


@flow(name="audit", flow_run_name="{audit_id}", persist_result=False)
def audit(
    audit_id: str,
    warehouse: str | None = None,
    *,
    new: bool = False,
    rephrase: bool = False,
    max_usd: float | None = None,
    max_requests: int | None = None,
) -> State[Any]:
    """Executes an audit without a night's gate and messages; a run that was begun goes on, also where this is taken again."""
    progress = Progress()

    def work(settings: Settings) -> State[Any]:
        options = RunOptions(new=new, rephrase=rephrase)
        return Completed(message=run_audit(settings, registry_of(settings), audit_id, progress, options).headline)

    return deployed(work, progress.warn, warehouse, max_usd=max_usd, max_requests=max_requests)


def _card_and_limits(settings: Settings, audit_id: str) -> tuple[AuditCard | None, list[str]]:
    # no card if it cannot be read: the night says what is wrong
    try:
        registry = registry_of(settings)
        return registry.audit(audit_id), limits_of(registry, audit_id)
    except PromptauditError:
        return None, []


def _scheduled_at() -> datetime | None:
    # in UTC and without a zone; None for a run that a person asked for
    context = FlowRunContext.get()
    if context is None or context.flow_run is None or not context.flow_run.auto_scheduled:
        return None
    at: datetime = flow_run.scheduled_start_time
    return at.astimezone(UTC).replace(tzinfo=None)


def _is_news(record: logging.LogRecord) -> bool:
    # a run that ended in a failed state of ours says so by that state, without a stack
    return record.exc_info is None or not isinstance(record.exc_info[1], FailedRun)
