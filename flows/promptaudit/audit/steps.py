"""The steps of a run, each a function of the run and of what the steps before it made, and their order.

A step finds in the warehouse what is done, so that whoever takes it again goes on: a retry, another start, another process.
Inside a flow run of Prefect each is a task (`promptaudit.system.prefect_steps`).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

from promptaudit.ask.infer import infer as ask_models
from promptaudit.ask.judge import count_missing_rulings
from promptaudit.ask.judge import judge as ask_judges
from promptaudit.ask.meters import meters_of_judges, meters_of_models
from promptaudit.ask.shards.land_segments import lost_in
from promptaudit.ask.shards.lander import lander_of
from promptaudit.ask.shards.placement import AskersSetting
from promptaudit.ask.wordings.paraphrase import ParaphraseResult
from promptaudit.ask.wordings.paraphrase import paraphrase as make_variants
from promptaudit.ask.workers import AskResult, Batch
from promptaudit.audit.formats.validate import ValidationResult
from promptaudit.audit.formats.validate import validate as check_formats
from promptaudit.audit.runs import close_run
from promptaudit.lineage.openlineage.assets import assets_of
from promptaudit.lineage.openlineage.tell import landed
from promptaudit.marts.comparison.compare import compare_again
from promptaudit.marts.not_derived import NotDerived, not_derived
from promptaudit.marts.publish import publish as publish_marts
from promptaudit.marts.transform import Part
from promptaudit.marts.transform import transform as build
from promptaudit.plan.budget import Purse, budget_of
from promptaudit.plan.cells import count_missing
from promptaudit.plan.design import Design
from promptaudit.plan.grid import deal_samples
from promptaudit.plan.pilot import pilot_design, pilot_variants, refuse_begun
from promptaudit.registry.cards import FormatLimits
from promptaudit.registry.errors import MeasureError
from promptaudit.report import report as write_page
from promptaudit.report.summary_unread import unread_answers
from promptaudit.system import prefect_steps
from promptaudit.system.display.policy import Texts
from promptaudit.system.display.progress import Progress
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.sql import sql

step = functools.partial(prefect_steps.step, made=assets_of)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What a command or a night says of a run, beside its cards.

    new: ask everything again, in a run of its own. rephrase: make the wordings again, too.
    prompts: a file of wordings that a person edited.
    n_askers, work_pool: who asks, in place of the card's.
    writes_page: off where whoever calls writes the page, and in a pilot.
    again_errors: ask the cells again that landed as errors, in the same run.
    answers_only: nothing is derived once all is answered; the next `run` without it does.
    is_pilot: the first samples are asked under the first wordings, and the run stays open for the rest. It publishes nothing; a
        copy that another audit publishes holds its answers, as of any run that is under way.
    """

    new: bool = False
    rephrase: bool = False
    prompts: Path | None = None
    n_askers: int | None = None
    work_pool: str | None = None
    writes_page: bool = True
    again_errors: bool = False
    answers_only: bool = False
    is_pilot: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRun:
    """A run, and what it is asked to do now.

    `design` is None where the answers are recorded ones or nobody is asked any more. `max_usd` and `max_requests` go before what
    the card says it may spend.
    """

    warehouse: Warehouse
    audit_run_id: str
    progress: Progress = field(default_factory=Progress)
    design: Design | None = None
    options: RunOptions = field(default_factory=RunOptions)
    askers: AskersSetting = field(default_factory=AskersSetting)
    max_usd: float | None = None
    max_requests: int | None = None

    @property
    def limits(self) -> FormatLimits:
        """Returns the limits of formats: those of the card as it is now; of recorded answers, of their import."""
        if self.design is not None:
            return self.design.audit.format
        query = "select format_limits from raw.audit_runs where audit_run_id = $run"
        (row,) = self.warehouse.read(query, run=self.audit_run_id)
        return FormatLimits.model_validate_json(row["format_limits"], extra="ignore")  # of an earlier version

    @property
    def judges(self) -> bool:
        """Returns whether answers are put before judges."""
        return self.design is not None and bool(self.design.judges)

    def designed(self) -> Design:
        """Returns what the run asks; raises ValueError for one of recorded answers."""
        if self.design is None:
            msg = "recorded answers have no design"
            raise ValueError(msg)
        return self.design

    def kept_open_if(self, *, is_quick: bool) -> AbstractContextManager[None]:
        """Returns what keeps the warehouse's file open for a while; where that takes hours, other processes may open it."""
        return self.warehouse.kept_open() if is_quick else nullcontext()

    def purse(self) -> Purse:
        """Returns what the run may still spend now."""
        limits = self.designed().audit.budget
        budget = budget_of(self.warehouse, self.audit_run_id, limits, self.max_usd, self.max_requests)
        lost = lost_in(self.askers.folder(self.warehouse, self.audit_run_id))
        budget.lend(lost.n_requests, lost.usd)
        return Purse(self.warehouse, self.audit_run_id, budget, self.progress.say)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What asking the models brought: `batches` are a model under a strategy each."""

    asked: AskResult
    batches: tuple[AnsweredBatch, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredBatch:
    """A model that was asked under one strategy."""

    model_id: str
    strategy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Derivation:
    """What there is to say of a part of the marts that was derived."""

    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparisons:
    """The comparisons with a run that were derived anew."""

    comparison_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """The copy that readers have."""

    path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What taking the steps of a run did; `report` is None where no page was written, and `not_derived` what its tables lack."""

    n_asked: int = 0
    n_judged: int = 0
    notes: tuple[str, ...] = ()
    validated: ValidationResult | None = None
    report: Path | None = None
    not_derived: tuple[NotDerived, ...] = ()


