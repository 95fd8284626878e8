"""Several processes ask a run: each cell lands once, the budget holds, and who dies is followed by another."""

from __future__ import annotations

import asyncio
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from promptaudit.ask.shards import lander, placement
from promptaudit.ask.shards.land_segments import LOST, Asker
from promptaudit.ask.shards.lander import Lander, _in_thread
from promptaudit.ask.shards.messages import AskerState, Lease
from promptaudit.plan.budget import Budget
from promptaudit.registry.errors import BudgetReached, EngineError, MeasureError
from promptaudit.system.shared_folder import shared_folder
from promptaudit.warehouse import Warehouse
from tests.support.http_audit import ask, cells, query, write_cards
from tests.support.openai_server import RunningServer, running_server
from tests.support.prefect_server import all_of, wait_for
from tests.support.s3_server import running_s3
from tests.support.stopped_at import stopped

ROOT = Path(__file__).parents[3]
CONNECTIONS = 8


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDIT_KEY", "sk-0123456789abcdef")


def cards_for(folder: Path, server: RunningServer, **more: Any) -> Path:
    limits = f"{{max_connections: {CONNECTIONS}}}"
    return write_cards(folder / "cards", server.base_url, **({"limits": limits} | more))


@pytest.mark.slow
def test_two_askers_ask_each_cell_once(tmp_path: Path) -> None:
    with running_server(latency_s=0.01) as server:
        registry = cards_for(tmp_path, server)
        warehouse = tmp_path / "audit.duckdb"
        result = ask(warehouse, registry, n_askers=2)
        assert server.counters()["requests"] == 60
        assert ask(warehouse, registry, n_askers=2).n_landed == 0
    assert result.n_landed == 60
    assert cells(warehouse) == (60, 60)
    places = Warehouse(warehouse).places
    assert not places.askers.exists()
    assert not places.spool.exists()


@pytest.mark.slow
def test_the_run_s_budget_is_reached_in_its_own_figures(tmp_path: Path) -> None:
    with running_server() as server:
        registry = cards_for(tmp_path, server)
        warehouse = tmp_path / "audit.duckdb"
        with pytest.raises(BudgetReached, match="41 requests made, the budget is 41"):
            ask(warehouse, registry, n_askers=2, max_requests=41)
        assert server.counters()["requests"] == 41
        assert cells(warehouse) == (41, 41)
        assert ask(warehouse, registry, n_askers=2, max_requests=60).n_landed == 19
    assert cells(warehouse) == (60, 60)


@pytest.mark.slow
def test_what_an_asker_fails_with_is_the_run_s_error(tmp_path: Path) -> None:
    with running_server(models=("another",)) as server:
        registry = cards_for(tmp_path, server)
        with pytest.raises(EngineError, match="small"):
            ask(tmp_path / "audit.duckdb", registry, n_askers=2)


@pytest.mark.slow
def test_the_shard_of_an_asker_that_is_told_to_end_is_asked_on(tmp_path: Path) -> None:
    said: list[str] = []
    with running_server(latency_s=0.05) as server:
        registry = cards_for(tmp_path, server, n_samples=100)

        def end_one() -> None:
            wait_for(lambda: server.counters()["requests"] >= 40, "40 requests")
            askers_of(tmp_path)[0].terminate()

        ending = threading.Thread(target=end_one)
        ending.start()
        result = ask(tmp_path / "audit.duckdb", registry, n_askers=2, said=said)
        ending.join()
        assert server.counters()["requests"] <= 300 + CONNECTIONS
    assert result.n_landed == 300
    assert cells(tmp_path / "audit.duckdb") == (300, 300)
    assert any("its asker died, interrupted; " in line for line in said)


def test_who_is_cancelled_waits_for_the_thread_it_began() -> None:
    done: list[str] = []

    def work() -> None:
        time.sleep(0.2)
        done.append("landed")

    async def cancelled() -> None:
        task = asyncio.create_task(_in_thread(work))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert done == ["landed"]

    asyncio.run(cancelled())


def test_askers_that_die_without_an_answer_end_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    with running_server() as server:
        registry = cards_for(tmp_path, server)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(MeasureError, match="3 askers in a row died without an answer"):
        ask(tmp_path / "audit.duckdb", registry, n_askers=2, said=said)
    assert any("its asker died, exit code 1; " in line for line in said)


