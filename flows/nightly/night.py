"""One night of an audit: run, compare, check, report, tell. A killed night goes on where it was at its next start.

A night is begun with its run and finished when it has been told. What a start finds decides what it does:

- an unfinished run goes on as tonight's, while it is younger than the card's `max_age`;
- tonight's complete run is not asked again: what its night still lacks is done, and what was told is not told twice. Where a
  schedule began it, tonight is the night of that scheduled time and no other. Where a person did, it is the newest night, until
  half the time from its last step to the next night of the card's schedule, at most twelve hours;
- an older night that was cut short in its last steps is finished first, and then tonight's begins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from cronsim import CronSim

from flows.alerts.alarms import Changes, Problem, open_alarms, open_bases, settle
from flows.alerts.from_comparisons import problems_of
from flows.alerts.message import Message, Night, compose
from flows.alerts.notify import Delivery, heartbeat, notify, report_link
from flows.audit import prefect_server
from flows.audit.design import design_audit
from flows.audit.rebuild import rebuild_runs
from flows.audit.run_audit import RunResult, run_audit
from flows.audit.runs import newest_run
from flows.comparison.compare import compare, pair_of
from flows.display.encode import NOT_ENCODED, encoded_property
from flows.display.progress import Progress
from flows.evidence.retain import retain
from flows.gate.check import check_run
from flows.gate.outcome import GateResult
from flows.gate.terminal import figures_of
from flows.marts.publish import is_published, publish
from flows.report import report
from flows.settings import Settings
from flows.system.child_processes import guarded
from flows.system.deadline import at_most
from flows.system.keys import as_json, content_id
from flows.warehouse import Row, Warehouse, now
from flows.warehouse.rows import frame_of
from flows.warehouse.sql import sql
from models_registry.ages import age_of
from models_registry.cards import AuditCard
from models_registry.errors import PromptauditError, WarehouseLocked
from models_registry.registry import Registry

DAY = timedelta(days=1)
Against = Literal["last_night", "baseline", "alarm"]
NO_CODE = 2  # of an error that has none of its own

_DERIVED = "select audit_run_id from marts.rpt_audit"


@dataclass(frozen=True, slots=True, kw_only=True)
class NightResult:
    """What came of a night, and whether somebody was told."""

    audit_run_id: str
    audit_id: str
    is_repeated: bool  # this night had been measured and told before: nothing was asked
    run: RunResult
    comparison_ids: tuple[str, ...]
    verdicts: Mapping[str, int]  # of the comparison with last night
    has_last_night: bool = field(metadata=NOT_ENCODED)
    check: GateResult
    changes: Changes = field(metadata=NOT_ENCODED)
    message: Message | None
    delivery: Delivery | None
    n_retired: int

    @encoded_property
    def exit_code(self) -> int:
        """Returns the gate's exit code: 0, 1 or 3."""
        return self.check.exit_code

    @encoded_property
    def n_raised(self) -> int:
        """Returns how many alarms the night raised."""
        return len(self.changes.raised)

    @encoded_property
    def n_standing(self) -> int:
        """Returns how many earlier alarms stand."""
        return len(self.changes.standing)

    @encoded_property
    def n_recovered(self) -> int:
        """Returns how many alarms are over."""
        return len(self.changes.recovered)


@dataclass(frozen=True, slots=True, kw_only=True)
class NightContext:
    """What all steps of a night need."""

    settings: Settings
    card: AuditCard
    audit_id: str
    progress: Progress
    scheduled_at: datetime | None

    @property
    def warehouse(self) -> Warehouse:
        """Returns the warehouse of the night."""
        return Warehouse(self.settings.warehouse)

    def locked(self) -> AbstractContextManager[None]:
        """Holds the lock of a run, for one step of the night."""
        return self.warehouse.hold(self.settings.lock_wait_s, self.progress.say)

    def record(self, audit_run_id: str, step: str, outcome: object = None) -> None:
        """Lands that the night has taken a step."""
        record_night(self.warehouse, self.audit_id, audit_run_id, step, outcome, self.scheduled_at)


