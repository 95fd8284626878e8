"""What an execution is asked to do, what it did, and its last steps, which need no answers any more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flows.audit.budget import Purse, budget_of
from flows.audit.design import Design
from flows.audit.runs import close_run
from flows.audit.validate import Validated, validate
from flows.comparison.compare import compare_again
from flows.display.progress import Progress
from flows.engines import Say
from flows.lineage.openlineage.tell import landed
from flows.marts.publish import publish
from flows.marts.transform import transform
from flows.warehouse import Warehouse
from models_registry.cards import FormatLimits
from models_registry.errors import MeasureError

Step = Callable[[Callable[..., Any]], Callable[..., Any]]
"""Wraps a step for whoever tracks it; the plain one runs it as it is."""


def plain(step: Callable[..., Any]) -> Callable[..., Any]:
    """The step itself."""
    return step


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What one execution is asked to do."""

    warehouse: Warehouse
    audit_run_id: str
    design: Design
    rephrase: bool = False
    prompts: Path | None = None
    max_usd: float | None = None
    max_requests: int | None = None
    reports: bool = True

    def purse(self, say: Say) -> Purse:
        """What the run may still spend now."""
        limits = self.design.audit.budget
        budget = budget_of(self.warehouse, self.audit_run_id, limits, self.max_usd, self.max_requests)
        return Purse(self.warehouse, self.audit_run_id, budget, say)


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What one execution did; its paths are None as long as nothing is published."""

    audit_run_id: str
    n_asked: int = 0
    n_judged: int = 0
    notes: list[str] = field(default_factory=list)
    validated: Validated | None = None
    published: Path | None = None
    report: Path | None = None


def derive(  # noqa: PLR0913 - what its steps need
    warehouse: Warehouse,
    outcome: Outcome,
    limits: FormatLimits,
    progress: Progress,
    step: Step = plain,
    judge: Callable[[], None] | None = None,
    *,
    reports: bool = True,
) -> Outcome:
    """Validate, judge, transform, publish and report a run whose answers have landed; judges see what passed the gate.

    Raises MeasureError when the format gate's policy is fail, or leaves nothing to measure: the last publication stays.
    """
    run = outcome.audit_run_id
    with warehouse.kept_open():
        landed(warehouse, run)
        progress.step("reading answers")
        step(transform)(warehouse, [run], "up_to_formats")
        progress.step("checking formats")
        outcome.validated = step(validate)(warehouse, run, limits)
        refuse_failed(warehouse, outcome)
    if judge is not None:
        judge()
    with warehouse.kept_open():
        landed(warehouse, run)
        close_run(warehouse, run, "complete")
        progress.step("deriving measures")
        step(transform)(warehouse, [run], "after_formats")
        compared = compare_again(warehouse, [run])
        progress.step("publishing")
        outcome.published = step(publish)(warehouse, [run], compared)
    if reports:
        from flows.report import report

        outcome.report = step(report)(warehouse, run)
    return outcome


def refuse_failed(warehouse: Warehouse, outcome: Outcome) -> None:
    """Closes a run that cannot be measured as failed, and says why."""
    found = outcome.validated
    if found is None:
        return
    is_empty = found.n_variants > 0 and found.n_quarantined == found.n_variants
    if found.action == "failed" or is_empty:
        close_run(warehouse, outcome.audit_run_id, "failed")
        kept = warehouse.published.path
        stays = f"; {kept} stays as it was" if kept.exists() else ""
        why = "every prompt variant is quarantined" if is_empty else "the format gate failed"
        msg = f"{why}: {found.failures[0]} ({len(found.failures)} in all){stays}"
        raise MeasureError(msg)