@step()
def paraphrase(run: AuditRun) -> ParaphraseResult:
    """Makes the prompt variants, or finds those that the run has, and lands them."""
    run.progress.step("making prompt variants")
    design = run.designed()
    with run.kept_open_if(is_quick=_are_made_here(design)):
        result = make_variants(run.purse(), design, anew=run.options.rephrase, prompts=run.options.prompts)
        variants = tuple(deal_samples(run.warehouse, run.audit_run_id, design, result.variants))
    return replace(result, variants=variants)


@step(run_name="infer {model_id} {strategy}")
async def infer(run: AuditRun, model_id: str, strategy: str, batch: Batch) -> AnsweredBatch:  # noqa: ARG001 - which Prefect shows
    """Asks every missing cell of a model under one strategy."""
    await batch()
    return AnsweredBatch(model_id=model_id, strategy=strategy)


def ask(run: AuditRun, wordings: ParaphraseResult) -> Answers:
    """Asks every missing cell and lands the answers; raises MeasureError where cells have no answer yet."""
    design, variants, warehouse = run.designed(), wordings.variants, run.warehouse
    purse, lander, batches = run.purse(), None, []
    if run.options.is_pilot:
        design, variants = pilot_design(design), tuple(pilot_variants(design, variants))
        refuse_begun(warehouse, run.audit_run_id, design, variants)
    else:
        lander = lander_of(purse, design, variants, run.askers)

    async def ask_batch(model_id: str, strategy: str, batch: Batch) -> None:
        batches.append(await infer(run, model_id, strategy, batch, wait_for=[wordings]))

    with run.progress.asking("cells", meters_of_models(design, variants, warehouse, run.audit_run_id)) as on_answer:
        asked = ask_models(purse, design, variants, on_answer, ask_batch, lander)
    n_missing = count_missing(warehouse, run.audit_run_id, design, variants)
    if n_missing:
        msg = f"{n_missing} cells have no answer yet; the same command again asks only them{_last_try(run)}"
        raise MeasureError(msg)
    return Answers(asked=asked, batches=tuple(batches))


@step(derives=True, again=True, run_name="transform {part}")
def transform(run: AuditRun, part: Part) -> Derivation:
    """Derives one part of the marts; after the formats were checked the run is complete."""
    landed(run.warehouse, run.audit_run_id)
    if part == "after_formats":
        close_run(run.warehouse, run.audit_run_id, "complete")
    run.progress.step("deriving measures" if part == "after_formats" else "reading answers")
    build(run.warehouse, [run.audit_run_id], part, command="run" if part == "pilot" else "build")
    if part == "after_formats":
        return Derivation()
    failed = run.warehouse.read(sql("audit", "failed_readers"), run=run.audit_run_id)
    notes = (
        f"task '{row['task_id']}': of {row['n_answers']} of its answers {row['unread_because']}; a reader is called "
        "in an empty folder, without the variables that hold keys"
        for row in failed
    )
    return Derivation(notes=tuple(notes))


@step(derives=True)
def validate(run: AuditRun) -> ValidationResult:
    """Checks the formats of the answers; raises MeasureError where the run cannot be measured, and closes it as failed."""
    run.progress.step("checking formats")
    result = check_formats(run.warehouse, run.audit_run_id, run.limits)
    if result.action == "failed":
        close_run(run.warehouse, run.audit_run_id, "failed")
        kept = run.warehouse.published
        stays = f"; {kept.path} stays as it was" if kept.exists() else ""
        rows = run.warehouse.read(sql("audit", "unread_answers"), run=run.audit_run_id)
        texts = Texts(sensitive=frozenset(row["task_id"] for row in rows if row["is_sensitive"]))
        advice = unread_answers(rows, "import" if run.design is None else "run", texts)
        unread = "".join(f"; {each.sentence}" for each in advice)
        msg = f"the format gate failed: {result.failures[0]} ({len(result.failures)} in all){_last_error(run)}{unread}{stays}"
        raise MeasureError(msg)
    return result