@dataclass(slots=True, kw_only=True)
class AfterRun:
    """Everything of a night that follows its run, step by step; doing it again finds what it has done.

    `at` is when the gate is asked: None for now.
    """

    context: NightContext
    audit_run_id: str
    at: datetime | None = None
    page: Path | None = None
    against: dict[str, Against] = field(default_factory=dict)
    comparison_ids: list[str] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    gate_result: GateResult | None = None
    changes: Changes = field(default_factory=Changes)
    message: Message | None = None
    delivery: Delivery | None = None
    n_retired: int = 0

    @property
    def warehouse(self) -> Warehouse:
        """Returns the warehouse of the night."""
        return self.context.warehouse

    @property
    def progress(self) -> Progress:
        """Returns where the night says what begins."""
        return self.context.progress

    def compare(self) -> None:
        """Compares the run with last night's, with pinned baselines and with those of open alarms."""
        warehouse, run, card = self.warehouse, self.audit_run_id, self.context.card
        with self.context.locked():
            self.progress.step("comparing with earlier runs")
            with warehouse.kept_open():
                self.against = _references(warehouse, self.context.audit_id, run)
                self.comparison_ids = compare(warehouse, [pair_of(base, run, card) for base in self.against])
                self.rows = warehouse.read(sql("nightly", "compared"), ids=self.comparison_ids)

    def report(self) -> None:
        """Writes the run's page, with what changed."""
        with self.context.locked():
            self.page = report(self.warehouse, self.audit_run_id, warn=self.progress.warn)

    def gate(self) -> None:
        """Holds the rules of the audit's card against the run."""
        card = self.context.card
        self.gate_result = check_run(
            self.warehouse, self.audit_run_id, rules=card.gate, max_age=card.max_age,
            comparison_ids=self.comparison_ids, now=self.at,
        )  # fmt: skip

    def alert(self) -> None:
        """Settles the alarms, and tells the people of the card what is worth telling."""
        warehouse, run, context, gate = self.warehouse, self.audit_run_id, self.context, self.outcome
        with context.locked(), warehouse.kept_open():
            worse, verdicts = problems_of(self.rows, self.against)
            self.changes = settle(warehouse, context.audit_id, run, [*worse, *_gate_problems(gate)], verdicts)
            (started,) = warehouse.read(sql("nightly", "started"), run=run)
        night = Night(
            audit_id=context.audit_id,
            audit_run_id=run,
            started_at=started["started_at"],
            exit_code=gate.exit_code,
            report=report_link(warehouse, run, context.settings),
            seal=started["seal"],
        )
        self.message = compose(night, self.changes, tell_success=context.card.notify_success)
        if self.message is not None:
            self.progress.step("telling")
            kind = self.message.kind
            self.delivery = notify(warehouse, run, kind, self.message, context.settings, self.progress)

    def publish(self) -> None:
        """Retires raw rows as the card says, records that the night is finished, and publishes that."""
        context, nights = self.context, self.context.card.retention.raw_nights
        with context.locked(), self.warehouse.kept_open():
            if nights is not None:
                self.n_retired += len(retain(self.warehouse, context.audit_id, nights, keep=self.against))
            outcome = {"exit_code": self.outcome.exit_code, "delivery": self.delivery}
            context.record(self.audit_run_id, "finished", outcome)
            publish(self.warehouse)

    @property
    def outcome(self) -> GateResult:
        """Returns what the gate says; raises ValueError before it was asked."""
        if self.gate_result is None:
            msg = "the gate was not asked yet"
            raise ValueError(msg)
        return self.gate_result

    def result(self, run: RunResult, *, is_repeated: bool) -> NightResult:
        """Returns what came of the night."""
        last = Counter(row["verdict"] for row in self.rows if self.against[row["base_run_id"]] == "last_night")
        return NightResult(
            audit_run_id=self.audit_run_id, audit_id=self.context.audit_id, is_repeated=is_repeated,
            run=replace(run, report=self.page), comparison_ids=tuple(self.comparison_ids),
            verdicts=dict(sorted(last.items())), has_last_night="last_night" in self.against.values(),
            check=self.outcome, changes=self.changes, message=self.message, delivery=self.delivery,
            n_retired=self.n_retired,
        )  # fmt: skip


def in_order(after: AfterRun) -> None:
    """Takes the steps that follow a night's run."""
    after.compare()
    after.report()
    after.gate()
    after.alert()
    after.publish()


def night(  # noqa: PLR0913 - one option each
    settings: Settings,
    load: Callable[[], Registry],
    audit_id: str,
    progress: Progress,
    *,
    new: bool = False,
    scheduled_at: datetime | None = None,
    take: Callable[[AfterRun], None] = in_order,
) -> NightResult:
    """Runs a whole night of an audit; its exit code is the gate's.

    `scheduled_at` is the time, in UTC and without a zone, for which a schedule began it; None where a person did.
    `take` takes the steps that follow the run. `new` asks everything again. The heartbeat is called when a run took place;
    an interrupted night goes on at its next start.

    Raises:
        WarehouseLocked: another night works on the warehouse, and `lock_wait_s` seconds are over.
        PromptauditError: whatever kept it from being measured, once that is told.
    """
    code: int | None = None
    began: list[str] = []
    try:
        with guarded(), Warehouse(settings.warehouse).hold(settings.lock_wait_s, progress.say, what="night"):
            try:
                registry = load()
                limit = longest(registry.audit(audit_id), scheduled_at)
                with at_most(limit, f"the night of '{audit_id}'"):
                    result = _night(
                        settings, registry, audit_id, progress, began, take, new=new, scheduled_at=scheduled_at
                    )
            except Exception as error:
                _tell_unmeasured(settings, audit_id, began, error, progress)
                raise
        code = result.exit_code
    except WarehouseLocked:  # another night is at it, and says so itself
        raise
    except PromptauditError as error:
        code = error.exit_code
        raise
    except Exception:
        code = NO_CODE
        raise
    finally:
        if code is not None:
            heartbeat(settings, code, progress, took_place=bool(began))
    return result


