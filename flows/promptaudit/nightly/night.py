"""Runs one night of an audit: run, compare, check, report, notify. A killed night goes on where it was at its next start.

A night is begun with its run and finished once its message, if any, is sent. What a start finds decides what it does:

- an unfinished run goes on as tonight's, while it is younger than the card's `max_age`;
- tonight's complete run is not asked again: what its night still lacks is done, and no message is sent twice. Where a
  schedule began it, tonight is the night of that scheduled time and no other. Where a person did, it is the newest
  night, until half the time from its last step to the next night of the card's schedule, at most twelve hours;
- a flow run of Prefect that is taken again goes on with the run that it began, however old, unless the cards ask
  something else by now; it is refused once a later run began, or, where a schedule began it, a later night is due;
- an older night that was cut short in its last steps is finished first, and then tonight's begins.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from datetime import datetime

from promptaudit.audit.rebuild import rebuild_runs
from promptaudit.audit.run import run_audit
from promptaudit.audit.steps import RunOptions
from promptaudit.gate.alerts.alarms import Changes, Problem, settle
from promptaudit.gate.alerts.message import Night, compose
from promptaudit.gate.alerts.notify import heartbeat, notify
from promptaudit.marts.publish import is_published, publish
from promptaudit.nightly.after_run import FUNCTIONS, AfterRun, NightContext, NightResult, Steps, finish, runbooks_of
from promptaudit.nightly.tonight import longest, record_night, refuse_missed, steps_of, tonights_run
from promptaudit.plan.design import design_audit
from promptaudit.registry.errors import (
    CardError,
    DataError,
    NightMissed,
    PromptauditError,
    SeveralErrors,
    WarehouseLocked,
    lines_of,
)
from promptaudit.registry.registry import Registry
from promptaudit.system.child_processes import guarded
from promptaudit.system.clock import now
from promptaudit.system.deadline import at_most
from promptaudit.system.display.progress import Progress
from promptaudit.system.keys import content_id
from promptaudit.system.prefect_server import flow_run_id
from promptaudit.system.settings import Settings
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.sql import sql

MESSAGE_WITHIN_S = 60.0  # how long a message about a night waits for the warehouse
NO_CODE = 2  # of an error that has none of its own
_COMPLETE = "select 1 from raw.audit_runs where audit_run_id = $run and state = 'complete'"


def night(
    settings: Settings,
    load: Callable[[], Registry],
    audit_id: str,
    progress: Progress,
    *,
    new: bool = False,
    scheduled_at: datetime | None = None,
    steps: Steps = FUNCTIONS,
    places: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> NightResult:
    """Runs a whole night of an audit; its exit code is the gate's. `steps` are taken after its run.

    `places` waits for what the run shares with other runs of a server, and holds that; a complete run that asks nothing
    needs none. All waiting counts in the card's `max_duration`. `scheduled_at` is the time, in UTC and without a zone,
    for which a schedule began it; None if a person did. `new` asks everything again, once: a flow run of Prefect that
    is retried goes on with the run that it began. The heartbeat is called when a run took place; an interrupted night
    goes on at its next start.

    Raises:
        WarehouseLocked: another night works on the warehouse, and `lock_wait_s` seconds are over.
        NightMissed: the same of a scheduled night, or a later one is due already. No message is sent.
        PromptauditError: whatever kept it from being measured, after a message about it.
    """
    code: int | None = None
    began: list[str] = []
    asked_at, has_warehouse = time.monotonic(), False
    try:
        with guarded(), _held(settings, audit_id, scheduled_at, progress):
            has_warehouse = True
            try:
                registry = load()
                refuse_missed(registry.audit(audit_id), scheduled_at)
                limit = longest(registry.audit(audit_id), scheduled_at)
                waited_s = time.monotonic() - asked_at
                with at_most(limit, f"the night of '{audit_id}'", spent_s=waited_s):
                    context = NightContext(
                        settings=settings,
                        card=registry.audit(audit_id),
                        audit_id=audit_id,
                        progress=progress,
                        scheduled_at=scheduled_at,
                    )
                    with context.locked():
                        context.warehouse.apply_schema()
                    result = _night(context, registry, began, steps, places, new=new)
            except NightMissed:
                raise
            except Exception as error:
                _send_unmeasured(settings, audit_id, began, error, progress)
                raise
        code = result.exit_code
    except PromptauditError as error:
        # another night works on the warehouse, or will, and reports itself
        is_of_another = isinstance(error, NightMissed) or (isinstance(error, WarehouseLocked) and not has_warehouse)
        code = None if is_of_another else error.exit_code
        raise
    except Exception:
        code = NO_CODE
        raise
    finally:
        if code is not None:
            heartbeat(settings, code, progress, took_place=bool(began))
    return result


@contextmanager
def _held(settings: Settings, audit_id: str, scheduled_at: datetime | None, progress: Progress) -> Iterator[None]:
    # holds the lock of the warehouse's nights
    by = f"the night of '{audit_id}'"
    with ExitStack() as stack:
        try:
            stack.enter_context(
                Warehouse(settings.warehouse).hold(settings.lock_wait_s, progress.wait, what="night", by=by)
            )
        except WarehouseLocked as error:
            if scheduled_at is None:
                raise
            raise NightMissed(error.args[0]) from None
        except PromptauditError as error:  # the lock cannot be made
            _send_unmeasured(settings, audit_id, [], error, progress)
            raise
        yield


def _night(
    context: NightContext,
    registry: Registry,
    began: list[str],
    steps: Steps,
    places: Callable[[], AbstractContextManager[None]],
    *,
    new: bool,
) -> NightResult:
    audit_id = context.audit_id
    design = design_audit(registry, audit_id)
    plan = design.plan_fingerprint
    with context.warehouse.kept_open():
        tonight = tonights_run(context.warehouse, context.card, audit_id, plan, context.scheduled_at, new=new)
        unfinished = context.warehouse.read(sql("nightly", "unfinished_nights"), audit=audit_id)
        complete = context.warehouse.read(_COMPLETE, run=tonight)
    for row in unfinished:
        if row["audit_run_id"] != tonight:
            _finish_older(context, row["audit_run_id"], row["finished_at"], steps)

    def begin(audit_run_id: str) -> None:
        began.append(audit_run_id)
        starts = [each for each in steps_of(context.warehouse, audit_id, audit_run_id) if each != "finished"]
        flow_run = flow_run_id()
        outcome = None if flow_run is None else {"flow_run_id": flow_run}
        context.record(audit_run_id, f"resumed {len(starts)}" if starts else "begun", outcome)

    # the page is written once the night is compared
    options = RunOptions(new=tonight is None, writes_page=False)
    # a complete run asks no model but a judge whose card has changed
    with nullcontext() if complete and not design.judges else places():
        run = run_audit(context.settings, registry, audit_id, context.progress, options, on_open=begin)
    is_repeated = not began and "finished" in steps_of(context.warehouse, audit_id, run.audit_run_id)
    if not began:  # it is complete: its night goes on, or is looked at again
        began.append(run.audit_run_id)
    ending = finish(AfterRun(context=context, audit_run_id=run.audit_run_id), steps, run.outcome)
    return ending.of_night(run, is_repeated=is_repeated)


def _finish_older(context: NightContext, run: str, finished_at: datetime, steps: Steps) -> None:
    # as of when its run ended; a failure, also a defect, is a warning, so that tonight's night goes on
    context.progress.step(f"finishing the night of run {run}, which was interrupted")
    try:
        if not is_published(context.warehouse, run):
            rebuild_runs(context.settings, run, context.progress)
        finish(AfterRun(context=context, audit_run_id=run, at=finished_at), steps)
    except Exception as error:  # noqa: BLE001 - as above
        context.progress.warn(f"the night of run {run} stays unfinished: {'; '.join(lines_of(error))}")


def _send_unmeasured(settings: Settings, audit_id: str, began: list[str], error: Exception, progress: Progress) -> None:
    # the message is sent even if nothing can land, and soon; a night whose format gate failed is finished. What fails here,
    # maybe by the same defect, is a warning and hides neither the message nor the first error
    warehouse, wait_s = Warehouse(settings.warehouse), min(settings.lock_wait_s, MESSAGE_WITHIN_S)
    run = began[-1] if began else content_id("no run", audit_id, f"{now():%Y-%m-%d}")
    # of commands in it: a message shows no backticks
    problem = Problem(kind="unmeasured", summary="; ".join(lines_of(error)).replace("`", "'"))
    code = error.exit_code if isinstance(error, PromptauditError) else NO_CODE
    try:
        with warehouse.hold(wait_s, progress.say):
            warehouse.apply_schema()  # the night may have failed before
            changes = settle(warehouse, audit_id, run, [problem], {})
    except Exception as failure:  # noqa: BLE001 - as above
        progress.warn(f"the alarm did not land: {'; '.join(lines_of(failure))}")
        changes = Changes(raised=(problem,), news=(problem,))
    night = Night(
        audit_id=audit_id,
        audit_run_id=run,
        started_at=now(),
        exit_code=code,
        runbooks=runbooks_of(warehouse, settings),
        is_of_cards=isinstance(error, (CardError, DataError, SeveralErrors)),
    )
    message = compose(night, changes)
    if message is not None:
        notify(warehouse, run, message.kind, message, settings, progress)
    try:
        with warehouse.hold(wait_s, progress.say):
            rows = warehouse.read("select state from raw.audit_runs where audit_run_id = $run", run=run)
            if rows and rows[0]["state"] == "failed":
                record_night(warehouse, audit_id, run, "finished", {"exit_code": code})
            if rows:  # so that the gate of the published copy sees that there is a newer run
                publish(warehouse)
    except Exception as failure:  # noqa: BLE001 - as above
        progress.warn(f"the night was not closed: {'; '.join(lines_of(failure))}")