def test_a_defect_of_the_lander_ends_the_run_and_its_askers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running_server(latency_s=0.05) as server:
        monkeypatch.setattr(Lander, "_lend", lambda _, askers: [1 / 0 for _ in askers])
        with pytest.raises(ZeroDivisionError):
            ask(tmp_path / "audit.duckdb", cards_for(tmp_path, server), n_askers=2)
    assert not askers_of(tmp_path)


@pytest.mark.slow
def test_a_bucket_is_the_folder_that_askers_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("s3fs")
    for module in (lander, placement):  # an asker that is killed for being slow leaves what it was about to write
        monkeypatch.setattr(module, "ENDS_WITHIN_S", 120.0)
    with running_s3() as variables, running_server(latency_s=0.05) as server:
        for name, value in (variables | {"PROMPTAUDIT_SPOOL": "s3://audits/spool"}).items():
            monkeypatch.setenv(name, value)
        warehouse = tmp_path / "audit.duckdb"
        said: list[str] = []
        assert ask(warehouse, cards_for(tmp_path, server, n_samples=60), n_askers=2, said=said).n_landed == 180
        tries = query(warehouse, "select http_status, error from raw.attempts")
        assert (server.counters()["requests"], tries) == (180, []), said  # once, beside others, it was 181
        assert cells(warehouse) == (180, 180)
        assert shared_folder("s3://audits/spool").names() == []
    assert not Warehouse(warehouse).places.askers.exists()


def start(folder: Path, n_askers: int = 4) -> subprocess.Popen[bytes]:
    """A lander with askers, which outlive it as those of a work pool do, in a process of its own."""
    line = [
        sys.executable,
        "-m",
        "tests.support.http_audit",
        folder / "audit.duckdb",
        folder / "cards",
        "ask",
        f"{n_askers}",
    ]
    with (folder / "said.log").open("ab") as said:  # no pipe: it would stay open with the askers
        return subprocess.Popen(line, cwd=ROOT, stderr=said)


def finished(folder: Path, n_askers: int = 4) -> tuple[int, str]:
    """The exit code of another start, and what it said last."""
    code = start(folder, n_askers).wait(240)
    return code, (folder / "said.log").read_text()[-2000:]


def killed(asking: subprocess.Popen[bytes]) -> None:
    asking.kill()
    asking.wait(60)


def askers_of(folder: Path) -> list[psutil.Process]:
    """The askers of a folder's warehouse that are there."""
    warehouse = str(folder / "audit.duckdb")
    return all_of(
        lambda found: (
            "promptaudit.ask.asker" in found.cmdline() and found.environ().get("PROMPTAUDIT_WAREHOUSE") == warehouse
        )
    )


def until_asked(server: RunningServer, more: int, asking: subprocess.Popen[bytes]) -> None:
    """Waits until the server has seen so many more requests, or the lander has ended."""
    wanted = server.counters()["requests"] + more
    wait_for(lambda: server.counters()["requests"] >= wanted or asking.poll() is not None, f"{more} more requests")


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_askers_and_lander_killed_in_mid_run(tmp_path: Path) -> None:
    with running_server(latency_s=0.05) as server:
        cards_for(tmp_path, server, n_samples=120, variants=5)
        asking = start(tmp_path, 2)
        until_asked(server, 80, asking)
        askers_of(tmp_path)[0].kill()
        until_asked(server, 120, asking)
        killed(asking)  # its askers go on until the next lander tells them to end
        asking = start(tmp_path, 2)
        until_asked(server, 60, asking)
        killed(asking)
        for asker in askers_of(tmp_path):
            asker.kill()
        code, said = finished(tmp_path, 2)
        assert code == 0, said
        assert cells(tmp_path / "audit.duckdb") == (600, 600)
        n_asked = server.counters()["requests"]
        # what an asker and then 2, killed, had in flight; the lander's own death costs none
        assert 600 <= n_asked <= 600 + 3 * CONNECTIONS
    wait_for(lambda: not askers_of(tmp_path), "askers to end")
    assert not Warehouse(tmp_path / "audit.duckdb").places.spool.exists()