def _night(  # noqa: PLR0913 - what a night is told
    settings: Settings,
    registry: Registry,
    audit_id: str,
    progress: Progress,
    began: list[str],
    take: Callable[[AfterRun], None],
    *,
    new: bool,
    scheduled_at: datetime | None,
) -> NightResult:
    context = NightContext(
        settings=settings,
        card=registry.audit(audit_id),
        audit_id=audit_id,
        progress=progress,
        scheduled_at=scheduled_at,
    )
    with context.locked():
        context.warehouse.apply_schema()
    plan = design_audit(registry, audit_id).plan_fingerprint
    tonight = None if new else tonights_run(context.warehouse, context.card, audit_id, plan, scheduled_at)
    for row in context.warehouse.read(sql("nightly", "untold_runs"), audit=audit_id):
        if row["audit_run_id"] != tonight:
            _finish_older(context, row["audit_run_id"], row["finished_at"])

    def begin(audit_run_id: str) -> None:
        began.append(audit_run_id)
        starts = [step for step in _steps(context.warehouse, audit_id, audit_run_id) if step != "finished"]
        context.record(audit_run_id, f"resumed {len(starts)}" if starts else "begun")

    # the page is written once the night is compared
    run = run_audit(
        settings,
        registry,
        audit_id,
        progress,
        execute=prefect_server.run_tracked,
        new=tonight is None,
        on_open=begin,
        reports=False,
    )
    is_repeated = not began and "finished" in _steps(context.warehouse, audit_id, run.audit_run_id)
    if not began:  # it is complete: its night goes on, or is looked at again
        began.append(run.audit_run_id)
    after = AfterRun(context=context, audit_run_id=run.audit_run_id)
    take(after)
    return after.result(run, is_repeated=is_repeated)


def tonights_run(
    warehouse: Warehouse, card: AuditCard, audit_id: str, plan_fingerprint: str, scheduled_at: datetime | None
) -> str | None:
    """Returns the run that is tonight's; None where tonight has not begun, or asked what the cards ask no longer."""
    newest = newest_run(warehouse, audit_id)
    if newest is None or newest.plan_fingerprint != plan_fingerprint:
        return None
    if newest.state == "running":
        return newest.audit_run_id if now() - newest.started_at <= age_of(card.max_age) else None
    steps = _steps(warehouse, audit_id, newest.audit_run_id)
    if "begun" not in steps:  # somebody's `promptaudit run`
        return None
    if scheduled_at is not None:
        return newest.audit_run_id if scheduled_at in {row["scheduled_at"] for row in steps.values()} else None
    last = max(row["recorded_at"] for row in steps.values())
    return newest.audit_run_id if now() - last < _until_next(card, last) / 2 else None


def _steps(warehouse: Warehouse, audit_id: str, audit_run_id: str) -> dict[str, dict[str, Any]]:
    """Returns the steps that a run's night has taken, by their names."""
    query = "select step, recorded_at, scheduled_at from raw.nights where night_id = $night"
    return {row["step"]: row for row in warehouse.read(query, night=night_id_of(audit_id, audit_run_id))}


def longest(card: AuditCard, scheduled_at: datetime | None) -> timedelta:
    """Returns how long a night may take before it is stopped: the card's `max_duration`, or until the next one is due.

    A night that a person begins has as long as the next one of the schedule will have.
    """
    if card.max_duration is not None:
        return age_of(card.max_duration)
    begins_at = scheduled_at or (now() if card.schedule is None else next(CronSim(card.schedule, now())))
    return _until_next(card, begins_at)


def is_missed(card: AuditCard, scheduled_at: datetime) -> bool:
    """Returns whether the night after the scheduled one is due already, by the card's schedule: that one measures now."""
    return card.schedule is not None and next(CronSim(card.schedule, scheduled_at)) <= now()


def _until_next(card: AuditCard, at: datetime) -> timedelta:
    """Returns the time until the next night of the card's schedule, at most a day."""
    return DAY if card.schedule is None else min(DAY, next(CronSim(card.schedule, at)) - at)


