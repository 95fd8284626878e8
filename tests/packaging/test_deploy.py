"""`promptaudit deploy` against a real Prefect server on loopback, with a real worker."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.packaging.test_infra import commands

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
AUTH = "admin:a pass+word/@"
CARD = """\
served: {tasks: [question_type], models: [served], schedule: "30 1 * * *"}
"""


@dataclass(frozen=True)
class Server:
    """A running server: where it answers, and what a client's environment needs."""

    url: str
    environment: dict[str, str]

    def ask(self, path: str, body: object = None, *, auth: str | None = AUTH) -> Any:
        """The answer to a POST (a GET without a body) as JSON."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}{path}", data, {"Content-Type": "application/json"})  # noqa: S310
        if auth is not None:
            request.add_header("Authorization", f"Basic {b64encode(auth.encode()).decode()}")
        with urllib.request.urlopen(request, timeout=20) as answer:  # noqa: S310 - our own server
            return json.load(answer)

    def run(self, *line: str | Path, cwd: Path, **variables: str) -> str:
        """What a client's command printed on both streams; fails with it."""
        done = subprocess.run(
            line, cwd=cwd, env=self.environment | variables, text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        assert done.returncode == 0, f"{line}: exit {done.returncode}\n{done.stdout}"
        return done.stdout


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Prefect's server on SQLite, asking for the auth string."""
    home = tmp_path_factory.mktemp("prefect")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    url = f"http://127.0.0.1:{port}/api"
    environment = {
        "PATH": f"{BIN}{os.pathsep}{os.defpath}",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "PREFECT_HOME": str(home),
        "PREFECT_API_URL": url,
        "PREFECT_API_AUTH_STRING": AUTH,
        "PREFECT_SERVER_API_AUTH_STRING": AUTH,
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": "prefect.server.concurrency.lease_storage.filesystem",
    }
    line = [BIN / "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)]
    with (home / "server.log").open("wb") as log:
        child = subprocess.Popen(line, env=environment, stdout=log, stderr=subprocess.STDOUT, cwd=home)
    try:
        started = Server(url, environment)
        for _ in range(240):
            try:
                started.ask("/health", auth=None)
                break
            except OSError:
                assert child.poll() is None, (home / "server.log").read_text(encoding="utf-8")
                time.sleep(0.5)
        yield started
    finally:
        child.terminate()
        child.wait(60)


@pytest.fixture(scope="module")
def deployed(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Server:
    """The server after `promptaudit deploy`, twice; in between the schedule of a card changes, and an operator a limit."""
    folder = tmp_path_factory.mktemp("registry")
    (folder / "registry/audits").mkdir(parents=True)
    card = folder / "registry/audits/served.yml"
    card.write_text(CARD)
    (folder / "registry/models").mkdir()
    (folder / "registry/models/served.yml").write_text(
        "served: {engine: vllm_server, model: some/model, price: free}\n"
    )
    server.run(BIN / "promptaudit", "deploy", "nightly", "served", cwd=folder, AUDIT_FOLDER="/of/who/deploys")
    server.run(BIN / "prefect", "gcl", "update", "gpu-0", "--limit", "2", cwd=folder)
    card.write_text(CARD.replace("30 1", "45 3"))
    said = server.run(BIN / "promptaudit", "deploy", "nightly", "served", cwd=folder)
    assert "deployed  nightly/served to pool 'gpu', on '45 3 * * *' (UTC)" in said
    assert AUTH not in said
    return server


def test_the_server_answers_nobody_without_the_auth_string(server: Server) -> None:
    for auth in (None, "admin:wrong"):
        with pytest.raises(urllib.error.HTTPError, match="401"):
            server.ask("/deployments/filter", {}, auth=auth)
    assert server.ask("/deployments/filter", {}) is not None


def test_deploying_twice_leaves_each_thing_once(deployed: Server) -> None:
    found = {each["name"]: each for each in deployed.ask("/deployments/filter", {})}
    pool_of = {"nightly": "api", "served": "gpu"}
    cron_of = {"nightly": "0 2 * * *", "served": "45 3 * * *"}
    assert set(found) == set(pool_of)
    for name, each in found.items():
        assert each["work_pool_name"] == pool_of[name]
        assert each["entrypoint"] == "flows.nightly.flow.nightly"
        assert each["global_concurrency_limit"]["limit"] == 1
        assert each["concurrency_options"]["collision_strategy"] == "ENQUEUE"
        (step,) = each["pull_steps"]
        assert next(iter(step.values()))["directory"] == "{{ $AUDIT_FOLDER }}"  # the worker's
        (schedule,) = each["schedules"]
        assert (schedule["schedule"]["cron"], schedule["schedule"]["timezone"]) == (cron_of[name], "UTC")
        assert schedule["active"] is True
        assert set(each["tags"]) == {"promptaudit", name}
        assert set(each["parameter_openapi_schema"]["properties"]) == {"audit_id", "warehouse", "new"}
    pools = {each["name"]: (each["type"], each["concurrency_limit"]) for each in deployed.ask("/work_pools/filter", {})}
    assert pools == {"api": ("process", None), "gpu": ("process", 1)}
    limits = {each["name"]: each["limit"] for each in deployed.ask("/v2/concurrency_limits/filter", {})}
    named = {name: limit for name, limit in limits.items() if not name.startswith("deployment:")}
    assert named == {"warehouse": 1, "provider-openai": 1, "gpu-0": 2}
    (automation,) = deployed.ask("/automations/filter", {})
    assert automation["trigger"]["after"] == ["prefect.flow-run.heartbeat"]
    assert automation["actions"][0]["state"] == "CRASHED"


def test_a_worker_runs_the_night_in_the_folder_that_its_environment_names(deployed: Server, tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "audits", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    deployed.run(BIN / "promptaudit", "init", cwd=folder)  # registry/audits/mine.yml
    started = deployed.run(
        BIN / "prefect", "deployment", "run", "nightly/nightly", "--param", "audit_id=min", cwd=elsewhere
    )
    assert "nightly" in started
    worker = ("worker", "start", "--pool", "api", "--install-policy", "never", "--no-create-pool-if-not-found")
    said = deployed.run(
        BIN / "prefect", "--no-prompt", *worker, "--run-once", cwd=elsewhere, AUDIT_FOLDER=str(folder),
        PREFECT_WORKER_PREFETCH_SECONDS="10",
    )  # fmt: skip
    runs = deployed.ask("/flow_runs/filter", {"flow_runs": {"state": {"type": {"any_": ["FAILED", "COMPLETED"]}}}})
    (run,) = runs
    # the card of this id is nowhere; the nearest one lies in that folder alone
    assert run["state"]["type"] == "FAILED"
    assert "exit code 2" in run["state"]["message"]
    assert "nearest: mine" in said
    assert not any(elsewhere.iterdir())


def test_every_command_of_prefects_in_a_runbook_exists_with_its_options() -> None:
    from prefect.cli._app import _app

    called = [words for _, words in commands("prefect")]
    assert {("work-pool", "ls"), ("gcl", "update"), ("deployment", "run")} <= {tuple(words[:2]) for words in called}
    for words in called:
        filled = ["00000000-0000-0000-0000-000000000000" if word == "ID" else word for word in words]
        _app.parse_args(filled, exit_on_error=False, print_error=False)
