"""What the commands that make or mend runs do: find or open the run, take the lock, go through the steps."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from flows.audit.check_cards import Checked, check_audit
from flows.audit.check_cards.models import lacking_engines
from flows.audit.design import Design, design_audit
from flows.audit.edit_prompts import export_prompts, read_prompts
from flows.audit.execution import Execution, Outcome
from flows.audit.judge import land_changed_judges
from flows.audit.paraphrase import make_proposals
from flows.audit.runs import Run, land_changed_tasks, newest_run, open_run, reopen_run
from flows.audit.variants import made_before, same_wordings
from flows.audit.wordings import rephrasing_key
from flows.comparison.compare import compare_again
from flows.display.progress import Progress
from flows.evidence.retain import restore, without_retired
from flows.lineage.openlineage.tell import following
from flows.marts.publish import is_published, publish
from flows.marts.transform import transform
from flows.report import report
from flows.settings import Settings
from flows.system.child_processes import guarded
from flows.system.helper_processes import CHECKS, DBT, start
from flows.trust.refuse import refuse_untrusted
from flows.warehouse import Warehouse, now
from flows.warehouse.spool import replay
from models_registry.errors import DataError, UsageError, nearest, raise_all
from models_registry.registry import Entry, Registry

CARD_CHANGED = (
    "the audit's card changed since in limits, seed, resamples or model sets: that holds from the next run, --new"
)
KEPT = {"format", "seed", "resamples", "model_sets"}
"""Fields of an audit's card that ask nothing and that a run keeps as they were when it opened."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What a command leaves behind."""

    audit_run_id: str
    audit_id: str
    headline: str
    n_asked: int
    notes: tuple[str, ...]
    published: Path | None
    report: Path | None

    @property
    def is_published(self) -> bool:
        """Whether its marts can be read."""
        return self.published is not None

    @property
    def marts(self) -> Path | None:
        """The folder of the marts as Parquet."""
        if self.published is None:
            return None
        return Warehouse(self.published.parents[1] / self.published.name).places.published / "marts"

    def as_dict(self) -> dict[str, object]:
        """For --json."""
        return {
            "audit_run_id": self.audit_run_id,
            "audit_id": self.audit_id,
            "headline": self.headline,
            "n_asked": self.n_asked,
            "notes": list(self.notes),
            "published": None if self.published is None else str(self.published),
            "marts": None if self.marts is None else str(self.marts),
            "report": None if self.report is None else str(self.report),
        }

    def lines(self) -> list[str]:
        """For people."""
        lines = [self.headline, *self.notes]
        if self.published is not None:
            lines += [f"published  {self.published}", f"marts      {self.marts}"]
        if self.report is not None:
            lines.append(f"report     {self.report}")
        return lines


def run_audit(  # noqa: PLR0913 - one option each
    settings: Settings,
    registry: Registry,
    audit_id: str,
    progress: Progress,
    *,
    execute: Callable[[Execution], None],
    new: bool = False,
    rephrase: bool = False,
    prompts: Path | None = None,
    max_usd: float | None = None,
    max_requests: int | None = None,
    on_open: Callable[[str], None] | None = None,
    reports: bool = True,
) -> Done:
    """Continues the audit's unfinished run, says that the last one is complete, or makes a new one.

    `on_open` is told the run's id before anything is asked. `reports` off: whoever calls writes the page. `execute` takes
    the steps.
    """
    checked = check_audit(registry, audit_id, max_usd)
    raise_all([*checked.errors, *checked.lacking_data])
    refuse_untrusted(settings, checked.models, progress)
    design = design_audit(registry, audit_id, checked)
    if prompts is not None:
        read_prompts(prompts, design)
    warehouse = Warehouse(settings.warehouse)
    with guarded(), warehouse.hold(settings.lock_wait_s, progress.say):
        with warehouse.kept_open():
            make_ready(warehouse, progress)
            found = None if new or rephrase else _same_run(warehouse, design, prompts)
            changed = [] if found is None else _changes(warehouse, found.audit_run_id, design, progress)
            is_done = found is not None and found.state == "complete" and is_published(warehouse, found.audit_run_id)
            is_kept = found is not None and _is_kept_otherwise(warehouse, found.audit_run_id, design)
            if found is not None and is_done and not changed:
                headline = f"run {found.audit_run_id} of '{audit_id}' is complete and {_age(found)} old: nothing asked"
                notes = (CARD_CHANGED,) if is_kept else ()
                return Done(
                    audit_run_id=found.audit_run_id,
                    audit_id=audit_id,
                    headline=f"{headline} (--new asks everything again)",
                    n_asked=0,
                    notes=notes,
                    published=warehouse.published.path,
                    report=page_of(warehouse, found.audit_run_id),
                )
            if found is None:
                are_made = prompts is not None or (not rephrase and _are_made(warehouse, design))
                raise_all(checked.lacking_engines if not are_made else lacking_engines(_without_rephraser(checked)))
            audit_run_id = open_run(warehouse, design) if found is None else found.audit_run_id
            if on_open is not None:
                on_open(audit_run_id)
            progress.say(f"{'run' if found is None else 'continuing run'} {audit_run_id} of '{audit_id}'")
        # they get ready while the first answers come in
        start(DBT, warehouse.places.file.name)
        start(CHECKS)
        execution = Execution(
            warehouse=warehouse,
            audit_run_id=audit_run_id,
            limits=design.audit.format,
            progress=progress,
            design=design,
            rephrase=rephrase,
            prompts=prompts,
            max_usd=max_usd,
            max_requests=max_requests,
            reports=reports,
        )
        with following(warehouse, audit_run_id, progress.warn):
            execute(execution)
    judged = f", {execution.outcome.n_judged} rulings made" if design.judges else ""
    headline = f"run {audit_run_id} of '{audit_id}': {execution.outcome.n_asked} cells asked{judged}"
    return done(audit_id, audit_run_id, headline, execution.outcome)