def night_id_of(audit_id: str, audit_run_id: str) -> str:
    """Returns the id of a night, a hash of its audit and its run."""
    return content_id("night", audit_id, audit_run_id)


def record_night(  # noqa: PLR0913 - a row
    warehouse: Warehouse,
    audit_id: str,
    audit_run_id: str,
    step: str,
    outcome: object = None,
    scheduled_at: datetime | None = None,
) -> None:
    """Lands that a night has begun or is finished; the same again adds nothing."""
    row = {
        "audit_run_id": audit_run_id, "night_id": night_id_of(audit_id, audit_run_id), "audit_id": audit_id,
        "step": step, "outcome": None if outcome is None else as_json(outcome), "recorded_at": now(),
        "scheduled_at": scheduled_at,
    }  # fmt: skip
    warehouse.land([("nights", frame_of("nights", [row]))])


def _finish_older(context: NightContext, run: str, finished_at: datetime) -> None:
    """Compares, checks and tells a night that was cut short, as of when its run ended; tonight does not wait for its troubles."""
    context.progress.step(f"finishing the night of run {run}, which was interrupted")
    try:
        if not is_published(context.warehouse, run):
            rebuild_runs(context.settings, run, context.progress)
        in_order(AfterRun(context=context, audit_run_id=run, at=finished_at))
    except PromptauditError as error:
        context.progress.warn(f"the night of run {run} stays unfinished: {error}")


def _references(warehouse: Warehouse, audit_id: str, run: str) -> dict[str, Against]:
    """Returns the runs tonight is compared with, and as what: last night's, the pinned baselines and those of open alarms."""
    last = [row["audit_run_id"] for row in warehouse.read(sql("nightly", "last_night"), run=run)]
    bases: dict[str, Against] = dict.fromkeys(last, "last_night")
    for row in warehouse.read(sql("nightly", "baselines"), audit=audit_id, run=run):
        bases.setdefault(row["audit_run_id"], "baseline")
    for base in open_bases(open_alarms(warehouse, audit_id, run)):
        bases.setdefault(base, "alarm")
    derived = {row["audit_run_id"] for row in warehouse.read(f"{_DERIVED} group by all")}
    return {base: reference for base, reference in bases.items() if base in derived and base != run}


def _gate_problems(gate: GateResult) -> list[Problem]:
    """Returns the rules that failed or could not be measured, a problem a row; one of a rule without rows."""
    kinds: dict[str, Literal["gate", "unmeasured"]] = {"failed": "gate", "unmeasured": "unmeasured"}
    problems = []
    for rule in gate.rules:
        if rule.outcome not in kinds:
            continue
        kind = kinds[rule.outcome]
        rows = [row for row in rule.rows if row.state == rule.outcome]
        problems += [
            Problem(
                kind=kind, summary=figures_of(row), reason=row.reason, cause=row.cause, model_id=row.model_id,
                task_id=row.task_id, strategy=row.strategy, measure=rule.rule,
            )
            for row in rows
        ] or [Problem(kind=kind, summary=rule.reason, measure=rule.rule)]  # fmt: skip
    return problems


def _tell_unmeasured(settings: Settings, audit_id: str, began: list[str], error: Exception, progress: Progress) -> None:
    """Tells that the night could not be measured, even where nothing can land; a run whose format gate failed is over."""
    warehouse = Warehouse(settings.warehouse)
    run = began[-1] if began else content_id("no run", audit_id, f"{now():%Y-%m-%d}")
    lines = error.lines if isinstance(error, PromptauditError) else (f"{type(error).__name__}, a defect",)
    problem = Problem(kind="unmeasured", summary="; ".join(lines))
    code = error.exit_code if isinstance(error, PromptauditError) else NO_CODE
    try:
        with warehouse.hold(settings.lock_wait_s, progress.say):
            changes = settle(warehouse, audit_id, run, [problem], {})
    except PromptauditError as failure:
        progress.warn(f"the alarm did not land: {failure}")
        changes = Changes(raised=(problem,), news=(problem,))
    message = compose(Night(audit_id=audit_id, audit_run_id=run, started_at=now(), exit_code=code), changes)
    if message is not None:
        notify(warehouse, run, message.kind, message, settings, progress)
    try:
        with warehouse.hold(settings.lock_wait_s, progress.say):
            rows = warehouse.read("select state from raw.audit_runs where audit_run_id = $run", run=run)
            if rows and rows[0]["state"] == "failed":
                record_night(warehouse, audit_id, run, "finished", {"exit_code": code})
            if rows:  # so that the gate of the published copy sees that there is a newer run
                publish(warehouse)
    except PromptauditError as failure:
        progress.warn(f"the night was not closed: {failure}")
