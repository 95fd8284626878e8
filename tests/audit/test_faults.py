"""A server that fails three answers in ten loses nothing, and what was tried is on record."""

from __future__ import annotations

from pathlib import Path

import pytest

from models_registry.errors import EngineError
from tests.support.http_audit import ask, cells, opened, query, write_cards
from tests.support.openai_server import running_server

FAULTS = ("status_500", "status_429", "reset", "hang", "truncated")


@pytest.mark.slow
def test_30_percent_faults_and_every_cell_lands_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDIT_KEY", "sk-0123456789abcdef")
    monkeypatch.setattr("flows.engines.pacing.retry.FIRST_WAIT_S", 0.01)
    warehouse = tmp_path / "audit.duckdb"
    with running_server(rates=dict.fromkeys(FAULTS, 0.06)) as server:
        limits = "{max_connections: 32, timeout_s: 1, max_attempts: 30}"
        cards = write_cards(tmp_path / "cards", server.base_url, n_samples=100, variants=4, limits=limits)
        ask(warehouse, cards)
        counters = server.counters()
    assert cells(warehouse) == (400, 400)
    # an answer that was on its way when its second was over is the only one that may have been made twice
    assert 400 <= counters["by_outcome"]["answered"] <= 402
    n_faults = counters["requests"] - counters["by_outcome"]["answered"]
    assert n_faults > 60
    tries = dict(query(warehouse, "select coalesce(http_status, 0), count(*) from raw.attempts group by all"))
    assert sum(tries.values()) == counters["requests"] - 400
    assert tries[500] == counters["by_outcome"]["status_500"]
    assert tries[429] == counters["by_outcome"]["status_429"]
    n_attempts = query(warehouse, "select sum(n_attempts) from raw.predictions")[0][0]
    assert n_attempts == counters["requests"]


def test_a_wrong_key_stops_the_run_at_once_and_its_tries_land(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDIT_KEY", "sk-wrong-0123456789abcdef")
    warehouse = tmp_path / "audit.duckdb"
    with running_server(key="sk-right") as server:
        cards = write_cards(tmp_path / "cards", server.base_url)
        run, _ = opened(warehouse, cards)
        with pytest.raises(EngineError, match=r"HTTP 401: invalid_api_key.*its key is read from AUDIT_KEY") as caught:
            ask(warehouse, cards)
        assert server.counters()["requests"] == 1
    assert "sk-wrong" not in str(caught.value)
    rows = query(warehouse, "select http_status, error from raw.attempts where audit_run_id = ?", [run])
    assert [row[0] for row in rows] == [401]
    assert "sk-wrong" not in rows[0][1]