@step()
def judge(run: AuditRun) -> AskResult:
    """Asks the judges for the rulings that are missing; raises MeasureError where some have no verdict yet."""
    design = run.designed()
    result = ask_judges(
        run.purse(), design, lambda missing: run.progress.asking("rulings", meters_of_judges(design, missing))
    )
    n_open = count_missing_rulings(run.warehouse, run.audit_run_id, design)
    if n_open:
        msg = f"{n_open} rulings have no verdict yet; `promptaudit run` asks only them{_last_try(run)}"
        raise MeasureError(msg)
    return result


@step(derives=True, again=True)
def compare(run: AuditRun) -> Comparisons:
    """Derives anew what earlier comparisons hold this run against."""
    return Comparisons(comparison_ids=tuple(compare_again(run.warehouse, [run.audit_run_id])))


@step(derives=True, again=True)
def publish(run: AuditRun, compared: Comparisons) -> Publication:
    """Publishes the run's marts."""
    run.progress.step("publishing")
    ids = compared.comparison_ids
    return Publication(path=publish_marts(run.warehouse, [run.audit_run_id], ids, warn=run.progress.warn))


@step(derives=True, again=True)
def report(run: AuditRun, compared: Comparisons) -> Path:
    """Writes the run's page, and those about its comparisons that are there."""
    page = write_page(run.warehouse, run.audit_run_id, warn=run.progress.warn)
    if compared.comparison_ids:
        from promptaudit.report.comparison_page.page import write_again

        write_again(run.warehouse, compared.comparison_ids)
    return page


def measure(run: AuditRun) -> Outcome:
    """Takes the steps of a run, in their order, and returns what they did; raises what the first of them raises that fails."""
    wordings = paraphrase(run)
    with run.kept_open_if(is_quick=all(card.engine == "embedded" for card in run.designed().models.values())):
        answers = ask(run, wordings)
    asked = Outcome(n_asked=answers.asked.n_landed, notes=(*wordings.notes, *answers.asked.notes))
    made: Sequence[object] = answers.batches or [wordings]
    if run.options.answers_only:
        return asked
    if run.options.is_pilot:
        read = transform(run, "pilot", wait_for=made)
        return replace(asked, notes=(*asked.notes, *read.notes))
    return derive(run, made, asked)


def derive(run: AuditRun, answers: Sequence[object] = (), asked: Outcome | None = None) -> Outcome:
    """Takes the steps that follow the answers, of recorded ones or of those that `asked` tells of."""
    done = asked or Outcome()
    with run.warehouse.kept_open():
        read = transform(run, "up_to_formats", wait_for=answers)
        formats = validate(run, wait_for=[read])
    ruled = judge(run, wait_for=[formats]) if run.judges else AskResult()
    with run.warehouse.kept_open():
        marts = transform(run, "after_formats", wait_for=[formats, ruled])
        compared = compare(run, wait_for=[marts])
        published = publish(run, compared)
    page = report(run, compared, wait_for=[published]) if run.options.writes_page else None
    return replace(
        done,
        n_judged=ruled.n_landed,
        notes=(*done.notes, *read.notes, *ruled.notes),
        validated=formats,
        report=page,
        not_derived=not_derived(run.warehouse, run.audit_run_id),
    )


def _are_made_here(design: Design) -> bool:
    """Returns whether wordings are made at once, by rules or from a card: by no model and nobody's own code."""
    rephrasing = design.audit.rephrasing
    name = None if rephrasing is None else rephrasing.rephraser
    return name is None or design.registry.rephraser(name).kind in ("rules", "fixed")


def _last_try(run: AuditRun) -> str:
    """Returns what a server said last of something that has no answer, for the end of a line; "" where nothing was tried."""
    rows = run.warehouse.read(sql("audit", "last_failed_try"), run=run.audit_run_id)
    return f"; the last try failed: {rows[0]['error']}" if rows else ""


def _last_error(run: AuditRun) -> str:
    """Returns what was said last of a cell that landed as a permanent error, where most of them did."""
    rows = run.warehouse.read(
        "select arg_max(error, landed_at) as error from raw.predictions where audit_run_id = $run "
        "having 2 * count(error) > count(*)",
        run=run.audit_run_id,
    )
    return f"; the last error: {rows[0]['error']}" if rows else ""
