"""Asks models: up to `max_connections` workers of an engine take requests from a stream, within the budget."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import itertools
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol

from promptaudit.ask.land import Landing
from promptaudit.engines import Answer, Engine, LandedAnswers, Request, Say, ServedModel, open_engine, silent
from promptaudit.plan.budget import Budget, Spending
from promptaudit.registry.cards import ModelCard, Price
from promptaudit.registry.errors import EngineError, PromptauditError
from promptaudit.registry.registry import Entry
from promptaudit.system.clock import now
from promptaudit.system.deadline import ended_by_sigterm

Batch = Callable[[], Awaitable[None]]
"""Asks the missing cells of one model, or some of them."""
AskBatch = Callable[[str, Batch], Awaitable[None]]
"""Runs a batch, given what is asked, as a model's id: directly, or as a step that a person can watch."""
OnAnswer = Callable[[str, Answer | None, Engine | None], None]
"""Moves the progress bars: takes a model's or judge's name, an answer and the engine.

It is called for every answer, and now and then with None, so that a throttled engine shows while no answer comes. A
batch has no engine to show.
"""

TICK_S, SLICE_S = 1.0, 0.2
FIRST_PAUSE_S, MOST_PAUSE_S = 2.0, 300.0
"""Sets how long the second round of a model's requests waits, and the longest wait; each is twice the one before."""
MOST_FAILED = 10_000
"""Bounds the requests of a model that a further round asks: they are kept in memory, and more are an outage."""


async def as_it_is(_asked: str, batch: Batch) -> None:
    """Runs a batch directly."""
    await batch()


