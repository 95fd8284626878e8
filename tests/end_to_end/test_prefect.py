"""The deployed nightly flow on a real Prefect server with a real worker: scheduled, killed, run again, looked at.

A server keeps ids and figures: what a provider said, what it was asked, and its key are looked for in all it keeps.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from promptaudit.nightly.limits import FREE_AGAIN_S
from promptaudit.warehouse.figure_names import grains
from tests.support.http_audit import AUDIT, cells, query, write_cards
from tests.support.openai_server import LABELS, running_server
from tests.support.prefect_server import (
    MEMORY,
    OVER,
    SOON_S,
    Stage,
    all_of,
    end_all,
    end_group,
    running_database,
    running_worker,
    wait_for,
)
from tests.support.shell import Ended, promptaudit_process, start

pytestmark = pytest.mark.timeout(1500)

KEY = "sk-test-0123456789abcdef0123456789abcdef"
SAID = "quokka7731"  # in every completion
REFUSED = "does not exist or you do not have access"  # of the provider's error
N_SAMPLES, N_VARIANTS, CONNECTIONS = 40, 4, 4
N_CELLS = N_SAMPLES * N_VARIANTS
LIMITS = ("provider-127-0-0-1",)
NIGHTS = f"""
    select audit_run_id, (select count(*) from raw.nights where nights.audit_run_id = audit_runs.audit_run_id) as n_steps,
        count(*), count(distinct (prompt_variant_id, sample_id, repetition))
    from raw.audit_runs inner join raw.predictions using (audit_run_id) where audit_id = '{AUDIT}' group by audit_run_id
"""
MODEL = "engine: openai_api\n  model: small\n  base_url: {url}\n  api_key_env: AUDIT_KEY\n  price: free\n"


@dataclass
class Nights(Stage):
    """What the first two nights of the deployment showed."""

    deployment_id: str = ""
    killed: dict[str, Any] = field(default_factory=dict)
    waits: str = ""
    left: dict[str, Any] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)
    refused: Ended | None = None

    def worker(self, **variables: str) -> contextlib.AbstractContextManager[Any]:
        return running_worker(self.server, self.folder, self.log, AUDIT_KEY=KEY, **variables)

    def limits(self) -> dict[str, int]:
        """Places taken of each named limit."""
        found = self.server.ask("/v2/concurrency_limits/filter", {})
        return {each["name"]: each["active_slots"] for each in found if each["name"] in LIMITS}

    def run(self, audit_id: str = AUDIT, *, new: bool = False) -> str:
        """Has the deployment run now; the run's id."""
        body = {"parameters": {"audit_id": audit_id, "new": new}, "state": {"type": "SCHEDULED"}}
        run_id: str = self.server.ask(f"/deployments/{self.deployment_id}/create_flow_run", body)["id"]
        return run_id

    def retried(self, run_id: str) -> dict[str, Any]:
        """Takes a flow run that ended again, as its page does; the run once it ended anew."""
        before = self.server.ask(f"/flow_runs/{run_id}")["run_count"]
        state = {
            "type": "SCHEDULED",
            "name": "AwaitingRetry",
            "state_details": {"scheduled_time": "2026-01-01T00:00:00Z"},
        }
        self.server.ask(f"/flow_runs/{run_id}/set_state", {"state": state, "force": True})
        wait_for(
            lambda: self.server.ask(f"/flow_runs/{run_id}")["run_count"] > before, "the flow run to be taken again"
        )
        return self.server.until(run_id, *OVER)

    def at_work(self, *, is_waiting: bool = False) -> dict[str, Any]:
        """The night that has the warehouse, or one that waits for it, once there is one."""
        found: list[dict[str, Any]] = []

        def is_there() -> bool:
            running = [run for run in self.server.runs() if run["state_type"] == "RUNNING"]
            found[:] = [run for run in running if is_waiting != any(tag.startswith("holds ") for tag in run["tags"])]
            return bool(found)

        wait_for(is_there, "a night that waits" if is_waiting else "a night at work", self.said)
        return found[0]

    def edges(self, run_id: str) -> dict[str, set[str]]:
        """The steps of a flow run by their names, each with those that Prefect draws an edge from."""
        nodes = dict(self.server.ask(f"/flow_runs/{run_id}/graph-v2")["nodes"])
        named = {node_id: node["label"] for node_id, node in nodes.items()}
        return {node["label"]: {named[parent["id"]] for parent in node["parents"]} for node in nodes.values()}


