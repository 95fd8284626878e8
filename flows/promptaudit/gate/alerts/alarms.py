"""Settles tonight's problems with open alarms: an alarm is raised once, stands while it lasts, recovers once.

An alarm is a kind, a place (model, task, strategy, measure or rule) and a run: the first night of an alarm against
normal nights, or the baseline. How long an alarm against normal nights stands is in the marts (rpt_night_states).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple, Self

from promptaudit.system.clock import now
from promptaudit.system.keys import content_id
from promptaudit.warehouse import Row, Warehouse, rows_as
from promptaudit.warehouse.rows import frame_of
from promptaudit.warehouse.sql import sql

Kind = Literal["regressed", "changed", "gate", "unmeasured"]
Against = Literal["normal_nights", "baseline"]
Place = tuple[str | None, str | None, str | None, str | None, str | None]
"""Model, task, strategy, measure, and the base run of a comparison or the first night of an alarm."""


class Key(NamedTuple):
    """Identifies an alarm: two problems with equal keys are one alarm."""

    kind: Kind
    model_id: str | None
    task_id: str | None
    strategy: str | None
    measure: str | None
    base_run_id: str | None

    @property
    def is_compared(self) -> bool:
        """Says whether it comes from comparing figures with others, and not from the gate."""
        return self.kind in ("regressed", "changed")

    @property
    def place(self) -> Place:
        """Names the place at which a comparison would raise it again."""
        return self[1:]

    def joins(self, other: Key) -> bool:
        """Checks whether both belong to one alarm: the same model, task and strategy, since the same night."""
        return other.is_compared and self[1:4] == other[1:4] and self.base_run_id == other.base_run_id

    def touches(self, other: Key) -> bool:
        """Checks whether model, task and strategy agree; None agrees with any."""
        pairs = zip(self[1:4], other[1:4], strict=True)
        return all(ours is None or theirs is None or ours == theirs for ours, theirs in pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something that is wrong tonight. `summary` has its figures in one line, `moved` says it in the task's words.

    `reason` is a sentence. `measure` is the rule as written where the kind is gate or unmeasured. A part that is None
    stands for all, so a night that could not be measured at all has none. `base_run_id` is None unless the kind is
    regressed or changed.
    """

    kind: Kind
    summary: str
    reason: str | None = None
    moved: str | None = None
    cause: str | None = None
    model_id: str | None = None
    task_id: str | None = None
    strategy: str | None = None
    measure: str | None = None
    base_run_id: str | None = None
    compare_with: str | None = None  # the run that the comparison to look at is with
    against: Against = "normal_nights"

    @property
    def key(self) -> Key:
        """Makes the key of its alarm."""
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
    run_index: int | None  # of that run; None where no run was opened
    is_unsent: bool = False  # nobody received the message of its night

    @classmethod
    def of(cls, row: Row) -> Self:
        """Makes an alarm of a row that has the parts of its key; more columns do no harm."""
        own = {name: row[name] for name in cls.__dataclass_fields__ if name in row}
        return cls(key=Key(*(row[part] for part in Key._fields)), **own)


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingAlarm:
    """An open alarm tonight. `note` says why nothing is known of it tonight, else it is empty."""

    alarm: Alarm
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """An alarm that is over. It is news once nothing like it stands."""

    alarm: Alarm
    reason: str
    is_news: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiver:
    """A rule that a person accepted to fail for a time. A part that is None stands for any."""

    rule: str
    model_id: str | None
    task_id: str | None
    strategy: str | None
    measure: str | None
    after_run_index: int  # of the run that had landed last then

    def covers(self, alarm: Alarm) -> bool:
        """Checks whether a run before the waiver raised the alarm, and it is of its rule and place."""
        key = alarm.key
        of_rule = self.rule.split()[:2] == ["no", key.kind] if key.is_compared else self.rule == key.measure
        ours = (self.model_id, self.task_id, self.strategy, self.measure if key.is_compared else None)
        at_place = all(part is None or part == its for part, its in zip(ours, key[1:5], strict=True))
        return of_rule and at_place and alarm.run_index is not None and alarm.run_index <= self.after_run_index