def page_of(warehouse: Warehouse, audit_run_id: str) -> Path:
    """The page of a published run, written where that was cut short."""
    page = warehouse.places.report(audit_run_id)
    if not page.is_file():
        report(warehouse, audit_run_id)
    return page


def done(audit_id: str, audit_run_id: str, headline: str, outcome: Outcome) -> Done:
    """Returns what a command leaves behind, of what its execution did."""
    notes = list(outcome.notes)
    found = outcome.validated
    if found is not None and found.failures:
        acted = {"quarantined": f", {found.n_quarantined} of {found.n_variants} model × variant pairs quarantined"}
        notes.append(
            f"format gate: {len(found.failures)} of {found.n_checks} checks failed{acted.get(found.action, '')}"
        )
        notes += [f"  {line}" for line in found.failures[:5]]
    return Done(
        audit_run_id=audit_run_id,
        audit_id=audit_id,
        headline=headline,
        n_asked=outcome.n_asked,
        notes=tuple(notes),
        published=outcome.published,
        report=outcome.report,
    )


def make_ready(warehouse: Warehouse, progress: Progress) -> None:
    """The warehouse at this version, with what a killed run had been answered and not landed."""
    warehouse.apply_schema()
    n_rows = replay(warehouse)
    if n_rows:
        progress.say(f"landed {n_rows} rows that an interrupted run had kept")


def _same_run(warehouse: Warehouse, design: Design, prompts: Path | None) -> Run | None:
    """The newest run, if it asks what the cards ask now."""
    found = newest_run(warehouse, design.audit_id)
    if found is None or found.plan_fingerprint != design.plan_fingerprint:
        return None
    if prompts is not None and not same_wordings(warehouse, found.audit_run_id, read_prompts(prompts, design)):
        return None
    return found


def _are_made(warehouse: Warehouse, design: Design) -> bool:
    """Whether an earlier run made the wordings of every task, so that no rephraser is asked."""
    reworded = [task_id for task_id in design.tasks if task_id not in design.templates]
    return all(made_before(warehouse, rephrasing_key(design, task_id)) is not None for task_id in reworded)


def _without_rephraser(checked: Checked) -> dict[str, Entry]:
    """The models that answer and judge."""
    cards = checked.cards
    asked = {*cards.models, *(card.model for card in cards.judges.values())}
    return {name: entry for name, entry in checked.models.items() if name in asked}


def _is_kept_otherwise(warehouse: Warehouse, audit_run_id: str, design: Design) -> bool:
    """Whether the audit's card says otherwise now than the run keeps."""
    (row,) = warehouse.read(
        "select card from raw.audit_runs where audit_run_id = $audit_run_id", audit_run_id=audit_run_id
    )
    now_written = design.audit.model_dump(mode="json", exclude_defaults=True, include=KEPT)
    kept = {name: value for name, value in json.loads(row["card"])["audits"][design.audit_id].items() if name in KEPT}
    return kept != now_written


