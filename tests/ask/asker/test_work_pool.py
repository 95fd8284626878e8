"""A deployed night whose askers run on a work pool of a real Prefect server, in workers of their own, some of them killed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from promptaudit.warehouse import Warehouse
from tests.support.http_audit import AUDIT, cells, query, write_cards
from tests.support.openai_server import running_server
from tests.support.prefect_server import OVER, Stage, running_database, running_worker, wait_for

pytestmark = pytest.mark.timeout(1500)

KEY = "sk-test-0123456789abcdef0123456789abcdef"
N_SAMPLES, N_VARIANTS, CONNECTIONS = 60, 12, 4
N_CELLS = N_SAMPLES * N_VARIANTS
MAX_REQUESTS = 1000


@dataclass
class Nights(Stage):
    """What the killed and the finished nights showed."""

    n_askers: int = 0
    killed: list[dict[str, Any]] = field(default_factory=list)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(("sqlite", 2), marks=pytest.mark.soak, id="sqlite-2"),
        pytest.param(("sqlite", 4), marks=pytest.mark.soak, id="sqlite-4"),
        pytest.param(("postgres", 4), marks=pytest.mark.soak, id="postgres-4"),
    ],
)
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nights]:
    """Half of the askers are killed in mid-run, then the night; in the soak the next night too, as it begins."""
    kind, n_askers = request.param
    place = tmp_path_factory.mktemp(kind)
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(running_database(place, kind))
        provider = stack.enter_context(running_server(key=KEY, latency_s=0.2))
        found = Nights(server, provider, place / "audits", n_askers=n_askers)
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


def nights(stage: Nights) -> None:
    """The story that the tests below look at."""
    server = stage.server
    night = stage.deploy(AUDIT)
    assert {each["name"] for each in server.ask("/deployments/filter", {})} == {AUDIT, "askers"}
    server.ask(f"/deployments/{night}/pause_deployment", {})  # its starts are ours

    def start() -> str:
        body = {"parameters": {"audit_id": AUDIT}, "state": {"type": "SCHEDULED"}}
        run_id: str = server.ask(f"/deployments/{night}/create_flow_run", body)["id"]
        return run_id

    first = start()
    stage.asked(150)
    wait_for(lambda: len(stage.processes("ask")) == stage.n_askers, "every asker", lambda: stage.said()[-4000:])
    stage.kill(stage.processes("ask")[: stage.n_askers // 2])
    stage.asked(stage.provider.counters()["requests"] + 200)
    stage.kill(stage.processes("nightly"))
    stage.killed.append(server.until(first, *OVER))
    if stage.n_askers > 2:
        second = start()
        wait_for(lambda: stage.processes("nightly"), "the second night", lambda: stage.said()[-4000:])
        stage.kill(stage.processes("nightly"))
        stage.killed.append(server.until(second, *OVER))
    stage.ended = server.until(start(), *OVER)
    stage.n_asked = stage.provider.counters()["requests"]


def test_every_cell_lands_once_and_only_what_was_in_flight_is_asked_twice(stage: Nights) -> None:
    assert stage.ended["state_type"] == "COMPLETED", stage.said()[-4000:]
    assert [run["state_type"] for run in stage.killed] == ["CRASHED"] * (2 if stage.n_askers > 2 else 1)
    assert query(stage.warehouse, "select state from raw.audit_runs") == [("complete",)]
    assert cells(stage.warehouse) == (N_CELLS, N_CELLS)
    assert N_CELLS <= stage.n_asked <= N_CELLS + stage.n_askers // 2 * CONNECTIONS  # of the askers that were killed
    assert stage.n_asked <= MAX_REQUESTS


def test_the_askers_are_flow_runs_of_the_pool_and_nothing_of_them_stays(stage: Nights) -> None:
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


def test_no_key_and_no_answer_reached_the_server(stage: Nights) -> None:
    kept = stage.server.everything()
    assert KEY not in kept
    assert "What is number" not in kept
    assert KEY not in stage.said()


def test_the_page_of_a_night_shows_its_askers(browser: Any, stage: Nights, tmp_path: Path) -> None:
    origin = stage.server.url.removesuffix("/api")
    shots = Path(os.environ.get("TEST_SCREENSHOTS") or tmp_path)
    (audit,) = [run for run in stage.server.runs("audit") if run["state_type"] == "COMPLETED"]
    page = stage.page(browser)
    page.goto(f"{origin}/runs/flow-run/{audit['id']}")
    page.get_by_text(f"shard 1 of {stage.n_askers}").first.wait_for(timeout=60_000)
    page.screenshot(path=shots / "night-of-askers.png")
    page.get_by_text("Subflow Runs").first.click()
    page.get_by_text(f"ask {AUDIT} shard {stage.n_askers} of {stage.n_askers}").first.wait_for(timeout=60_000)
    page.screenshot(path=shots / "askers.png")
    page.close()
