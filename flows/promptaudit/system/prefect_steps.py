"""Makes a function a step: a task of Prefect inside a flow run, a plain function elsewhere.

A step takes what it is about first, then what the steps before it made: Prefect draws its graph from these. Nothing of either is
stored. Of an error Prefect is told the kind and the scrubbed words, and of one that is no error of ours the kind alone, since
its words may be anybody's. Prefect is imported by whoever begins a flow run, and not here.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, Protocol, TypeVar

from promptaudit.registry.errors import MeasureError, PromptauditError, WarehouseLocked
from promptaudit.system.scrub import one_line

Result = TypeVar("Result")
LONGEST_S = 6 * 3600.0
"""A step that asks nobody is stopped after that; how long a night may ask, its card says."""
PAUSES_S = (5.0, 30.0)
"""How long a step that found the warehouse locked by another program waits before it is taken again."""


class Asset(Protocol):
    """What a step made, by the key that Prefect knows it by, its name for people, and the keys of what it was made of."""

    @property
    def key(self) -> str:
        """Returns the key."""

    @property
    def name(self) -> str:
        """Returns the name."""

    @property
    def made_of(self) -> Sequence[str]:
        """Returns the keys of what it was made of."""


AssetsOf = Callable[[str, Any, float], Sequence[Asset]]
"""Returns what a step made: by its name, the warehouse, and since when, in seconds of `time.time`."""


class StepFailed(Exception):
    """What Prefect is told of an error: the scrubbed words of one of ours without what they quote, of others the kind."""

    def __init__(self, error: Exception) -> None:
        words = type(error).__name__
        if isinstance(error, PromptauditError):
            words = "; ".join(error.lines)
            for quoted in error.quotes:
                words = words.replace(quoted, "[a text]")
        super().__init__(one_line(words))
        self.error = error


@contextlib.contextmanager
def _told_as_step_failed() -> Iterator[None]:
    """Raises StepFailed in the place of any error inside."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - of one that is not ours the kind alone is told
        raise StepFailed(error) from None


def step(
    *, made: AssetsOf | None = None, derives: bool = False, again: bool = False, run_name: str | None = None
) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Returns a decorator that makes a function a step; it raises what the function raises.

    What it is about has a `warehouse` and a `progress`. A call takes `wait_for` too: what earlier steps made and this one does
    not take. `made` tells Prefect what a step made. One that `derives` asks nobody and is stopped after LONGEST_S. One that may
    be taken `again` waits where another program has the warehouse open. `run_name` may name parameters in braces.
    """

    def decorate(work: Callable[..., Result]) -> Callable[..., Result]:
        # it is made in the first flow run
        task = functools.cache(lambda: _as_task(work, made, run_name, derives=derives, again=again))
        return _taken_async(work, task) if inspect.iscoroutinefunction(work) else _taken(work, task)

    return decorate


def _taken(work: Callable[..., Result], task: Callable[[], Any]) -> Callable[..., Result]:
    """Returns what does the work as a task in a flow run, and as it is elsewhere."""

    @functools.wraps(work)
    def take(subject: object, /, *values: object, wait_for: Sequence[object] = (), **named: object) -> Result:
        if not is_in_flow_run():
            return work(subject, *values, **named)
        handed = inspect.signature(work).bind(subject, *values, **named).args
        try:
            made: StepResult[Result] = task()(*_unseen(*handed), wait_for=_made_by(*handed, *wait_for))
        except Exception as error:  # noqa: BLE001 - told apart there
            failure = _failure(work.__name__, error)
        else:
            return remembered(made)
        raise failure

    return take


def _taken_async(work: Callable[..., Any], task: Callable[[], Any]) -> Any:  # noqa: ANN401 - a coroutine function is its result
    """Returns what does the work of a coroutine function likewise."""

    @functools.wraps(work)
    async def take(subject: object, /, *values: object, wait_for: Sequence[object] = (), **named: object) -> Any:  # noqa: ANN401
        if not is_in_flow_run():
            return await work(subject, *values, **named)
        handed = inspect.signature(work).bind(subject, *values, **named).args
        try:
            made = await task()(*_unseen(*handed), wait_for=_made_by(*handed, *wait_for))
        except Exception as error:  # noqa: BLE001 - told apart there
            failure = _failure(work.__name__, error)
        else:
            return remembered(made)
        raise failure

    return take


def is_in_flow_run(name: str | None = None) -> bool:
    """Returns whether this code runs inside a flow run of Prefect, of a flow of that name."""
    context = _flow_run_context()
    return context is not None and (name is None or context.flow.name == name)


def flow_run_id() -> str | None:
    """Returns the id of the flow run that this code runs in; None elsewhere."""
    context = _flow_run_context()
    return None if context is None else str(context.flow_run.id)


def _flow_run_context() -> Any:  # noqa: ANN401 - Prefect's, where it is imported
    if "prefect.context" not in sys.modules:
        return None
    from prefect.context import FlowRunContext

    return FlowRunContext.get()


def _unseen(*values: object) -> list[object]:
    """Values that Prefect hands to a task without looking into them; texts as they are, since they name its run."""
    from prefect.utilities.annotations import quote

    return [value if isinstance(value, str) else quote(value) for value in values]


class StepResult(Generic[Result]):
    """A value that a step made, as Prefect has it: it draws an edge to whoever is handed this, and cannot look into it.

    Handed the value, it would look inside, and take an empty tuple in it for what another step made.
    """

    def __init__(self, value: Result) -> None:
        self.value = value


_results: dict[str, dict[int, StepResult[Any]]] = {}
"""By flow run, while that lasts, and by the identity of a value: how Prefect knows the value."""


def remembered(made: StepResult[Result]) -> Result:
    """Returns a value, for later steps of this flow run to be handed, so that Prefect draws an edge."""
    if (flow_run := flow_run_id()) is not None:
        _results.setdefault(flow_run, {})[id(made.value)] = made
    return made.value


def forget() -> None:
    """Lets go of what the steps of this flow run made, at its end."""
    _results.pop(flow_run_id() or "", None)


def _made_by(*values: object) -> list[StepResult[Any]]:
    """Returns those of these values that steps of this flow run made, as Prefect knows them."""
    of_run = _results.get(flow_run_id() or "", {})
    return [of_run[id(value)] for value in values if id(value) in of_run]


def _failure(name: str, error: Exception) -> Exception:
    """Returns what a step's work raised; MeasureError where it took too long, or Prefect could not show it."""
    if isinstance(error, StepFailed):
        return error.error
    if isinstance(error, TimeoutError):
        return MeasureError(f"{name} was stopped after {LONGEST_S / 3600:g} hours")
    return MeasureError(f"Prefect: {type(error).__name__} at {name}; what landed stays, and the same command goes on")