def _changes(warehouse: Warehouse, audit_run_id: str, design: Design, progress: Progress) -> list[str]:
    """Tasks and judges whose cards changed since in what asks the models nothing: they hold for what has landed."""
    tasks = land_changed_tasks(warehouse, audit_run_id, design)
    judges = land_changed_judges(warehouse, audit_run_id, design)
    if tasks or judges:
        reopen_run(warehouse, audit_run_id)
    if tasks:
        progress.say(f"cards of {', '.join(tasks)} changed in what asks nothing: answers are read and scored anew")
    return tasks + judges


def _age(run: Run) -> str:
    age: timedelta = now() - run.started_at
    minutes = int(age.total_seconds() // 60)
    if minutes < 2:  # noqa: PLR2004 - no plural to get wrong
        return "a minute"
    if minutes < 120:  # noqa: PLR2004 - two hours read better in minutes
        return f"{minutes} minutes"
    return f"{minutes // 60} hours" if minutes < 48 * 60 else f"{minutes // (24 * 60)} days"


def export_variants(settings: Settings, registry: Registry, audit_id: str, path: Path, progress: Progress) -> int:
    """Writes the prompt variants an audit would ask for a person to edit; a rephraser of kind model is asked for them."""
    checked = check_audit(registry, audit_id)
    raise_all([*checked.errors, *checked.lacking_data])
    rephraser = checked.cards.rephraser
    asked = () if rephraser is None or rephraser.model is None else (rephraser.model,)
    refuse_untrusted(settings, {name: checked.models[name] for name in asked}, progress)
    design = design_audit(registry, audit_id, checked)
    rephrasing = design.audit.rephrasing
    if rephrasing is not None and registry.rephraser(rephrasing.rephraser).kind == "model":
        progress.say(f"asking rephraser '{rephrasing.rephraser}': its rewordings are kept in {path} alone")
    reworded = [task_id for task_id in design.tasks if task_id not in design.templates]
    return export_prompts({task_id: make_proposals(design, task_id) for task_id in reworded}, path)


def find_run(warehouse: Warehouse, audit_run_id: str | None) -> str:
    """A published run by id or the beginning of one; the newest without."""
    rows = warehouse.published.read(
        "select audit_run_id from marts.dim_audit_runs "
        "order by origin = 'trial', started_at desc, audit_run_id desc"  # a trial is meant by its id
    )
    known = [row["audit_run_id"] for row in rows]
    if not known:
        msg = f"{warehouse.published.path} holds no run"
        raise DataError(msg)
    if audit_run_id is None:
        return str(known[0])
    matching = [run for run in known if run.startswith(audit_run_id)]
    if len(matching) != 1:
        what = "several runs begin with" if matching else "no published run is"
        msg = f"{what} {audit_run_id!r}{nearest(audit_run_id, known)}"
        raise UsageError(msg)
    return str(matching[0])


def rebuild_runs(
    settings: Settings, audit_run_id: str | None, progress: Progress, *, restore_first: bool = False
) -> Path:
    """Derives the marts of complete runs again from what has landed, and publishes.

    A retired run has no raw rows to derive from and keeps its marts, unless its archive is landed again first.
    """
    if restore_first and audit_run_id is None:
        msg = "--restore lands the archive of one run again; name the run"
        raise UsageError(msg)
    warehouse = Warehouse(settings.warehouse)
    with guarded(), warehouse.hold(settings.lock_wait_s, progress.say):
        start(DBT, warehouse.places.file.name)
        make_ready(warehouse, progress)
        rows = warehouse.read("select audit_run_id from raw.audit_runs where state = 'complete' order by started_at")
        if audit_run_id is not None:
            known = [row["audit_run_id"] for row in rows]
            rows = [row for row in rows if row["audit_run_id"].startswith(audit_run_id)]
            if len(rows) != 1:
                msg = f"no complete run is {audit_run_id!r}{nearest(audit_run_id, known)}"
                raise UsageError(msg)
        if not rows:
            msg = f"{warehouse} holds no complete run"
            raise DataError(msg)
        runs = [row["audit_run_id"] for row in rows]
        if restore_first:
            progress.say(f"landed {restore(warehouse, runs[0])} rows of the archive again")
        kept = without_retired(warehouse, runs)
        if len(kept) < len(runs):
            progress.say(f"{len(runs) - len(kept)} retired runs keep their marts as they are")
        runs = kept
        progress.say(f"rebuilding {len(runs)} runs")
        transform(warehouse, runs, "up_to_formats")
        transform(warehouse, runs, "after_formats")
        compared = compare_again(warehouse, runs)
        return publish(warehouse, runs, compared)
