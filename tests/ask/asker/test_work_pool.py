"""A deployed night whose askers run on a work pool of a real Prefect server, in workers of their own, some of them killed."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

from promptaudit.warehouse import Warehouse
from tests.support.http_audit import AUDIT, cells, query, write_cards
from tests.support.openai_server import RunningServer, running_server
from tests.support.prefect_server import (
    AUTH,
    OVER,
    PrefectServer,
    all_of,
    running_postgres,
    running_prefect,
    running_worker,
    wait_for,
)
from tests.support.shell import promptaudit_process

pytestmark = pytest.mark.timeout(1500)

SCREENSHOTS = "TEST_SCREENSHOTS"  # a folder, for whoever wants to look at the pages
KEY = "sk-test-0123456789abcdef0123456789abcdef"
N_SAMPLES, N_VARIANTS, CONNECTIONS = 60, 12, 4
N_CELLS = N_SAMPLES * N_VARIANTS
MAX_REQUESTS = 1000


@dataclass
class Stage:
    """A server, a folder of audits, and what the killed and the finished nights showed."""

    server: PrefectServer
    provider: RunningServer
    folder: Path
    n_askers: int
    n_asked: int = 0
    killed: list[dict[str, Any]] = field(default_factory=list)
    ended: dict[str, Any] = field(default_factory=dict)

    @property
    def warehouse(self) -> Path:
        return self.folder / "warehouse/audit.duckdb"

    @property
    def log(self) -> Path:
        return self.folder.parent / "worker.log"

    def said(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    def processes(self, flow: str) -> list[psutil.Process]:
        """The processes that run a flow now."""
        running = {run["id"] for run in self.server.runs(flow) if run["state_type"] == "RUNNING"}
        return all_of(
            lambda process: (
                "prefect.engine" in process.cmdline() and process.environ().get("PREFECT__FLOW_RUN_ID") in running
            )
        )

    def asked(self, more: int) -> None:
        """Waits until the provider was asked so many times more."""
        wanted = self.provider.counters()["requests"] + more
        wait_for(
            lambda: self.provider.counters()["requests"] >= wanted, f"{more} more requests", lambda: self.said()[-4000:]
        )

    def kill(self, processes: list[psutil.Process]) -> None:
        for process in processes:
            os.killpg(os.getpgid(process.pid), signal.SIGKILL)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(("sqlite", 2), marks=pytest.mark.soak, id="sqlite-2"),
        pytest.param(("sqlite", 4), marks=pytest.mark.soak, id="sqlite-4"),
        pytest.param(("postgres", 4), marks=pytest.mark.soak, id="postgres-4"),
    ],
)
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Half of the askers are killed in mid-run, then the night; in the soak the next night too, as it begins."""
    kind, n_askers = request.param
    place = tmp_path_factory.mktemp(kind)
    (place / "home").mkdir()
    (place / "audits").mkdir()
    with contextlib.ExitStack() as stack:
        database: dict[str, str] = {}
        if kind == "postgres":
            try:
                database = stack.enter_context(running_postgres())
            except FileNotFoundError as missing:
                pytest.skip(f"{missing} is not on this machine: apt-get install postgresql")
        server = stack.enter_context(running_prefect(place / "home", **database))
        provider = stack.enter_context(running_server(key=KEY, latency_s=0.2))
        found = Stage(server, provider, place / "audits", n_askers)
        write_cards(
            found.folder / "registry",
            provider.base_url,
            n_samples=N_SAMPLES,
            variants=N_VARIANTS,
            limits=f"{{max_connections: {CONNECTIONS}}}",
            audit=f"  askers: {{n: {n_askers}, work_pool: askers}}\n  budget: {{max_requests: {MAX_REQUESTS}}}\n"
            '  schedule: "0 2 * * *"\n',
        )
        for pool in ("api", "askers"):
            server.ask("/work_pools/", {"name": pool, "type": "process"})
        for pool in ("api", *["askers"] * n_askers):
            stack.enter_context(running_worker(server, found.folder, found.log, pool, "--limit", "1", AUDIT_KEY=KEY))
        nights(found)
        yield found


