"""Turns requests into answers: workers pull from the streamed plan, answers go to landing."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from flows.budget import Purse, most_usd
from flows.engines import Answer, Engine, LandedWithoutAnswer, Request, Served, open_engine
from flows.land import Landing, cost_of
from flows.look import Ceiling, Look
from flows.plan import Design, Variant, missing_requests, model_order
from flows.prices import price_of
from flows.rows import reader_json
from flows.warehouse import fetch, now
from models_registry.cards import ModelCard, Price
from models_registry.errors import EngineError, PromptauditError

OnAnswer = Callable[[str, Answer | None, Engine | None], None]
"""(model_id, answer, engine), for the progress bars: told of every answer, and of none now and then, so that what holds an
engine back shows while nothing comes. A batch has no engine to look at."""

TICK_S = 1.0


@dataclass(slots=True)
class Inferred:
    """What asking came to."""

    n_landed: int = 0
    notes: list[str] = field(default_factory=list)


def infer(purse: Purse, design: Design, variants: Sequence[Variant], on_answer: OnAnswer) -> Inferred:
    """Asks every missing cell of a run and lands the answers; returns how many, and what there is to say of the models.

    Raises BudgetReached, EngineError or MeasureError (the first answers are no labels) after landing what had been
    answered; so does an interrupt.
    """
    landing = Landing(purse.warehouse, purse.audit_run_id)
    asking = _Asking(purse, design, variants, landing, on_answer)

    async def ask_all() -> None:
        with _terminable():
            for names in model_order(design):
                async with asyncio.TaskGroup() as group:
                    for model_id in names:
                        group.create_task(asking.ask(model_id))
                # a model that perturbs another's answers reads them from the warehouse
                landing.flush()

    try:
        with _runner() as runner:
            runner.run(ask_all())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    except BaseExceptionGroup as several:
        raise _first(several) from None
    finally:
        landing.close()
    if asking.stopped_by is not None:
        raise asking.stopped_by
    return Inferred(landing.n_landed, asking.notes)


def _runner() -> asyncio.Runner:
    try:
        import uvloop
    except ImportError:
        return asyncio.Runner()
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    """SIGTERM ends the current task as Ctrl-C does.

    An exception that a signal handler raises is lost where it comes in a callback of the loop; Prefect has such a handler.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    if threading.current_thread() is not threading.main_thread() or task is None:
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    loop.add_signal_handler(signal.SIGTERM, task.cancel)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGTERM)
        signal.signal(signal.SIGTERM, before)


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    first: BaseException = group
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    return first


@dataclass(slots=True)
class _Model:
    """A model while it is asked."""

    model_id: str
    card: ModelCard
    price: Price | None
    look: Look
    ceiling: Ceiling = field(default_factory=Ceiling)
    longest: int = 0  # tokens of its longest answer


