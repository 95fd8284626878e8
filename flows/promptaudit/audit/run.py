"""Starts an audit's run, continues it, or finds that it is complete."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from promptaudit.ask.judge import land_changed_judges
from promptaudit.ask.shards.land_segments import land_left
from promptaudit.ask.shards.placement import AskersSetting
from promptaudit.ask.wordings.edit_prompts import export_prompts, read_prompts
from promptaudit.ask.wordings.paraphrase import make_proposals
from promptaudit.ask.wordings.template_variants import rewords_templates, variants_key
from promptaudit.ask.wordings.variants import earlier_proposals, rewordings, same_wordings
from promptaudit.audit.runs import (
    Run,
    close_abandoned,
    count_runs,
    land_changed_tasks,
    newest_run,
    open_errors,
    open_run,
    reopen_run,
    samples_of_run,
)
from promptaudit.audit.steps import AuditRun, Outcome, RunOptions, measure
from promptaudit.cards.check_cards import CardCheck, check_audit
from promptaudit.cards.check_cards.data import unlike_labels
from promptaudit.cards.check_cards.models import lacking_engines
from promptaudit.cards.trust.refuse import refuse_untrusted
from promptaudit.engines.local_server.shared import SERVERS
from promptaudit.evidence.retain import without_retired
from promptaudit.lineage.openlineage.emit import following
from promptaudit.marts.not_derived import EXIT_CODE, NotDerived, lines_of, not_derived
from promptaudit.marts.publication import left_open
from promptaudit.marts.publish import is_published
from promptaudit.marts.signature import sign
from promptaudit.plan.budget import budget_of
from promptaudit.plan.design import Design, design_audit
from promptaudit.plan.grid import pilot_design
from promptaudit.registry.errors import UsageError, raise_all
from promptaudit.registry.registry import Entry, Registry
from promptaudit.report import report
from promptaudit.report.complete import complete, erasing
from promptaudit.system.child_processes import guarded
from promptaudit.system.clock import age, ahead, is_ahead, now, span
from promptaudit.system.display.encode import NOT_ENCODED
from promptaudit.system.display.progress import Progress
from promptaudit.system.helper_processes import CHECKS, DBT, start
from promptaudit.system.prefect_server import is_in_flow_run, load_prefect
from promptaudit.system.settings import Settings
from promptaudit.warehouse import Warehouse

CARD_CHANGED = (
    "the audit's card has changed in limits, seed, resamples or model sets, which holds from the next run on (--new)"
)
KEPT = {"format", "seed", "resamples", "model_sets"}
"""Fields of an audit's card that do not change what is asked. A run keeps them as they were when it opened."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """Describes a run that was made, continued or imported, and where its figures are published.

    n_asked: how many cells were asked in this call; 0 for a run that was complete before.
    is_pilot: the run has asked the cells of a pilot, and is open for the rest.
    is_derived: False if all is answered and the run is open for its figures.
    published: the DuckDB file that readers have; marts: the folder of the same tables as Parquet files.
    report: the run's page; None if the caller writes it.
    outcome: what the steps of the run did.
    not_derived: the measures that the run lacks for some group; it is published without them.
    """

    audit_run_id: str
    audit_id: str
    headline: str
    n_asked: int
    notes: tuple[str, ...]
    published: Path
    marts: Path
    report: Path | None
    outcome: Outcome = field(metadata=NOT_ENCODED)
    is_pilot: bool = False
    is_derived: bool = True
    not_derived: tuple[NotDerived, ...] = ()

    @property
    def exit_code(self) -> int:
        """Gives 3 if figures of the run are missing, else 0."""
        return EXIT_CODE if self.not_derived else 0

    def lines(self) -> list[str]:
        """Writes what became of the run, its notes, and where it is published.

        A pilot, and a run without figures, is published nowhere.
        """
        lines = [self.headline, *self.notes]
        if self.is_pilot or not self.is_derived:
            return lines
        report = [] if self.report is None else [f"report     {self.report}"]
        lines += [f"published  {self.published}", f"marts      {self.marts}", *report]
        return lines + lines_of(self.not_derived)


def run_audit(
    settings: Settings,
    registry: Registry,
    audit_id: str,
    progress: Progress,
    options: RunOptions | None = None,
    on_open: Callable[[str], None] | None = None,
) -> RunResult:
    """Continues the audit's unfinished run, finds that the last one is complete, or makes a new one.

    `on_open` is called with the run's id before anything is asked.
    """
    options = options or RunOptions()
    checked = check_audit(registry, audit_id, settings.max_usd)
    raise_all([*checked.errors, *checked.lacking_data, *checked.lacking_extras])
    for line in (*checked.passed_over, *registry.audit(audit_id).format.notes, *unlike_labels(checked.cards)):
        progress.warn(line)
    refuse_untrusted(settings, checked.cards.used, progress)
    design = design_audit(registry, audit_id, checked)
    if options.prompts is not None:
        read_prompts(options.prompts, design)
    if options.is_pilot:
        pilot_design(design)
    warehouse = Warehouse(settings.warehouse)
    with guarded(), SERVERS.kept(), warehouse.hold(settings.lock_wait_s, progress.wait, by=f"a run of '{audit_id}'"):
        with warehouse.kept_open():
            make_ready(warehouse, progress, settings)
            found = _same_run(warehouse, design, options)
            if found is None:
                is_given = options.prompts is not None and not rewords_templates(design)
                are_made = is_given or (not options.rephrase and _are_made(warehouse, design))
                raise_all(checked.lacking_engines if not are_made else lacking_engines(_without_rephraser(checked)))
                # a pilot plans from all samples, and the run that goes on with it asks them all
                design = design if options.is_pilot else design.asking(design.panel(count_runs(warehouse, design)))
                audit_run_id = open_run(warehouse, design)
            else:
                audit_run_id = found.audit_run_id
                design = design.asking(samples_of_run(warehouse, audit_run_id))
                is_changed = _land_changes(warehouse, audit_run_id, design, progress)
                is_changed |= options.again_errors and _open_errors(warehouse, audit_run_id, design, settings, progress)
                if found.state == "complete" and not is_changed and is_published(warehouse, audit_run_id):
                    has = "has no errors" if options.again_errors else f"is complete and {_age(found)}"
                    headline = f"run {audit_run_id} of '{audit_id}' {has}: nothing asked"
                    notes = [CARD_CHANGED] if _is_kept_otherwise(warehouse, audit_run_id, design) else []
                    return nothing_done(
                        warehouse, audit_run_id, audit_id, f"{headline} (--new asks everything again)", notes
                    )
            if on_open is not None:
                on_open(audit_run_id)
            progress.say(f"{'run' if found is None else 'continuing run'} {audit_run_id} of '{audit_id}'")
        if not options.answers_only:  # they get ready while the first answers come in
            start(DBT, warehouse.places.file.name)
            start(CHECKS)
        run = AuditRun(
            warehouse=warehouse,
            audit_run_id=audit_run_id,
            progress=progress,
            design=design,
            options=options,
            askers=_askers(settings, design, options),
            max_usd=settings.max_usd,
            max_requests=settings.max_requests,
        )
        with following(warehouse, audit_run_id, progress.warn):
            outcome = measure(run) if options.answers_only else _measure_as_flow_run(run)
    if options.is_pilot:
        headline = (
            f"pilot of run {audit_run_id} of '{audit_id}': {outcome.n_asked} cells asked; `promptaudit plan "
            f"{audit_id} --target-width` plans from it, `promptaudit run {audit_id}` asks the rest"
        )
        return replace(result_of(run, audit_id, headline, outcome), is_pilot=True)
    if options.answers_only:
        then = f"`promptaudit run {audit_id}` makes its figures"
        headline = f"run {audit_run_id} of '{audit_id}': {outcome.n_asked} cells asked; {then}"
        return replace(result_of(run, audit_id, headline, outcome), is_derived=False)
    rulings = f", {outcome.n_judged} rulings made" if design.judges else ""
    headline = f"run {audit_run_id} of '{audit_id}': {outcome.n_asked} cells asked{rulings}"
    return result_of(run, audit_id, headline, outcome)


def _measure_as_flow_run(run: AuditRun) -> Outcome:
    if not (Settings().prefect or is_in_flow_run()):
        return measure(run)
    if not is_in_flow_run():  # a worker's Prefect is loaded already
        load_prefect()
    from promptaudit.audit import flow

    return flow.measure(run)


def _askers(settings: Settings, design: Design, options: RunOptions) -> AskersSetting:
    card = design.audit.askers
    return AskersSetting(
        n=options.n_askers or card.n,
        work_pool=options.work_pool or card.work_pool,
        spool=settings.spool,
        registry=settings.registry,
    )


def result_of(run: AuditRun, audit_id: str, headline: str, outcome: Outcome) -> RunResult:
    """Builds the result of a published run from what its steps did. Its notes quote 5 failed format checks at most."""
    notes = list(outcome.notes)
    gate = outcome.validated
    if gate is not None and gate.failures:
        notes.append(
            f"format gate: {len(gate.failures)} of {gate.n_checks} checks failed; "
            f"{gate.n_breaking} of {gate.n_variants} model × variant pairs break their format, and count in every figure"
        )
        notes += [f"  {line}" for line in gate.failures[:5]]
    return RunResult(
        audit_run_id=run.audit_run_id,
        audit_id=audit_id,
        headline=headline,
        n_asked=outcome.n_asked,
        notes=tuple(notes),
        published=run.warehouse.published.path,
        marts=run.warehouse.places.marts,
        report=outcome.report,
        outcome=outcome,
        not_derived=outcome.not_derived,
    )


def nothing_done(
    warehouse: Warehouse, audit_run_id: str, audit_id: str, headline: str, notes: Sequence[str] = ()
) -> RunResult:
    """Builds the result for a run that was found published, and writes the run's page if it is missing."""
    page = warehouse.places.report(audit_run_id)
    if not page.is_file() and audit_run_id not in erasing(left_open(warehouse)):
        report(warehouse, audit_run_id)
    run = AuditRun(warehouse=warehouse, audit_run_id=audit_run_id)
    missing = not_derived(warehouse, audit_run_id)
    return result_of(run, audit_id, headline, Outcome(notes=tuple(notes), report=page, not_derived=missing))


