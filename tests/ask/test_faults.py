"""A server that fails three answers in ten loses nothing, and what was tried is on record."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptaudit.audit import steps
from promptaudit.audit.steps import AuditRun
from promptaudit.registry.errors import EngineError, MeasureError
from promptaudit.system.display.progress import Progress
from promptaudit.warehouse import Warehouse
from tests.support.http_audit import AUDIT, ask, cells, have_judged, opened, query, write_cards
from tests.support.openai_server import running_server

FAULTS = ("status_500", "status_429", "reset", "hang", "truncated")


@pytest.mark.slow
def test_30_percent_faults_and_every_cell_lands_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDIT_KEY", "sk-0123456789abcdef")
    monkeypatch.setattr("promptaudit.engines.pacing.retry.FIRST_WAIT_S", 0.01)
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


def test_an_answer_that_failed_midway_is_asked_again_of_models_judges_and_rephrasers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUDIT_KEY", "sk-0123456789abcdef")
    monkeypatch.setattr("promptaudit.engines.pacing.retry.FIRST_WAIT_S", 0.001)
    warehouse = tmp_path / "audit.duckdb"
    with running_server(first={"failed_midway": 1}) as server:
        cards = write_cards(
            tmp_path / "cards",
            server.base_url,
            n_samples=2,
            variants=2,
            audit="  judges: [checker]\n",
            judges="checker: {model: api, controls: {right: 1}}\n",
        )
        (cards / "rephrasers").mkdir()
        (cards / "rephrasers/asked.yml").write_text("asked: {kind: model, model: api}\n")
        audit = cards / f"audits/{AUDIT}.yml"
        audit.write_text(audit.read_text().replace("rephraser: rules", "rephraser: asked"))
        ask(warehouse, cards)
        have_judged(warehouse, cards)
        counted = server.counters()["by_outcome"]
    for table, n_least in (("rephrasings", 1), ("predictions", 4), ("verdicts", 2)):
        query_of_halves = "select count(*), count(*) filter (completion = 'num' or n_attempts < 2) from raw." + table
        ((n_rows, n_halves),) = query(warehouse, query_of_halves)
        assert n_rows >= n_least
        assert n_halves == 0
    tries = query(warehouse, "select http_status, error, count(*) from raw.attempts group by all")
    said = "an answer that did not end: its finish_reason is 'error': 502: upstream disconnected"
    assert tries == [(200, said, counted["failed_midway"])]
    assert counted["failed_midway"] == counted["answered"]


def test_a_cell_whose_answers_never_end_is_left_for_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUDIT_KEY", "sk-0123456789abcdef")
    monkeypatch.setattr("promptaudit.engines.pacing.retry.FIRST_WAIT_S", 0.001)
    warehouse = tmp_path / "audit.duckdb"
    limits = "{max_connections: 4, max_attempts: 2}"
    with running_server(first={"failed_midway": 2}) as server:
        cards = write_cards(tmp_path / "cards", server.base_url, n_samples=2, variants=1, limits=limits)
        run, design = opened(warehouse, cards)
        ask(warehouse, cards)
        assert cells(warehouse) == (0, 0)
        asked = AuditRun(warehouse=Warehouse(warehouse), audit_run_id=run, progress=Progress(quiet=True), design=design)
        wordings = steps.paraphrase(asked)
        server.json("reset", "POST")
        with pytest.raises(MeasureError) as unanswered:
            steps.ask(asked, wordings)
        assert str(unanswered.value) == (
            "MeasureError: 2 cells have no answer yet; the same command again asks only them; the last try failed: an answer "
            "that did not end: its finish_reason is 'error': 502: upstream disconnected"
        )
        ask(warehouse, cards)
    assert cells(warehouse) == (2, 2)


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
