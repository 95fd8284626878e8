"""Turns requests into answers: workers pull from the streamed plan, answers go to landing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from flows.engines import Answer, Engine, Request, open_engine
from flows.land import Landing
from flows.plan import Design, Variant, missing_requests, model_order
from flows.prices import completion_tokens, price_of, prompt_tokens
from flows.warehouse import fetch
from models_registry.cards import Price
from models_registry.errors import BudgetReached

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


def infer(
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

    async def ask_all() -> None:
        for names in model_order(design):
            async with asyncio.TaskGroup() as group:
                for model_id in names:
                    requests = missing_requests(warehouse, audit_run_id, design, model_id, variants)
                    group.create_task(_ask(design, model_id, requests, landing, budget, on_answer, audit_run_id, warehouse))

    runner = _runner()
    try:
        with runner:
            runner.run(ask_all())
    except* (BudgetReached, Exception) as several:
        raise _first(several) from None
    finally:
        landing.flush()
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


async def _ask(  # noqa: PLR0913 - one model's share of a run
    design: Design,
    model_id: str,
    requests: Iterator[Request],
    landing: Landing,
    budget: Budget,
    on_answer: OnAnswer,
    audit_run_id: str,
    warehouse: Path,
) -> None:
    """One model's requests, by as many workers as its engine bears; the engine is opened when there is something to ask."""
    first = next(requests, None)
    if first is None:
        return
    card = design.models[model_id]
    price = price_of(card)
    landed = LandedAnswers(warehouse, audit_run_id)
    engine = open_engine(design.registry.entry("models", model_id), landed)
    streamed = _chained(first, requests)

    async def work() -> None:
        for request in streamed:
            estimate = _estimate(request, price, card.sampling.max_tokens, completion_tokens(card, request.labels))
            budget.reserve(estimate)
            answer = await engine.answer(request)
            before = landing.cost_usd
            landing.add(request, answer, price)
            budget.settle(estimate, landing.cost_usd - before)
            on_answer(model_id, answer)

    try:
        await _all_workers(work, engine)
    finally:
        await engine.close()


async def _all_workers(work: Callable[[], object], engine: Engine) -> None:
    async with asyncio.TaskGroup() as group:
        for _ in range(engine.max_connections):
            group.create_task(work())  # type: ignore[arg-type]


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
        self._completions: dict[tuple[str, int], str] = {}

    def __call__(self, model_id: str, request: Request) -> str | None:
        """The landed completion of the same cell by `model_id`; None where there is none."""
        wanted = (model_id, request.prompt_variant_id)
        if wanted != self._held:
            rows = fetch(
                self._warehouse,
                "select sample_id, repetition, completion from raw.predictions where audit_run_id = ? "
                "and model_id = ? and prompt_variant_id = ? and completion is not null",
                [self._run, *wanted],
            )
            self._completions = {(row["sample_id"], row["repetition"]): row["completion"] for row in rows}
            self._held = wanted
        return self._completions.get((request.sample_id, request.repetition))
