"""Takes the steps after a night's run: compare, report, check, notify, publish. Each finds what it did before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Literal, NamedTuple

from promptaudit.audit.run import RunResult
from promptaudit.evidence.retain import retain
from promptaudit.gate.alerts.alarms import Changes, Problem, open_alarms, settle
from promptaudit.gate.alerts.links import page_link, runbook_links
from promptaudit.gate.alerts.message import Message, Night, compose
from promptaudit.gate.alerts.notify import Delivery, notify
from promptaudit.gate.alerts.problems import COSTS, WORSE, is_cost, problems_of, problems_of_night
from promptaudit.gate.check import check_run
from promptaudit.gate.night_rules import untested_in_words
from promptaudit.gate.outcome import GateResult
from promptaudit.gate.source import NightState
from promptaudit.gate.verdict_rules import pairs_inside
from promptaudit.marts.comparison.compare import Pair, pair_of
from promptaudit.marts.comparison.compare import compare as compare_runs
from promptaudit.marts.publish import publish as publish_marts
from promptaudit.nightly.tonight import record_night
from promptaudit.registry.cards import AuditCard
from promptaudit.registry.gates import parse_gate
from promptaudit.report import report as write_page
from promptaudit.report.runbooks import write_runbooks
from promptaudit.report.terminal.closing import flip_in_words
from promptaudit.system.display.compared import NightFigure, RunsCompared, names_of
from promptaudit.system.display.encode import NOT_ENCODED, encoded_property
from promptaudit.system.display.figures import tally
from promptaudit.system.display.progress import Progress
from promptaudit.system.settings import Settings
from promptaudit.warehouse import Warehouse, rows_as
from promptaudit.warehouse.sql import sql

Against = Literal["normal_night", "baseline"]

_DERIVED = "select audit_run_id from marts.rpt_audit"


@dataclass(frozen=True, slots=True, kw_only=True)
class NightResult:
    """Sums up a night: its run, comparisons, gate and alarms, and the message that was sent."""

    audit_run_id: str
    audit_id: str
    is_repeated: bool  # this night was measured and its message sent before: nothing was asked
    run: RunResult
    comparison_ids: tuple[str, ...]
    verdicts: Mapping[str, int]  # of its figures against normal nights
    states: Mapping[str, int]  # of its models, tasks and strategies
    check: GateResult
    changes: Changes = field(metadata=NOT_ENCODED)
    message: Message | None
    delivery: Delivery | None
    n_retired: int

    @encoded_property
    def exit_code(self) -> int:
        """Gives the gate's exit code, 0, 1 or 3, and 0 without a gate. In place of 0 it is 3 if figures are missing."""
        return (self.check.exit_code if self.check.rules or self.check.blocked else 0) or self.run.exit_code

    @encoded_property
    def n_raised(self) -> int:
        """Counts the alarms that the night raised."""
        return len(self.changes.raised)

    @encoded_property
    def n_standing(self) -> int:
        """Counts the earlier alarms that stand."""
        return len(self.changes.standing)

    @encoded_property
    def n_recovered(self) -> int:
        """Counts the alarms that are over."""
        return len(self.changes.recovered)

    def lines(self, options: str = "") -> Iterator[str]:
        """Writes everything a terminal shows: the run, its state against normal nights, the gate, the message.

        The commands to look closer end with the options.
        """
        yield from self.run.lines()
        yield f"against normal nights: {tally(self.states) or 'nothing is known of this run'}"
        if self.verdicts:
            yield f"figures: {tally(self.verdicts)}"
        yield from self.check.lines(options)
        if self.message is not None:
            yield f"told ({self.delivery}): {self.message.title}"
        if self.n_retired:
            yield f"raw rows of {self.n_retired} older runs moved to the archive"