def nights(stage: Stage) -> None:
    """The story that the tests below look at."""
    server = stage.server
    file = stage.folder.parent / "prefect.yaml"
    written = promptaudit_process(stage.folder, "deploy", AUDIT, "--output", str(file))
    assert written.code == 0, written.err
    deployments = yaml.safe_load(file.read_text(encoding="utf-8"))["deployments"]
    assert [each["name"] for each in deployments] == [AUDIT, "askers"]
    server.prefect("deploy", "--all", "--prefect-file", file, cwd=file.parent)
    (night,) = [each for each in server.ask("/deployments/filter", {}) if each["name"] == AUDIT]
    server.ask(f"/deployments/{night['id']}/pause_deployment", {})  # its starts are ours

    def start() -> str:
        body = {"parameters": {"audit_id": AUDIT}, "state": {"type": "SCHEDULED"}}
        run_id: str = server.ask(f"/deployments/{night['id']}/create_flow_run", body)["id"]
        return run_id

    first = start()
    stage.asked(150)
    wait_for(lambda: len(stage.processes("ask")) == stage.n_askers, "every asker", lambda: stage.said()[-4000:])
    stage.kill(stage.processes("ask")[: stage.n_askers // 2])
    stage.asked(200)
    stage.kill(stage.processes("nightly"))
    stage.killed.append(server.until(first, *OVER))
    if stage.n_askers > 2:
        second = start()
        wait_for(lambda: stage.processes("nightly"), "the second night", lambda: stage.said()[-4000:])
        stage.kill(stage.processes("nightly"))
        stage.killed.append(server.until(second, *OVER))
    stage.ended = server.until(start(), *OVER)
    stage.n_asked = stage.provider.counters()["requests"]


def test_every_cell_lands_once_and_only_what_was_in_flight_is_asked_twice(stage: Stage) -> None:
    assert stage.ended["state_type"] == "COMPLETED", stage.said()[-4000:]
    assert [run["state_type"] for run in stage.killed] == ["CRASHED"] * (2 if stage.n_askers > 2 else 1)
    assert query(stage.warehouse, "select state from raw.audit_runs") == [("complete",)]
    assert cells(stage.warehouse) == (N_CELLS, N_CELLS)
    assert N_CELLS <= stage.n_asked <= N_CELLS + stage.n_askers // 2 * CONNECTIONS  # of the askers that were killed
    assert stage.n_asked <= MAX_REQUESTS


def test_the_askers_are_flow_runs_of_the_pool_and_nothing_of_them_stays(stage: Stage) -> None:
    askers = stage.server.runs("ask")
    assert {run["work_pool_name"] for run in askers} == {"askers"}
    assert {run["parameters"]["shard"] for run in askers} == {*range(1, stage.n_askers + 1)}
    names = [run["state_name"] for run in askers]
    assert names.count("Crashed") == stage.n_askers // 2
    assert all(run["state_type"] in OVER for run in askers)
    assert all(run["name"].startswith(f"ask {AUDIT} shard ") for run in askers)
    assert not stage.processes("ask")
    assert not Warehouse(stage.warehouse).places.spool.exists()
    left = [path.name for path in Warehouse(stage.warehouse).places.askers.rglob("*") if path.is_file()]
    assert left == ["lost.json"]


def test_no_key_and_no_answer_reached_the_server(stage: Stage) -> None:
    kept = stage.server.everything()
    assert KEY not in kept
    assert "What is number" not in kept
    assert KEY not in stage.said()


def test_the_page_of_a_night_shows_its_askers(browser: Any, stage: Stage, tmp_path: Path) -> None:
    pytest.importorskip("playwright.sync_api")
    origin = stage.server.url.removesuffix("/api")
    shots = Path(os.environ.get(SCREENSHOTS) or tmp_path)
    (audit,) = [run for run in stage.server.runs("audit") if run["state_type"] == "COMPLETED"]
    page = browser.new_page(viewport={"width": 1400, "height": 1000})
    page.goto(origin)
    page.get_by_placeholder("Password").or_(page.locator("input[type=password]")).first.fill(AUTH, timeout=60_000)
    page.keyboard.press("Enter")
    page.get_by_text("Deployments").first.wait_for(timeout=60_000)
    page.goto(f"{origin}/runs/flow-run/{audit['id']}")
    page.get_by_text(f"shard 1 of {stage.n_askers}").first.wait_for(timeout=60_000)
    page.screenshot(path=shots / "night-of-askers.png")
    page.get_by_text("Subflow Runs").first.click()
    page.get_by_text(f"ask {AUDIT} shard {stage.n_askers} of {stage.n_askers}").first.wait_for(timeout=60_000)
    page.screenshot(path=shots / "askers.png")
    page.close()