def cards(folder: Path, url: str, closed_url: str) -> None:
    """The audit, whose gate fails, and another whose model its provider does not know."""
    audit = '  gate: ["micro_f1 >= 0.99", "invalid_rate <= 0.1"]\n  schedule: "0 2 * * *"\n  resamples: 50\n'
    write_cards(
        folder, url, n_samples=N_SAMPLES, variants=N_VARIANTS, limits=f"{{max_connections: {CONNECTIONS}}}", audit=audit
    )
    (folder / "models/closed.yml").write_text("closed:\n  " + MODEL.format(url=closed_url))
    (folder / "audits/closed.yml").write_text("closed: {tasks: [questions], models: [closed], strategies: [simple]}\n")
    task = folder / "tasks/questions.yml"
    task.write_text(task.read_text().replace("reader: label\n", "reader: label_in_text\n"))


# of a database of its own Prefect's queries alone are another; the audit's side of it is the same
@pytest.fixture(
    scope="module",
    params=[pytest.param("sqlite", marks=pytest.mark.slow), pytest.param("postgres", marks=pytest.mark.soak)],
)
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nights]:
    """Two runs on schedule: the first is killed in mid-run, the second takes its night up, and a third waits."""
    place = tmp_path_factory.mktemp(request.param)
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(running_database(place, request.param))
        labels = tuple(f"{label} {SAID}" for label in LABELS)
        provider = stack.enter_context(running_server(key=KEY, labels=labels, latency_s=0.5))
        closed = stack.enter_context(running_server(key=KEY, models=("other",)))
        found = Nights(server, provider, place / "audits")
        cards(found.folder / "registry", provider.base_url, closed.base_url)
        (found.folder / "flows").mkdir()  # as a repository for Prefect has one
        (found.folder / "flows/__init__.py").write_text("raise SystemExit('another package')")
        server.ask("/work_pools/", {"name": "api", "type": "process"})
        schedules = [{"slug": "nightly", "interval": 20, "active": True}]  # which begins it soon and often
        found.deployment_id = found.deploy(AUDIT, schedules=schedules)
        with found.worker():
            two_nights(found, LIMITS if request.param == "sqlite" else ())  # a limit that is nowhere holds nobody up
        yield found


