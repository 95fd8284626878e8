"""What stays wrong from night to night: an alarm is raised on a change of state, stands while it lasts, recovers once.

An alarm is a kind, a place (model, task, strategy, measure or rule) and the run it was compared with. Tonight is compared
with last night, with the pinned baseline and with the base run of every open alarm (`open_bases`): a drop that stays is no
news against last night, and stands until its own base run is reached again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

from flows.system.keys import content_id
from flows.warehouse import Warehouse, now
from flows.warehouse.rows import frame_of
from flows.warehouse.sql import sql

Kind = Literal["regressed", "changed", "gate", "unmeasured"]
Place = tuple[str | None, str | None, str | None, str | None, str | None]
"""Model, task, strategy, measure and base run of a comparison."""


class Key(NamedTuple):
    """What makes two findings the same alarm."""

    kind: Kind
    model_id: str | None
    task_id: str | None
    strategy: str | None
    measure: str | None
    base_run_id: str | None

    @property
    def is_compared(self) -> bool:
        """Whether it comes of comparing two runs, and not of the gate."""
        return self.kind in ("regressed", "changed")

    @property
    def place(self) -> Place:
        """Where a comparison would say so again."""
        return self[1:]

    def touches(self, other: Key) -> bool:
        """Whether model, task and strategy agree; None is any."""
        pairs = zip(self[1:4], other[1:4], strict=True)
        return all(ours is None or theirs is None or ours == theirs for ours, theirs in pairs)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong tonight; `summary` is its figures in one line, `reason` a sentence.

    `measure` is the rule as written where the kind is gate or unmeasured; a part that is None is all of them, so a night
    that could not be measured at all has none. `base_run_id` is None unless the kind is regressed or changed.
    """

    kind: Kind
    summary: str
    reason: str | None = None
    cause: str | None = None
    model_id: str | None = None
    task_id: str | None = None
    strategy: str | None = None
    measure: str | None = None
    base_run_id: str | None = None
    against: Literal["last_night", "baseline"] = "last_night"

    @property
    def key(self) -> Key:
        """What it is the same alarm by."""
        return Key(self.kind, self.model_id, self.task_id, self.strategy, self.measure, self.base_run_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """An alarm that was open before tonight: raised by run `audit_run_id`, which began at `since` (UTC)."""

    alarm_id: str
    audit_run_id: str
    key: Key
    summary: str
    reason: str | None
    since: datetime
    raised_at: datetime
    is_untold: bool = False  # the message of its night reached nobody


@dataclass(frozen=True, slots=True)
class Standing:
    """An open alarm tonight; `note` says why nothing is known of it tonight, else it is empty."""

    alarm: Alarm
    note: str = ""


@dataclass(frozen=True, slots=True)
class Recovered:
    """An alarm that is over; it is told once nothing of its like stands."""

    alarm: Alarm
    reason: str
    is_told: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiver:
    """What a person accepted for a time; a part that is None is any."""

    rule: str
    model_id: str | None
    task_id: str | None
    strategy: str | None
    measure: str | None
    accepted_at: datetime

    def covers(self, alarm: Alarm) -> bool:
        """Whether the alarm was there when the waiver was given, and is of its rule and place: what comes later is news."""
        key = alarm.key
        of_rule = self.rule.split()[:2] == ["no", key.kind] if key.is_compared else self.rule == key.measure
        ours = (self.model_id, self.task_id, self.strategy, self.measure if key.is_compared else None)
        at_place = all(part is None or part == its for part, its in zip(ours, key[1:5], strict=True))
        return of_rule and at_place and alarm.raised_at <= self.accepted_at


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What tonight changed: `raised` opens, and of it `told` is news; `waived` is open, and accepted by a person."""

    raised: tuple[Finding, ...] = ()
    told: tuple[Finding, ...] = ()
    standing: tuple[Standing, ...] = ()
    waived: tuple[Alarm, ...] = ()
    recovered: tuple[Recovered, ...] = ()


def open_bases(alarms: Iterable[Alarm]) -> tuple[str, ...]:
    """The runs tonight is compared with to know whether alarms still stand, each once, oldest alarm first."""
    bases = [alarm.key.base_run_id for alarm in alarms if alarm.key.is_compared]
    return tuple(dict.fromkeys(base for base in bases if base is not None))


def changes(
    open_alarms: Sequence[Alarm],
    findings: Sequence[Finding],
    recheck: Mapping[Place, str],
    waivers: Collection[Waiver] = (),
    accepted: Mapping[str, str] | None = None,
) -> Changes:
    """Which alarms tonight raises, which stand, and which are over.

    `recheck` is the verdict of every comparison of tonight by its place, `accepted` why by the id of each alarm that a
    person ended by pinning a later baseline. A compared alarm is over when its place has another verdict than its kind;
    without one, or with not_comparable, it stands and its note says so. One of the gate is over when it is not found, unless
    tonight could not be measured there, or a waiver covers it.

    Every finding whose key is not open is raised, once. Told is what is news of its own: not a drop against the baseline of a
    model that also dropped since last night or already has a standing alarm (it is the same drop, seen in one more measure),
    nor a rule on comparisons, failed or unmeasured, where a comparison has raised an alarm itself. A recovery is told when
    nothing like it stands.
    """
    accepted = accepted or {}
    found = {finding.key: finding for finding in reversed(findings)}  # of equal keys the first
    standing: list[Standing] = []
    waived: list[Alarm] = []
    over: list[tuple[Alarm, str, bool]] = []
    for alarm in open_alarms:
        if alarm.alarm_id in accepted and alarm.key not in found:  # whose base run is still compared with is not over
            over.append((alarm, accepted[alarm.alarm_id], False))
            continue
        note, reason = _state(alarm.key, found, recheck)
        is_waived = any(waiver.covers(alarm) for waiver in waivers)
        # a waived rule is not reported as failed, which is no sign of its holding again
        if reason is not None and (alarm.key.is_compared or not is_waived):
            over.append((alarm, reason, True))
        elif is_waived:
            waived.append(alarm)
        else:
            standing.append(Standing(alarm, note))

    opened = {alarm.key for alarm in open_alarms}
    raised = [found[key] for key in dict.fromkeys(finding.key for finding in findings) if key not in opened]
    stay = [item.alarm.key for item in standing] + [alarm.key for alarm in waived]
    told = [finding for finding in raised if _is_news(finding, raised, stay)]
    before = [alarm.key for alarm in open_alarms]
    now_open = stay + [finding.key for finding in raised]
    recovered = [
        Recovered(alarm, reason, may_tell and _is_over_for_all(alarm.key, before, now_open))
        for alarm, reason, may_tell in over
    ]
    return Changes(
        raised=tuple(raised),
        told=tuple(told),
        standing=tuple(standing),
        waived=tuple(waived),
        recovered=tuple(recovered),
    )


def _state(key: Key, found: Mapping[Key, Finding], recheck: Mapping[Place, str]) -> tuple[str, str | None]:
    """The note of an alarm that stands, or why it is over."""
    if key in found:
        return "", None
    if key.is_compared:
        verdict = recheck.get(key.place)
        if verdict is None:
            return "not compared tonight", None
        if verdict == "not_comparable":
            return "not comparable tonight", None
        return "", None if verdict == key.kind else verdict.replace("_", " ")
    blind = [other for other in found if other.kind == "unmeasured" and other.touches(key)]
    if any(other.measure in (None, key.measure) for other in blind):
        return "could not be measured tonight", None
    return "", "measured again" if key.kind == "unmeasured" else "the rule holds again"


def _is_news(finding: Finding, raised: Sequence[Finding], stay: Sequence[Key]) -> bool:
    key = finding.key
    if key.is_compared and finding.against == "baseline":
        since_last_night = any(
            other.key.is_compared and other.against == "last_night" and other.model_id == finding.model_id
            for other in raised
        )
        return not since_last_night and not any(other.is_compared and other.model_id == key.model_id for other in stay)
    if _is_rule_on_comparisons(key):
        return not any(other.is_compared and other.touches(key) for other in [*stay, *(item.key for item in raised)])
    return True


def _is_rule_on_comparisons(key: Key) -> bool:
    return not key.is_compared and key.measure is not None and key.measure.split()[:1] == ["no"]


def _is_over_for_all(key: Key, before: Sequence[Key], now_open: Sequence[Key]) -> bool:
    if key.is_compared:
        return not any(other.is_compared and other.model_id == key.model_id for other in now_open)
    if _is_rule_on_comparisons(key) and any(other.is_compared and other.touches(key) for other in before):
        return False  # it was told as the comparison it rests on, and ends with it
    return not any(other.kind == key.kind and other.measure == key.measure for other in now_open)


def open_alarms(warehouse: Warehouse, audit_id: str, audit_run_id: str) -> list[Alarm]:
    """The alarms of an audit that no earlier night has ended, oldest first, with those this run itself has raised already."""
    rows = warehouse.read(sql("alerts", "open_alarms"), audit=audit_id, run=audit_run_id)
    return [
        Alarm(
            alarm_id=row["alarm_id"],
            audit_run_id=row["audit_run_id"],
            key=Key(*(row[part] for part in Key._fields)),
            summary=row["summary"],
            reason=row["reason"],
            since=row["since"],
            raised_at=row["recorded_at"],
            is_untold=row["is_untold"],
        )
        for row in rows
    ]


def settle(
    warehouse: Warehouse, audit_id: str, audit_run_id: str, findings: Sequence[Finding], recheck: Mapping[Place, str]
) -> Changes:
    """Compares tonight's findings with the open alarms and lands what was raised and what recovered.

    Running it again for the same night finds the same changes and lands nothing twice: an alarm's id hashes the audit, the
    key and the run that raises it. What an earlier start of the night raised and this one no longer finds has recovered.
    """
    keys = {finding.key for finding in findings}
    known = open_alarms(warehouse, audit_id, audit_run_id)
    before = [alarm for alarm in known if alarm.audit_run_id != audit_run_id or alarm.key not in keys]
    waivers = [Waiver(**row) for row in warehouse.read(sql("alerts", "waivers"), audit_id=audit_id, now=now())]
    pinned = warehouse.read(sql("alerts", "baselines"), audit_id=audit_id)
    accepted = {
        alarm.alarm_id: f"run pinned as baseline {pin['name']}"
        for pin in pinned
        for alarm in before
        if alarm.key.is_compared and pin["pinned_at"] >= alarm.raised_at and pin["started_at"] >= alarm.since
    }
    found = changes(before, findings, recheck, waivers, accepted)
    of_all = {"audit_run_id": audit_run_id, "audit_id": audit_id, "recorded_at": now()}
    rows = [
        of_all | finding.key._asdict()
        | {"alarm_id": content_id("alarm", audit_id, *finding.key, audit_run_id), "event": "raised",
           "summary": finding.summary, "reason": finding.reason}
        for finding in found.raised
    ] + [
        of_all | item.alarm.key._asdict()
        | {"alarm_id": item.alarm.alarm_id, "event": "recovered", "summary": item.alarm.summary, "reason": item.reason}
        for item in found.recovered
    ]  # fmt: skip
    warehouse.land([("alarms", frame_of("alarms", rows))])
    return found
