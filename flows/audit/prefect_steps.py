"""What makes steps harmless to show: Prefect hears how each ended and the kind of an error, and its outage stops none.

An error that Prefect sees it logs and pickles, and its words may be a provider's. So a step is a task whose function returns
a state, and whose work, result and error stay in this process.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, Protocol, TypeVar

from prefect import Task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.context import FlowRunContext, TaskRunContext
from prefect.events import emit_event
from prefect.logging import get_run_logger
from prefect.states import Completed, Failed

from flows.audit.ask import AskBatch, Batch
from flows.display.progress import Progress
from flows.lineage.openlineage.assets import AssetMade, assets_of
from flows.warehouse import Warehouse
from models_registry.errors import MeasureError, WarehouseLocked

STEP: dict[str, Any] = {"cache_policy": NO_CACHE, "persist_result": False}
"""Without tags: for each, Prefect asks its server for a place, in a queue of the process that an outage may leave waiting."""
DERIVES: dict[str, Any] = {"timeout_seconds": 6 * 3600.0}
"""A step that asks nobody is stopped after that; how long a night may ask, its card says."""
AGAIN: dict[str, Any] = {
    "retries": 2,
    "retry_delay_seconds": [5.0, 30.0],
    "retry_condition_fn": lambda _task, _run, state: state.message == WarehouseLocked.__name__,
}
"""A step that may be taken again, since it makes the same: where another program had the warehouse open."""
Key = tuple[str, ...]


class StepSubject(Protocol):
    """What steps are taken of: an execution of a run, or what of a night follows it."""

    @property
    def warehouse(self) -> Warehouse:
        """Returns the warehouse that the steps work on."""

    @property
    def audit_run_id(self) -> str:
        """Returns the run that the steps are about."""

    @property
    def progress(self) -> Progress:
        """Returns where the steps say what begins."""


Work = TypeVar("Work", bound=StepSubject)


class StepOutcome:
    """How a piece of work ended, for whoever asked for it."""

    def __init__(self) -> None:
        self.error: Exception | None = None
        """What the work raised."""

    def do(self, work: Callable[[], object]) -> StepOutcome:
        """Does the work, and keeps what it raised."""
        try:
            work()
        except Exception as error:  # noqa: BLE001 - raised again by `settle`
            self.error = error
        return self

    async def do_async(self, work: Batch) -> StepOutcome:
        """Does the work likewise."""
        try:
            await work()
        except Exception as error:  # noqa: BLE001 - raised again by `settle`
            self.error = error
        return self

    @property
    def state(self) -> State[Any]:
        """Returns what Prefect is told."""
        return Completed() if self.error is None else Failed(message=type(self.error).__name__)

    def settle(self) -> None:
        """Raises what the work raised."""
        if self.error is not None:
            raise self.error


class Steps(Generic[Work]):
    """Takes the steps of a piece of work, each after the one before: as Prefect's tasks in a flow run, as they are elsewhere."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.is_ahead = False
        """Whether steps are taken before Prefect can be told: it hears of them once a flow run takes them again."""
        self.whole: StepOutcome | None = None
        self._taken: dict[Key, StepOutcome] = {}
        self._ahead: dict[Key, StepOutcome] = {}
        self._batches: dict[Key, Batch] = {}
        self._last: list[State[Any]] = []

    def run(self, step: Task[..., Any], *parameters: str) -> None:
        """Takes a step; raises what its work raises, MeasureError where it took too long."""
        key, state = (step.name, *parameters), None
        if FlowRunContext.get() is not None:
            with contextlib.suppress(Exception):
                state = step(self._run, *parameters, return_state=True, wait_for=self._last)
                if state.is_completed():  # of another, Prefect would take no later step
                    self._last = [state]
        if state is not None and state.name == "TimedOut":
            msg = f"{' '.join(key)} was stopped: {state.message}"
            raise MeasureError(msg)
        if key not in self._taken:
            step.fn(self._run, *parameters)
        ended = self._taken.pop(key)
        if self.is_ahead:
            self._ahead[key] = ended
        ended.settle()

    def run_batches(self, step: Task[..., Any], work: Callable[[AskBatch], None]) -> None:
        """Takes a step that asks in batches, each a task; `work` hands them out. Raises what the work raises."""
        before, self._last = self._last, []

        async def ask_batch(model_id: str, strategy: str, batch: Batch) -> None:
            key = (step.name, model_id, strategy)
            self._batches[key] = batch
            await self._show(step, key, before)
            if key not in self._taken:
                await step.fn(self._run, model_id, strategy)
            ended = self._taken.pop(key)
            if self.is_ahead:
                self._ahead[key] = ended
            ended.settle()

        async def show_all(keys: list[Key]) -> None:
            await asyncio.gather(*(self._show(step, key, before) for key in keys))

        whole = self._ahead.pop((step.name,), None)
        if whole is None:
            whole = StepOutcome().do(lambda: work(ask_batch))
        else:
            asyncio.run(show_all([key for key in self._ahead if key[0] == step.name]))
        if self.is_ahead:
            self._ahead[step.name,] = whole
        self._last = self._last or before
        whole.settle()

    async def _show(self, step: Task[..., Any], key: Key, before: list[State[Any]]) -> None:
        """Has Prefect run a batch's task, where it is there."""
        if FlowRunContext.get() is not None:
            with contextlib.suppress(Exception):
                state = await step(self._run, *key[1:], return_state=True, wait_for=before)
                if state.is_completed():
                    self._last.append(state)

    def end_of(self, key: Key, do: Callable[[Work], None]) -> State[Any]:
        """Does a step's work, unless that was done ahead; returns what Prefect is told of it."""
        with self._heard(), self._assets_told(key):
            ended = self._ahead.pop(key, None) or StepOutcome().do(lambda: do(self.work))
            self._taken[key] = ended
        return ended.state

    async def end_of_batch(self, key: Key) -> State[Any]:
        """Asks a batch likewise."""
        with self._assets_told(key):
            ended = self._ahead.pop(key, None) or await StepOutcome().do_async(self._batches.pop(key))
            self._taken[key] = ended
        return ended.state

    @property
    def _run(self) -> str:
        return self.work.audit_run_id

    @contextlib.contextmanager
    def _assets_told(self, key: Key) -> Iterator[None]:
        """Has Prefect know, as assets of the task, what a step makes meanwhile; nothing of one that was taken ahead."""
        is_told, since = TaskRunContext.get() is not None and key not in self._ahead, time.time()
        yield
        if is_told and self._taken[key].error is None:
            with contextlib.suppress(Exception):  # what is shown of a step fails none
                _emit_assets(assets_of(key[0], self.work.warehouse, since))

    @contextlib.contextmanager
    def _heard(self) -> Iterator[None]:
        """Has what begins, in words of our own and ids alone, stand in the logs of the task."""
        progress = self.work.progress
        if TaskRunContext.get() is None:
            yield
            return
        before, progress.listener = progress.listener, get_run_logger().info
        try:
            yield
        finally:
            progress.listener = before


