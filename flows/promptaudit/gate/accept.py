"""Lands people's decisions about a run: what it fails is accepted, its alarms end, or it is a baseline from now on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

from promptaudit.gate.check import check_run
from promptaudit.gate.outcome import MAX_NAME, MAX_RULE
from promptaudit.gate.source import source_of
from promptaudit.marts.publish import publish
from promptaudit.registry.errors import UsageError
from promptaudit.registry.gate_rules import LAST_NIGHT
from promptaudit.system.clock import now as this_instant
from promptaudit.system.display.compared import names_of
from promptaudit.system.display.figures import cut, plural, when
from promptaudit.system.display.progress import Progress
from promptaudit.system.keys import content_id
from promptaudit.system.settings import Settings
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.rows import frame_of
from promptaudit.warehouse.run_names import LATEST, chosen, complete_runs, resolve

LONGEST_WAIVER = timedelta(days=366)
MAX_REASON = 1000
MOST_OF_A_NAME = 200
_NAME = re.compile(r'[^~:"]+')
_LIKE_A_RUN = re.compile(r"[0-9a-f]+")
_LAST_WORD = """
    select greatest($now, max(moment) + interval 1 microsecond) as moment
    from (
        select pinned_at as moment, after_run_index from raw.baselines where audit_id = $audit
        union all
        select accepted_at, after_run_index from raw.acceptances where audit_id = $audit
    )
    where after_run_index = (select max(run_index) from raw.audit_runs)
