"""Runs a trial, or shows the one that was run: the same path as an audit, under its own run."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flows.audit.check_cards.models import lacking_engines
from flows.audit.execution import Execution
from flows.audit.run_audit import make_ready
from flows.audit.runs import open_run
from flows.display.progress import Progress
from flows.marts.publish import is_published
from flows.settings import Settings
from flows.system.child_processes import guarded
from flows.trial.effects import Effects, effects_of
from flows.trial.plan import ORIGIN, Trial, Wanted, plan_trial
from flows.trust.refuse import refuse_untrusted
from flows.warehouse import Warehouse
from flows.warehouse.rows import frame_of
from flows.warehouse.sql import sql
from models_registry.errors import raise_all
from models_registry.registry import Registry


@dataclass(frozen=True, slots=True)
class Tried:
    """A trial and what it changed."""

    audit_run_id: str
    trial: Trial
    n_asked: int
    effects: Sequence[Effects]

    def as_dict(self) -> dict[str, Any]:
        """For --json."""
        base = self.trial.base
        return {
            "audit_run_id": self.audit_run_id,
            "base_run_id": base.audit_run_id,
            "audit_id": base.audit_id,
            "task_id": base.task_id,
            "sample_ids": list(base.samples),
            **self.trial.change.as_dict(),
            "filler": self.trial.filler,
            "n_asked": self.n_asked,
            "notes": list(self.trial.notes),
            "effects": [
                {
                    **{
                        name: getattr(each, name)
                        for name in ("model_id", "strategy", "n_samples", "n_variants", "when_chosen")
                    },
                    "measures": [{**dataclasses.asdict(effect), "verdict": effect.verdict} for effect in each.effects],
                }
                for each in self.effects
            ],
        }


def try_change(  # noqa: PLR0913 - what the command may say
    settings: Settings,
    registry: Registry,
    wanted: Wanted,
    progress: Progress,
    *,
    max_usd: float | None = None,
    max_requests: int | None = None,
) -> Tried:
    """Asks the chosen samples under every variant, as it was and changed; the same trial again asks nothing and shows it."""
    trial = plan_trial(settings, registry, wanted)
    design, warehouse = trial.design, Warehouse(settings.warehouse)
    trial.refuse_unpriced(max_usd)
    refuse_untrusted(settings, trial.models, progress)
    n_asked = 0
    with guarded(), warehouse.hold(settings.lock_wait_s, progress.say):
        make_ready(warehouse, progress)
        found = warehouse.read(
            sql("trial", "same_trial"),
            audit_id=design.audit_id,
            origin=ORIGIN,
            plan_fingerprint=design.plan_fingerprint,
        )
        if not found:
            raise_all(lacking_engines(trial.models))
        run = found[0]["audit_run_id"] if found else open_run(warehouse, design)
        if found and found[0]["state"] == "complete" and is_published(warehouse, run):
            progress.say(f"trial {run} is complete: nothing asked")
        else:
            progress.say(f"{'continuing trial' if found else 'trial'} {run} of '{design.audit_id}'")
            rows = [{**row, "audit_run_id": run} for row in trial.variants]
            warehouse.land([("prompt_variants", frame_of("prompt_variants", rows))])
            from flows.audit.prefect_server import run_small

            execution = Execution(
                warehouse=warehouse, audit_run_id=run, limits=design.audit.format, progress=progress, design=design,
                max_usd=max_usd, max_requests=max_requests, reports=False,
            )  # fmt: skip
            run_small(execution)
            n_asked = execution.outcome.n_asked
    return Tried(run, trial, n_asked, effects_of(warehouse, run, trial))
