"""`promptaudit deploy` against a real Prefect server on loopback, with a real worker."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from promptaudit.registry.errors import MeasureError
from tests.packaging.test_infra import commands
from tests.support.prefect_server import AUTH, BIN, MEMORY, PrefectServer, running_prefect, wait_for
from tests.support.webhook_server import RunningWebhooks, running_webhooks

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

CARD = """\
served: {tasks: [own], models: [served], schedule: "30 1 * * *"}
"""
OPERATORS: dict[str, Any] = {"working_dir": "/srv", "env": {"SERVED_KEY": "{{ prefect.blocks.secret.served }}"}}
BLOCK = """\
from prefect.blocks.notifications import CustomWebhookNotificationBlock
CustomWebhookNotificationBlock(
    name="oncall", url="URL", allow_private_urls=True, json_data={"title": "{{subject}}", "text": "{{body}}"}
).save("oncall")
"""
NIGHT = """
import sys
from prefect import flow
from datetime import timedelta
from promptaudit.nightly import limits
from promptaudit.nightly.artifacts import Bar
from promptaudit.registry.errors import PromptauditError
from promptaudit.system.deadline import at_most

limits.FREE_AGAIN_S, limits.POLL_S = float(sys.argv[3]), 0.2

@flow(flow_run_name="{name}", persist_result=False)
def nightly(name, max_s):
    places = limits.hold_limits(["provider-openai"], Bar(print, print), ended=sys.argv[4:])
    with at_most(timedelta(seconds=max_s), name), places:
        print("asks", flush=True)
        sys.stdin.readline()

try:
    nightly(sys.argv[1], float(sys.argv[2]))
