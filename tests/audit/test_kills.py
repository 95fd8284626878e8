"""Killed at any instant, a run goes on with what is missing: each cell lands once, and only what was in flight is asked twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from promptaudit.warehouse import Warehouse
from tests.support.http_audit import ask, cells, query, write_cards
from tests.support.openai_server import RunningServer, running_server

ROOT = Path(__file__).parents[2]
CONNECTIONS = 16


def start(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.support.http_audit", str(folder / "audit.duckdb"), str(folder / "cards")],
        cwd=ROOT,
        env={**os.environ, "AUDIT_KEY": "sk-0123456789abcdef"},
        stderr=subprocess.PIPE,
        text=True,
    )


def killed(folder: Path, server: RunningServer, after: int, how: signal.Signals) -> None:
    """Starts asking and ends it by a signal once the server has seen `after` requests more."""
    until = server.counters()["requests"] + after
    asking = start(folder)
    while server.counters()["requests"] < until and asking.poll() is None:
        time.sleep(0.002)
    asking.send_signal(how)
    _, err = asking.communicate(timeout=60)
    assert asking.returncode in (-how, 0), err


def finished(folder: Path, server: RunningServer, n_cells: int, n_kills: int) -> None:
    asking = start(folder)
    _, err = asking.communicate(timeout=280)
    assert asking.returncode == 0, err
    warehouse = folder / "audit.duckdb"
    assert cells(warehouse) == (n_cells, n_cells)
    assert not Warehouse(warehouse).places.spool.exists()
    n_asked = server.counters()["requests"]
    assert n_cells <= n_asked <= n_cells + n_kills * CONNECTIONS


@pytest.mark.parametrize(
    "how", [pytest.param(signal.SIGKILL, marks=pytest.mark.slow), pytest.param(signal.SIGINT, marks=pytest.mark.soak)]
)
def test_killed_twice(tmp_path: Path, how: signal.Signals) -> None:
    with running_server(latency_s=0.002) as server:
        write_cards(
            tmp_path / "cards", server.base_url, n_samples=100, variants=5, limits=f"{{max_connections: {CONNECTIONS}}}"
        )
        for after in (130, 200):
            killed(tmp_path, server, after, how)
        finished(tmp_path, server, 500, 2)


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_killed_at_20_random_instants_of_15_000_requests(tmp_path: Path, how: signal.Signals) -> None:
    dice = random.Random(7)
    with running_server() as server:
        write_cards(
            tmp_path / "cards",
            server.base_url,
            n_samples=500,
            variants=30,
            limits=f"{{max_connections: {CONNECTIONS}}}",
        )
        for _ in range(20):
            killed(tmp_path, server, dice.randrange(1, 650), how)
        assert server.counters()["requests"] < 15_000
        finished(tmp_path, server, 15_000, 20)


@pytest.mark.slow
def test_what_a_killed_run_kept_is_landed_by_the_next_start(tmp_path: Path) -> None:
    warehouse = tmp_path / "audit.duckdb"
    with running_server(latency_s=0.05) as server:
        write_cards(tmp_path / "cards", server.base_url, n_samples=50, limits="{max_connections: 4}")
        killed(tmp_path, server, 12, signal.SIGKILL)
        spooled = sum(
            path.read_bytes().count(b"\n") for path in Warehouse(warehouse).places.spool.rglob("*.predictions.jsonl")
        )
        landed = query(warehouse, "select count(*) from raw.predictions")[0][0]
        assert spooled + landed >= server.counters()["requests"] - 4
        ask(warehouse, tmp_path / "cards")
        assert cells(warehouse) == (150, 150)
        assert server.counters()["requests"] <= 150 + 4
