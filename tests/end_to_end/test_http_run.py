"""A full run over HTTP: real server, real client, real Prefect, real dbt, from the shell."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from tests.support.http_audit import write_questions
from tests.support.openai_server import RunningServer, running_server
from tests.support.shell import promptaudit, promptaudit_process, sql, start

STEP = """
from pathlib import Path
from promptaudit.audit.steps import AuditRun, transform
from promptaudit.warehouse import Warehouse

warehouse = Warehouse(Path("warehouse/audit.duckdb"))
(run,) = warehouse.read("select audit_run_id from raw.audit_runs")
print(transform(AuditRun(warehouse=warehouse, audit_run_id=run["audit_run_id"]), "after_formats"))
"""
KEY = "sk-test-0123456789abcdef0123456789abcdef"


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with running_server(key=KEY) as running:
        yield running


def write_registry(
    folder: Path, base_url: str, *, n_samples: int, variants: int, repetitions: int = 1, **limits: int
) -> None:
    """A user's registry: one model on loopback, which rephrases as well, and one task of `n_samples` rows."""
    for kind in ("models", "rephrasers", "audits"):
        (folder / kind).mkdir(parents=True, exist_ok=True)
    (folder / "models/api.yml").write_text(
        f"api:\n  engine: openai_api\n  model: small\n  base_url: {base_url}\n  api_key_env: AUDIT_KEY\n"
        f"  sampling: {{temperature: 0, max_tokens: 16}}\n  limits: {{max_connections: {limits.get('connections', 32)}}}\n"
        "  price: {input_usd_per_mtok: 1, output_usd_per_mtok: 2}\n"
    )
    write_questions(folder, n_samples)
    (folder / "rephrasers/asked.yml").write_text("asked: {kind: model, model: api, max_rounds: 5}\n")
    (folder / "audits/over_http.yml").write_text(
        "over_http:\n  tasks: [questions]\n  models: [api]\n"
        f"  rephrasing: {{rephraser: asked, variants: {variants}}}\n"
        f"  repetitions: {{original: {repetitions}, variants: {repetitions}}}\n  resamples: 50\n"
    )


@pytest.mark.soak
def test_500_samples_under_30_model_made_variants(tmp_path: Path, server: RunningServer) -> None:
    n_samples = 500
    server.reset()
    write_registry(tmp_path / "registry", server.base_url, n_samples=n_samples, variants=30)
    ended = promptaudit(tmp_path, "run", "over_http", AUDIT_KEY=KEY)
    assert ended.code == 0, ended.err
    assert (tmp_path / "warehouse/published/report.html").is_file()
    (scorecard,) = sql(tmp_path, "select * from marts.rpt_audit")
    assert (scorecard["n_samples"], scorecard["n_variants"]) == (n_samples, 30)
    assert scorecard["n_planned"] == scorecard["n_landed"] == n_samples * 30
    n_rephrasing = server.counters()["requests"] - n_samples * 30
    assert 1 <= n_rephrasing <= 10
    assert scorecard["cost_usd"] > 0

    before = server.counters()["requests"]
    again = promptaudit(tmp_path, "run", "over_http", AUDIT_KEY=KEY)
    assert again.code == 0
    assert "nothing asked" in again.out
    assert server.counters()["requests"] == before


def landed(folder: Path) -> int:
    """Rows in the writer's file; opening it replays what a killed writer left in its log."""
    path = folder / "warehouse/audit.duckdb"
    if not path.exists():
        return 0
    with duckdb.connect(str(path)) as con:
        return con.execute("select count(*) from raw.predictions").fetchone()[0]


def interrupted(folder: Path, server: RunningServer, how: signal.Signals, after: int) -> None:
    """Runs the audit and ends it by a signal once the server has been asked so often; nothing that it answered is lost."""
    running = start(folder, "run", "over_http", AUDIT_KEY=KEY)
    deadline = time.monotonic() + 120
    while server.counters()["requests"] < after and time.monotonic() < deadline and running.poll() is None:
        time.sleep(0.02)
    assert running.poll() is None, running.communicate()[1]
    running.send_signal(how)
    _, err = running.communicate(timeout=60)  # nobody is left who holds the pipe
    assert running.returncode == (-how if how == signal.SIGKILL else 130), err
    if how != signal.SIGKILL:
        assert "interrupted" in err.splitlines()[-1]


