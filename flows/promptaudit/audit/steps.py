"""Defines the steps of a run and their order: each is a function of the run and of what the step before it returned.

A step finds in the warehouse what is already done, so that a retry, another start or another process goes on from
there. `audit.flow` makes tasks of Prefect of the steps.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

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
from promptaudit.lineage.openlineage.emit import landed
from promptaudit.marts.comparison.compare import compare_again
from promptaudit.marts.not_derived import NotDerived, not_derived
from promptaudit.marts.publication import Due, publication
from promptaudit.marts.publish import publish as publish_marts
from promptaudit.marts.transform import Part
from promptaudit.marts.transform import transform as build
from promptaudit.plan.budget import Purse, budget_of
from promptaudit.plan.cells import missing_by_model
from promptaudit.plan.design import Design
from promptaudit.plan.grid import deal_samples, pilot_design, pilot_variants, refuse_begun
from promptaudit.registry.cards import FormatLimits
from promptaudit.registry.errors import MeasureError
from promptaudit.report import report as write_page
from promptaudit.report.summary_unread import unread_answers
from promptaudit.system.display.policy import Texts
from promptaudit.system.display.progress import Progress
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.sql import sql


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """Holds what a command or a night says of a run beside its cards.

    new: ask everything again, in a run of its own. rephrase: make the wordings again, too.
    prompts: a file of wordings that a person edited.
    n_askers, work_pool: who asks, in place of the card's.
    writes_page: off if the caller writes the page, and in a pilot.
    again_errors: ask the cells again that landed as errors, in the same run.
    answers_only: nothing is derived once all is answered; the next `run` without it does.
    is_pilot: the first samples are asked under the first wordings, and the run stays open for the rest. It publishes
        nothing; a copy that another audit publishes holds its answers, as of any run that is under way.
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
    """Holds a run and what it is asked to do now.

    `design` is None if the answers are recorded ones or nobody is asked any more. `max_usd` and `max_requests` replace
    the limits of the card's budget.
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
        """Reads the limits of formats from the card as it is now, or from the import for recorded answers."""
        if self.design is not None:
            return self.design.audit.format
        query = "select format_limits from raw.audit_runs where audit_run_id = $run"
        (row,) = self.warehouse.read(query, run=self.audit_run_id)
        return FormatLimits.model_validate_json(row["format_limits"], extra="ignore")  # it may be of an earlier version

    @property
    def judges(self) -> bool:
        """Checks whether answers are put before judges."""
        return self.design is not None and bool(self.design.judges)

    def designed(self) -> Design:
        """Gives the design that the run asks; raises ValueError if it has none, as for recorded answers."""
        if self.design is None:
            msg = "recorded answers have no design"
            raise ValueError(msg)
        return self.design

    def kept_open_if(self, *, is_quick: bool) -> AbstractContextManager[None]:
        """Keeps the warehouse's file open for a quick block; in a slow one other processes may open the file."""
        return self.warehouse.kept_open() if is_quick else nullcontext()

    def purse(self) -> Purse:
        """Computes what the run may still spend. What was lent to askers of a run that died counts as spent."""
        limits = self.designed().audit.budget
        budget = budget_of(self.warehouse, self.audit_run_id, limits, self.max_usd, self.max_requests)
        lost = lost_in(self.askers.folder(self.warehouse, self.audit_run_id))
        budget.lend(lost.n_requests, lost.usd)
        return Purse(self.warehouse, self.audit_run_id, budget, self.progress.say)


@dataclass(frozen=True)
class AnsweredBatch:
    """Marks that the cells of a model, or of a shard, have their answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Derivation:
    """Holds the notes for people about a part of the marts that was derived."""

    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparisons:
    """Names the comparisons with a run that were derived again."""

    comparison_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Sums up what the steps of a run did.

    `report` is None if no page was written; `not_derived` are the measures that the tables lack.
    """

    n_asked: int = 0
    n_judged: int = 0
    notes: tuple[str, ...] = ()
    validated: ValidationResult | None = None
    report: Path | None = None
    not_derived: tuple[NotDerived, ...] = ()


def paraphrase(run: AuditRun) -> ParaphraseResult:
    """Makes the prompt variants, or finds those that the run has, and lands them."""
    run.progress.step("making prompt variants")
    design = run.designed()
    with run.kept_open_if(is_quick=_are_made_here(design)):
        result = make_variants(run.purse(), design, anew=run.options.rephrase, prompts=run.options.prompts)
        variants = tuple(deal_samples(run.warehouse, run.audit_run_id, design, result.variants))
    return replace(result, variants=variants)


async def infer(wordings: ParaphraseResult, asked: str, batch: Batch) -> AnsweredBatch:
    """Asks every missing cell of a model, or of a shard."""
    await batch()
    return AnsweredBatch()


def transform(run: AuditRun, part: Part, *landed_by: object) -> Derivation:
    """Derives one part of the marts of what earlier steps landed; after the formats were checked the run is complete."""
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


def validate(run: AuditRun, answers: Derivation) -> ValidationResult:
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


def judge(run: AuditRun, formats: ValidationResult) -> AskResult:
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


def compare(run: AuditRun, marts: Derivation) -> Comparisons:
    """Derives anew what earlier comparisons hold this run against."""
    return Comparisons(comparison_ids=tuple(compare_again(run.warehouse, [run.audit_run_id])))


