"""Finds which run is tonight's and how long its night may take, and lands the steps of nights."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from cronsim import CronSim

from promptaudit.audit.runs import newest_run
from promptaudit.registry.ages import age_of
from promptaudit.registry.cards import AuditCard
from promptaudit.registry.errors import NightMissed
from promptaudit.system.clock import age, is_ahead, now
from promptaudit.system.keys import as_json, content_id
from promptaudit.warehouse import Warehouse, rows_as
from promptaudit.warehouse.rows import frame_of

DAY = timedelta(days=1)


def tonights_run(
    warehouse: Warehouse,
    card: AuditCard,
    audit_id: str,
    plan_fingerprint: str,
    scheduled_at: datetime | None,
    *,
    new: bool = False,
) -> str | None:
    """Finds the run that is tonight's; None if tonight has not begun, or asked what the cards ask no longer.

    If the cards ask the same, the run that this flow run of Prefect began is tonight's, however old. With `new` no other
    run is. A run that started ahead of the clock is no night's but that of the flow run that began it.
    """
    newest = newest_run(warehouse, audit_id)
    if newest is None or newest.plan_fingerprint != plan_fingerprint:
        return None
    if new or newest.is_of_this_flow_run:
        return newest.audit_run_id if newest.is_of_this_flow_run else None
    if newest.state == "running":
        is_young = age(newest.started_at, now()) <= age_of(card.max_age)
        return newest.audit_run_id if is_young and not is_ahead(newest.started_at, now()) else None
    steps = steps_of(warehouse, audit_id, newest.audit_run_id)
    if "begun" not in steps or is_ahead(newest.started_at, now()):  # the first: somebody's `promptaudit run`
        return None
    if scheduled_at is not None:
        return newest.audit_run_id if scheduled_at in {step.scheduled_at for step in steps.values()} else None
    # a clock that jumped ahead in the night and was put right says nothing of when it was
    times = [step.recorded_at for step in steps.values() if not is_ahead(step.recorded_at, now())]
    last = max(times, default=newest.started_at)
    return newest.audit_run_id if age(last, now()) < _until_next(card, last) / 2 else None


class NightStep(NamedTuple):
    """Describes a step of a night that has been taken."""

    step: str
    recorded_at: datetime
    scheduled_at: datetime | None


def steps_of(warehouse: Warehouse, audit_id: str, audit_run_id: str) -> dict[str, NightStep]:
    """Reads the steps that a run's night has taken, by their names."""
    query = "select step, recorded_at, scheduled_at from raw.nights where night_id = $night"
    steps = rows_as(NightStep, warehouse.read(query, night=night_id_of(audit_id, audit_run_id)))
    return {step.step: step for step in steps}


def longest(card: AuditCard, scheduled_at: datetime | None) -> timedelta:
    """Computes how long a night may take before it is stopped: the card's `max_duration`, or until the next one is due.

    A night that a person begins has as long as the next one of the schedule will have. Without `max_duration` it is a
    day at most.
    """
    if card.max_duration is not None:
        return age_of(card.max_duration)
    begins_at = scheduled_at or (now() if card.schedule is None else next(CronSim(card.schedule, now())))
    return _until_next(card, begins_at)


def refuse_missed(card: AuditCard, scheduled_at: datetime | None) -> None:
    """Raises NightMissed if the card's schedule has a later night that is due already and measures in place of this one."""
    if scheduled_at is not None and card.schedule is not None and next(CronSim(card.schedule, scheduled_at)) <= now():
        msg = f"the night of {scheduled_at:%Y-%m-%d %H:%M} UTC: a later one is due already"
        raise NightMissed(msg)


def _until_next(card: AuditCard, at: datetime) -> timedelta:
    # at most a day
    return DAY if card.schedule is None else min(DAY, next(CronSim(card.schedule, at)) - at)


def night_id_of(audit_id: str, audit_run_id: str) -> str:
    """Hashes the audit and the run of a night to its id."""
    return content_id("night", audit_id, audit_run_id)


def record_night(
    warehouse: Warehouse,
    audit_id: str,
    audit_run_id: str,
    step: str,
    outcome: object = None,
    scheduled_at: datetime | None = None,
) -> None:
    """Lands that a night has taken a step; landing the same again adds nothing."""
    row = {
        "audit_run_id": audit_run_id,
        "night_id": night_id_of(audit_id, audit_run_id),
        "audit_id": audit_id,
        "step": step,
        "outcome": None if outcome is None else as_json(outcome),
        "recorded_at": now(),
        "scheduled_at": scheduled_at,
    }
    warehouse.land([("nights", frame_of("nights", [row]))])
