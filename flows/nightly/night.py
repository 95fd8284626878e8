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
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from cronsim import CronSim

from flows.alerts.alarms import Changes, Finding, open_alarms, open_bases, settle
from flows.alerts.from_comparisons import CHURN, compared
from flows.alerts.message import Message, Night, compose
from flows.alerts.notify import Delivery, heartbeat, notify, report_link
from flows.audit import prefect_server
from flows.audit.design import design_audit
from flows.audit.rebuild import rebuild_runs
from flows.audit.run_audit import RunResult, run_audit
from flows.audit.runs import newest_run
from flows.audit.terminal import lines_of
from flows.comparison.compare import compare, pair_of
from flows.display.encode import encoded
from flows.display.progress import Progress
from flows.evidence.retain import Retired, retain
from flows.gate.check import check_run
from flows.gate.outcome import Checked
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
Against = Literal["last_night", "night_before_last", "baseline", "alarm"]
NO_CODE = 2  # of an error that has none of its own

_DERIVED = "select audit_run_id from marts.rpt_audit"


@dataclass(frozen=True, slots=True, kw_only=True)
class NightResult:
    """What a night found and whom it told."""

    audit_run_id: str
    audit_id: str
    done: RunResult | None  # of the run itself; None where it was complete before
    comparison_ids: tuple[str, ...]
    checked: Checked
    changes: Changes
    message: Message | None
    delivery: Delivery | None
    retired: tuple[Retired, ...]
    verdicts: Mapping[str, int]  # of the comparison with last night
    has_last_night: bool
    is_repeated: bool  # this night had been measured and told before: nothing was asked

    @property
    def exit_code(self) -> int:
        """The gate's."""
        return self.checked.exit_code

    def as_dict(self) -> dict[str, object]:
        """For --json."""
        return {
            "audit_run_id": self.audit_run_id,
            "audit_id": self.audit_id,
            "exit_code": self.exit_code,
            "is_repeated": self.is_repeated,
            "run": None if self.done is None else encoded(self.done),
            "comparison_ids": list(self.comparison_ids),
            "verdicts": dict(self.verdicts),
            "check": self.checked.as_dict(),
            "n_raised": len(self.changes.raised),
            "n_standing": len(self.changes.standing),
            "n_recovered": len(self.changes.recovered),
            "message": None if self.message is None else {"kind": self.message.kind, "title": self.message.title},
            "delivery": self.delivery,
            "n_retired": len(self.retired),
        }

    def lines(self) -> list[str]:
        """For people."""
        lines = [] if self.done is None else lines_of(self.done)
        if self.has_last_night:
            counts = ", ".join(f"{n} {verdict.replace('_', ' ')}" for verdict, n in self.verdicts.items())
            lines.append(f"against last night: {counts or 'nothing to compare'}")
        else:
            lines.append("against last night: the first complete night of this audit")
        lines += self.checked.lines()
        if self.message is not None:
            lines += [f"told ({self.delivery}): {self.message.title}"]
        if self.retired:
            lines.append(f"raw rows of {len(self.retired)} older runs moved to the archive")
        return lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """What all steps of a night need."""

    settings: Settings
    card: AuditCard
    audit_id: str
    progress: Progress
    scheduled_at: datetime | None

    @property
    def warehouse(self) -> Warehouse:
        """The warehouse of the night."""
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

    audit: Audited
    audit_run_id: str
    at: datetime | None = None
    page: Path | None = None
    against: dict[str, Against] = field(default_factory=dict)
    comparison_ids: list[str] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    checked: Checked | None = None
    changes: Changes = field(default_factory=Changes)
    message: Message | None = None
    delivery: Delivery | None = None
    retired: tuple[Retired, ...] = ()
    _before: str | None = None

    @property
    def warehouse(self) -> Warehouse:
        """The warehouse of the night."""
        return self.audit.warehouse

    @property
    def progress(self) -> Progress:
        """Where the night says what begins."""
        return self.audit.progress

    def compare(self) -> None:
        """Compares the run with last night's, with pinned baselines and with those of open alarms."""
        warehouse, run, card = self.warehouse, self.audit_run_id, self.audit.card
        with self.audit.locked():
            self.progress.step("comparing with earlier runs")
            with warehouse.kept_open():
                self.against, self._before = against, before = _references(warehouse, self.audit.audit_id, run)
                ids = compare(warehouse, [pair_of(base, run, card) for base in against])
                rows = warehouse.read(sql("nightly", "compared"), ids=ids)
                if before is not None and before not in against and _has_churned(rows, against):
                    against[before] = "night_before_last"
                    ids += compare(warehouse, [pair_of(before, run, card)])
                    rows = warehouse.read(sql("nightly", "compared"), ids=ids)
        self.comparison_ids, self.rows = ids, rows

    def report(self) -> None:
        """Writes the run's page, with what changed."""
        with self.audit.locked():
            self.page = report(self.warehouse, self.audit_run_id)

    def gate(self) -> None:
        """Holds the rules of the audit's card against the run."""
        card = self.audit.card
        self.checked = check_run(
            self.warehouse, self.audit_run_id, rules=card.gate, max_age=card.max_age,
            comparison_ids=self.comparison_ids, now=self.at,
        )  # fmt: skip

    def alert(self) -> None:
        """Settles the alarms, and tells the people of the card what is worth telling."""
        warehouse, run, audit, checked = self.warehouse, self.audit_run_id, self.audit, self.outcome
        with audit.locked(), warehouse.kept_open():
            worse, verdicts = compared(self.rows, self.against, self._before)
            self.changes = settle(warehouse, audit.audit_id, run, [*worse, *_gated(checked)], verdicts)
            (started,) = warehouse.read(sql("nightly", "started"), run=run)
        night = Night(
            audit_id=audit.audit_id,
            audit_run_id=run,
            started_at=started["started_at"],
            exit_code=checked.exit_code,
            report=report_link(warehouse, run, audit.settings),
            seal=started["seal"],
        )
        self.message = compose(night, self.changes, tell_success=audit.card.notify_success)
        if self.message is not None:
            self.progress.step("telling")
            kind = self.message.kind
            self.delivery = notify(warehouse, run, kind, self.message, audit.settings, self.progress)

    def publish(self) -> None:
        """Retires raw rows as the card says, records that the night is finished, and publishes that."""
        audit, nights = self.audit, self.audit.card.retention.raw_nights
        with audit.locked(), self.warehouse.kept_open():
            if nights is not None:
                self.retired += tuple(retain(self.warehouse, audit.audit_id, nights, keep=self.against))
            outcome = {"exit_code": self.outcome.exit_code, "delivery": self.delivery}
            audit.record(self.audit_run_id, "finished", outcome)
            publish(self.warehouse)

    @property
    def outcome(self) -> Checked:
        """What the gate said; raises ValueError before it was asked."""
        if self.checked is None:
            msg = "the gate was not asked yet"
            raise ValueError(msg)
        return self.checked

    def result(self, done: RunResult | None, *, is_repeated: bool) -> NightResult:
        """Returns what the night found and whom it told."""
        last = Counter(row["verdict"] for row in self.rows if self.against[row["base_run_id"]] == "last_night")
        return NightResult(
            audit_run_id=self.audit_run_id, audit_id=self.audit.audit_id,
            done=None if done is None else replace(done, report=self.page), comparison_ids=tuple(self.comparison_ids),
            checked=self.outcome, changes=self.changes, message=self.message, delivery=self.delivery,
            retired=self.retired, verdicts=dict(sorted(last.items())),
            has_last_night="last_night" in self.against.values(), is_repeated=is_repeated,
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
    """The whole night of an audit; its exit code is the gate's. Raises whatever kept it from being measured, once that is told.

    `scheduled_at` is the time, in UTC and without a zone, for which a schedule began it; None where a person did.
    `take` takes the steps that follow the run.

    One night at a time works on a warehouse: a second one waits `lock_wait_s` seconds, then raises WarehouseLocked. `new`
    asks everything again. The heartbeat is called when a run took place; an interrupted night goes on at its next start.
    """
    code: int | None = None
    began: list[str] = []
    try:
        with guarded(), Warehouse(settings.warehouse).hold(settings.lock_wait_s, progress.say, what="night"):
            try:
                registry = load()
                limit = longest(registry.audit(audit_id), scheduled_at)
                with at_most(limit, f"the night of '{audit_id}'"):
                    told = _night(
                        settings, registry, audit_id, progress, began, take, new=new, scheduled_at=scheduled_at
                    )
            except Exception as error:
                _tell_unmeasured(settings, audit_id, began, error, progress)
                raise
        code = told.exit_code
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
    return told


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
    audit = Audited(
        settings=settings,
        card=registry.audit(audit_id),
        audit_id=audit_id,
        progress=progress,
        scheduled_at=scheduled_at,
    )
    with audit.locked():
        audit.warehouse.apply_schema()
    plan = design_audit(registry, audit_id).plan_fingerprint
    tonight = None if new else tonights_run(audit.warehouse, audit.card, audit_id, plan, scheduled_at)
    for row in audit.warehouse.read(sql("nightly", "untold_runs"), audit=audit_id):
        if row["audit_run_id"] != tonight:
            _finish_older(audit, row["audit_run_id"], row["finished_at"])

    def begin(audit_run_id: str) -> None:
        began.append(audit_run_id)
        starts = [step for step in _steps(audit.warehouse, audit_id, audit_run_id) if step != "finished"]
        audit.record(audit_run_id, f"resumed {len(starts)}" if starts else "begun")

    # the page is written once the night is compared
    done = run_audit(
        settings,
        registry,
        audit_id,
        progress,
        execute=prefect_server.run_tracked,
        new=tonight is None,
        on_open=begin,
        reports=False,
    )
    is_repeated = not began and "finished" in _steps(audit.warehouse, audit_id, done.audit_run_id)
    if not began:  # it is complete: its night goes on, or is looked at again
        began.append(done.audit_run_id)
    after = AfterRun(audit=audit, audit_run_id=done.audit_run_id)
    take(after)
    return after.result(done, is_repeated=is_repeated)


def tonights_run(
    warehouse: Warehouse, card: AuditCard, audit_id: str, plan_fingerprint: str, scheduled_at: datetime | None
) -> str | None:
    """Returns the run that is tonight's; None where tonight has not begun, or asked what the cards ask no longer."""
    found = newest_run(warehouse, audit_id)
    if found is None or found.plan_fingerprint != plan_fingerprint:
        return None
    if found.state == "running":
        return found.audit_run_id if now() - found.started_at <= age_of(card.max_age) else None
    steps = _steps(warehouse, audit_id, found.audit_run_id)
    if "begun" not in steps:  # somebody's `promptaudit run`
        return None
    if scheduled_at is not None:
        return found.audit_run_id if scheduled_at in {row["scheduled_at"] for row in steps.values()} else None
    last = max(row["recorded_at"] for row in steps.values())
    return found.audit_run_id if now() - last < _until_next(card, last) / 2 else None


def _steps(warehouse: Warehouse, audit_id: str, audit_run_id: str) -> dict[str, dict[str, Any]]:
    """The steps that a run's night has taken, by their names."""
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
    """Whether the night after the scheduled one is due already, by the card's schedule: that one measures now."""
    return card.schedule is not None and next(CronSim(card.schedule, scheduled_at)) <= now()


def _until_next(card: AuditCard, at: datetime) -> timedelta:
    """The time until the next night of the card's schedule, at most a day."""
    return DAY if card.schedule is None else min(DAY, next(CronSim(card.schedule, at)) - at)


def night_id_of(audit_id: str, audit_run_id: str) -> str:
    """A night is its audit's and its run's."""
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


def _finish_older(audit: Audited, run: str, finished_at: datetime) -> None:
    """Compares, checks and tells a night that was cut short, as of when its run ended; tonight does not wait for its troubles."""
    audit.progress.step(f"finishing the night of run {run}, which was interrupted")
    try:
        if not is_published(audit.warehouse, run):
            rebuild_runs(audit.settings, run, audit.progress)
        in_order(AfterRun(audit=audit, audit_run_id=run, at=finished_at))
    except PromptauditError as error:
        audit.progress.warn(f"the night of run {run} stays unfinished: {error}")


def _references(warehouse: Warehouse, audit_id: str, run: str) -> tuple[dict[str, Against], str | None]:
    """The runs tonight is held against, and as what, and the night before last.

    They are last night's, the pinned baselines and those of open alarms. The night before last is looked at where answers
    changed since last night.
    """
    earlier = [row["audit_run_id"] for row in warehouse.read(sql("nightly", "earlier_nights"), audit=audit_id, run=run)]
    found: dict[str, Against] = dict.fromkeys(earlier[:1], "last_night")
    for row in warehouse.read(sql("nightly", "baselines"), audit=audit_id, run=run):
        found.setdefault(row["audit_run_id"], "baseline")
    for base in open_bases(open_alarms(warehouse, audit_id, run)):
        found.setdefault(base, "alarm")
    derived = {row["audit_run_id"] for row in warehouse.read(f"{_DERIVED} group by all")}
    held = {base: reference for base, reference in found.items() if base in derived and base != run}
    return held, earlier[1] if len(earlier) > 1 else None


def _has_churned(rows: Sequence[Mapping[str, Any]], against: Mapping[str, Against]) -> bool:
    """Whether the same cells are answered otherwise than last night."""
    churned = [row for row in rows if row["measure"] == CHURN and row["verdict"] == "changed"]
    return any(against[row["base_run_id"]] == "last_night" for row in churned)


def _gated(checked: Checked) -> list[Finding]:
    """The rules that failed or could not be measured, a finding a row."""
    kinds: dict[str, Any] = {"failed": "gate", "unmeasured": "unmeasured"}
    found = []
    for result in checked.results:
        if result.outcome not in kinds:
            continue
        rows = [each for each in result.findings if each.state == result.outcome]
        found += [
            Finding(
                kind=kinds[result.outcome], summary=each.found(), reason=each.reason, cause=each.cause,
                model_id=each.model_id, task_id=each.task_id, strategy=each.strategy, measure=result.rule,
            )
            for each in rows
        ] or [Finding(kind=kinds[result.outcome], summary=result.reason, measure=result.rule)]  # fmt: skip
    return found


def _tell_unmeasured(settings: Settings, audit_id: str, began: list[str], error: Exception, progress: Progress) -> None:
    """Tells that the night could not be measured, even where nothing can land; a run whose format gate failed is over."""
    warehouse = Warehouse(settings.warehouse)
    run = began[-1] if began else content_id("no run", audit_id, f"{now():%Y-%m-%d}")
    said = error.lines if isinstance(error, PromptauditError) else (f"{type(error).__name__}, a defect",)
    finding = Finding(kind="unmeasured", summary="; ".join(said))
    code = error.exit_code if isinstance(error, PromptauditError) else NO_CODE
    try:
        with warehouse.hold(settings.lock_wait_s, progress.say):
            changes = settle(warehouse, audit_id, run, [finding], {})
    except PromptauditError as failure:
        progress.warn(f"the alarm did not land: {failure}")
        changes = Changes(raised=(finding,), told=(finding,))
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