def _emit_assets(made: Sequence[AssetMade]) -> None:
    """Emits the events by which Prefect knows assets; its own `materialize` has all assets of a task made of the same."""
    for key in sorted({key for asset in made for key in asset.made_of} - {asset.key for asset in made}):
        emit_event(event="prefect.asset.referenced", resource={"prefect.resource.id": key})
    for asset in made:
        emit_event(
            event="prefect.asset.materialization.succeeded",
            resource={"prefect.resource.id": asset.key, "prefect.resource.name": asset.name},
            related=[
                *({"prefect.resource.id": key, "prefect.resource.role": "asset"} for key in asset.made_of),
                {"prefect.resource.id": "promptaudit", "prefect.resource.role": "asset-materialized-by"},
            ],
        )


_at_hand: dict[str, Steps[Any]] = {}


@contextlib.contextmanager
def kept_at_hand(steps: Steps[Work]) -> Iterator[Steps[Work]]:
    """Keeps a piece of work where the tasks of its run find it: they are told the run's id alone."""
    run = steps.work.audit_run_id
    _at_hand[run] = steps
    try:
        yield steps
    finally:
        del _at_hand[run]


def at_hand(audit_run_id: str | None) -> Steps[Any] | None:
    """Returns what is at hand of a run in this process."""
    return None if audit_run_id is None else _at_hand.get(audit_run_id)


def end_of(name: str, audit_run_id: str, do: Callable[[Any], None], *parameters: str) -> State[Any]:
    """Does the work of a step of a run that is at hand; returns what Prefect is told of it."""
    return _at_hand[audit_run_id].end_of((name, *parameters), do)


async def end_of_batch(name: str, audit_run_id: str, *parameters: str) -> State[Any]:
    """Asks a batch of a run that is at hand; returns what Prefect is told of it."""
    return await _at_hand[audit_run_id].end_of_batch((name, *parameters))