def make_ready(warehouse: Warehouse, progress: Progress, settings: Settings) -> None:
    """Migrates the warehouse to this version, closes and completes what an earlier process left, and lands its answers.

    An import that is still running was killed, since importing holds the warehouse; the same import again derives it.
    Raises UsageError if seals are to be signed with a key that signs nothing.
    """
    if settings.sign_key is not None:
        sign("", settings.sign_key)
    warehouse.apply_schema()
    close_abandoned(warehouse, "import")
    complete(warehouse, progress)
    n_rows = land_left(warehouse, settings.spool, progress.say)
    if n_rows:
        progress.say(f"landed {n_rows} rows that an interrupted run had kept")


def _same_run(warehouse: Warehouse, design: Design, options: RunOptions) -> Run | None:
    # with --new or --rephrase only a run that this flow run of Prefect began, before it was taken again, goes on
    prompts, anew = options.prompts, options.new or options.rephrase
    run = newest_run(warehouse, design.audit_id)
    if run is None or run.plan_fingerprint != design.plan_fingerprint or (anew and not run.is_of_this_flow_run):
        if options.again_errors:
            msg = f"--again-errors: no run of '{design.audit_id}' asks what its cards ask now; run it without"
            raise UsageError(msg)
        return None
    if prompts is not None and not same_wordings(warehouse, run.audit_run_id, read_prompts(prompts, design)):
        return None
    return run


