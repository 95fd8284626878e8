"""One night of an audit: run, compare, check, report, tell. A killed night goes on where it was at its next start.

A night is begun with its run and finished when it has been told. What a start finds decides what it does:

- an unfinished run goes on: it is tonight's;
- a complete run whose night was not finished is tonight's too, if it began less than twelve hours ago; an older one is
  compared, checked and told first, and then tonight's begins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

from flows.compare import compare, pair_of
from flows.gate.check import check_run
from flows.gate.checked import Checked
from flows.guard import guarded
from flows.keys import content_id
from flows.progress import Progress
from flows.report import report
from flows.retain import Retired, retain
from flows.rows import as_json, frame_of
from flows.running import Done, run_audit
from flows.runs import newest_run
from flows.settings import Settings
from flows.telling.alarms import Changes, Finding, open_alarms, open_bases, settle
from flows.telling.findings import compared
from flows.telling.message import Message, Night, compose
from flows.telling.notify import Delivery, heartbeat, notify, report_link
from flows.warehouse import apply_schema, fetch, hold, land, now, publish
from models_registry.cards import AuditCard
from models_registry.errors import PromptauditError
from models_registry.registry import Registry

TONIGHT = timedelta(hours=12)
Against = Literal["last_night", "baseline", "alarm"]
NO_CODE = 2  # of an error that has none of its own

_EARLIER = """
    select audit_run_id from raw.audit_runs
    where audit_id = $audit and origin = 'run' and state = 'complete'
        and started_at < (select started_at from raw.audit_runs where audit_run_id = $run)
    order by started_at desc limit 1
"""
_PINNED = """
    select name, audit_run_id from raw.baselines where audit_id = $audit and audit_run_id != $run
    qualify row_number() over (partition by name order by pinned_at desc) = 1
"""
_OPEN = """
    select audit_run_id, audit_runs.state from raw.nights as begun inner join raw.audit_runs using (audit_run_id)
    where begun.audit_id = $audit and begun.step = 'begun'
        and not exists (from raw.nights as ended where ended.night_id = begun.night_id and ended.step = 'finished')
    order by audit_runs.started_at
"""
_COMPARED = """
    select * from marts.rpt_run_comparisons where list_contains($ids, comparison_id)
    order by task_id, strategy, model_id, measure
"""


@dataclass(frozen=True, slots=True)
class Told:
    """What a night found and whom it told."""

    audit_run_id: str
    audit_id: str
    done: Done | None  # of the run itself; None where it was complete before
    comparison_ids: tuple[str, ...]
    checked: Checked
    changes: Changes
    message: Message | None
    delivery: Delivery | None
    retired: tuple[Retired, ...] = ()
    verdicts: Mapping[str, int] = field(default_factory=dict)  # of the comparison with last night

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
            "run": None if self.done is None else self.done.as_dict(),
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
        lines = [] if self.done is None else self.done.lines()
        if self.verdicts:
            counts = ", ".join(f"{n} {verdict.replace('_', ' ')}" for verdict, n in self.verdicts.items())
            lines.append(f"against last night: {counts}")
        else:
            lines.append("against last night: the first complete night of this audit")
        lines += self.checked.lines()
        if self.message is not None:
            lines += [f"told ({self.delivery}): {self.message.title}"]
        if self.retired:
            lines.append(f"raw rows of {len(self.retired)} older runs moved to the archive")
        return lines


def night(settings: Settings, registry: Registry, audit_id: str, progress: Progress) -> Told:
    """The whole night of an audit; its exit code is the gate's. Raises what the run raises, once that is told.

    One night at a time works on a warehouse: a second one waits `lock_wait_s` seconds, then raises WarehouseLocked.
    """
    code: int | None = None  # an interrupted night goes on at its next start, and says so by its silence
    try:
        with guarded(), hold(settings.warehouse, settings.lock_wait_s, progress.say, what="night"):
            told = _night(settings, registry, audit_id, progress)
        code = told.exit_code
    except PromptauditError as error:
        code = error.exit_code
        raise
    except Exception:
        code = NO_CODE
        raise
    finally:
        if code is not None:
            heartbeat(settings, code, progress)
    return told


@dataclass(frozen=True, slots=True)
class _Audit:
    """What all steps of a night need."""

    settings: Settings
    card: AuditCard
    audit_id: str
    progress: Progress

    @property
    def warehouse(self) -> Path:
        return self.settings.warehouse

    def locked(self) -> AbstractContextManager[None]:
        return hold(self.warehouse, self.settings.lock_wait_s, self.progress.say)

    def record(self, audit_run_id: str, step: str, outcome: object = None) -> None:
        row = {
            "audit_run_id": audit_run_id, "night_id": content_id("night", self.audit_id, audit_run_id),
            "audit_id": self.audit_id, "step": step, "outcome": None if outcome is None else as_json(outcome),
            "recorded_at": now(),
        }  # fmt: skip
        land(self.warehouse, [("nights", frame_of("nights", [row]))])


def _night(settings: Settings, registry: Registry, audit_id: str, progress: Progress) -> Told:
    audit = _Audit(settings, registry.audit(audit_id), audit_id, progress)
    warehouse = settings.warehouse
    with audit.locked():
        apply_schema(warehouse)
    tonight, untold = _unfinished(warehouse, audit_id), _untold(warehouse, audit_id)
    for older in untold:
        if older != tonight:
            progress.step(f"finishing the night of run {older}, which was interrupted")
            _finish(audit, older, None)
    if tonight in untold:
        progress.step(f"run {tonight} is complete: going on with its night")
        return _finish(audit, tonight, None)
    opened: list[str] = []

    def begin(audit_run_id: str) -> None:
        opened.append(audit_run_id)
        audit.record(audit_run_id, "begun")

    try:
        done = run_audit(settings, registry, audit_id, progress, new=tonight is None, on_open=begin)
    except PromptauditError as error:
        _tell_unmeasured(audit, opened[0] if opened else None, error)
        raise
    return _finish(audit, done.audit_run_id, done)


def _unfinished(warehouse: Path, audit_id: str) -> str | None:
    """The run that is tonight's: one that is not complete, or one of the last hours whose night was not finished."""
    found = newest_run(warehouse, audit_id)
    if found is None:
        return None
    is_open = found.audit_run_id in {row["audit_run_id"] for row in fetch(warehouse, _OPEN, {"audit": audit_id})}
    is_tonights = found.state == "running" or (is_open and now() - found.started_at < TONIGHT)
    return found.audit_run_id if is_tonights else None


