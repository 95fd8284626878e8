"""The audit as a flow: the steps in order, nothing else. Each can run again and adds nothing it had added."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.context import FlowRunContext

from flows.infer import infer
from flows.judge import count_missing_rulings, judge
from flows.paraphrase import paraphrase
from flows.plan import count_missing
from flows.progress import Progress, meters_of_judges, meters_of_models
from flows.steps import Order, Outcome, derive
from models_registry.errors import MeasureError


def tracked(step: Callable[..., Any]) -> Callable[..., Any]:
    """The step as a Prefect task inside a flow run, as it is elsewhere."""
    if FlowRunContext.get() is None:
        return step
    as_task: Callable[..., Any] = task(name=step.__name__, cache_policy=NO_CACHE, persist_result=False)(step)
    return as_task


@flow(name="audit", flow_run_name="{audit_id} {audit_run_id}", validate_parameters=False, persist_result=False)
def audit(audit_id: str, audit_run_id: str, work: Callable[[], Outcome]) -> Outcome:  # noqa: ARG001 - Prefect shows them
    """One execution of an audit; `work` is the steps, so that Prefect sees their names and nothing of their data."""
    return work()


def run_steps(order: Order, progress: Progress) -> Outcome:
    """Paraphrase, infer and land, then validate, judge, transform, publish and report."""
    outcome = Outcome(order.audit_run_id)
    warehouse, run = order.warehouse, order.audit_run_id
    progress.step("making prompt variants")
    made = tracked(paraphrase)(order.purse(progress.say), order.design, anew=order.rephrase, prompts=order.prompts)
    outcome.notes += made.notes
    meters = meters_of_models(order.design, made.variants, warehouse, run)
    with progress.asking("cells", meters) as on_answer:
        asked = tracked(infer)(order.purse(progress.say), order.design, made.variants, on_answer)
    outcome.n_asked = asked.n_landed
    outcome.notes += asked.notes
    n_missing = count_missing(warehouse, run, order.design, made.variants)
    if n_missing:
        msg = f"{n_missing} cells have no answer yet; `promptaudit run` asks only them"
        raise MeasureError(msg)

    def have_judged() -> None:
        judged = tracked(judge)(
            order.purse(progress.say),
            order.design,
            lambda missing: progress.asking("rulings", meters_of_judges(order.design, missing)),
        )
        outcome.n_judged = judged.n_landed
        outcome.notes += judged.notes
        n_open = count_missing_rulings(warehouse, run, order.design)
        if n_open:
            msg = f"{n_open} rulings have no verdict yet; `promptaudit run` asks only them"
            raise MeasureError(msg)

    return derive(warehouse, outcome, order.design.audit.format, progress, tracked, have_judged)