@dataclass(frozen=True, slots=True, kw_only=True)
class NightContext:
    """Holds what all steps of a night need."""

    settings: Settings
    card: AuditCard
    audit_id: str
    progress: Progress
    scheduled_at: datetime | None

    @property
    def warehouse(self) -> Warehouse:
        """Gives the warehouse of the night."""
        return Warehouse(self.settings.warehouse)

    def locked(self) -> AbstractContextManager[None]:
        """Holds the lock of a run, for one step of the night."""
        return self.warehouse.hold(self.settings.lock_wait_s, self.progress.wait, by=f"the night of '{self.audit_id}'")

    def record(self, audit_run_id: str, step: str, outcome: object = None) -> None:
        """Lands that the night has taken a step."""
        record_night(self.warehouse, self.audit_id, audit_run_id, step, outcome, self.scheduled_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class AfterRun:
    """Describes a night whose run has ended. `at` is the time at which the gate is asked; None is now."""

    context: NightContext
    audit_run_id: str
    at: datetime | None = None

    @property
    def warehouse(self) -> Warehouse:
        """Gives the warehouse of the night."""
        return self.context.warehouse

    @property
    def progress(self) -> Progress:
        """Gives the progress in which the night says what begins."""
        return self.context.progress


@dataclass(frozen=True, slots=True, kw_only=True)
class NightComparison:
    """Holds what a night is compared with, and the comparisons, its figures against normal nights and its states."""

    against: Mapping[str, Against]
    comparison_ids: tuple[str, ...]
    figures: tuple[RunsCompared, ...]
    night: tuple[NightFigure, ...]
    states: tuple[NightState, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmOutcome:
    """Holds what changed in the alarms and the message about it; the message is None if there is nothing to say."""

    changes: Changes
    message: Message | None
    delivery: Delivery | None


def compare(after: AfterRun, asked: object) -> NightComparison:
    """Compares the run with the newest normal night and pinned baselines, and what its gate holds against one another."""
    warehouse, run, context = after.warehouse, after.audit_run_id, after.context
    with context.locked():
        after.progress.step("comparing with earlier runs")
        with warehouse.kept_open():
            against = _references(warehouse, context.audit_id, run)
            pairs = [pair_of(base, run, context.card) for base in against] + _inside(warehouse, run, context.card)
            ids = compare_runs(warehouse, pairs)
            of_runs = ids[: len(against)]
            return NightComparison(
                against=against,
                comparison_ids=tuple(ids),
                figures=tuple(map(RunsCompared.of, warehouse.read(sql("nightly", "compared"), ids=of_runs))),
                night=tuple(map(NightFigure.of, warehouse.read(sql("nightly", "night"), run=run))),
                states=tuple(rows_as(NightState, warehouse.read(sql("nightly", "states"), run=run))),
            )


def report(after: AfterRun, compared: NightComparison) -> Path:
    """Writes the run's page, with what changed."""
    with after.context.locked():
        return write_page(after.warehouse, after.audit_run_id, warn=after.progress.warn)


def gate(after: AfterRun, compared: NightComparison) -> GateResult:
    """Holds the rules of the audit's card against the run."""
    card = after.context.card
    result = check_run(
        after.warehouse,
        after.audit_run_id,
        rules=card.gate,
        max_age=card.max_age,
        comparison_ids=compared.comparison_ids,
        now=after.at,
    )
    is_worse = result.exit_code == 1 or any(figure.verdict in WORSE for figure in compared.night)
    flip = flip_in_words(after.warehouse, after.audit_run_id) if is_worse else None
    return replace(result, flip=flip)


def alert(after: AfterRun, compared: NightComparison, outcome: GateResult, page: Path | None) -> AlarmOutcome:
    """Settles the alarms, and notifies the people of the card of what is news."""
    warehouse, run, context = after.warehouse, after.audit_run_id, after.context
    with context.locked(), warehouse.kept_open():
        baselines = [each for each in compared.figures if compared.against[each.base_run_id] == "baseline"]
        dearer = [each for each in compared.figures if each not in baselines and each.measure in COSTS]
        of_baselines, verdicts = problems_of(baselines)
        # where tonight's own rule holds a group against the same pinned night, that rule reports it
        of_rule = {(*each.group, each.normal_run_id) for each in compared.night if each.is_pinned}
        of_baselines = [
            each
            for each in of_baselines
            if each.measure in COSTS or (each.model_id, each.task_id, each.strategy, each.base_run_id) not in of_rule
        ]
        of_costs, costs = problems_of(dearer, "normal_nights")
        of_night, night_verdicts = problems_of_night(compared.night, open_alarms(warehouse, context.audit_id, run))
        problems = [*of_night, *of_costs, *of_baselines, *_gate_problems(outcome)]
        changes = settle(warehouse, context.audit_id, run, problems, verdicts | costs | night_verdicts)
        (started,) = warehouse.read(sql("nightly", "started"), run=run)
    night = Night(
        audit_id=context.audit_id,
        audit_run_id=run,
        started_at=started["started_at"],
        exit_code=outcome.exit_code,
        report=page_link(warehouse, warehouse.places.report(run), context.settings),
        seal=started["seal"],
        untested=untested_in_words(compared.night, compared.states),
        example=outcome.example,
        example_of=None if outcome.flip is None else outcome.flip.model_id,
        runbooks=runbooks_of(warehouse, context.settings),
    )
    message, delivery = compose(night, changes), None
    if message is not None:
        after.progress.step("telling")
        delivery = notify(warehouse, run, message.kind, message, context.settings, after.progress)
    return AlarmOutcome(changes=changes, message=message, delivery=delivery)


def runbooks_of(warehouse: Warehouse, settings: Settings) -> dict[str, str]:
    """Writes the runbooks as pages and links to them, by their names; what cannot be written is left out."""
    write_runbooks(warehouse.places)
    return runbook_links(warehouse, settings)


def publish(after: AfterRun, compared: NightComparison, outcome: GateResult, alarms: AlarmOutcome) -> int:
    """Retires raw rows as the card says, records that the night is finished, and publishes that; returns how many retired."""
    context, nights, n_retired = after.context, after.context.card.retention.raw_nights, 0
    with context.locked(), after.warehouse.kept_open():
        if nights is not None:
            n_retired = len(retain(after.warehouse, context.audit_id, nights, keep=compared.against))
        ended = {"exit_code": outcome.exit_code, "delivery": alarms.delivery}
        context.record(after.audit_run_id, "finished", ended)
        publish_marts(after.warehouse)
    return n_retired


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """Holds what the steps that follow a night's run made."""

    compared: NightComparison
    page: Path
    outcome: GateResult
    alarms: AlarmOutcome
    n_retired: int

    def of_night(self, run: RunResult, *, is_repeated: bool) -> NightResult:
        """Sums up the night that ended so, with the result of its run."""
        verdicts = Counter(figure.verdict for figure in self.compared.night)
        states = Counter(group.state for group in self.compared.states)
        return NightResult(
            audit_run_id=run.audit_run_id,
            audit_id=run.audit_id,
            is_repeated=is_repeated,
            run=replace(run, report=self.page),
            comparison_ids=self.compared.comparison_ids,
            verdicts=dict(sorted(verdicts.items())),
            states=dict(sorted(states.items())),
            check=self.outcome,
            changes=self.alarms.changes,
            message=self.alarms.message,
            delivery=self.alarms.delivery,
            n_retired=self.n_retired,
        )


class Steps(NamedTuple):
    """Lists the steps that follow a night's run: the functions, or Prefect tasks in their place."""

    compare: Callable[[AfterRun, object], NightComparison] = compare
    report: Callable[[AfterRun, NightComparison], Path] = report
    gate: Callable[[AfterRun, NightComparison], GateResult] = gate
    alert: Callable[[AfterRun, NightComparison, GateResult, Path | None], AlarmOutcome] = alert
    publish: Callable[[AfterRun, NightComparison, GateResult, AlarmOutcome], int] = publish


FUNCTIONS = Steps()


def finish(after: AfterRun, steps: Steps = FUNCTIONS, asked: object = None) -> Ending:
    """Takes the steps that follow a night's run, in order; `asked` is what the run's own steps made, if taken now."""
    compared = steps.compare(after, asked)
    page = steps.report(after, compared)
    outcome = steps.gate(after, compared)
    alarms = steps.alert(after, compared, outcome, page)
    n_retired = steps.publish(after, compared, outcome, alarms)
    return Ending(compared=compared, page=page, outcome=outcome, alarms=alarms, n_retired=n_retired)


def _references(warehouse: Warehouse, audit_id: str, run: str) -> dict[str, Against]:
    pinned = [row["audit_run_id"] for row in warehouse.read(sql("nightly", "baselines"), audit=audit_id, run=run)]
    bases: dict[str, Against] = dict.fromkeys(pinned, "baseline")
    for row in warehouse.read(sql("nightly", "normal_nights"), run=run):
        bases.setdefault(row["audit_run_id"], "normal_night")
    for alarm in open_alarms(warehouse, audit_id, run):
        if is_cost(alarm) and alarm.key.base_run_id is not None:  # it stands until that run's cost is reached again
            bases.setdefault(alarm.key.base_run_id, "normal_night")
    derived = {row["audit_run_id"] for row in warehouse.read(f"{_DERIVED} group by all")}
    return {base: reference for base, reference in bases.items() if base in derived and base != run}


def _inside(warehouse: Warehouse, run: str, card: AuditCard) -> list[Pair]:
    # what the gate holds against another model or strategy of the same run
    rows = warehouse.read("select model_id, task_id, strategy from marts.rpt_audit where audit_run_id = $run", run=run)
    groups = [(row["model_id"], row["task_id"], row["strategy"]) for row in rows]
    wanted = dict.fromkeys(pair for rule in parse_gate(card.gate) for pair in pairs_inside(rule, groups))
    return [replace(pair_of(run, run, card), **pair._asdict()) for pair in wanted]


def _gate_problems(gate: GateResult) -> list[Problem]:
    # a problem for each row that failed or could not be measured, or one for a rule without such rows
    kinds: dict[str, Literal["gate", "unmeasured"]] = {"failed": "gate", "unmeasured": "unmeasured"}
    problems = []
    for rule in gate.rules:
        if rule.outcome not in kinds:
            continue
        kind = kinds[rule.outcome]
        rows = [row for row in rule.rows if row.state == rule.outcome]
        problems += [
            Problem(
                # the figure's alarm says why it moved
                kind=kind,
                summary=replace(row, reason=None, moved=None, what_changed=None).figures,
                reason=None if row.cause is not None else row.reason,
                cause=row.cause,
                **names_of(row),
                measure=rule.rule,
            )
            for row in rows
        ] or [Problem(kind=kind, summary=rule.reason, measure=rule.rule)]
    return problems