"""


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

    def lines(self) -> Iterator[str]:
        """Says what was accepted, until when and why, and lists its rules."""
        known = "" if self.n_new else " (they were already)"
        rows = f"{plural(self.n_rows, 'failed row')} accepted until {when(self.valid_until)}{known}"
        yield f"run {self.audit_run_id}: {rows}: {cut(self.reason)}"
        yield from (f"  {cut(rule, MAX_RULE)}" for rule in self.rules)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedAlarms:
    """The alarms of a run that a person ended, one for each model, task and strategy."""

    audit_run_id: str
    alarms: tuple[tuple[str, str, str], ...]
    is_false: bool
    reason: str
    published: Path

    def lines(self) -> Iterator[str]:
        """Says which alarms ended, and what is normal from now on."""
        normal = "as normal as those before, since the alarm came by chance" if self.is_false else "the new normal"
        alarms = f"{plural(len(self.alarms), 'alarm')} ended, whose nights are {normal}"
        yield f"run {self.audit_run_id}: {alarms}: {cut(self.reason)}"
        yield from (f"  {' / '.join(cut(name, MAX_NAME) for name in names)}" for names in self.alarms)


@dataclass(frozen=True, slots=True, kw_only=True)
class PinResult:
    """A run that is a baseline from now on."""

    audit_run_id: str
    audit_id: str
    name: str
    before: str | None  # the run that was pinned under the name until now
    published: Path

    def lines(self) -> Iterator[str]:
        """Says which run is a baseline from now on, and which one it replaces."""
        before = "" if self.before is None else f", in place of {self.before}"
        yield f"run {self.audit_run_id} of '{cut(self.audit_id)}' is pinned as '{cut(self.name)}'{before}"


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
    why = _reason(reason)
    valid_until = _until(until, moment)
    warehouse = Warehouse(settings.warehouse)
    named = resolve(warehouse, run or LATEST)
    gate = check_run(warehouse, named.audit_run_id, rules=rules, max_age=max_age, now=moment)
    failed = [(rule.rule, row) for rule in gate.rules for row in rule.rows if row.state == "failed"]
    if not failed:
        msg = f"run {named.audit_run_id} fails no rule: there is nothing to accept; {gate.headline}"
        raise UsageError(msg)
    rows = []
    for rule, row in failed:
        of = {"audit_id": gate.audit_id, "rule": rule, **names_of(row), "measure": row.key, "reason": why}
        waiver_id = content_id("waiver", *of.values(), valid_until.isoformat())
        rows.append({**of, "waiver_id": waiver_id, "valid_until": valid_until, "accepted_at": moment})
    n_new, published = _land(settings, progress, "waivers", named.audit_run_id, rows)
    return AcceptResult(
        audit_run_id=named.audit_run_id,
        n_rows=len(rows),
        n_new=n_new,
        rules=tuple(dict.fromkeys(rule for rule, _ in failed)),
        valid_until=valid_until,
        reason=why,
        published=published,
    )


def end_alarms(
    settings: Settings,
    run: str | None,
    reason: str,
    progress: Progress,
    *,
    names: Mapping[str, str | None],
    is_false: bool,
) -> EndedAlarms:
    """Ends the alarms that stand on a run, of the model, task and strategy that are named, and publishes.

    The next night is compared only with the nights of the alarm, or with `is_false` with them and the normal nights
    before.

    Raises:
        UsageError: no alarm stands there, or a name is none of the run's.
    """
    why = _reason(reason)
    warehouse = Warehouse(settings.warehouse)
    named = resolve(warehouse, run or LATEST)
    run_id = named.audit_run_id
    with source_of(warehouse, run_id) as source:
        states = source.night_states
        newest = source.newest_night
    if newest is not None and newest != run_id:
        msg = f"run {run_id} is not the newest night of '{named.audit_id}', which is {newest}: accept that one"
        raise UsageError(msg)
    alarmed = [each for each in chosen(states, f"run {run_id} has none of that name", **names) if each.has_alarm]
    if not alarmed:
        msg = f"no alarm stands on run {run_id}: there is nothing to accept; --until waives a rule that fails"
        raise UsageError(msg)
    of = {"audit_id": named.audit_id, "is_false": is_false, "reason": why}
    rows = [of | names_of(state) for state in alarmed]
    _, published = _land(settings, progress, "acceptances", run_id, rows, dated="accepted_at")
    return EndedAlarms(
        audit_run_id=run_id,
        alarms=tuple(state.group for state in alarmed),
        is_false=is_false,
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
    why = _reason(reason) if reason is not None else None
    with source_of(warehouse, named.audit_run_id) as source:
        before = source.pinned(name)
    row = {"audit_id": named.audit_id, "name": name, "reason": why}
    _, published = _land(settings, progress, "baselines", named.audit_run_id, [row], dated="pinned_at")
    return PinResult(
        audit_run_id=named.audit_run_id, audit_id=named.audit_id, name=name, before=before, published=published
    )


def _land(
    settings: Settings,
    progress: Progress,
    table: str,
    audit_run_id: str,
    rows: Sequence[Mapping[str, Any]],
    *,
    dated: str | None = None,
) -> tuple[int, Path]:
    # lands rows about a run and publishes; gives the number of new ones and the place
    warehouse = Warehouse(settings.warehouse)
    with warehouse.hold(settings.lock_wait_s, progress.say):
        warehouse.apply_schema()
        of_all: dict[str, Any] = {"audit_run_id": audit_run_id}
        if dated is not None:
            # between two runs the clock orders what people decide: what it said when it was ahead must not stay the last word
            of_all[dated] = warehouse.read(_LAST_WORD, audit=rows[0]["audit_id"], now=this_instant())[0]["moment"]
        n_new = warehouse.land([(table, frame_of(table, [row | of_all for row in map(dict, rows)]))])
        return n_new, publish(warehouse)


def _reason(text: str) -> str:
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
    if (
        not name.isprintable()
        or name != name.strip()
        or not 1 <= len(name) <= MOST_OF_A_NAME
        or not _NAME.fullmatch(name)
    ):
        wanted = f"1 to {MOST_OF_A_NAME} printable characters without '~', ':' and '\"'"
    elif name in (LATEST, LAST_NIGHT):
        wanted = f"another name than '{name}', which means a run already"
    elif name in audits:
        wanted = "a name that no audit has"
    elif _LIKE_A_RUN.fullmatch(name):
        wanted = "a name that cannot be the beginning of a run's id: with more in it than 0 to 9 and a to f"
    if wanted is not None:
        msg = f"baseline {name[:80]!r}: {wanted} is wanted"
        raise UsageError(msg)