class _Asking:
    """Workers of all models. Once one must stop, none takes a new request and what is in flight is still landed."""

    def __init__(
        self,
        purse: Purse,
        design: Design,
        variants: Sequence[Variant],
        landing: Landing,
        on_answer: OnAnswer,
    ) -> None:
        self.warehouse, self.audit_run_id, self.budget = purse.warehouse, purse.audit_run_id, purse.budget
        self.design, self.variants = design, variants
        self.landing, self.on_answer, self.say = landing, on_answer, purse.say
        self.stopped_by: PromptauditError | None = None
        self.notes: list[str] = []
        self._asked: list[tuple[_Model, Engine]] = []
        tasks = {task_id: reader_json(card) for task_id, card in design.tasks.items()}
        self._readers = {v.prompt_variant_id: v.reader or tasks[v.task_id] for v in variants}

    async def ask(self, model_id: str) -> None:
        """One model's requests, by as many workers as its engine bears; the engine opens when there is one to ask."""
        streamed = self._missing(model_id)
        first = None if self.stopped_by else next(streamed, None)
        if first is None:
            return
        card = self.design.models[model_id]
        if card.engine == "batch":
            await self._ask_in_batches(model_id, card)
            return
        allowed = self.design.audit.format.max_invalid_rate_at_first
        model = _Model(model_id, card, price_of(card), Look(model_id, self._readers, allowed, self.say))
        landed = LandedAnswers(self.warehouse, self.audit_run_id)
        try:
            engine = open_engine(self.design.registry.entry("models", model_id), landed, self.budget.may_try, self.say)
        except PromptauditError as error:
            self._stop(error)
            return
        self._asked.append((model, engine))
        ticking = asyncio.create_task(self._tick(model_id, engine))
        try:
            await engine.open()
            self._land_served(model_id, card, engine.served)
            # a look before the bill: the others wait for the first
            await self._one(model, engine, first)
            ahead = _Ahead(streamed, engine.max_connections)
            async with asyncio.TaskGroup() as group:
                for _ in range(engine.max_connections):
                    group.create_task(self._work(model, engine, ahead))
        except PromptauditError as error:
            self._stop(error)
        finally:
            ticking.cancel()
            await engine.close()
        self._note(model_id, engine.notes)
        ceiling = model.ceiling.note()
        if ceiling is not None:
            self.notes.append(f"model '{model_id}': {ceiling}")

    async def _ask_in_batches(self, model_id: str, card: ModelCard) -> None:
        from flows.batches import Lent, ask_in_batches, open_batches

        price = price_of(card)
        set_aside: dict[str, float] = {}  # by prediction; what comes back without a result is still set aside

        def reserve(request: Request) -> None:
            if request.prediction_id not in set_aside:
                most = most_usd(request, card.sampling, price)
                self.budget.set_aside(most)
                set_aside[request.prediction_id] = most

        def take(request: Request, answer: Answer) -> None:
            usd = 0.0 if answer.completion is None else cost_of(answer, price)
            if request.prediction_id in set_aside:
                self.budget.release(set_aside.pop(request.prediction_id), usd)
            else:  # of a batch that an earlier process had handed over
                self.budget.spend(usd)
            self.landing.add(request, answer, price)
            self.on_answer(model_id, answer, None)

        lent = Lent(
            self.warehouse, self.audit_run_id, model_id, card, lambda: self._missing(model_id), reserve, take,
            self.landing.flush, self.say, lambda: self.stopped_by is not None,
        )  # fmt: skip
        try:
            batches = open_batches(card, self.warehouse)
            self._land_served(model_id, card, batches.served)
            try:
                await ask_in_batches(batches, lent)
            finally:
                await batches.close()
            self._note(model_id, batches.notes)
            for most in set_aside.values():  # no result ever came
                self.budget.release(most, 0.0)
        except PromptauditError as error:
            self._stop(error)

    def _missing(self, model_id: str) -> Iterator[Request]:
        return missing_requests(self.warehouse, self.audit_run_id, self.design, model_id, self.variants)

    async def _tick(self, model_id: str, engine: Engine) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            self.on_answer(model_id, None, engine)

    async def _work(self, model: _Model, engine: Engine, ahead: _Ahead) -> None:
        while self.stopped_by is None:
            try:
                request = ahead.take()
                if request is None:
                    return
                await self._one(model, engine, request)
            except PromptauditError as error:
                self._stop(error)

    async def _one(self, model: _Model, engine: Engine, request: Request) -> None:
        await model.look.admit()
        reserved = most_usd(request, model.card.sampling, model.price, model.longest)
        await self.budget.reserve(reserved)
        usd: float | None = 0.0  # what fails is not paid
        try:
            if self.stopped_by is not None:
                return
            answer = await engine.answer(request)
            if answer.completion is not None:
                usd = cost_of(answer, model.price)
        except EngineError as error:
            self.landing.add_attempts(request.prediction_id, error.attempts)
            raise
        finally:
            self.budget.settle(reserved, usd)
        self._take(model, engine, request, answer)

    def _take(self, model: _Model, engine: Engine, request: Request, answer: Answer) -> None:
        self.landing.add(request, answer, model.price)
        self.on_answer(model.model_id, answer, engine)
        model.longest = max(model.longest, answer.completion_tokens or 0)
        model.ceiling.see(request.messages, answer.prompt_tokens)
        model.look.see(request, answer)
        if not answer.is_landed:
            # a try that the budget had no room for must not pass for one that failed
            self.budget.refuse_out_of_requests()

    def _stop(self, error: PromptauditError) -> None:
        self.stopped_by = self.stopped_by or error
        for model, engine in self._asked:
            model.look.end()
            engine.give_up(str(error))

    def _note(self, model_id: str, notes: Sequence[str]) -> None:
        self.notes += [f"model '{model_id}' {note}" for note in notes]

    def _land_served(self, model_id: str, card: ModelCard, served: Served | None) -> None:
        if served is None:
            return
        row = {
            "audit_run_id": self.audit_run_id, "model_id": model_id, "opened_at": now(), "engine": card.engine,
            "endpoint": served.endpoint, "engine_version": served.engine_version, "served_model": served.served_model,
            "context_length": served.context_length,
        }  # fmt: skip
        self.landing.append("engines", row)


class _Ahead:
    """Some requests of the plan made ready while answers are awaited, so that a free connection is not kept waiting."""

    def __init__(self, streamed: Iterator[Request], n: int) -> None:
        self._streamed = streamed
        self._ready = deque(itertools.islice(streamed, n))
        self._loop = asyncio.get_running_loop()
        self._failure: Exception | None = None

    def take(self) -> Request | None:
        """The next request; None after the last. Raises what the plan raised."""
        if self._failure is not None:
            raise self._failure
        if not self._ready:  # of an engine that never waits
            return next(self._streamed, None)
        # in the loop's next round: those that are ready now go out first
        self._loop.call_soon(self._make_one_ready)
        return self._ready.popleft()

    def _make_one_ready(self) -> None:
        try:
            self._ready.extend(itertools.islice(self._streamed, 1))
        except Exception as error:  # noqa: BLE001 - a callback has nobody to raise it to; the next worker has
            self._failure = error


class LandedAnswers:
    """Completions that another model has landed in the same run, a prompt variant at a time."""

    def __init__(self, warehouse: Path, audit_run_id: str) -> None:
        self._warehouse, self._run = warehouse, audit_run_id
        self._held: tuple[str, str] | None = None
        self._completions: dict[tuple[str, int], str | None] = {}

    def __call__(self, model_id: str, request: Request) -> str | None:
        """The landed completion of the same cell by `model_id`; None where none has landed."""
        wanted = (model_id, request.prompt_variant_id)
        if wanted != self._held:
            rows = fetch(
                self._warehouse,
                "select sample_id, repetition, completion from raw.predictions where audit_run_id = ? "
                "and model_id = ? and prompt_variant_id = ?",
                [self._run, *wanted],
            )
            self._completions = {(row["sample_id"], row["repetition"]): row["completion"] for row in rows}
            self._held = wanted
        cell = (request.sample_id, request.repetition)
        if cell in self._completions and self._completions[cell] is None:
            raise LandedWithoutAnswer
        return self._completions.get(cell)