def _are_made(warehouse: Warehouse, design: Design) -> bool:
    # if earlier runs made the wordings of every task, no rephraser is asked
    return all(
        earlier_proposals(warehouse, variants_key(design, task_id, rewording)) is not None
        for task_id in design.tasks
        for rewording in rewordings(design, task_id)
        if rewording.card is not None or task_id not in design.templates
    )


def _without_rephraser(checked: CardCheck) -> dict[str, Entry]:
    cards = checked.cards
    model_ids = {*cards.models, *(card.model for card in cards.judges.values())}
    return {name: entry for name, entry in checked.models.items() if name in model_ids}


def _is_kept_otherwise(warehouse: Warehouse, audit_run_id: str, design: Design) -> bool:
    # whether the audit's card differs now from what the run keeps
    (row,) = warehouse.read(
        "select card from raw.audit_runs where audit_run_id = $audit_run_id", audit_run_id=audit_run_id
    )
    now_written = design.audit.model_dump(mode="json", exclude_defaults=True, include=KEPT)
    kept = {name: value for name, value in json.loads(row["card"])["audits"][design.audit_id].items() if name in KEPT}
    return kept != now_written


def _land_changes(warehouse: Warehouse, audit_run_id: str, design: Design, progress: Progress) -> bool:
    # only changes that ask the models nothing come here: a changed plan opens a new run
    tasks = land_changed_tasks(warehouse, audit_run_id, design)
    judges = land_changed_judges(warehouse, audit_run_id, design)
    if tasks or judges:
        reopen_run(warehouse, audit_run_id)
    if tasks:
        progress.say(f"cards of {', '.join(tasks)} changed only in how answers are read and scored, which is done anew")
    return bool(tasks or judges)


