"""Cells that failed for now are asked again in further rounds, as long as rounds land answers and the card's time lasts."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptaudit.ask import meters
from promptaudit.ask import workers as asking
from promptaudit.ask.meters import RequestMeter
from promptaudit.engines import Answer
from promptaudit.engines.pacing import retry
from promptaudit.registry.cards import Price
from promptaudit.registry.errors import BudgetReached
from tests.support.http_audit import ask, have_judged, query, write_cards
from tests.support.openai_server import running_server

ONE_TRY = "{max_connections: 8, max_attempts: 1}"
N_CELLS = 20 * 3
FLAKY = {"status_500": 0.1, "status_429": 0.1, "reset": 0.05, "cut": 0.05}


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "FIRST_PAUSE_S", 0.02)
    monkeypatch.setattr(retry, "FIRST_WAIT_S", 0.01)
    monkeypatch.setenv("AUDIT_KEY", "sk-0123456789abcdef")


def test_a_flaky_provider_leaves_no_cell_without_an_answer(tmp_path: Path) -> None:
    warehouse, said = tmp_path / "audit.duckdb", list[str]()
    with running_server(rates=FLAKY) as server:
        asked = ask(warehouse, write_cards(tmp_path / "cards", server.base_url, limits=ONE_TRY), said=said)
    assert asked.n_landed == N_CELLS
    assert query(warehouse, "select count(*), count(completion) from raw.predictions") == [(N_CELLS, N_CELLS)]
    ((n_failed,),) = query(warehouse, "select count(*) from raw.attempts")
    assert n_failed > 0
    assert [line for line in said if "failed for now, asked again in 0.02 s" in line]


def test_a_judge_is_asked_again_too(tmp_path: Path) -> None:
    warehouse = tmp_path / "audit.duckdb"
    judges = "checker:\n  model: api\n  controls: {right: 1, wrong: 1}\n  max_unreadable_rate_at_first: 1\n"
    with running_server(
        unreadable=1, rates={"status_500": 0.3}
    ) as server:  # each ruling takes two asks, of which some fail
        cards = write_cards(
            tmp_path / "cards", server.base_url, limits=ONE_TRY, judges=judges, audit="  judges: [checker]\n"
        )
        ask(warehouse, cards)
        judged = have_judged(warehouse, cards)
        assert have_judged(warehouse, cards).n_landed == 0
    ((n_settled, n_failed),) = query(
        warehouse, "select (select count(*) from raw.verdicts where is_settled), (select count(*) from raw.attempts)"
    )
    assert judged.n_landed == n_settled > 20
    assert n_failed > 0


def test_what_the_budget_stops_is_not_said_to_be_asked_again(tmp_path: Path) -> None:
    said = list[str]()
    with running_server(rates={"status_500": 0.3}) as server:
        cards = write_cards(tmp_path / "cards", server.base_url, limits=ONE_TRY)
        with pytest.raises(BudgetReached):
            ask(tmp_path / "audit.duckdb", cards, max_requests=30, said=said)
    assert not [line for line in said if "asked again" in line]


def test_a_round_that_lands_nothing_is_the_last(tmp_path: Path) -> None:
    warehouse = tmp_path / "audit.duckdb"
    with running_server(rates={"status_500": 1.0}) as server:
        assert ask(warehouse, write_cards(tmp_path / "cards", server.base_url, limits=ONE_TRY)).n_landed == 0
        assert server.counters()["requests"] == N_CELLS


def test_a_cards_time_may_hold_no_second_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "FIRST_PAUSE_S", 61.0)
    warehouse = tmp_path / "audit.duckdb"
    with running_server(rates={"status_500": 0.3}) as server:
        cards = write_cards(tmp_path / "cards", server.base_url, limits=ONE_TRY, audit="  retry_within: 1m\n")
        assert 0 < ask(warehouse, cards).n_landed < N_CELLS
        assert server.counters()["requests"] == N_CELLS


def test_what_fails_leaves_the_price_known() -> None:
    meter = RequestMeter("m", 2, 0, Price(input_usd_per_mtok=1, output_usd_per_mtok=1))
    meter.count(Answer(attempts=()), None)
    meter.count(Answer(completion="yes", prompt_tokens=1_000_000, completion_tokens=0), None)
    assert meter.cost() == "1.0000 USD"


def test_a_slow_model_is_counted_by_the_minute_and_says_nothing_of_the_rest_before_it_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 100.0
    monkeypatch.setattr(meters.time, "monotonic", lambda: now)
    meter = RequestMeter("m", 61, 0, None)
    assert meter.line() == "m: 0/61 (0/s, 0.0000 USD)"
    for _ in range(2):
        meter.count(Answer(completion="yes"), None)
        now += 20.0
    assert meter.line() == "m: 2/61 (3/min, 1180 s left, price unknown)"