def publish(run: AuditRun, compared: Comparisons) -> Path:
    """Publishes the run's marts; returns the copy that readers have."""
    run.progress.step("publishing")
    ids = compared.comparison_ids
    return publish_marts(run.warehouse, [run.audit_run_id], ids, warn=run.progress.warn)


def report(run: AuditRun, compared: Comparisons, published: Path) -> Path:
    """Writes the run's page, and those about its comparisons that are there."""
    page = write_page(run.warehouse, run.audit_run_id, warn=run.progress.warn)
    if compared.comparison_ids:
        from promptaudit.report.comparison_page.page import write_again

        write_again(run.warehouse, compared.comparison_ids)
    return page


class Steps(NamedTuple):
    """Lists the steps of a run: the functions, or Prefect tasks in their place."""

    paraphrase: Callable[[AuditRun], ParaphraseResult] = paraphrase
    infer: Callable[[ParaphraseResult, str, Batch], Awaitable[AnsweredBatch]] = infer
    transform: Callable[..., Derivation] = transform
    validate: Callable[[AuditRun, Derivation], ValidationResult] = validate
    judge: Callable[[AuditRun, ValidationResult], AskResult] = judge
    compare: Callable[[AuditRun, Derivation], Comparisons] = compare
    publish: Callable[[AuditRun, Comparisons], Path] = publish
    report: Callable[[AuditRun, Comparisons, Path], Path] = report


FUNCTIONS = Steps()


def ask(run: AuditRun, wordings: ParaphraseResult, steps: Steps = FUNCTIONS) -> tuple[AskResult, list[AnsweredBatch]]:
    """Asks every missing cell and lands the answers; raises MeasureError where cells have no answer yet."""
    design, variants, warehouse = run.designed(), wordings.variants, run.warehouse
    purse, lander = run.purse(), None
    batches: list[AnsweredBatch] = []
    if run.options.is_pilot:
        design, variants = pilot_design(design), tuple(pilot_variants(design, variants))
        refuse_begun(warehouse, run.audit_run_id, design, variants)
    else:
        lander = lander_of(purse, design, variants, run.askers)

    async def ask_batch(asked: str, batch: Batch) -> None:
        batches.append(await steps.infer(wordings, asked, batch))

    with run.progress.asking("cells", meters_of_models(design, variants, warehouse, run.audit_run_id)) as on_answer:
        asked = ask_models(purse, design, variants, on_answer, ask_batch, lander)
    n_missing = sum(missing_by_model(warehouse, run.audit_run_id, design, variants).values())
    if n_missing:
        msg = f"{n_missing} cells have no answer yet; the same command again asks only them{_last_try(run)}"
        raise MeasureError(msg)
    return asked, batches


def measure(run: AuditRun, steps: Steps = FUNCTIONS) -> Outcome:
    """Takes the steps of a run in order and sums up what they did; raises the error of the first step that fails."""
    wordings = steps.paraphrase(run)
    with run.kept_open_if(is_quick=all(card.engine == "embedded" for card in run.designed().models.values())):
        asked, batches = ask(run, wordings, steps)
    done = Outcome(n_asked=asked.n_landed, notes=(*wordings.notes, *asked.notes))
    landed_by: Sequence[object] = batches or [wordings]
    if run.options.answers_only:
        return done
    if run.options.is_pilot:
        read = steps.transform(run, "pilot", *landed_by)
        return replace(done, notes=(*done.notes, *read.notes))
    return derive(run, steps, landed_by, done)


NOTHING_DONE = Outcome()


def derive(
    run: AuditRun, steps: Steps = FUNCTIONS, landed_by: Sequence[object] = (), done: Outcome = NOTHING_DONE
) -> Outcome:
    """Takes the steps that follow the answers. `done` sums up the steps that asked; recorded answers have none."""
    with run.warehouse.kept_open():
        read = steps.transform(run, "up_to_formats", *landed_by)
        formats = steps.validate(run, read)
    ruled = [steps.judge(run, formats)] if run.judges else []
    writes = run.options.writes_page
    with run.warehouse.kept_open():
        marts = steps.transform(run, "after_formats", formats, *ruled)
        compared = steps.compare(run, marts)
        due = Due(derived=(run.audit_run_id,), pages=(run.audit_run_id,), comparisons=compared.comparison_ids)
        with publication(run.warehouse, due if writes else Due()):
            published = steps.publish(run, compared)
            page = steps.report(run, compared, published) if writes else None
    return replace(
        done,
        n_judged=sum(each.n_landed for each in ruled),
        notes=(*done.notes, *read.notes, *(note for each in ruled for note in each.notes)),
        validated=formats,
        report=page,
        not_derived=not_derived(run.warehouse, run.audit_run_id),
    )


def _are_made_here(design: Design) -> bool:
    # at once, by rules or from a card: no model and no code of the user's is called
    rephrasing = design.audit.rephrasing
    name = None if rephrasing is None else rephrasing.rephraser
    return name is None or design.registry.rephraser(name).kind in ("rules", "fixed")


def _last_try(run: AuditRun) -> str:
    rows = run.warehouse.read(sql("audit", "last_failed_try"), run=run.audit_run_id)
    return f"; the last try failed: {rows[0]['error']}" if rows else ""


def _last_error(run: AuditRun) -> str:
    # only if most cells landed as permanent errors
    rows = run.warehouse.read(
        "select arg_max(error, landed_at) as error from raw.predictions where audit_run_id = $run "
        "having 2 * count(error) > count(*)",
        run=run.audit_run_id,
    )
    return f"; the last error: {rows[0]['error']}" if rows else ""
