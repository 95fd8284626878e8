"""The audit as a flow: the steps in order, nothing else. Each can run again and adds nothing it had added."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

from prefect import flow, task
from prefect.assets import Asset, AssetProperties, materialize
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.context import FlowRunContext
from prefect.states import Completed, Failed

from flows.audit.derive import Order, Outcome, Step, derive
from flows.audit.infer import infer
from flows.audit.judge import count_missing_rulings, judge
from flows.audit.meters import meters_of_judges, meters_of_models
from flows.audit.paraphrase import paraphrase
from flows.audit.plan import count_missing
from flows.display.progress import Progress
from flows.lineage.openlineage.assets import assets_of
from flows.warehouse import Warehouse
from models_registry.errors import MeasureError


def tracked(step: Callable[..., Any], warehouse: Warehouse) -> Callable[..., Any]:
    """The step as a Prefect task inside a flow run, as it is elsewhere; Prefect is away: the step goes on without it.

    A step that lands or publishes tables materializes them as assets.
    """
    if FlowRunContext.get() is None:
        return step

    def call(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - whatever the step takes and gives
        ended = Ended()
        as_task = _task(step.__name__, warehouse, lambda: ended.state_of(lambda: step(*arguments, **named)))
        with contextlib.suppress(Exception):
            as_task(return_state=True)
        return ended.result() if ended.has_run else step(*arguments, **named)

    return call


def _task(name: str, warehouse: Warehouse, work: Callable[[], Any]) -> Callable[..., Any]:
    made, needed = assets_of(name, warehouse)
    options: Any = {"name": name, "cache_policy": NO_CACHE, "persist_result": False}
    if not made:
        return task(**options)(work)
    assets = [Asset(key=key, properties=AssetProperties(name=shown)) for key, shown in made.items()]
    return materialize(*assets, by="promptaudit", asset_deps=list(needed), **options)(work)


class Ended:
    """How a piece of work ended, for whoever asked for it; Prefect is told whether, and the kind of an error.

    An error that Prefect sees it logs and pickles, and its words may be a provider's.
    """

    def __init__(self) -> None:
        self.has_run = False
        self._made: Any = None
        self._error: Exception | None = None

    def state_of(self, work: Callable[[], Any]) -> State[Any]:
        """Does the work; what Prefect is told of it."""
        try:
            self._made = work()
        except Exception as error:  # noqa: BLE001 - raised again by `result`
            self._error = error
        self.has_run = True
        return Completed() if self._error is None else Failed(message=type(self._error).__name__)

    def result(self) -> Any:  # noqa: ANN401 - whatever the work made
        """What the work made; raises what it raised."""
        if self._error is not None:
            raise self._error
        return self._made


@flow(name="audit", flow_run_name="{audit_id} {audit_run_id}", validate_parameters=False, persist_result=False)
def audit(audit_id: str, audit_run_id: str, work: Callable[[], State[Any]]) -> State[Any]:  # noqa: ARG001 - Prefect shows them
    """One execution of an audit; `work` is the steps, so that Prefect sees their names and nothing of their data."""
    return work()


class Remembered:
    """Steps that are done before Prefect can be told of them: it is told once its server answers."""

    def __init__(self) -> None:
        self._steps: list[tuple[str, Ended]] = []

    def step(self, step: Callable[..., Any]) -> Callable[..., Any]:
        """The step as it is, with how it ended kept under its name."""

        def call(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - whatever the step takes and gives
            ended = Ended()
            self._steps.append((step.__name__, ended))
            ended.state_of(lambda: step(*arguments, **named))
            return ended.result()

        return call

    def tell(self, step: Step) -> None:
        """Shows each step to whoever tracks them, in order, by its name and how it ended."""
        for name, ended in self._steps:

            def told(ended: Ended = ended) -> None:
                ended.result()

            told.__name__ = name
            with contextlib.suppress(Exception):
                step(told)()


def ask(order: Order, progress: Progress, step: Step) -> Outcome:
    """Paraphrase, infer and land; raises MeasureError where cells have no answer yet."""
    outcome = Outcome(audit_run_id=order.audit_run_id)
    warehouse, run = order.warehouse, order.audit_run_id
    progress.step("making prompt variants")
    made = step(paraphrase)(order.purse(progress.say), order.design, anew=order.rephrase, prompts=order.prompts)
    outcome.notes += made.notes
    meters = meters_of_models(order.design, made.variants, warehouse, run)
    with progress.asking("cells", meters) as on_answer:
        asked = step(infer)(order.purse(progress.say), order.design, made.variants, on_answer)
    outcome.n_asked = asked.n_landed
    outcome.notes += asked.notes
    n_missing = count_missing(warehouse, run, order.design, made.variants)
    if n_missing:
        msg = f"{n_missing} cells have no answer yet; the same command again asks only them"
        raise MeasureError(msg)
    return outcome


def run_steps(order: Order, progress: Progress, asked: Callable[[Step], Outcome] | None = None) -> Outcome:
    """Paraphrase, infer and land, then validate, judge, transform, publish and report.

    `asked` gives what the first steps made where they are done already.
    """
    step = functools.partial(tracked, warehouse=order.warehouse)
    outcome = ask(order, progress, step) if asked is None else asked(step)

    def have_judged() -> None:
        judged = step(judge)(
            order.purse(progress.say),
            order.design,
            lambda missing: progress.asking("rulings", meters_of_judges(order.design, missing)),
        )
        outcome.n_judged = judged.n_landed
        outcome.notes += judged.notes
        n_open = count_missing_rulings(order.warehouse, order.audit_run_id, order.design)
        if n_open:
            msg = f"{n_open} rulings have no verdict yet; `promptaudit run` asks only them"
            raise MeasureError(msg)

    judging = have_judged if order.design.judges else None
    # a trial shows its own figures: the report beside the published copy stays the audit's
    is_reported = order.design.origin == "run" and order.reports
    return derive(order.warehouse, outcome, order.design.audit.format, progress, step, judging, reports=is_reported)
