"""Tracks what a run may still spend: money is set aside before a request is sent, settled when its answer is there."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from promptaudit.cards.prices import paid_for, price_of, prompt_bytes, usd_of
from promptaudit.engines import Answer, Request, Say, silent
from promptaudit.registry.cards import Budget as Limits
from promptaudit.registry.cards import ModelCard, Price, Sampling
from promptaudit.registry.errors import BudgetReached
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.sql import sql

UNCAPPED_TOKENS = 4096  # set aside for the answer of a model whose card has no cap, or twice the longest so far


class Budget:
    """Tracks US dollars and requests of one run, failed tries, rephrasings and verdicts included; for one event loop.

    The amount set aside is the most a request can cost, so the limit in dollars is never crossed if a card caps its
    answers and the server counts tokens as it bills them. A failed try counts as unpaid; an answer without token counts
    stays at what was set aside for it, and is unknown to the next run. Batches that an earlier run sent count when they
    land.
    """

    def __init__(
        self, max_usd: float | None, max_requests: int | None, spent_usd: float = 0.0, n_requests: int = 0
    ) -> None:
        self.max_usd, self.max_requests = max_usd, max_requests
        self.spent_usd, self.n_requests = spent_usd, n_requests
        self._n_open = 0
        self._settled = asyncio.Event()

    async def reserve(self, usd: float) -> None:
        """Sets aside the most a request can cost, and waits for others to settle if the rest is too small.

        Raises BudgetReached when no other request is left that could settle.
        """
        while self._n_open and self._crosses_usd(usd) and not self._is_out_of_requests():
            self._settled.clear()
            await self._settled.wait()
        self.set_aside(usd)
        self._n_open += 1

    def set_aside(self, usd: float) -> None:
        """Sets an amount aside at once, for a request that may settle hours later, or raises BudgetReached."""
        self.refuse_out_of_requests()
        if self._crosses_usd(usd):
            raise self.reached(usd)
        self.n_requests += 1
        self.spent_usd += usd

    def settle(self, reserved_usd: float, usd: float | None) -> None:
        """Replaces a reserved amount by what was really spent; None keeps the reserved amount."""
        self._n_open -= 1
        self.release(reserved_usd, usd)

    def release(self, reserved_usd: float, usd: float | None) -> None:
        """Settles what was set aside, in the same way."""
        self.spent_usd += (reserved_usd if usd is None else usd) - reserved_usd
        self._settled.set()

    def spend(self, usd: float | None) -> None:
        """Counts a request that an earlier process sent and that is answered only now."""
        self.n_requests += 1
        self.spent_usd += usd or 0.0

    def may_try(self) -> bool:
        """Counts one more try of a request; False, and not counted, when that would cross the budget."""
        if self._is_out_of_requests():
            return False
        self.n_requests += 1
        return True

    def refuse_out_of_requests(self) -> None:
        """Raises BudgetReached when no request is left, not even a further try."""
        if self._is_out_of_requests():
            raise self.reached(0.0)

    def reached(self, usd: float) -> BudgetReached:
        """Makes the error that says that no further request fits which may cost so much."""
        if self._is_out_of_requests():
            return BudgetReached(
                f"{self.n_requests} requests made, the budget is {self.max_requests}; run again with more to continue"
            )
        return BudgetReached(
            f"{self.spent_usd:.4f} USD spent or set aside, the next request may cost {usd:.4f} and the budget is "
            f"{self.max_usd:g}; run again with more to continue"
        )

    @property
    def left(self) -> tuple[int | None, float | None]:
        """Computes how many requests and US dollars are neither spent nor set aside; None for what has no limit."""
        n_requests = None if self.max_requests is None else max(self.max_requests - self.n_requests, 0)
        return n_requests, None if self.max_usd is None else max(self.max_usd - self.spent_usd, 0.0)

    def end(self) -> None:
        """Releases every caller that waits for more of the budget. This one has no such callers, and does nothing."""

    def lend(self, n_requests: int, usd: float) -> None:
        """Sets aside what another process may spend; negative amounts are what it gives back."""
        self.n_requests += n_requests
        self.release(0.0, usd)

    def _is_out_of_requests(self) -> bool:
        return self.max_requests is not None and self.n_requests >= self.max_requests

    def _crosses_usd(self, usd: float) -> bool:
        return self.max_usd is not None and self.spent_usd + usd > self.max_usd


class Spending:
    """Sets aside the most that each request of one model can cost before it is sent, and settles it afterwards.

    A failed request costs nothing. An answer whose cost is unknown stays at what was set aside for it.
    """

    def __init__(self, budget: Budget, card: ModelCard) -> None:
        self.price = price_of(card)
        self._budget, self._sampling = budget, card.sampling
        self._longest = 0  # tokens of the longest answer
        self._set_aside: dict[str, float] = {}  # by request, of batches

    @contextlib.asynccontextmanager
    async def reserved(self, request: Request) -> AsyncIterator[Callable[[Answer], None]]:
        """Sets aside the most that a request can cost while it is asked; yields the function to call with its answer.

        Waits for other requests to settle; raises BudgetReached when none is left to.
        """
        most = self._most(request)
        usd: float | None = 0.0

        def answered(answer: Answer) -> None:
            nonlocal usd
            usd = paid_for(answer, self.price)
            self._longest = max(self._longest, answer.completion_tokens or 0)

        await self._budget.reserve(most)
        try:
            yield answered
        finally:
            self._budget.settle(most, usd)

    def set_aside(self, request: Request) -> None:
        """Sets aside the most that a request of a batch can cost, once; raises BudgetReached."""
        if request.prediction_id not in self._set_aside:
            most = self._most(request)
            self._budget.set_aside(most)
            self._set_aside[request.prediction_id] = most

    def settle(self, request: Request, answer: Answer) -> None:
        """Settles a request of a batch, also one that an earlier process had sent."""
        usd = paid_for(answer, self.price)
        if request.prediction_id in self._set_aside:
            self._budget.release(self._set_aside.pop(request.prediction_id), usd)
        else:
            self._budget.spend(usd)

    def release(self) -> None:
        """Frees what was set aside for requests of batches that never had a result."""
        for most in self._set_aside.values():
            self._budget.release(most, 0.0)

    def _most(self, request: Request) -> float:
        return most_usd(request, self._sampling, self.price, self._longest)


@dataclass(frozen=True, slots=True)
class Purse:
    """Bundles the run that is paid for, its warehouse, its budget, and the function that prints its progress."""

    warehouse: Warehouse
    audit_run_id: str
    budget: Budget
    say: Say = silent


def budget_of(
    warehouse: Warehouse,
    audit_run_id: str,
    limits: Limits,
    max_usd: float | None = None,
    max_requests: int | None = None,
) -> Budget:
    """Makes the budget of a run: the command's limits, else the card's, less what the run has spent."""
    spent = warehouse.read(sql("plan", "spent"), run=audit_run_id)[0]
    return Budget(
        limits.max_usd if max_usd is None else max_usd,
        limits.max_requests if max_requests is None else max_requests,
        spent["usd"],
        spent["n_requests"],
    )


def most_usd(request: Request, sampling: Sampling, price: Price | None, longest: int = 0) -> float:
    """Computes the most a request can cost, at a token a byte. `longest` is the longest answer so far, in tokens."""
    if price is None or not (price.input_usd_per_mtok or price.output_usd_per_mtok):
        return 0.0
    tokens_in = prompt_bytes(request.messages, request.answer_schema)
    tokens_out = sampling.token_cap or max(UNCAPPED_TOKENS, 2 * longest)
    return usd_of(price, tokens_in, tokens_out)