def _untold(warehouse: Path, audit_id: str) -> list[str]:
    """Complete runs whose nights were begun and not finished, oldest first."""
    rows = fetch(warehouse, _OPEN, {"audit": audit_id})
    return [row["audit_run_id"] for row in rows if row["state"] == "complete"]


def _finish(audit: _Audit, run: str, done: Done | None) -> Told:
    """Everything of a night that follows its run; doing it again finds what it has done."""
    warehouse, card, audit_id = audit.warehouse, audit.card, audit.audit_id
    with audit.locked():
        audit.progress.step("comparing with earlier runs")
        against = _references(warehouse, audit_id, run)
        ids = compare(warehouse, [pair_of(base, run, card) for base in against])
        publish(warehouse, [run])
        report(warehouse, run)
    checked = check_run(warehouse, run, rules=card.gate, max_age=card.max_age, comparison_ids=ids)
    with audit.locked():
        rows = fetch(warehouse, _COMPARED, {"ids": ids})
        worse, verdicts = compared(rows, against)
        changes = settle(warehouse, audit_id, run, [*worse, *_gated(checked)], verdicts)
        (started,) = fetch(warehouse, "select started_at from raw.audit_runs where audit_run_id = ?", [run])
    link = report_link(warehouse, run, audit.settings)
    message = compose(
        Night(audit_id, run, started["started_at"], checked.exit_code, link), changes, tell_success=card.notify_success
    )
    delivery = None
    if message is not None:
        audit.progress.step("telling")
        delivery = notify(warehouse, run, message.kind, message, audit.settings, audit.progress)
    with audit.locked():
        nights = card.retention.raw_nights
        retired = () if nights is None else tuple(retain(warehouse, audit_id, nights, keep=against))
        audit.record(run, "finished", {"exit_code": checked.exit_code, "delivery": delivery})
        publish(warehouse)
    last = Counter(row["verdict"] for row in rows if against[row["base_run_id"]] == "last_night")
    return Told(
        run, audit_id, done, tuple(ids), checked, changes, message, delivery, retired, dict(sorted(last.items()))
    )


def _references(warehouse: Path, audit_id: str, run: str) -> dict[str, Against]:
    """The runs tonight is held against: last night's, the pinned baselines, and those of open alarms; and as what."""
    found: dict[str, Against] = {
        row["audit_run_id"]: "last_night" for row in fetch(warehouse, _EARLIER, {"audit": audit_id, "run": run})
    }
    for row in fetch(warehouse, _PINNED, {"audit": audit_id, "run": run}):
        found.setdefault(row["audit_run_id"], "baseline")
    for base in open_bases(open_alarms(warehouse, audit_id, run)):
        found.setdefault(base, "alarm")
    found.pop(run, None)
    return found


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


def _tell_unmeasured(audit: _Audit, run: str | None, error: PromptauditError) -> None:
    """Tells that the night could not be measured; a run whose format gate failed is over, the others go on."""
    warehouse = audit.warehouse
    of = run or content_id("no run", audit.audit_id, f"{now():%Y-%m-%d}")
    with audit.locked():
        changes = settle(warehouse, audit.audit_id, of, [Finding(kind="unmeasured", summary=str(error))], {})
    message = compose(Night(audit.audit_id, of, now(), error.exit_code), changes)
    if message is not None:
        notify(warehouse, of, message.kind, message, audit.settings, audit.progress)
    rows = fetch(warehouse, "select state from raw.audit_runs where audit_run_id = ?", [of])
    if rows and rows[0]["state"] == "failed":
        audit.record(of, "finished", {"exit_code": error.exit_code})
