"""One execution of a run: what it is asked to do, what it did by now, and its steps, which the audit's flow takes in order."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from flows.audit.ask import AskBatch, as_it_is
from flows.audit.budget import Purse, budget_of
from flows.audit.design import Design
from flows.audit.grid import deal_samples
from flows.audit.infer import infer
from flows.audit.judge import count_missing_rulings, judge
from flows.audit.judge_wordings import reword_rubrics
from flows.audit.meters import meters_of_judges, meters_of_models
from flows.audit.paraphrase import paraphrase
from flows.audit.pilot import pilot_design, pilot_variants, refuse_begun
from flows.audit.plan import Variant, count_missing
from flows.audit.runs import close_run
from flows.audit.shards.land_segments import lost_in
from flows.audit.shards.lander import lander_of
from flows.audit.shards.placement import AskersSetting
from flows.audit.validate import ValidationResult, validate
from flows.comparison.compare import compare_again
from flows.display.progress import Progress
from flows.lineage.openlineage.tell import landed
from flows.marts.publish import publish
from flows.marts.transform import Part, transform
from flows.report import report
from flows.report.comparison_page.page import write_again
from flows.warehouse import Warehouse
from flows.warehouse.sql import sql
from models_registry.cards import FormatLimits
from models_registry.errors import MeasureError


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What one execution did; `report` is None as long as no page is written."""

    n_asked: int = 0
    n_judged: int = 0
    notes: list[str] = field(default_factory=list)
    validated: ValidationResult | None = None
    report: Path | None = None


