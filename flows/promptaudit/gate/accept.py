"""Lands people's decisions about a run: its failures are accepted for a while, or it is a baseline from now on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

from promptaudit.gate.check import check_run
from promptaudit.gate.source import source_of
from promptaudit.marts.publish import publish
from promptaudit.registry.errors import UsageError
from promptaudit.registry.gate_rules import LAST_NIGHT
from promptaudit.system.display.figures import when
from promptaudit.system.display.progress import Progress
from promptaudit.system.keys import content_id
from promptaudit.system.settings import Settings
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse import now as this_instant
from promptaudit.warehouse.rows import frame_of
from promptaudit.warehouse.run_names import LATEST, complete_runs, resolve

LONGEST_WAIVER = timedelta(days=366)
MAX_REASON = 1000
MAX_NAME = 200
_NAME = re.compile(r'[^~:"]+')
_LIKE_A_RUN = re.compile(r"[0-9a-f]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptResult:
    """The rows of a run that are accepted: how many, of which rules, until when and why."""

    audit_run_id: str
    n_rows: int
    n_new: int
    rules: tuple[str, ...]
    valid_until: datetime
    reason: str
    published: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class PinResult:
    """A run that is a baseline from now on."""

    audit_run_id: str
    audit_id: str
    name: str
    before: str | None  # the run that was pinned under the name until now
    published: Path


def waive_run(
    settings: Settings,
    run: str | None,
    reason: str,
    until: str,
    progress: Progress,
    *,
    rules: Sequence[str] | None = None,
    max_age: str | None = None,
    now: datetime | None = None,
) -> AcceptResult:
    """Accepts every row by which a run fails a rule, until a day (included) or an instant in UTC, and publishes.

    The rule passes for these rows in later runs too. The same again lands nothing.

    Raises:
        UsageError: the run fails nothing, the reason is empty, or the end is past or more than a year away.
    """
    moment = now or this_instant()
    why = reason_of(reason)
    valid_until = _until(until, moment)
    warehouse = Warehouse(settings.warehouse)
    named = resolve(warehouse, run or LATEST)
    gate = check_run(warehouse, named.audit_run_id, rules=rules, max_age=max_age, now=moment)
    failed = [(rule.rule, row) for rule in gate.rules for row in rule.rows if row.state == "failed"]
    if not failed:
        msg = f"run {named.audit_run_id} fails no rule: there is nothing to accept; {gate.headline}"
        raise UsageError(msg)
    rows = [
        {
            "audit_run_id": named.audit_run_id,
            "waiver_id": content_id(
                "waiver",
                gate.audit_id,
                rule,
                row.model_id,
                row.task_id,
                row.strategy,
                row.key,
                why,
                valid_until.isoformat(),
            ),
            "audit_id": gate.audit_id,
            "rule": rule,
            "model_id": row.model_id,
            "task_id": row.task_id,
            "strategy": row.strategy,
            "measure": row.key,
            "reason": why,
            "valid_until": valid_until,
            "accepted_at": moment,
        }
        for rule, row in failed
    ]
    with warehouse.hold(settings.lock_wait_s, progress.say):
        warehouse.apply_schema()
        n_new = warehouse.land([("waivers", frame_of("waivers", rows))])
        published = publish(warehouse)
    return AcceptResult(
        audit_run_id=named.audit_run_id,
        n_rows=len(rows),
        n_new=n_new,
        rules=tuple(dict.fromkeys(rule for rule, _ in failed)),
        valid_until=valid_until,
        reason=why,
        published=published,
    )


def pin_run(settings: Settings, run: str | None, name: str, reason: str | None, progress: Progress) -> PinResult:
    """Makes a complete run the baseline of its audit under a name, in place of the one before, and publishes.

    Raises:
        UsageError: the name could be read as something else: a run's id, `latest`, `last_night`, an audit.
    """
    warehouse = Warehouse(settings.warehouse)
    named = resolve(warehouse, run or LATEST)
    _refuse_name(name, {known.audit_id for known in complete_runs(warehouse)})
    why = reason_of(reason) if reason is not None else None
    with source_of(warehouse, named.audit_run_id) as source:
        before = source.pinned(name)
    row = {
        "audit_run_id": named.audit_run_id,
        "audit_id": named.audit_id,
        "name": name,
        "reason": why,
        "pinned_at": this_instant(),
    }
    with warehouse.hold(settings.lock_wait_s, progress.say):
        warehouse.apply_schema()
        warehouse.land([("baselines", frame_of("baselines", [row]))])
        published = publish(warehouse)
    return PinResult(
        audit_run_id=named.audit_run_id, audit_id=named.audit_id, name=name, before=before, published=published
    )


def reason_of(text: str) -> str:
    """Puts a reason on one line. Raises UsageError where it is empty or has more than MAX_REASON characters."""
    reason = " ".join(text.split())
    if not reason or len(reason) > MAX_REASON:
        msg = f"--reason: 1 to {MAX_REASON} characters say why, for whoever reads it later"
        raise UsageError(msg)
    return reason


def _until(text: str, moment: datetime) -> datetime:
    given = text.strip()
    try:
        if re.fullmatch(r"\d{4}-\d{2}-\d{2}", given):
            end = datetime.combine(date.fromisoformat(given), time.max.replace(microsecond=0))  # the whole of that day
        else:
            end = datetime.fromisoformat(given)
            end = end.astimezone(UTC).replace(tzinfo=None) if end.tzinfo is not None else end
    except (ValueError, OverflowError):
        msg = f"--until: a day such as 2026-12-01 is wanted, found {text[:80]!r}"
        raise UsageError(msg) from None
    if end <= moment:
        msg = f"--until {given}: that is past; it is {when(moment)}"
        raise UsageError(msg)
    if end - moment > LONGEST_WAIVER:
        msg = f"--until {given}: more than a year away; accept for less and look again"
        raise UsageError(msg)
    return end


def _refuse_name(name: str, audits: set[str]) -> None:
    wanted = None
    if not name.isprintable() or name != name.strip() or not 1 <= len(name) <= MAX_NAME or not _NAME.fullmatch(name):
        wanted = f"1 to {MAX_NAME} printable characters without '~', ':' and '\"'"
    elif name in (LATEST, LAST_NIGHT):
        wanted = f"another name than '{name}', which means a run already"
    elif name in audits:
        wanted = "a name that no audit has"
    elif _LIKE_A_RUN.fullmatch(name):
        wanted = "a name that cannot be the beginning of a run's id: with more in it than 0 to 9 and a to f"
    if wanted is not None:
        msg = f"baseline {name[:80]!r}: {wanted} is wanted"
        raise UsageError(msg)
