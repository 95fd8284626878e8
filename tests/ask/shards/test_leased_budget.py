"""A budget of leases: nothing is spent that was not lent, and who waits goes on once more is lent."""

from __future__ import annotations

import asyncio

import pytest

from promptaudit.ask.shards.leased_budget import LeasedBudget
from promptaudit.ask.shards.messages import Lease
from promptaudit.registry.errors import BudgetReached


async def spend(budget: LeasedBudget, usd: float) -> None:
    await budget.reserve(usd)
    budget.settle(usd, usd)


def test_nothing_is_spent_before_it_is_lent_and_who_waits_goes_on() -> None:
    async def run() -> None:
        budget = LeasedBudget(4)
        waiting = [asyncio.create_task(spend(budget, 0.5)) for _ in range(3)]
        await asyncio.sleep(0)
        assert budget.is_waiting
        assert budget.wanted(1.0) == (4, 2.0)
        budget.take(Lease(max_requests=2, max_usd=10))
        await asyncio.sleep(0.01)
        assert (budget.n_requests, budget.spent_usd, budget.is_waiting) == (2, 1.0, True)
        budget.take(Lease(max_requests=3, max_usd=10))
        await asyncio.gather(*waiting)
        assert (budget.n_requests, budget.is_waiting) == (3, False)

    asyncio.run(run())


def test_dollars_hold_a_request_back_as_requests_do() -> None:
    async def run() -> None:
        budget = LeasedBudget(1)
        budget.take(Lease(max_requests=None, max_usd=0.9))
        waiting = asyncio.create_task(spend(budget, 1.0))
        await asyncio.sleep(0.01)
        assert not waiting.done()
        budget.take(Lease(max_requests=None, max_usd=1.0))
        await waiting
        assert budget.spent_usd == pytest.approx(1.0)

    asyncio.run(run())


def test_the_budget_is_reached_once_nothing_more_will_be_lent() -> None:
    async def run() -> None:
        budget = LeasedBudget(1)
        budget.refuse_out_of_requests()  # nothing is left, and more may come
        waiting = asyncio.create_task(spend(budget, 0.0))
        await asyncio.sleep(0)
        budget.take(Lease(max_requests=0, max_usd=None, is_final=True))
        with pytest.raises(BudgetReached):
            await waiting
        with pytest.raises(BudgetReached):
            budget.refuse_out_of_requests()

    asyncio.run(run())


def test_who_waits_is_let_go_when_the_asking_ends() -> None:
    async def run() -> None:
        budget = LeasedBudget(1)
        budget.take(Lease(max_requests=0))
        waiting = asyncio.create_task(spend(budget, 0.0))
        await asyncio.sleep(0)
        budget.end()
        with pytest.raises(BudgetReached):
            await waiting

    asyncio.run(run())


def test_an_asker_asks_for_two_seconds_of_what_it_spends() -> None:
    budget = LeasedBudget(8)
    budget.n_requests = 300
    assert budget.wanted(1.0)[0] == 300 + 600
    assert budget.wanted(1.0)[0] == 300 + 480  # it spends less now


def test_what_rounding_takes_below_nothing_is_told_as_nothing_spent() -> None:
    budget = LeasedBudget(1)
    for usd in (0.3, -0.1, -0.2):
        budget.release(0.0, usd)
    assert budget.spent_usd < 0
    assert budget.spent == (0, 0.0)
    assert budget.wanted(1.0) == (1, 0.0)