def two_nights(stage: Nights, limits: Sequence[str]) -> None:
    """The story that the tests below look at; the limits come when the first night, whose places stay taken, was killed."""
    server = stage.server
    stage.asked(40)
    running = stage.at_work()
    stage.kill(stage.processes())
    stage.killed = server.until(running["id"], *OVER)
    for name in limits:
        server.ask("/v2/concurrency_limits/", {"name": name, "limit": 1})
    stage.asked(N_CELLS // 2)
    again = stage.at_work()
    stage.places = stage.limits()
    waiting = stage.at_work(is_waiting=True)["id"]
    server.ask(f"/deployments/{stage.deployment_id}/pause_deployment", {})
    of_it = {"logs": {"flow_run_id": {"any_": [waiting]}}}
    wait_for(
        lambda: any("waiting for the warehouse" in line["message"] for line in server.ask("/logs/filter", of_it)),
        "the night to say that it waits",
        stage.said,
    )
    for run in server.runs():
        if run["id"] != again["id"] and run["state_type"] in ("SCHEDULED", "PENDING", "RUNNING"):
            cancelling = {"type": "CANCELLING", "name": "Cancelling"}
            server.ask(f"/flow_runs/{run['id']}/set_state", {"state": cancelling, "force": False})
    stage.left = server.until(waiting, *OVER)
    stage.waits = stage.said()
    stage.refused = promptaudit_process(stage.folder, "nightly", AUDIT, AUDIT_KEY=KEY, PROMPTAUDIT_LOCK_WAIT_S="1")
    stage.ended = server.until(again["id"], *OVER)
    stage.n_asked = stage.provider.counters()["requests"]


def test_a_night_is_scheduled_and_named_so_that_a_person_knows_it(stage: Nights) -> None:
    for run in (stage.killed, stage.ended):
        assert run["auto_scheduled"] is True
        assert re.fullmatch(rf"nightly {AUDIT} \d{{4}}-\d\d-\d\d", run["name"])
        assert {"promptaudit", AUDIT} <= set(run["tags"])
        assert run["parameters"] == {"audit_id": AUDIT, "warehouse": None}
    audit_run_ids = {row[0] for row in query(stage.warehouse, "select audit_run_id from raw.audit_runs")}
    assert {run["name"] for run in stage.server.runs("audit")} == {f"{AUDIT} {each}" for each in audit_run_ids}


def test_a_killed_night_is_gone_on_with_and_each_cell_lands_once(stage: Nights) -> None:
    assert stage.killed["state_name"] == "Crashed"
    assert stage.ended["state_name"] == "Gate failed"
    runs = query(stage.warehouse, "select state from raw.audit_runs")
    assert runs == [("complete",)]
    assert cells(stage.warehouse) == (N_CELLS, N_CELLS)
    assert N_CELLS <= stage.n_asked <= N_CELLS + CONNECTIONS  # what was in flight when it was killed
    steps = query(stage.warehouse, "select step from raw.nights order by recorded_at")
    assert steps == [("begun",), ("resumed 1",), ("finished",)]
    scheduled = query(stage.warehouse, "select distinct scheduled_at from raw.nights where step != 'finished'")
    assert len(scheduled) == 2  # two starts of the schedule, and both are this night's
    assert (None,) not in scheduled


def test_a_second_night_waits_or_is_refused(stage: Nights) -> None:
    held = rf"waiting up to \d+ (?:hours|minutes) for .*audit\.duckdb: held by the night of '{AUDIT}', process \d+"
    assert re.search(held, stage.waits)
    assert stage.left["state_name"] == "Cancelled"  # while another night held the warehouse
    assert stage.refused is not None
    assert stage.refused.code == 2
    assert "WarehouseLocked" in stage.refused.one_line()
    if stage.places:
        assert stage.places == dict.fromkeys(LIMITS, 1)
        assert stage.limits() == dict.fromkeys(LIMITS, 0)


def test_a_failed_gate_is_a_failed_run_that_says_so(stage: Nights) -> None:
    assert stage.ended["state_type"] == "FAILED"
    ((run_id,),) = query(stage.warehouse, "select audit_run_id from raw.audit_runs")
    said = f"exit code 1: gate of run {run_id} of '{AUDIT}': 2 rules: 1 failed, 1 passed"
    assert stage.ended["state"]["message"] == said
    assert "Traceback" not in stage.said()


def test_artifacts_are_there_with_ids_and_figures(stage: Nights) -> None:
    of_run = {"flow_runs": {"id": {"any_": [stage.ended["id"]]}}}
    found = {each["key"]: each for each in stage.server.ask("/artifacts/filter", of_run)}
    assert set(found) == {
        "night",
        *(f"{name}-{AUDIT}" for name in ("scorecard", "comparison", "gate", "report", "formats")),
    }
    assert (found["night"]["type"], found["night"]["data"]) == ("progress", 100)
    (row,) = json.loads(found[f"scorecard-{AUDIT}"]["data"])
    names = {"model_id": "api", "task_id": "questions", "strategy": "simple", "n_samples": 40, "n_variants": 4}
    assert {name: row[name] for name in names} == names
    assert row["invalid_rate"] == 0
    assert all(row[name] is None or isinstance(row[name], float) for name in set(row) - set(names))
    assert json.loads(found[f"comparison-{AUDIT}"]["data"]) == []  # the first complete night
    assert "| `micro_f1 >= 0.99` | failed |" in found[f"gate-{AUDIT}"]["data"]
    for name in ("report", "formats"):
        link = re.search(r"```\n(.+)\n```", found[f"{name}-{AUDIT}"]["data"])
        assert link is not None
        assert "<html" in Path(unquote(urlsplit(link[1]).path)).read_text(encoding="utf-8")


def test_landed_and_published_tables_are_assets_with_what_they_are_made_of(stage: Nights) -> None:
    events, is_one, place = stage.server.events("prefect.asset."), "prefect.resource.id", "duckdb://audit.duckdb"
    made_of = {
        event["resource"][is_one]: {
            each[is_one] for each in event["related"] if each["prefect.resource.role"] == "asset"
        }
        for event in events
        if event["event"] == "prefect.asset.materialization.succeeded"
    }

    def raw(names: str) -> set[str]:
        return {f"{place}/raw/{name}" for name in names.split()}

    checked = raw("format_checks format_validations")
    copy = f"{place}/published/audit.duckdb"
    landed = raw("prompt_variants grid option_orders predictions attempts")
    assert set(made_of) == landed | checked | {f"{place}/marts/{mart}" for mart in grains()} | {copy}
    assert made_of[f"{place}/raw/predictions"] == raw("models samples prompt_variants grid option_orders")
    # what a step publishes is made of what the steps before it landed
    assert made_of[copy] == made_of[f"{place}/marts/fct_p_tau"] == raw("predictions") | checked
    assert str(stage.folder) not in json.dumps(events)  # a file is named, and no folder of this machine


def test_the_edges_of_a_night_are_what_its_steps_made(stage: Nights) -> None:
    night = stage.edges(stage.ended["id"])
    (audit,) = (name for name in night if name.startswith(f"audit / {AUDIT} "))
    assert night == {
        audit: set(),
        "compare": {audit},
        "report": {"compare"},
        "gate": {"compare"},
        "alert": {"compare", "gate", "report"},
        "publish": {"compare", "gate", "alert"},
    }
    (found,) = (run for run in stage.server.runs("audit") if run["state_type"] == "COMPLETED")
    assert stage.edges(found["id"]) == {
        "paraphrase": set(),
        "infer api": {"paraphrase"},
        "transform up_to_formats": {"infer api"},
        "validate": {"transform up_to_formats"},
        "transform after_formats": {"validate"},
        "compare": {"transform after_formats"},
        "publish": {"compare"},
    }


def test_a_night_taken_again_asks_nothing_and_a_step_that_fails_says_why(stage: Nights) -> None:
    with stage.worker():
        run = stage.server.until(stage.run("closed"), *OVER)
        unknown = stage.server.until(stage.run("close"), *OVER)
        stopped = LIMITS if stage.places else ()  # a night that asks nothing needs no place
        for name in stopped:
            stage.server.ask(f"/v2/concurrency_limits/{name}", {"limit": 0}, method="PATCH")
        again = stage.retried(stage.ended["id"])
        for name in stopped:
            stage.server.ask(f"/v2/concurrency_limits/{name}", {"limit": 1}, method="PATCH")
    assert again["state"]["message"].startswith("nothing was asked, this night had been measured; exit code 1: ")
    assert stage.provider.counters()["requests"] == stage.n_asked
    # the nearest card lies in the folder that the worker's environment names, and nothing is written into the worker's own
    assert unknown["state"]["message"].startswith("exit code 2: ")
    assert "nearest: closed" in unknown["state"]["message"]
    assert {path.name for path in stage.log.parent.iterdir()} == {"home", "audits", "worker.log", "prefect.yaml"}
    assert (run["state_type"], run["state_name"]) == ("FAILED", "Could not measure")
    assert run["state"]["message"].startswith("exit code 3: EngineError: model 'small' at ")
    (task,) = stage.server.ask("/task_runs/filter", {"task_runs": {"name": {"any_": ["infer closed"]}}})
    assert task["state_type"] == "FAILED"
    logs = stage.server.ask("/logs/filter", {"logs": {"task_run_id": {"any_": [task["id"]]}}})
    for text in (
        run["state"]["message"],
        task["state"]["message"],
        *(line["message"] for line in logs if line["level"] >= 40),
    ):
        assert REFUSED in text
        assert "EngineError" in text


def test_what_was_said_and_asked_and_the_key_are_nowhere_on_the_server(stage: Nights) -> None:
    ((question, instruction),) = query(
        stage.warehouse, "select any_value(input), any_value(instruction) from raw.samples, raw.prompt_variants"
    )
    hidden = (SAID, KEY, question, instruction, "by the type of its answer")
    kept = stage.server.everything()
    assert stage.ended["id"] in kept
    assert [text for text in hidden if text in kept] == []
    home = stage.server.home
    files = [path for path in home.rglob("*") if path.is_file() and path.name != "server.log"]
    for path in files:
        written = path.read_bytes()
        assert [text for text in hidden if text.encode() in written] == [], path
    # results would lie here, pickled; leases of the limits are JSON
    assert not [path for path in files if "storage" in path.relative_to(home).parts and not _is_json(path)]


def _is_json(path: Path) -> bool:
    try:
        json.loads(path.read_bytes())
    except ValueError:
        return False
    return "__version__" not in path.name


on_sqlite = pytest.mark.parametrize("stage", [pytest.param("sqlite", marks=pytest.mark.slow)], indirect=True)


@pytest.mark.soak  # pages of Prefect's own; its server has what they show, as the tests above see
@on_sqlite
def test_the_pages_show_runs_and_artifacts(browser: Any, stage: Nights, tmp_path: Path) -> None:
    origin = stage.server.url.removesuffix("/api")
    ids = {each["key"]: each["id"] for each in stage.server.ask("/artifacts/filter", {})}
    shots = Path(os.environ.get("TEST_SCREENSHOTS") or tmp_path)
    page = stage.page(browser)
    shown = {
        "runs": ("/runs", [stage.ended["name"], "Gate failed", "Crashed"]),
        "run": (f"/runs/flow-run/{stage.ended['id']}", [stage.ended["name"], "Gate failed", "publishing"]),
        "artifacts": ("/artifacts", [f"scorecard-{AUDIT}", f"gate-{AUDIT}", f"report-{AUDIT}", "night"]),
        "scorecard": (f"/artifacts/artifact/{ids[f'scorecard-{AUDIT}']}", ["questions", "micro_f1"]),
        "gate": (f"/artifacts/artifact/{ids[f'gate-{AUDIT}']}", ["micro_f1 >= 0.99", "the only row fails"]),
    }
    for name, (path, texts) in shown.items():
        page.goto(origin + path)
        for text in texts:
            page.get_by_text(text).first.wait_for(timeout=60_000)
        page.screenshot(path=shots / f"{stage.folder.parent.name}-{name}.png")
    page.close()


@pytest.mark.soak  # it waits for a killed night's places; which run goes on is seen in tests/nightly too
def test_a_new_night_that_is_killed_and_taken_again_asks_nothing_twice(stage: Nights) -> None:
    asked, server = stage.provider.counters, stage.server
    before = asked()["requests"]
    with stage.worker():
        begun = stage.run(new=True)
        stage.asked(before + 20)
        looked_at = "prefect.flow_runs.worker - Check whether"
        n_looked_at = stage.said().count(looked_at)
        stage.kill(stage.processes())
        assert server.until(begun, *OVER)["state_name"] == "Crashed"
        # its worker looks at the process once more, and would take the next try for crashed too
        wait_for(
            lambda: stage.said().count(looked_at) > n_looked_at,
            "the worker to be done with the killed flow",
            stage.said,
        )
        assert stage.retried(begun)["state_name"] == "Gate failed"
        assert stage.retried(begun)["state"]["message"].startswith("nothing was asked")
    assert before + N_CELLS <= asked()["requests"] <= before + N_CELLS + CONNECTIONS
    runs = query(
        stage.warehouse, f"select state, flow_run_id from raw.audit_runs where audit_id = '{AUDIT}' order by started_at"
    )
    assert runs == [("complete", stage.killed["id"]), ("complete", begun)]
    assert cells(stage.warehouse) == (2 * N_CELLS, N_CELLS)


@pytest.mark.soak
def test_a_suspended_night_that_is_resumed_goes_on_with_its_run_and_asks_nothing_twice(stage: Nights) -> None:
    asked, server = stage.provider.counters, stage.server
    before, n_nights = asked()["requests"], len(query(stage.warehouse, NIGHTS))
    with stage.worker():
        begun = stage.run(new=True)
        stage.asked(before + 20)
        details = {"pause_timeout": "2099-01-01T00:00:00Z", "pause_reschedule": True}
        state = {"type": "PAUSED", "name": "Suspended", "state_details": details}
        answer = server.ask(f"/flow_runs/{begun}/set_state", {"state": state, "force": False})
        assert answer["status"] == "ACCEPT", answer
        stage.asked(before + N_CELLS - 1)  # a step that has begun is ended; the flow waits for the next one
        wait_for(lambda: not stage.processes(), "the suspended flow to end", stage.said)
        assert server.ask(f"/flow_runs/{begun}")["state_name"] == "Suspended"
        assert server.ask(f"/flow_runs/{begun}/resume", {})["status"] == "ACCEPT"
        assert server.until(begun, *OVER)["state_name"] == "Gate failed"
    assert before + N_CELLS == asked()["requests"]
    nights = query(stage.warehouse, NIGHTS)
    assert len(nights) == n_nights + 1
    assert {(n_rows, n_cells) for *_, n_rows, n_cells in nights} == {(N_CELLS, N_CELLS)}


@pytest.mark.soak  # it waits for a cancelled night's end
def test_a_cancelled_night_ends_and_the_next_start_asks_the_rest(stage: Nights) -> None:
    asked, server = stage.provider.counters, stage.server
    before, n_nights = asked()["requests"], len(query(stage.warehouse, NIGHTS))
    with stage.worker():
        begun = stage.run(new=True)
        stage.asked(before + 20)
        cancelling = {"type": "CANCELLING", "name": "Cancelling"}
        server.ask(f"/flow_runs/{begun}/set_state", {"state": cancelling, "force": False})
        server.until(begun, "Cancelled")
        wait_for(lambda: not stage.processes(), "the cancelled flow to end", stage.said)
        for run_id in (begun, server.runs("audit")[-1]["id"]):  # nobody is called, as for one that crashed
            states = [state["name"] for state in server.ask(f"/flow_run_states/?flow_run_id={run_id}")]
            assert states[-2:] == ["Cancelling", "Cancelled"]
            assert "Crashed" not in states
        n_of_cancelled = asked()["requests"] - before
        assert n_of_cancelled < N_CELLS
        assert server.until(stage.run(), *OVER)["state_name"] == "Gate failed"
    assert before + N_CELLS <= asked()["requests"] <= before + N_CELLS + CONNECTIONS
    nights = query(stage.warehouse, NIGHTS)
    assert len(nights) == n_nights + 1
    assert {(n_rows, n_cells) for *_, n_rows, n_cells in nights} == {(N_CELLS, N_CELLS)}


@pytest.mark.parametrize("stage", [pytest.param("sqlite", marks=pytest.mark.soak)], indirect=True)
def test_a_night_outlives_its_worker_by_its_next_start_and_the_server_at_once(stage: Nights) -> None:
    server, before = stage.server, stage.provider.counters()["requests"]
    n_nights = len(query(stage.warehouse, NIGHTS))
    with stage.worker() as worker:
        run_id = stage.run(new=True)
        stage.asked(before + 20)
        worker.kill()  # it alone
        worker.wait()
        wait_for(lambda: not stage.processes(), "the flow of a killed worker to end")
    assert server.until(run_id, *OVER)["state_name"] == "Crashed"
    assert stage.limits() == dict.fromkeys(LIMITS, 0)
    n_audits = len(server.runs("audit"))
    with stage.worker(PREFECT_CLIENT_MAX_RETRIES="1"):
        stage.run()
        wait_for(lambda: len(server.runs("audit")) > n_audits, "the night to go on")
        server.kill()
        try:
            wait_for(lambda: not stage.processes(), "the night to end", stage.said)
        finally:
            server.start()
    nights = query(stage.warehouse, NIGHTS)
    assert len(nights) == n_nights + 1
    assert {steps for _, steps, *_ in nights} == {3}  # begun, resumed and finished
    assert {(n_rows, n_cells) for *_, n_rows, n_cells in nights} == {(N_CELLS, N_CELLS)}
    assert stage.provider.counters()["requests"] - before <= N_CELLS + CONNECTIONS
    assert "its server does not know how this run ended" in stage.said() or "goes on without it" in stage.said()


@pytest.mark.parametrize("stage", [pytest.param("sqlite", marks=pytest.mark.soak)], indirect=True)
def test_a_night_killed_with_its_worker_and_server_leaves_nothing_that_holds_up_the_next(stage: Nights) -> None:
    server, before = stage.server, stage.provider.counters()["requests"]
    server.kill()
    server.environment["PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE"] = MEMORY
    server.start()
    with stage.worker() as worker:
        stage.run(new=True)
        stage.asked(before + 20)
        server.kill()
        end_group(worker)
        stage.kill(stage.processes())
    server.start()
    assert {name: found for name, found in stage.limits().items() if found} == dict.fromkeys(LIMITS, 1)  # nobody's
    n_said = len(stage.said())
    with stage.worker():
        started = time.monotonic()
        begun = stage.run()
        server.until(begun, "RUNNING")
        stage.asked(before + 20 + 2 * CONNECTIONS)
        waited = time.monotonic() - started
        assert server.until(begun, *OVER)["state_name"] == "Gate failed"
    assert waited < 2 * FREE_AGAIN_S, waited
    said = stage.said()[n_said:]
    assert "AwaitingConcurrencySlot" not in said
    assert f"waiting for {LIMITS[0]}, which" in said


@pytest.mark.soak  # its nights are those of the deployment; what is its own is the schedule of a card, and how it ends
@on_sqlite
def test_what_is_served_runs_on_the_cards_schedule_and_ends_with_its_server(stage: Nights) -> None:
    before, n_nights = stage.provider.counters()["requests"], len(query(stage.warehouse, NIGHTS))
    client = {name: value for name, value in stage.server.environment.items() if name.startswith("PREFECT_")}
    card = stage.folder / f"registry/audits/{AUDIT}.yml"
    every_minute = 'schedule: "* * * * *"\n  max_duration: 1h'
    card.write_text(card.read_text(encoding="utf-8").replace('schedule: "0 2 * * *"', every_minute), encoding="utf-8")
    serving = start(stage.folder, "serve", AUDIT, AUDIT_KEY=KEY, SERVED_IN=str(stage.folder), **client)
    try:
        stage.asked(before + 10)
        serving.terminate()
        _, err = serving.communicate(timeout=SOON_S)
        assert len(query(stage.warehouse, NIGHTS)) == n_nights + 1
        assert stage.provider.counters()["requests"] - before < N_CELLS  # it did not wait for its night to end
        assert serving.returncode == 130, err
        assert "interrupted" in err.splitlines()[-1]
        left = all_of(lambda process: process.environ().get("SERVED_IN") == str(stage.folder))
        assert [process.cmdline() for process in left] == []
    finally:
        end_all(lambda process: process.environ().get("SERVED_IN") == str(stage.folder))
        serving.kill()
    served = stage.server.ask("/deployments/filter", {"deployments": {"name": {"any_": [f"nightly {AUDIT}"]}}})
    assert [each["schedules"][0]["schedule"]["cron"] for each in served] == ["* * * * *"]
    assert set(served[0]["tags"]) == {"promptaudit", AUDIT}


@pytest.mark.slow
def test_without_a_server_to_serve_on_one_line_says_so(tmp_path: Path) -> None:
    cards(tmp_path / "registry", "http://127.0.0.1:9/v1", "http://127.0.0.1:9/v1")
    ended = promptaudit_process(tmp_path, "serve", AUDIT)
    assert ended.code == 2
    assert ended.one_line().startswith("UsageError: PREFECT_API_URL names no server")
    assert len(ended.err.strip().splitlines()) == 1