@pytest.mark.soak
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "border", ["rename .*/landed.parquet", "rename .*/lease.json", "remove .*/lease.json", r"remove .*\.jsonl"]
)
def test_a_lander_killed_at_a_border_loses_no_answer(tmp_path: Path, border: str) -> None:
    with running_server(latency_s=0.05) as server:
        registry = cards_for(tmp_path, server, n_samples=60)
        line = ("run", "asked", "--askers", "2", "--registry", str(registry), "--warehouse", "audit.duckdb")
        assert stopped(tmp_path, "SIGKILL", border, *line).returncode == -signal.SIGKILL
        code, said = finished(tmp_path, 2)
        assert code == 0, said
        assert cells(tmp_path / "audit.duckdb") == (180, 180)
        # a killed command leaves no process behind: what its askers had in flight is asked again, and no more
        assert server.counters()["requests"] <= 180 + 2 * CONNECTIONS
    places = Warehouse(tmp_path / "audit.duckdb").places
    # what dead askers were lent counts as spent
    assert {path.name for path in places.askers.rglob("*") if path.is_file()} <= {LOST}
    assert not places.spool.exists()


def n_spent(folder: Path) -> tuple[int, float]:
    """Requests and US dollars that the run's rows stand for."""
    text = """
        select (select count(*) from raw.predictions) + (select count(*) from raw.attempts),
               (select coalesce(sum(cost_usd), 0) from raw.predictions)
    """
    ((n, usd),) = query(folder / "audit.duckdb", text)
    return n, usd


@pytest.mark.soak
@pytest.mark.timeout(5400)
def test_no_budget_is_crossed_in_100_random_runs_with_kills(tmp_path: Path) -> None:
    dice = random.Random(11)
    with running_server(latency_s=0.01, rates={"status_500": 0.02}) as server:
        for number in range(100):
            budget_held(tmp_path / str(number), server, dice)


@pytest.mark.soak
@pytest.mark.timeout(400)
def test_no_budget_is_crossed_with_kills(tmp_path: Path) -> None:
    with running_server(latency_s=0.01, rates={"status_500": 0.02}) as server:
        budget_held(tmp_path / "audits", server, random.Random(5))


def budget_held(folder: Path, server: RunningServer, dice: random.Random) -> None:
    """Asks a run under a random budget while askers and lander are killed at random; it holds at the server and in the rows."""
    folder.mkdir()
    n_cells = 40 * 4
    max_requests = dice.randrange(20, 2 * n_cells)
    max_usd = dice.choice([None, dice.uniform(0.1, 1.0) * n_cells * 60e-6])
    budget = f"  budget: {{max_requests: {max_requests}" + (f", max_usd: {max_usd:.6f}}}\n" if max_usd else "}\n")
    cards_for(folder, server, n_samples=40, variants=4, audit=budget)
    before = server.counters()
    for _ in range(dice.randrange(1, 4)):
        asking = start(folder)
        until_asked(server, dice.randrange(1, 60), asking)
        victims: list[Any] = askers_of(folder)
        for victim in dice.sample(victims, dice.randrange(0, len(victims) + 1)):
            victim.kill()
        if dice.random() < 0.5:
            until_asked(server, dice.randrange(1, 60), asking)
            asking.kill()  # or it has ended
        asking.wait(120)
    code, said = finished(folder)
    assert code == 0 or "BudgetReached" in said, said
    n_asked = server.counters()["requests"] - before["requests"]
    n, usd = n_spent(folder)
    assert n_asked <= max_requests, (n_asked, max_requests)
    assert n <= max_requests
    assert max_usd is None or usd <= max_usd
    assert cells(folder / "audit.duckdb")[0] == cells(folder / "audit.duckdb")[1]
    if code == 0:
        assert cells(folder / "audit.duckdb") == (n_cells, n_cells)


def test_an_asker_that_says_it_spent_nothing_gives_back_no_more_than_has_not_landed() -> None:
    state = AskerState(machine="m", pid=1, began_at=1.0, beat=1, state="ended")
    lease = Lease(max_requests=50, max_usd=2.0, n_landed=40, usd_landed=1.5)
    lander = object.__new__(Lander)
    lander._landing = SimpleNamespace(askers={"1/a": Asker(1, "a", lease, state, is_settled=True)})  # type: ignore[assignment]
    lander._given_back, lander._budget = set(), Budget(5.0, 100, spent_usd=2.0, n_requests=50)
    lander._take_back()
    assert lander._budget.left == (60, 3.5)