def _open_errors(
    warehouse: Warehouse, audit_run_id: str, design: Design, settings: Settings, progress: Progress
) -> bool:
    # raises UsageError for a retired run, and BudgetReached if nothing is left to ask with: the run stays complete
    without_retired(warehouse, [audit_run_id])
    budget_of(warehouse, audit_run_id, design.audit.budget, settings.max_usd, settings.max_requests).set_aside(0.0)
    n = open_errors(warehouse, audit_run_id)
    if n:
        progress.say(f"{n} cells that landed as errors are asked again; the errors stay in raw.failed_predictions")
    return bool(n)


def _age(run: Run) -> str:
    at = now()
    if is_ahead(run.started_at, at):
        return f"was recorded under a clock that was ahead: it started {ahead(run.started_at, at)}"
    return f"{span(age(run.started_at, at))} old"


def export_variants(settings: Settings, registry: Registry, audit_id: str, path: Path, progress: Progress) -> int:
    """Writes the prompt variants that an audit would ask to a file for a person to edit; returns how many.

    A model or code that rewords prompts is asked for them.
    """
    checked = check_audit(registry, audit_id)
    raise_all([*checked.errors, *checked.lacking_data])
    design = design_audit(registry, audit_id, checked)
    reworded = [task_id for task_id in design.tasks if task_id not in design.templates]
    made = {task_id: rewordings(design, task_id) for task_id in reworded}
    cards = [each.card for own in made.values() for each in own if each.card is not None]
    model_ids = [card.model for card in cards if card.model is not None]
    asked = {
        "models": {name: checked.models[name] for name in model_ids},
        "rephrasers": checked.cards.used["rephrasers"],
    }
    refuse_untrusted(settings, asked, progress)
    rephraser = None if design.audit.rephrasing is None else design.audit.rephrasing.rephraser
    if rephraser is not None and cards and not registry.rephraser(rephraser).asks_nobody:
        progress.say(f"asking rephraser '{rephraser}': its rewordings are kept in {path} alone")
    proposals = {
        task_id: [proposal for each in own for proposal in make_proposals(design, task_id, each)]
        for task_id, own in made.items()
    }
    return export_prompts(proposals, path)