class Work(Protocol):
    """Provides the requests for one model, and takes their answers."""

    name: str  # in bars, notes and raw.engines: the model's id, or its judge's
    what: str  # model or judge
    entry: Entry  # of the model's card
    requests: Iterator[Request]
    landed: LandedAnswers | None  # another model's landed answers, for a model that perturbs them

    async def admit(self) -> None:
        """Waits until one more request may be sent."""

    def take(self, request: Request, answer: Answer, price: Price | None) -> Request | None:
        """Lands an answer; returns a request that must follow it, else None.

        Raises PromptauditError if the run must stop.
        """

    def end(self) -> None:
        """Lets every waiting request pass, because the run stops."""

    def notes(self) -> Sequence[str]:
        """Lists notes for the end of the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskResult:
    """Counts the answers that landed, and holds notes on the models or judges that gave them."""

    n_landed: int = 0
    notes: tuple[str, ...] = ()


class Workers:
    """Runs the workers of all models.

    Once one must stop, none takes a new request; what is in flight is still landed.
    """

    def __init__(
        self,
        budget: Budget,
        landing: Landing,
        on_answer: OnAnswer,
        retry_within: timedelta,
        ask_batch: AskBatch = as_it_is,
        say: Say = silent,
    ) -> None:
        self.budget, self.landing, self.say = budget, landing, say
        self.ask_batch = ask_batch
        self._retry_within_s = retry_within.total_seconds()
        self.stopped_by: PromptauditError | None = None
        self.notes: list[str] = []
        self._on_answer = on_answer
        self._asked: list[tuple[Work, Engine]] = []
        self._parts: Mapping[str, float] = {}

    def run(self, asking: Coroutine[Any, Any, None]) -> AskResult:
        """Runs `asking` to its end and lands the answers; then raises the error that stopped the workers, if any."""
        try:
            run_to_end(asking)
        finally:
            self.landing.close()
        if self.stopped_by is not None:
            raise self.stopped_by
        return AskResult(n_landed=self.landing.n_landed, notes=tuple(self.notes))

    async def ask(self, work: Work) -> None:
        """Asks one model's requests; the engine opens when there is one to ask."""
        first = None if self.stopped_by else next(work.requests, None)
        if first is None:
            return
        try:
            engine = open_engine(work.entry, work.landed, self.budget.may_try, self.say)
        except PromptauditError as error:
            self.stop(error)
            return
        asking = _AskedModel(work, engine, self.budget)
        self._asked.append((work, engine))
        self.share(self._parts)
        ticking = asyncio.create_task(self._tick(work.name, engine))
        try:
            await engine.open()
            name = work.name if work.what == "model" else f"{work.what}:{work.name}"
            self.land_served(name, asking.card, engine.served)
            await self.ask_batch(work.name, lambda: self._batch(asking, first))
        except PromptauditError as error:
            self.stop(error)
        finally:
            ticking.cancel()
            await engine.close()
        self.note(work.what, work.name, [*engine.notes, *work.notes()])

    def _is_stopped(self) -> bool:
        return self.stopped_by is not None

    async def _batch(self, asking: _AskedModel, first: Request) -> None:
        # raises what stopped the run, so that a stopped batch does not pass for complete
        # the first request goes alone, so that its failure stops the others; a server of our own refuses none
        follow = await self._one(asking, first) if asking.engine.least == 1 else first
        await self._round(asking, asking.work.requests, follow)
        await self._ask_again(asking)
        if self.stopped_by is not None:
            raise self.stopped_by

    async def _round(self, asking: _AskedModel, requests: Iterator[Request], first: Request | None = None) -> None:
        ahead = _Ahead(requests, asking.engine.max_connections, first)
        async with asyncio.TaskGroup() as group:
            for _ in range(asking.engine.max_connections):
                group.create_task(self._work(asking, ahead))

    async def _ask_again(self, asking: _AskedModel) -> None:
        # in further rounds, as long as each lands answers and the card's `retry_within` lasts
        until, pause = time.monotonic() + self._retry_within_s, FIRST_PAUSE_S
        while not self._is_stopped() and asking.failed and asking.has_landed and time.monotonic() + pause < until:
            n_cells = f"{len(asking.failed)} cell{'s' * (len(asking.failed) > 1)}"
            self.say(f"{asking.work.what} '{asking.work.name}': {n_cells} failed for now, asked again in {pause:g} s")
            resumes_at = time.monotonic() + pause
            while (left := resumes_at - time.monotonic()) > 0:
                if self._is_stopped():
                    return
                await asyncio.sleep(min(left, TICK_S))
            again, asking.failed, asking.has_landed = asking.failed, [], False
            await self._round(asking, itertools.takewhile(lambda _: time.monotonic() < until, again))
            pause = min(2 * pause, MOST_PAUSE_S)

    def stop(self, error: PromptauditError) -> None:
        """Stops all workers from taking new requests."""
        self.stopped_by = self.stopped_by or error
        self.budget.end()
        for work, engine in self._asked:
            work.end()
            engine.give_up(str(error))

    def share(self, parts: Mapping[str, float]) -> None:
        """Keeps to parts, in (0, 1], of the models' limits a minute; a model without a part may use its whole limit."""
        self._parts = parts
        for work, engine in self._asked:
            engine.share(parts.get(work.name, 1.0))

    def note(self, what: str, name: str, notes: Sequence[str]) -> None:
        """Keeps notes on a model or a judge."""
        self.notes += [f"{what} '{name}' {note}" for note in notes]

    def land_served(self, name: str, card: ModelCard, served: ServedModel | None) -> None:
        """Lands what serves a model, as the server itself reports."""
        if served is None:
            return
        row = {
            "audit_run_id": self.landing.audit_run_id,
            "model_id": name,
            "opened_at": now(),
            "engine": card.engine,
            "endpoint": served.endpoint,
            "engine_version": served.engine_version,
            "served_model": served.served_model,
            "context_length": served.context_length,
            "weights_sha256": served.weights_sha256,
            "chat_template": served.chat_template,
        }
        self.landing.append("engines", row)

    async def _tick(self, name: str, engine: Engine) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            self._on_answer(name, None, engine)

    async def _work(self, asking: _AskedModel, ahead: _Ahead) -> None:
        follow = None
        while self.stopped_by is None:
            try:
                request = follow or ahead.take()
                if request is None:
                    return
                follow = await self._one(asking, request)
            except PromptauditError as error:
                self.stop(error)

    async def _one(self, asking: _AskedModel, request: Request) -> Request | None:
        work, engine = asking.work, asking.engine
        await work.admit()
        try:
            async with asking.spending.reserved(request) as answered:
                if self.stopped_by is not None:
                    return None
                answer = await engine.answer(request)
                answered(answer)
        except EngineError as error:
            self.landing.add_attempts(request.prediction_id, error.attempts)
            raise
        follow = work.take(request, answer, asking.spending.price)
        self._on_answer(work.name, answer, engine)
        if answer.is_landed:
            asking.has_landed = True
        else:
            if (
                answer.attempts and len(asking.failed) < MOST_FAILED
            ):  # without a try now, a further round has none either
                asking.failed.append(request)
            # a try that the budget had no room for must not pass for one that failed
            self.budget.refuse_out_of_requests()
        return follow


