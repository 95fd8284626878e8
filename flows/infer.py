"""Turns requests into answers: workers pull from the streamed plan, answers go to landing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from flows.engines import Answer, Engine, LandedWithoutAnswer, Request, open_engine
from flows.land import Landing, cost_of
from flows.plan import Design, Variant, missing_requests, model_order
from flows.prices import completion_tokens, price_of, prompt_tokens
from flows.warehouse import fetch
from models_registry.cards import Price
from models_registry.errors import BudgetReached, PromptauditError

OnAnswer = Callable[[str, Answer], None]
"""(model_id, answer): told of every answer, for the progress bars."""


class Budget:
    """What a run may still spend; asks before, settles after."""

    def __init__(self, max_usd: float | None, max_requests: int | None, spent_usd: float, n_requests: int) -> None:
        self.max_usd, self.max_requests = max_usd, max_requests
        self.spent_usd, self.n_requests = spent_usd, n_requests

    def reserve(self, usd: float) -> None:
        """Sets an estimate aside; raises BudgetReached when it would cross."""
        if self.max_requests is not None and self.n_requests + 1 > self.max_requests:
            msg = f"{self.n_requests} requests made, the budget is {self.max_requests}; run again with more to continue"
            raise BudgetReached(msg)
        if self.max_usd is not None and self.spent_usd + usd > self.max_usd:
            msg = f"{self.spent_usd:.4f} USD spent, the budget is {self.max_usd:g}; run again with more to continue"
            raise BudgetReached(msg)
        self.n_requests += 1
        self.spent_usd += usd

    def settle(self, estimated_usd: float, usd: float | None) -> None:
        """Puts what was really spent in place of the estimate."""
        self.spent_usd += (estimated_usd if usd is None else usd) - estimated_usd


def infer(  # noqa: PLR0913 - a run, and where it must stop
    warehouse: Path,
    audit_run_id: str,
    design: Design,
    variants: Sequence[Variant],
    on_answer: OnAnswer,
    *,
    max_usd: float | None = None,
    max_requests: int | None = None,
) -> Landing:
    """Asks every missing cell of a run and lands the answers; returns what was landed.

    Raises BudgetReached or EngineError after landing what had been answered; so does an interrupt.
    """
    spent = fetch(
        warehouse,
        "select coalesce(sum(cost_usd), 0) as usd, count(*) as n from raw.predictions where audit_run_id = ?",
        [audit_run_id],
    )[0]
    limits = design.audit.budget
    budget = Budget(
        limits.max_usd if max_usd is None else max_usd,
        limits.max_requests if max_requests is None else max_requests,
        spent["usd"],
        spent["n"],
    )
    landing = Landing(warehouse, audit_run_id)
    asking = _Asking(warehouse, audit_run_id, design, landing, budget, on_answer)

    async def ask_all() -> None:
        for names in model_order(design):
            async with asyncio.TaskGroup() as group:
                for model_id in names:
                    requests = missing_requests(warehouse, audit_run_id, design, model_id, variants)
                    group.create_task(asking.ask(model_id, requests))
            # a model that perturbs another's answers reads them from the warehouse
            landing.flush()

    try:
        with _runner() as runner:
            runner.run(ask_all())
    except BaseExceptionGroup as several:
        raise _first(several) from None
    finally:
        landing.flush()
    if asking.stopped_by is not None:
        raise asking.stopped_by
    return landing


def _runner() -> asyncio.Runner:
    try:
        import uvloop
    except ImportError:
        return asyncio.Runner()
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    first: BaseException = group
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    return first


class _Asking:
    """Workers of all models. Once one must stop, none takes a new request and what is in flight is still landed."""

    def __init__(  # noqa: PLR0913 - what workers share
        self,
        warehouse: Path,
        audit_run_id: str,
        design: Design,
        landing: Landing,
        budget: Budget,
        on_answer: OnAnswer,
    ) -> None:
        self.warehouse, self.audit_run_id, self.design = warehouse, audit_run_id, design
        self.landing, self.budget, self.on_answer = landing, budget, on_answer
        self.stopped_by: PromptauditError | None = None

    async def ask(self, model_id: str, requests: Iterator[Request]) -> None:
        """One model's requests, by as many workers as its engine bears; the engine opens when there is one to ask."""
        first = None if self.stopped_by else next(requests, None)
        if first is None:
            return
        landed = LandedAnswers(self.warehouse, self.audit_run_id)
        engine = open_engine(self.design.registry.entry("models", model_id), landed)
        streamed = _chained(first, requests)
        price = price_of(self.design.models[model_id])
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(engine.max_connections):
                    group.create_task(self._work(model_id, engine, streamed, price))
        finally:
            await engine.close()

    async def _work(self, model_id: str, engine: Engine, streamed: Iterator[Request], price: Price | None) -> None:
        card = self.design.models[model_id]
        for request in streamed:
            if self.stopped_by is not None:
                return
            try:
                estimate = _estimate(request, price, card.sampling.token_cap, completion_tokens(card, request.labels))
                self.budget.reserve(estimate)
                answer = await engine.answer(request)
            except PromptauditError as error:
                self.stopped_by = self.stopped_by or error
                return
            self.budget.settle(estimate, cost_of(answer, price))
            self.landing.add(request, answer, price)
            self.on_answer(model_id, answer)


def _chained(first: Request, rest: Iterator[Request]) -> Iterator[Request]:
    yield first
    yield from rest


def _estimate(request: Request, price: Price | None, cap: int | None, answer_tokens: int) -> float:
    if price is None:
        return 0.0
    tokens_in, tokens_out = prompt_tokens(request.messages), cap or answer_tokens
    return (tokens_in * price.input_usd_per_mtok + tokens_out * price.output_usd_per_mtok) / 1e6


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
