"""What a rephraser's model was asked is landed, counted in the budget, and never asked twice."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from promptaudit.registry.errors import BudgetReached, EngineError
from tests.support.http_audit import ask, query, write_cards
from tests.support.openai_server import running_server

ASKED = "select count(*), count(completion), min(cost_usd) > 0, min(prompt_tokens) > 0 from raw.rephrasings"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDIT_KEY", "sk-0123456789abcdef")
    monkeypatch.setattr("promptaudit.engines.pacing.retry.FIRST_WAIT_S", 0.001)


def cards_of(folder: Path, url: str, *, limits: str = "{max_connections: 4, max_attempts: 2}") -> Path:
    cards = write_cards(folder, url, n_samples=2, limits=limits)
    (cards / "rephrasers").mkdir()
    (cards / "rephrasers/asked.yml").write_text("asked: {kind: model, model: api}\n")
    path = cards / "audits/asked.yml"
    path.write_text(path.read_text().replace("{rephraser: rules, variants: 3}", "{rephraser: asked, variants: 4}"))
    return cards


def test_a_rephrasing_lands_and_is_answered_from_there(tmp_path: Path) -> None:
    warehouse = tmp_path / "audit.duckdb"
    with running_server() as server:
        cards = cards_of(tmp_path / "cards", server.base_url)
        ask(warehouse, cards)
        ((n_asked, n_answered, has_cost, has_tokens),) = query(warehouse, ASKED)
        assert n_asked == n_answered == server.counters()["requests"] - 8 >= 1
        assert (has_cost, has_tokens) == (True, True)
        variants = query(warehouse, "select prompt_variant_id from raw.prompt_variants order by all")
        # as if the run had been killed before its wordings landed
        with duckdb.connect(str(warehouse)) as con:
            con.execute("delete from raw.prompt_variants")
        before = server.counters()["requests"]
        ask(warehouse, cards)
        assert server.counters()["requests"] == before
    assert query(warehouse, "select prompt_variant_id from raw.prompt_variants order by all") == variants


def test_the_budget_stops_before_the_first_rephrasing(tmp_path: Path) -> None:
    with running_server() as server:
        cards = cards_of(tmp_path / "cards", server.base_url)
        with pytest.raises(BudgetReached, match="0 requests made, the budget is 0"):
            ask(tmp_path / "audit.duckdb", cards, max_requests=0)
        with pytest.raises(BudgetReached, match="the next request may cost"):
            ask(tmp_path / "audit.duckdb", cards, max_usd=0.0001)
        assert server.counters()["requests"] == 0


def test_a_rephraser_that_fails_for_now_leaves_nothing_for_later_nights(tmp_path: Path) -> None:
    warehouse = tmp_path / "audit.duckdb"
    with running_server(first={"status_500": 2}) as server:
        cards = cards_of(tmp_path / "cards", server.base_url)
        with pytest.raises(EngineError, match="'api' does not answer for now; run again to continue"):
            ask(warehouse, cards)
        assert query(warehouse, "select (select count(*) from raw.prompt_variants), count(*) from raw.attempts") == [
            (0, 2)
        ]
        ask(warehouse, cards)
    assert query(warehouse, "select count(*) from raw.prompt_variants") == [(4,)]
    assert query(warehouse, "select count(*) from raw.predictions")[0][0] <= 8