def _as_task(
    work: Callable[..., Any], made: AssetsOf | None, run_name: str | None, *, derives: bool, again: bool
) -> Any:  # noqa: ANN401 - Prefect's types differ between functions and coroutines
    from prefect import task
    from prefect.cache_policies import NO_CACHE

    # without tags: for each, Prefect asks its server for a place, in a queue of the process that an outage may leave waiting
    options: dict[str, Any] = {"cache_policy": NO_CACHE, "persist_result": False}
    if derives:
        options["timeout_seconds"] = LONGEST_S
    if again:
        options |= {"retries": len(PAUSES_S), "retry_delay_seconds": list(PAUSES_S), "retry_condition_fn": _is_locked}
    named = task(name=work.__name__, task_run_name=run_name or work.__name__, **options)

    if inspect.iscoroutinefunction(work):

        @functools.wraps(work)
        async def shown_async(subject: Any, /, *values: Any) -> Any:  # noqa: ANN401 - the step's own
            with _told_as_step_failed(), _assets_told(work.__name__, subject.warehouse, made):
                return StepResult(await work(subject, *values))

        return named(shown_async)

    @functools.wraps(work)
    def shown(subject: Any, /, *values: Any) -> Any:  # noqa: ANN401 - the step's own
        with _told_as_step_failed(), _heard(subject.progress), _assets_told(work.__name__, subject.warehouse, made):
            return StepResult(work(subject, *values))

    return named(shown)


def _is_locked(_task: object, _run: object, state: Any) -> bool:  # noqa: ANN401 - Prefect's
    return f"{WarehouseLocked.__name__}: " in (state.message or "")


@contextlib.contextmanager
def _heard(progress: Any) -> Iterator[None]:  # noqa: ANN401 - a Progress, whose room stands beside this one
    """Has what begins, in words of our own and ids alone, stand in the logs of the task."""
    from prefect.logging import get_run_logger

    before, progress.listener = progress.listener, get_run_logger().info
    try:
        yield
    finally:
        progress.listener = before


@contextlib.contextmanager
def _assets_told(name: str, warehouse: object, made: AssetsOf | None) -> Iterator[None]:
    """Has Prefect know, as assets of the task, what a step makes meanwhile."""
    since = time.time()
    yield
    if made is not None:
        with contextlib.suppress(Exception):  # what is shown of a step fails none
            _emit_assets(made(name, warehouse, since))


def _emit_assets(made: Sequence[Asset]) -> None:
    """Emits the events by which Prefect knows assets; its own `materialize` has all assets of a task made of the same."""
    from prefect.events import emit_event

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
