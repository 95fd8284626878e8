"""Runs a trial as an audit is run, under a run of its own. The same trial again is read from there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from promptaudit.audit.run import make_ready
from promptaudit.audit.runs import open_run
from promptaudit.audit.steps import AuditRun, RunOptions, measure
from promptaudit.cards.check_cards.models import lacking_engines
from promptaudit.cards.trust.refuse import refuse_untrusted
from promptaudit.marts.publish import is_published
from promptaudit.registry.errors import raise_all
from promptaudit.registry.registry import Registry
from promptaudit.system.child_processes import guarded
from promptaudit.system.display.encode import NOT_ENCODED
from promptaudit.system.display.figures import count, cut, plural
from promptaudit.system.display.progress import Progress
from promptaudit.system.settings import Settings
from promptaudit.trial.effects import ModelEffects, effects_of
from promptaudit.trial.plan import ORIGIN, TrialOptions, plan_trial
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.rows import frame_of
from promptaudit.warehouse.sql import sql


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialResult:
    """A trial and its effects on each model under each strategy."""

    audit_run_id: str
    base_run_id: str
    audit_id: str
    task_id: str
    sample_ids: tuple[str, ...]
    added: str | None
    instruction: str | None  # tried in the place of the original
    edited: Mapping[str, object] | None  # fields of the edited card
    filler: str | None  # None without a control
    asks_unchanged: bool
    n_asked: int
    notes: tuple[str, ...]
    effects: tuple[ModelEffects, ...]
    n_variants: int = field(metadata=NOT_ENCODED)  # an arm

    def lines(self) -> Iterator[str]:
        """Writes what was tried, each measure before and after, and whether a difference is shown."""
        beside = "beside them unchanged" if self.asks_unchanged else "no control"
        headings = (
            ["unchanged", "tried", "tried - unchanged"]
            if self.asks_unchanged
            else ["base run", "tried", "tried - base"]
        )
        if self.filler is not None:
            beside += f", and with a filler: {cut(self.filler, 60)}"
            headings = ["unchanged", "with filler", "tried", "tried - filler"]
        run = f"trial {self.audit_run_id} of '{cut(self.audit_id)}', from run {self.base_run_id}"
        yield f"{run}: {count(self.n_asked)} cells asked"
        samples = f"task {cut(self.task_id, 60)}, {count(len(self.sample_ids))} samples"
        yield f"{samples}, {plural(self.n_variants, 'prompt variant')} a side, {beside}"
        yield f"tried: {cut(self.added or self.instruction or 'the task card as it is now')}"
        yield from (f"note: {cut(note)}" for note in self.notes)
        for each in self.effects:
            yield from ("", *each.lines(headings))


def try_change(
    settings: Settings,
    registry: Registry,
    options: TrialOptions,
    progress: Progress,
) -> TrialResult:
    """Asks the chosen samples under every variant, as it was and changed, and computes the effects; once a trial."""
    trial = plan_trial(settings, registry, options)
    design, warehouse = trial.design, Warehouse(settings.warehouse)
    trial.refuse_unpriced(settings.max_usd)
    refuse_untrusted(settings, {"models": trial.models}, progress)
    n_asked = 0
    with guarded(), warehouse.hold(settings.lock_wait_s, progress.say, by=f"a trial of '{design.audit_id}'"):
        make_ready(warehouse, progress, settings)
        earlier = warehouse.read(
            sql("trial", "same_trial"),
            audit_id=design.audit_id,
            origin=ORIGIN,
            plan_fingerprint=design.plan_fingerprint,
        )
        if not earlier:
            raise_all(lacking_engines(trial.models))
        run = earlier[0]["audit_run_id"] if earlier else open_run(warehouse, design)
        if earlier and earlier[0]["state"] == "complete" and is_published(warehouse, run):
            progress.say(f"trial {run} is complete: nothing asked")
        else:
            progress.say(f"{'continuing trial' if earlier else 'trial'} {run} of '{design.audit_id}'")
            rows = [variant._replace(audit_run_id=run)._asdict() for variant in trial.variants]
            warehouse.land([("prompt_variants", frame_of("prompt_variants", rows))])
            asked = AuditRun(
                warehouse=warehouse,
                audit_run_id=run,
                progress=progress,
                design=design,
                options=RunOptions(writes_page=False),
                max_usd=settings.max_usd,
                max_requests=settings.max_requests,
            )
            n_asked = measure(asked).n_asked
    return TrialResult(
        audit_run_id=run,
        base_run_id=trial.base.audit_run_id,
        audit_id=trial.base.audit_id,
        task_id=trial.base.task_id,
        sample_ids=tuple(trial.base.samples),
        added=trial.change.added,
        instruction=trial.change.instruction,
        edited=trial.change.edited_fields,
        filler=trial.filler,
        asks_unchanged=trial.asks_unchanged,
        n_asked=n_asked,
        notes=trial.notes,
        effects=tuple(effects_of(warehouse, run, trial)),
        n_variants=trial.n_variants,
    )