def kept(folder: Path) -> int:
    """Answers that are landed or wait in the spool."""
    waiting = (folder / "warehouse/audit.duckdb.spool").glob("*/*.predictions.jsonl")
    return landed(folder) + sum(path.read_bytes().count(b"\n") for path in waiting)


@pytest.mark.slow
def test_an_interrupted_run_goes_on_with_what_is_missing(tmp_path: Path, server: RunningServer) -> None:
    server.reset()
    write_registry(tmp_path / "registry", server.base_url, n_samples=100, variants=6, connections=8)
    # what SIGKILL ends is in tests/audit; SIGINT ends a run from Python in the soak
    interrupted(tmp_path, server, signal.SIGTERM, 150)
    assert server.counters()["requests"] - 8 - 10 <= kept(tmp_path) < 600
    ended = promptaudit(tmp_path, "run", "over_http", AUDIT_KEY=KEY)
    assert ended.code == 0, ended.err
    (scorecard,) = sql(tmp_path, "select n_planned, n_landed from marts.rpt_audit")
    assert scorecard == {"n_planned": 600, "n_landed": 600}
    (cells,) = sql(
        tmp_path,
        "select count(*) as n, count(distinct (prompt_variant_id, sample_id, repetition)) as n_cells "
        "from marts.fct_predictions",
    )
    assert cells == {"n": 600, "n_cells": 600}
    # only what was in flight is asked twice; the rewordings are the rest
    assert server.counters()["requests"] <= 600 + 8 + 10
    # a step is a function of a run, whoever made that, in whatever process
    before = sql(tmp_path, "select * exclude (measure_version) from marts.rpt_audit")
    done = subprocess.run([sys.executable, "-P", "-c", STEP], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert sql(tmp_path, "select * exclude (measure_version) from marts.rpt_audit") == before


@pytest.mark.soak
def test_budget_stops_before_it_is_crossed_and_a_larger_one_goes_on(tmp_path: Path, server: RunningServer) -> None:
    server.reset()
    write_registry(tmp_path / "registry", server.base_url, n_samples=50, variants=3)
    stopped = promptaudit(tmp_path, "run", "over_http", "--max-requests", "60", AUDIT_KEY=KEY)
    assert stopped.code == 4, stopped.err
    assert stopped.one_line().startswith("BudgetReached:")
    assert server.counters()["requests"] == 60  # one for the rewordings
    assert landed(tmp_path) == 59
    ended = promptaudit(tmp_path, "run", "over_http", AUDIT_KEY=KEY)
    assert ended.code == 0, ended.err
    assert sql(tmp_path, "select n_landed from marts.rpt_audit") == [{"n_landed": 150}]


@pytest.mark.soak
def test_prefect_out_of_reach_loses_no_audit(tmp_path: Path, server: RunningServer) -> None:
    write_registry(tmp_path / "registry", server.base_url, n_samples=6, variants=2)
    # a process of its own: Prefect reads its settings once
    nowhere = "http://127.0.0.1:9/api"
    ended = promptaudit_process(tmp_path, "run", "over_http", AUDIT_KEY=KEY, PREFECT_API_URL=nowhere)
    assert ended.code == 0, ended.err
    assert "goes on without it" in ended.err
    assert sql(tmp_path, "select n_landed from marts.rpt_audit") == [{"n_landed": 12}]


def everything_written(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in folder.rglob("*"):
        if path.is_file():
            yield path.relative_to(folder).as_posix(), path.read_bytes()


@pytest.mark.slow
def test_an_endpoint_that_echoes_the_key_gives_it_to_nobody(tmp_path: Path, server: RunningServer) -> None:
    wrong = "sk-wrong-fedcba9876543210fedcba9876543210"
    write_registry(tmp_path / "registry", server.base_url, n_samples=6, variants=1)
    ended = promptaudit(tmp_path, "run", "over_http", "--debug", AUDIT_KEY=wrong)
    assert ended.code == 3, ended.err
    assert "EngineError" in ended.err
    assert wrong not in ended.err + ended.out
    for name, written in everything_written(tmp_path):
        assert wrong.encode() not in written, name


def test_a_key_in_an_address_is_refused_and_not_shown(tmp_path: Path) -> None:
    write_registry(tmp_path / "registry", f"http://user:{KEY}@127.0.0.1:9/v1", n_samples=6, variants=1)
    ended = promptaudit(tmp_path, "validate")
    assert ended.code == 2
    assert KEY not in ended.err + ended.out
    assert "models/api.yml line 4" in ended.one_line()