except PromptauditError as error:
    print(error, flush=True)
    sys.exit(error.exit_code)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrefectServer]:
    """Prefect's server on SQLite, asking for the auth string."""
    soon = {f"PREFECT_SERVER_SERVICES_LATE_RUNS_{name}_SECONDS": "1" for name in ("AFTER", "LOOP")}
    home = tmp_path_factory.mktemp("prefect")
    with running_prefect(home, PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE=MEMORY, **soon) as started:
        yield started


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with cards of an audit of its own data that a GPU serves."""
    folder = tmp_path_factory.mktemp("registry")
    (folder / "registry/audits").mkdir(parents=True)
    (folder / "registry/audits/served.yml").write_text(CARD)
    (folder / "registry/models").mkdir()
    (folder / "registry/tasks").mkdir()
    (folder / "registry/own.csv").write_text("id,text,kind\n1,Is it?,yes\n2,Was it?,no\n")
    (folder / "registry/tasks/own.yml").write_text(
        "own: {kind: classification, labels: [yes, no], instruction: Answer., output_format: Reply yes or no.,\n"
        "  data: {path: own.csv, id: id, input: text, gold_label: kind}}\n"
    )
    (folder / "registry/models/served.yml").write_text(
        "served: {engine: vllm_server, model: some/model, price: free}\n"
    )
    return folder


@pytest.fixture(scope="module")
def deployed(server: PrefectServer, registry: Path) -> PrefectServer:
    """The server after `promptaudit deploy`, twice; in between a card changes, and an operator a limit and job variables."""
    card = registry / "registry/audits/served.yml"
    server.run(BIN / "promptaudit", "deploy", "nightly", "served", cwd=registry)
    server.ask("/v2/concurrency_limits/gpu-0", {"limit": 2}, method="PATCH")
    (found,) = server.ask("/deployments/filter", {"deployments": {"name": {"any_": ["served"]}}})
    of_an_older_release = {"concurrency_limit": 1, "concurrency_options": {"collision_strategy": "ENQUEUE"}}
    changed = {"job_variables": OPERATORS} | of_an_older_release
    server.ask(f"/deployments/{found['id']}", changed, method="PATCH")
    (before,) = server.ask("/deployments/filter", {"deployments": {"name": {"any_": ["served"]}}})
    assert before["global_concurrency_limit"]["limit"] == 1
    card.write_text(CARD.replace("30 1", "45 3"))
    said = server.run(BIN / "promptaudit", "deploy", "nightly", "served", cwd=registry)
    assert "deployed  nightly/served to pool 'gpu', on '45 3 * * *' (UTC)" in said
    assert AUTH not in said
    return server


def test_deploying_twice_leaves_each_thing_once(deployed: PrefectServer) -> None:
    found = {each["name"]: each for each in deployed.ask("/deployments/filter", {})}
    pool_of = {"nightly": "api", "served": "gpu"}
    cron_of = {"nightly": "0 2 * * *", "served": "45 3 * * *"}
    assert set(found) == set(pool_of)
    for name, each in found.items():
        assert each["work_pool_name"] == pool_of[name]
        assert each["entrypoint"] == "promptaudit.nightly.flow.nightly"
        assert each["global_concurrency_limit"] is None  # a restarted server may never free it
        (step,) = each["pull_steps"]
        assert next(iter(step.values()))["directory"] == "/"
        (schedule,) = each["schedules"]
        assert (schedule["schedule"]["cron"], schedule["schedule"]["timezone"]) == (cron_of[name], "UTC")
        assert schedule["active"] is True
        assert set(each["tags"]) == {"promptaudit", name}
        assert set(each["parameter_openapi_schema"]["properties"]) == {"audit_id", "warehouse", "new", "max_usd"}
    ours = {"PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "60", "PYTHONSAFEPATH": "1"}
    assert found["nightly"]["job_variables"] == {"env": ours}
    assert found["served"]["job_variables"] == {"working_dir": "/srv", "env": ours | OPERATORS["env"]}
    pools = {each["name"]: (each["type"], each["concurrency_limit"]) for each in deployed.ask("/work_pools/filter", {})}
    assert pools == {"api": ("process", None), "gpu": ("process", 1)}
    limits = {each["name"]: each["limit"] for each in deployed.ask("/v2/concurrency_limits/filter", {})}
    assert limits == {"provider-openai": 1, "gpu-0": 2}
    (automation,) = deployed.ask("/automations/filter", {})
    assert automation["trigger"]["after"] == ["prefect.flow-run.heartbeat"]
    assert automation["actions"][0]["state"] == "CRASHED"


def test_a_deployment_of_the_same_forgets_no_night_that_is_watched(deployed: PrefectServer, registry: Path) -> None:
    before = deployed.ask("/automations/filter", {})
    deployed.run(BIN / "promptaudit", "deploy", "nightly", "served", cwd=registry)
    assert deployed.ask("/automations/filter", {}) == before


def test_a_limit_of_an_older_release_goes_once_no_night_runs_under_it(deployed: PrefectServer, registry: Path) -> None:
    (found,) = deployed.ask("/deployments/filter", {"deployments": {"name": {"any_": ["served"]}}})
    deployed.ask(f"/deployments/{found['id']}", {"concurrency_limit": 1}, method="PATCH")
    run = deployed.ask(f"/deployments/{found['id']}/create_flow_run", {"state": {"type": "RUNNING"}, "name": "tonight"})
    deploy = (BIN / "promptaudit", "deploy", "served")
    refused = subprocess.run(
        deploy, cwd=registry, env=deployed.environment, capture_output=True, text=True, check=False
    )
    assert refused.returncode == 2
    limit = "a limit of its deployment, which is taken away"
    assert refused.stderr == f"UsageError: tonight is running under {limit}: deploy 'served' after it\n"
    deployed.ask(f"/flow_runs/{run['id']}/set_state", {"state": {"type": "CRASHED"}, "force": True})
    deployed.run(*deploy, cwd=registry)
    (found,) = deployed.ask("/deployments/filter", {"deployments": {"name": {"any_": ["served"]}}})
    assert found["global_concurrency_limit"] is None


@pytest.fixture(scope="module")
def oncall() -> Iterator[RunningWebhooks]:
    """Whoever is told."""
    with running_webhooks() as webhooks:
        yield webhooks


def automations_of(server: PrefectServer) -> dict[str, dict[str, Any]]:
    """The automations of an audit by the first word of what they tell of."""
    found = server.ask("/automations/filter", {})
    return {each["name"].split()[2]: each for each in found if each["name"].endswith("night of served")}


@pytest.mark.soak
def test_people_are_told_of_late_crashed_and_missed_nights_by_the_blocks_that_a_card_names(
    deployed: PrefectServer, registry: Path, oncall: RunningWebhooks
) -> None:
    card = registry / "registry/audits/served.yml"
    card.write_text(CARD.replace("models:", "notify_blocks: [custom-webhook/oncall], models:"))
    deploy = (BIN / "promptaudit", "deploy", "served")
    refused = subprocess.run(
        deploy, cwd=registry, env=deployed.environment, capture_output=True, text=True, check=False
    )
    assert refused.returncode == 2
    assert "notify_blocks: the server has no block 'custom-webhook/oncall'" in refused.stderr
    deployed.run(sys.executable, "-c", BLOCK.replace("URL", oncall.url("/ok/secret-7731")), cwd=registry)
    said = deployed.run(*deploy, cwd=registry)
    assert "automated a late night of served" in said
    assert "secret-7731" not in said
    late = automations_of(deployed)["late"]
    late["trigger"]["within"] = 10.0  # the least that Prefect takes, instead of minutes
    kept = ("name", "description", "enabled", "trigger", "actions", "actions_on_trigger", "actions_on_resolve")
    deployed.ask(f"/automations/{late['id']}", {name: late[name] for name in kept}, method="PUT")
    (found,) = deployed.ask("/deployments/filter", {"deployments": {"name": {"any_": ["served"]}}})
    runs = [
        deployed.ask(f"/deployments/{found['id']}/create_flow_run", {"state": {"type": "SCHEDULED"}})["id"]
        for _ in range(3)
    ]
    for run, state in zip(runs[1:], ({"type": "CRASHED"}, {"type": "FAILED", "name": "Missed"}), strict=True):
        deployed.ask(f"/flow_runs/{run}/set_state", {"state": state | {"message": "why"}, "force": True})

    def titles() -> list[str]:
        return sorted(request.json()["title"] for request in oncall.of("/ok/secret-7731"))

    wanted = [f"promptaudit: the night of served is {state}" for state in ("Crashed", "Late", "Missed")]
    wait_for(lambda: titles() == wanted, "people to be told", lambda: f"{titles()}\n{deployed.log()[-3000:]}")
    texts = [request.json()["text"] for request in oncall.of("/ok/secret-7731")]
    assert sum("why" in text for text in texts) == 2
    assert sum(f"/runs/flow-run/{run}" in text for text in texts for run in runs) == 3
    card.write_text(CARD)
    deployed.run(*deploy, cwd=registry)
    assert automations_of(deployed) == {}
    deployed.ask(f"/deployments/{found['id']}", method="DELETE")


Begin = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def begin(deployed: PrefectServer, tmp_path: Path) -> Iterator[Begin]:
    """Begins a night that waits for a limit and holds it, until a line comes or its time is up."""
    with contextlib.ExitStack() as stack:

        def begun(
            name: str, max_s: float = 3600.0, free_again_s: float = 2.0, ended: Sequence[str] = ()
        ) -> subprocess.Popen[str]:
            line = [sys.executable, "-P", "-c", NIGHT, name, str(max_s), str(free_again_s), *ended]
            quiet = {"PREFECT_LOGGING_LEVEL": "CRITICAL", "PYTHONUNBUFFERED": "1"}
            night = subprocess.Popen(
                line,
                cwd=tmp_path,
                env=deployed.environment | quiet,
                text=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stack.enter_context((tmp_path / "log").open("a")),
            )
            stack.callback(night.kill)
            return night

        yield begun


def line_of(night: subprocess.Popen[str]) -> str:
    assert night.stdout is not None
    return night.stdout.readline().strip()


def until_it_asks(night: subprocess.Popen[str]) -> list[str]:
    """What it says before; a line more where it looks between two changes."""
    return list(iter(lambda: line_of(night), "asks"))


def test_a_limit_that_a_restarted_server_forgot_to_free_is_named_and_keeps_no_night_waiting(
    deployed: PrefectServer, begin: Begin, tmp_path: Path
) -> None:
    first = begin("first")
    assert line_of(first) == "asks"
    deployed.kill()
    deployed.start()
    second = begin("second")
    assert line_of(second) == "waiting for provider-openai, which first holds"
    first.communicate("")
    assert line_of(second).startswith("waiting for provider-openai, which no night holds; ")
    assert line_of(second).startswith("provider-openai stays taken, though no night holds it: ")
    assert line_of(second) == "asks"
    deployed.run(BIN / "prefect", "gcl", "update", "provider-openai", "--active-slots", "0", cwd=tmp_path)
    third = begin("third")  # the second one holds no place, and its tag alone keeps nobody waiting
    assert line_of(third) == "asks"
    for night in (second, third):
        night.communicate("")
    found = deployed.ask("/v2/concurrency_limits/provider-openai")
    assert found["active_slots"] == 0
    assert [run["tags"] for run in deployed.runs() if run["name"] in ("first", "second", "third")] == [[], [], []]


def test_a_night_that_was_killed_with_its_server_holds_up_only_nights_of_other_warehouses(
    deployed: PrefectServer, begin: Begin, tmp_path: Path
) -> None:
    killed = begin("killed")
    assert line_of(killed) == "asks"
    deployed.kill()
    killed.kill()
    deployed.start()
    (run,) = [run for run in deployed.runs() if run["name"] == "killed"]
    assert run["state_type"] == "RUNNING"  # as far as the server knows
    other, next_ = begin("other"), begin("next", ended=[run["id"]])
    assert line_of(other) == "waiting for provider-openai, which killed holds"
    assert line_of(next_).startswith("waiting for provider-openai, which no night holds; ")
    assert line_of(next_).startswith("provider-openai stays taken, though no night holds it: ")
    assert line_of(next_) == "asks"
    deployed.run(BIN / "prefect", "gcl", "update", "provider-openai", "--active-slots", "0", cwd=tmp_path)
    assert until_it_asks(other) in ([], ["waiting for provider-openai, which killed, next hold"])
    for night in (other, next_):
        night.communicate("")
    deployed.ask(f"/flow_runs/{run['id']}/set_state", {"state": {"type": "CRASHED"}, "force": True})


def test_a_limit_of_none_stops_nights_until_it_is_raised_or_their_time_is_up(
    deployed: PrefectServer, begin: Begin, tmp_path: Path
) -> None:
    def update(*options: str) -> None:
        deployed.run(BIN / "prefect", "gcl", "update", "provider-openai", *options, cwd=tmp_path)

    update("--limit", "0")
    waits = "waiting for provider-openai, a limit of 0 lets no night run; `prefect gcl update provider-openai --limit 1` does"
    try:
        stopped = begin("stopped")
        said, _ = stopped.communicate()
        lets = "`prefect gcl update provider-openai --limit 1` lets them run"
        assert said.splitlines() == [waits, f"MeasureError: the limit provider-openai is 0, which stops nights; {lets}"]
        assert stopped.returncode == MeasureError.exit_code
        late = begin("late", 10.0, 600.0)  # its own time is up before
        assert (
            late.communicate()[0]
            .splitlines()[-1]
            .startswith("MeasureError: late took longer than 10 s and was stopped")
        )
        waiting = begin("waiting", free_again_s=600.0)
        assert line_of(waiting) == waits
        update("--limit", "1")
        assert all(
            line.startswith("waiting for provider-openai, which no night holds; ") for line in until_it_asks(waiting)
        )
        waiting.communicate("")
        update("--limit", "0", "--disable")  # Prefect holds nobody to it
        free = begin("free")
        assert line_of(free) == "asks"
        free.communicate("")
    finally:
        update("--limit", "1", "--enable")


def test_every_command_of_prefects_in_a_runbook_exists_with_its_options() -> None:
    from prefect.cli._app import _app

    called = [words for _, words in commands("prefect")]
    assert {("work-pool", "inspect"), ("gcl", "update"), ("deployment", "run")} <= {
        tuple(words[:2]) for words in called
    }
    for words in called:
        filled = ["00000000-0000-0000-0000-000000000000" if word == "ID" else word for word in words]
        _app.parse_args(filled, exit_on_error=False, print_error=False)