class _Baseline(NamedTuple):
    name: str
    run_index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What tonight changed: `raised` opens, and some of it is `news`; `waived` is open, and accepted by a person."""

    raised: tuple[Problem, ...] = ()
    news: tuple[Problem, ...] = ()
    standing: tuple[StandingAlarm, ...] = ()
    waived: tuple[Alarm, ...] = ()
    recovered: tuple[Recovery, ...] = ()


def changes(
    open_alarms: Sequence[Alarm],
    problems: Sequence[Problem],
    recheck: Mapping[Place, str],
    waivers: Collection[Waiver] = (),
    accepted: Mapping[str, str] | None = None,
) -> Changes:
    """Sorts out which alarms tonight raises, which stand, and which are over.

    `recheck` has the verdict of every comparison of tonight by its place, and `accepted` the reason for each alarm, by
    id, that a person ended by pinning a later baseline. A compared alarm is over when its place has another verdict
    than its kind; without one, or with not_comparable, it stands and its note says so. An alarm of the gate is over
    when it is no problem, unless tonight could not be measured there, or a waiver covers it.

    Every problem whose key is not open is raised, once. It is news unless another alarm says the same. These are no
    news: a drop against the baseline of a model that also dropped against normal nights or already has a standing
    alarm (it is the same drop, seen in one more measure); a measure that joins a standing alarm of its group; a rule on
    comparisons, failed or unmeasured, where a comparison has raised an alarm itself. A recovery is news when
    nothing like it stands.
    """
    accepted = accepted or {}
    by_key = {problem.key: problem for problem in reversed(problems)}  # of equal keys the first
    standing: list[StandingAlarm] = []
    waived: list[Alarm] = []
    over: list[tuple[Alarm, str, bool]] = []
    for alarm in open_alarms:
        if alarm.alarm_id in accepted and alarm.key not in by_key:  # if its base run is still compared, it stands
            over.append((alarm, accepted[alarm.alarm_id], False))
            continue
        note, reason = _state(alarm.key, by_key, recheck)
        is_waived = any(waiver.covers(alarm) for waiver in waivers)
        # a waived rule is not reported as failed, which is no sign of its holding again
        if reason is not None and (alarm.key.is_compared or not is_waived):
            over.append((alarm, reason, True))
        elif is_waived:
            waived.append(alarm)
        else:
            standing.append(StandingAlarm(alarm=alarm, note=note))

    opened = {alarm.key for alarm in open_alarms}
    raised = [by_key[key] for key in dict.fromkeys(problem.key for problem in problems) if key not in opened]
    stay = [item.alarm.key for item in standing] + [alarm.key for alarm in waived]
    before = [alarm.key for alarm in open_alarms]
    now_open = stay + [problem.key for problem in raised]
    recovered = [
        Recovery(alarm=alarm, reason=reason, is_news=may_be_news and _is_over_for_all(alarm.key, before, now_open))
        for alarm, reason, may_be_news in over
    ]
    return Changes(
        raised=tuple(raised),
        news=tuple(problem for problem in raised if _is_news(problem, raised, stay)),
        standing=tuple(standing),
        waived=tuple(waived),
        recovered=tuple(recovered),
    )


def _state(key: Key, problems: Mapping[Key, Problem], recheck: Mapping[Place, str]) -> tuple[str, str | None]:
    if key in problems:
        return "", None
    if key.is_compared:
        verdict = recheck.get(key.place)
        if verdict is None:
            return "not compared tonight", None
        if verdict in ("not_comparable", "unconfirmed"):
            return f"{verdict.replace('_', ' ')} tonight", None
        return "", None if verdict == key.kind else verdict.replace("_", " ")
    blind = [other for other in problems if other.kind == "unmeasured" and other.touches(key)]
    if any(other.measure in (None, key.measure) for other in blind):
        return "could not be measured tonight", None
    return "", "measured again" if key.kind == "unmeasured" else "the rule holds again"


def _is_news(problem: Problem, raised: Sequence[Problem], stay: Sequence[Key]) -> bool:
    key = problem.key
    if key.is_compared and problem.against == "baseline":
        of_tonight = any(
            other.key.is_compared and other.against == "normal_nights" and other.model_id == problem.model_id
            for other in raised
        )
        return not of_tonight and not any(other.is_compared and other.model_id == key.model_id for other in stay)
    if key.is_compared:
        graver = problem.kind == "regressed" and not any(
            other.kind == "regressed" and key.joins(other) for other in stay
        )
        return graver or not any(key.joins(other) for other in stay)
    if _is_rule_on_comparisons(key):
        return not any(other.is_compared and other.touches(key) for other in [*stay, *(item.key for item in raised)])
    return True


def _is_rule_on_comparisons(key: Key) -> bool:
    return not key.is_compared and key.measure is not None and key.measure.split()[:1] == ["no"]


def _is_over_for_all(key: Key, before: Sequence[Key], now_open: Sequence[Key]) -> bool:
    if key.is_compared:
        return not any(other.is_compared and other.model_id == key.model_id for other in now_open)
    if _is_rule_on_comparisons(key) and any(other.is_compared and other.touches(key) for other in before):
        return False  # it was reported as the comparison it rests on, and ends with it
    return not any(other.kind == key.kind and other.measure == key.measure for other in now_open)


def open_alarms(warehouse: Warehouse, audit_id: str, audit_run_id: str) -> list[Alarm]:
    """Reads the alarms of an audit that no earlier night ended, oldest first, also the ones this run raised already."""
    rows = warehouse.read(sql("gate.alerts", "open_alarms"), audit=audit_id, run=audit_run_id)
    return [Alarm.of(row) for row in rows]


def settle(
    warehouse: Warehouse, audit_id: str, audit_run_id: str, problems: Sequence[Problem], recheck: Mapping[Place, str]
) -> Changes:
    """Compares tonight's problems with the open alarms and lands what was raised and what recovered.

    Running it again for the same night makes the same changes and lands nothing twice: an alarm's id hashes the audit,
    the key and the run that raises it. What an earlier start of the night raised and is no longer a problem has
    recovered.
    """
    keys = {problem.key for problem in problems}
    known = open_alarms(warehouse, audit_id, audit_run_id)
    before = [alarm for alarm in known if alarm.audit_run_id != audit_run_id or alarm.key not in keys]
    waivers = rows_as(Waiver, warehouse.read(sql("gate.alerts", "waivers"), audit_id=audit_id, now=now()))
    accepted = {
        alarm.alarm_id: f"run pinned as baseline {baseline.name}"
        for baseline in rows_as(_Baseline, warehouse.read(sql("gate.alerts", "baselines"), audit_id=audit_id))
        for alarm in before
        # a run that landed with the alarm or later can only be pinned after it
        if alarm.key.is_compared and alarm.run_index is not None and baseline.run_index >= alarm.run_index
    }
    settled = changes(before, problems, recheck, waivers, accepted)
    of_all = {"audit_run_id": audit_run_id, "audit_id": audit_id, "recorded_at": now()}
    rows = [
        of_all
        | problem.key._asdict()
        | {
            "alarm_id": content_id("alarm", audit_id, *problem.key, audit_run_id),
            "event": "raised",
            "summary": problem.summary,
            "reason": problem.reason,
        }
        for problem in settled.raised
    ] + [
        of_all
        | item.alarm.key._asdict()
        | {"alarm_id": item.alarm.alarm_id, "event": "recovered", "summary": item.alarm.summary, "reason": item.reason}
        for item in settled.recovered
    ]
    warehouse.land([("alarms", frame_of("alarms", rows))])
    return settled
