"""Budgets are never crossed, and more of one goes on where the last stopped."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from promptaudit.plan.budget import Budget, most_usd
from promptaudit.registry.cards import Price, Sampling
from promptaudit.registry.errors import BudgetReached, EngineError
from tests.support.engine_requests import request_of
from tests.support.http_audit import ask, cells, opened, query, write_cards
from tests.support.openai_server import RunningServer, running_server


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with running_server(rates={"status_500": 0.1, "status_429": 0.05}) as running:
        yield running


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDIT_KEY", "sk-0123456789abcdef")
    monkeypatch.setattr("promptaudit.engines.pacing.retry.FIRST_WAIT_S", 0.001)


def landed(warehouse: Path) -> list[tuple[object, ...]]:
    """What a run landed, but for what differs from one asking to the next."""
    text = "select prompt_variant_id, sample_id, repetition, completion, cost_usd from raw.predictions order by all"
    return query(warehouse, text)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("n_budgets", [2, pytest.param(100, marks=pytest.mark.soak)])
def test_random_budgets_are_never_crossed_and_end_where_an_unbudgeted_run_does(
    tmp_path: Path, server: RunningServer, n_budgets: int
) -> None:
    cards = write_cards(tmp_path / "cards", server.base_url, n_samples=8, variants=3, limits="{max_connections: 8}")
    ask(tmp_path / "free.duckdb", cards)
    expected = landed(tmp_path / "free.duckdb")
    total_usd = sum(row[-1] for row in expected)
    dice = random.Random(n_budgets)
    for number in range(n_budgets):
        warehouse = tmp_path / f"{number}.duckdb"
        run, _ = opened(warehouse, cards)
        server.reset()
        is_usd = number % 2 == 0
        limit = dice.uniform(0, 1.1 * total_usd) if is_usd else dice.randrange(0, 40)
        try:
            ask(warehouse, cards, **{"max_usd" if is_usd else "max_requests": limit})
            is_reached = False
        except BudgetReached:
            is_reached = True
        spent = query(warehouse, "select coalesce(sum(cost_usd), 0) from raw.predictions")[0][0]
        n_asked = server.counters()["requests"]
        assert spent <= limit + 1e-12 if is_usd else n_asked <= limit
        assert is_reached == (cells(warehouse)[0] < len(expected))
        if is_usd and is_reached:
            # what is left would not have borne one more request at its dearest
            assert limit - spent < 0.001
        tried = query(
            warehouse,
            "select (select count(*) from raw.predictions) + (select count(*) from raw.attempts where audit_run_id = ?)",
            [run],
        )
        assert tried == [(n_asked,)]
        ask(warehouse, cards)
        assert landed(warehouse) == expected


def test_a_dollar_budget_waits_for_what_is_in_flight(tmp_path: Path) -> None:
    with running_server(latency_s=0.05) as server:
        cards = write_cards(
            tmp_path / "cards", server.base_url, n_samples=10, variants=2, limits="{max_connections: 8}"
        )
        # a request costs .00002 to .0001 USD and at most .0005: eight at once do not fit, one after another all do
        ask(tmp_path / "audit.duckdb", cards, max_usd=0.0025)
    assert cells(tmp_path / "audit.duckdb") == (20, 20)


def test_most_is_a_byte_a_token_and_the_cap() -> None:
    request = request_of("é" * 10, prompt="")
    price = Price(input_usd_per_mtok=1, output_usd_per_mtok=10)
    # 20 bytes and 32 about the message, 16 tokens of answer
    assert most_usd(request, Sampling(max_tokens=16), price) == pytest.approx((20 + 32 + 16 * 10) / 1e6)
    assert most_usd(request, Sampling(max_completion_tokens=16), price) == pytest.approx((20 + 32 + 160) / 1e6)
    assert most_usd(request, Sampling(), price) == pytest.approx((52 + 40960) / 1e6)
    assert most_usd(request, Sampling(), price, longest=5000) == pytest.approx((52 + 100_000) / 1e6)
    assert most_usd(request, Sampling(), Price(input_usd_per_mtok=0, output_usd_per_mtok=0)) == 0
    assert most_usd(request, Sampling(), None) == 0


def test_a_try_counts_as_a_request() -> None:
    budget = Budget(None, 3, n_requests=1)
    budget.set_aside(0)
    assert budget.may_try()
    assert not budget.may_try()
    with pytest.raises(BudgetReached, match="3 requests made, the budget is 3"):
        budget.set_aside(0)


def test_what_batches_set_aside_keeps_nobody_waiting() -> None:
    async def asked() -> None:
        budget = Budget(10, None)
        budget.set_aside(9)
        with pytest.raises(BudgetReached, match=r"9\.0000 USD spent or set aside"):
            await asyncio.wait_for(budget.reserve(2), 1)
        budget.release(9, 1)
        await asyncio.wait_for(budget.reserve(2), 1)

    asyncio.run(asked())


def test_two_models_of_one_budget_stop_together(tmp_path: Path) -> None:
    """One has a wrong key while the other waits for money: nobody waits for ever, and what is in flight lands."""
    with running_server(latency_s=0.1) as server, running_server(key="another") as strict:
        model = f"other: {{engine: openai_api, model: m, base_url: {strict.base_url}, api_key_env: AUDIT_KEY, price: free}}\n"
        cards = write_cards(
            tmp_path / "cards", server.base_url, n_samples=100, model=model, limits="{max_connections: 64}"
        )
        path = cards / "audits/asked.yml"
        path.write_text(path.read_text().replace("models: [api]", "models: [api, other]"))
        with pytest.raises(EngineError, match="HTTP 401"):
            ask(tmp_path / "audit.duckdb", cards, max_usd=0.01)
    assert 0 < cells(tmp_path / "audit.duckdb")[0] < 100
