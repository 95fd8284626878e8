"""Lands a person's end of a run's alarms: their nights are the new normal, or the alarm came by chance."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from promptaudit.gate.accept import reason_of
from promptaudit.gate.source import source_of
from promptaudit.marts.publish import publish
from promptaudit.registry.errors import UsageError, nearest
from promptaudit.system.display.progress import Progress
from promptaudit.system.settings import Settings
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse import now as this_instant
from promptaudit.warehouse.rows import frame_of
from promptaudit.warehouse.run_names import LATEST, resolve


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedAlarms:
    """The alarms of a run that a person ended, one for each model, task and strategy."""

    audit_run_id: str
    alarms: tuple[tuple[str, str, str], ...]
    is_false: bool
    reason: str
    published: Path


def end_alarms(
    settings: Settings,
    run: str | None,
    reason: str,
    progress: Progress,
    *,
    chosen: dict[str, str | None],
    is_false: bool,
) -> EndedAlarms:
    """Ends the alarms that stand on a run, of the chosen models, tasks and strategies, and publishes.

    The next night is compared only with the nights of the alarm, or with `is_false` with them and the normal nights
    before.

    Raises:
        UsageError: no alarm stands there, or a name is none of the run's.
    """
    why = reason_of(reason)
    warehouse = Warehouse(settings.warehouse)
    named = resolve(warehouse, run or LATEST)
    with source_of(warehouse, named.audit_run_id) as source:
        states = source.night_states
        newest = source.newest_night
    if newest is not None and newest != named.audit_run_id:
        msg = f"run {named.audit_run_id} is not the newest night of '{named.audit_id}', which is {newest}: accept that one"
        raise UsageError(msg)
    for name, value in chosen.items():
        known = {getattr(state, name) for state in states}
        if value is not None and value not in known:
            option = name.removesuffix("_id")
            msg = f"--{option} {value[:80]}: none of that name in run {named.audit_run_id}{nearest(value, known)}"
            raise UsageError(msg)
    alarmed = [
        state
        for state in states
        if state.has_alarm and all(value in (None, getattr(state, name)) for name, value in chosen.items())
    ]
    if not alarmed:
        msg = (
            f"no alarm stands on run {named.audit_run_id}: there is nothing to accept; --until waives a rule that fails"
        )
        raise UsageError(msg)
    rows = [
        {
            "audit_run_id": named.audit_run_id,
            "audit_id": named.audit_id,
            "model_id": state.model_id,
            "task_id": state.task_id,
            "strategy": state.strategy,
            "is_false": is_false,
            "reason": why,
            "accepted_at": this_instant(),
        }
        for state in alarmed
    ]
    with warehouse.hold(settings.lock_wait_s, progress.say):
        warehouse.apply_schema()
        warehouse.land([("acceptances", frame_of("acceptances", rows))])
        published = publish(warehouse)
    return EndedAlarms(
        audit_run_id=named.audit_run_id,
        alarms=tuple(state[:3] for state in alarmed),
        is_false=is_false,
        reason=why,
        published=published,
    )