@dataclass(slots=True, kw_only=True)
class Execution:
    """One execution of a run.

    `design` is None where the answers are recorded ones. `reports` off: whoever asks for the execution writes the page.
    `is_pilot`: the first samples are asked under the first wordings, and the run stays open for the rest.
    """

    warehouse: Warehouse
    audit_run_id: str
    limits: FormatLimits
    progress: Progress
    design: Design | None = None
    rephrase: bool = False
    prompts: Path | None = None
    max_usd: float | None = None
    max_requests: int | None = None
    reports: bool = True
    is_pilot: bool = False
    askers: AskersSetting = field(default_factory=AskersSetting)
    outcome: Outcome = field(default_factory=Outcome)
    _variants: tuple[Variant, ...] = ()
    _compared: list[str] = field(default_factory=list)

    @property
    def audit_id(self) -> str:
        """Returns the audit that is executed."""
        return self._designed().audit_id

    @property
    def judges(self) -> bool:
        """Returns whether answers are put before judges."""
        return self.design is not None and bool(self.design.judges)

    def paraphrase(self) -> None:
        """Makes the prompt variants, or finds those that the run has, and lands them."""
        self.progress.step("making prompt variants")
        design = self._designed()
        result = paraphrase(self._purse(), design, anew=self.rephrase, prompts=self.prompts)
        self._variants = tuple(deal_samples(self.warehouse, self.audit_run_id, design, result.variants))
        self.outcome.notes += result.notes
        if not self.is_pilot:
            self.outcome.notes += reword_rubrics(self._purse(), design, anew=self.rephrase)

    def infer(self, ask: AskBatch = as_it_is) -> None:
        """Asks every missing cell and lands the answers; raises MeasureError where cells have no answer yet."""
        design, variants, run = self._designed(), self._variants, self.audit_run_id
        purse = self._purse()
        lander = None
        if self.is_pilot:
            design, variants = pilot_design(design), tuple(pilot_variants(design, variants))
            refuse_begun(self.warehouse, run, design, variants)
        else:
            lander = lander_of(purse, design, variants, self.askers)
        meters = meters_of_models(design, variants, self.warehouse, run)
        with self.progress.asking("cells", meters) as on_answer:
            result = infer(purse, design, variants, on_answer, ask, lander)
        self.outcome.n_asked += result.n_landed
        self.outcome.notes += result.notes
        n_missing = count_missing(self.warehouse, run, design, variants)
        if n_missing:
            msg = f"{n_missing} cells have no answer yet; the same command again asks only them{self._last_try()}"
            raise MeasureError(msg)

    def transform(self, part: Part) -> None:
        """Derives one part of the marts; after the formats were checked the run is complete."""
        landed(self.warehouse, self.audit_run_id)
        if part == "after_formats":
            close_run(self.warehouse, self.audit_run_id, "complete")
        self.progress.step("deriving measures" if part == "after_formats" else "reading answers")
        transform(self.warehouse, [self.audit_run_id], part, command="run" if part == "pilot" else "build")
        if part in ("up_to_formats", "pilot"):
            self.outcome.notes += [
                f"task '{row['task_id']}': of {row['n_answers']} of its answers {row['unread_because']}; a reader is called "
                "in an empty folder, without the variables that hold keys"
                for row in self.warehouse.read(sql("audit", "failed_readers"), run=self.audit_run_id)
            ]

    def validate(self) -> None:
        """Checks the formats of the answers; raises MeasureError where the run cannot be measured, and closes it as failed."""
        self.progress.step("checking formats")
        result = self.outcome.validated = validate(self.warehouse, self.audit_run_id, self.limits)
        is_empty = result.n_variants > 0 and result.n_quarantined == result.n_variants
        if result.action == "failed" or is_empty:
            close_run(self.warehouse, self.audit_run_id, "failed")
            kept = self.warehouse.published
            stays = f"; {kept.path} stays as it was" if kept.exists() else ""
            from flows.report.summary_unread import unread_answers

            why = "every prompt variant is quarantined" if is_empty else "the format gate failed"
            rows = self.warehouse.read(sql("audit", "unread_answers"), run=self.audit_run_id)
            advice = unread_answers(rows, "import" if self.design is None else "run")
            unread = "".join(f"; {each.sentence}" for each in advice)
            msg = f"{why}: {result.failures[0]} ({len(result.failures)} in all){self._last_error()}{unread}{stays}"
            raise MeasureError(msg)

    def judge(self) -> None:
        """Asks the judges for the rulings that are missing; raises MeasureError where some have no verdict yet."""
        design = self._designed()
        result = judge(
            self._purse(),
            design,
            lambda missing: self.progress.asking("rulings", meters_of_judges(design, missing)),
        )
        self.outcome.n_judged = result.n_landed
        self.outcome.notes += result.notes
        n_open = count_missing_rulings(self.warehouse, self.audit_run_id, design)
        if n_open:
            msg = f"{n_open} rulings have no verdict yet; `promptaudit run` asks only them{self._last_try()}"
            raise MeasureError(msg)

    def compare(self) -> None:
        """Derives anew what earlier comparisons hold this run against."""
        self._compared = compare_again(self.warehouse, [self.audit_run_id])

    def publish(self) -> None:
        """Publishes the run's marts."""
        self.progress.step("publishing")
        publish(self.warehouse, [self.audit_run_id], self._compared, warn=self.progress.warn)

    def report(self) -> None:
        """Writes the run's page, and those about its comparisons that are there."""
        self.outcome.report = report(self.warehouse, self.audit_run_id, warn=self.progress.warn)
        write_again(self.warehouse, self._compared)

    def derive(self) -> None:
        """Takes the steps that need no answers any more, of a run of recorded answers."""
        with self.warehouse.kept_open():
            self.transform("up_to_formats")
            self.validate()
            self.transform("after_formats")
            self.compare()
            self.publish()
        self.report()

    def _designed(self) -> Design:
        if self.design is None:
            msg = "recorded answers have no design"
            raise ValueError(msg)
        return self.design

    def _last_try(self) -> str:
        """What a server said last of something that has no answer, for the end of a line; "" where nothing was tried."""
        rows = self.warehouse.read(sql("audit", "last_failed_try"), run=self.audit_run_id)
        return f"; the last try failed: {rows[0]['error']}" if rows else ""

    def _last_error(self) -> str:
        """What was said last of a cell that landed as a permanent error, where most of them did."""
        rows = self.warehouse.read(
            "select arg_max(error, landed_at) as error from raw.predictions where audit_run_id = $run "
            "having 2 * count(error) > count(*)",
            run=self.audit_run_id,
        )
        return f"; the last error: {rows[0]['error']}" if rows else ""

    def _purse(self) -> Purse:
        """What the run may still spend now."""
        limits = self._designed().audit.budget
        budget = budget_of(self.warehouse, self.audit_run_id, limits, self.max_usd, self.max_requests)
        lost = lost_in(self.askers.folder(self.warehouse, self.audit_run_id))
        budget.lend(lost.n_requests, lost.usd)
        return Purse(self.warehouse, self.audit_run_id, budget, self.progress.say)