class _AskedModel:
    def __init__(self, work: Work, engine: Engine, budget: Budget) -> None:
        self.work, self.engine = work, engine
        self.card: ModelCard = work.entry.card  # type: ignore[assignment]
        self.spending = Spending(budget, self.card)
        self.failed: list[Request] = []  # for now, in this round
        self.has_landed = False  # anything, in this round


class _Ahead:
    # makes some requests ready while answers are awaited, so that a free connection is not kept waiting

    def __init__(self, streamed: Iterator[Request], n: int, first: Request | None = None) -> None:
        self._streamed = streamed
        self._ready = deque([] if first is None else [first])
        self._ready.extend(itertools.islice(streamed, n))
        self._loop = asyncio.get_running_loop()
        self._failure: Exception | None = None

    def take(self) -> Request | None:
        # None after the last; raises what the plan raised
        if self._failure is not None:
            raise self._failure
        if not self._ready:  # of an engine that never waits
            return next(self._streamed, None)
        # in the loop's next round: requests that are ready now go out first
        self._loop.call_soon(self._make_one_ready)
        return self._ready.popleft()

    def _make_one_ready(self) -> None:
        try:
            self._ready.extend(itertools.islice(self._streamed, 1))
        except Exception as error:  # noqa: BLE001 - a callback has no caller to raise it to; the next worker has
            self._failure = error


def run_to_end(work: Coroutine[Any, Any, None]) -> None:
    """Runs asking to its end. What interrupts this thread ends it first: Ctrl-C, SIGTERM, Prefect where a night is cancelled.

    The loop has a thread of its own: in this one, what a signal's handler raises would be lost where it comes in a callback.
    """
    begun: Future[Any] = Future()  # its task
    ended: Future[None] = Future()
    is_taken = threading.Lock()
    context = contextvars.copy_context()

    async def asked() -> None:
        begun.set_result(asyncio.current_task())
        await work

    def ask() -> None:
        if not is_taken.acquire(blocking=False):  # an interrupt came while the thread before started
            return
        try:
            with _runner() as runner:
                runner.run(asked(), context=context)
        except BaseException as error:  # noqa: BLE001 - raised in the other thread
            ended.set_exception(error)
        else:
            ended.set_result(None)

    def go_on() -> None:
        if not is_taken.locked():
            threading.Thread(target=ask, name="asking").start()

    with ended_by_sigterm():
        interrupts = _interrupts_until(ended, begun, go_on)
    failures = [each for each in (*interrupts, ended.exception()) if each is not None]
    if failures:
        raise _first(failures[0]) from None


def _interrupts_until(ended: Future[None], begun: Future[Any], go_on: Callable[[], None]) -> list[BaseException]:
    # what interrupted this thread until asking had ended; each one again ends what the task waits for meanwhile
    interrupts: list[BaseException] = []
    n_passed_on = 0
    while True:
        try:
            go_on()
            if begun.done() and n_passed_on < len(interrupts):
                n_passed_on = len(interrupts)
                with contextlib.suppress(RuntimeError):  # its loop is closed
                    begun.result().get_loop().call_soon_threadsafe(begun.result().cancel)
            # in slices: polars has a wait that SIGINT interrupts go on, and one without an end would not hear of it
            if wait([ended], SLICE_S).done:
                return interrupts
        except BaseException as error:
            if isinstance(error, Exception) and not begun.done():  # no interrupt: a thread that cannot be started
                raise
            interrupts.append(error)


def _runner() -> asyncio.Runner:
    try:
        import uvloop
    except ImportError:
        return asyncio.Runner()
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
