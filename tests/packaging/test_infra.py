"""The files under infra: what they bind to, what they ask for, and that the commands and queries in them exist."""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
import typer.main
import yaml

from promptaudit.cli import app, hoisted
from promptaudit.gate.alerts.links import RUNBOOKS_OF
from promptaudit.nightly.deployments import POOLS
from promptaudit.nightly.flow import OUTCOMES
from promptaudit.system.settings import SILENT, Settings
from tests.support.shell import promptaudit

ROOT = Path(__file__).parents[2]
INFRA = ROOT / "infra"
COMPOSE = yaml.safe_load((INFRA / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
PREFECT = yaml.safe_load((INFRA / "prefect.yaml").read_text(encoding="utf-8"))
WORKFLOW = yaml.safe_load((INFRA / "examples" / "github-actions.yml").read_text(encoding="utf-8"))
ACTION = yaml.safe_load((INFRA / "examples" / "action.yml").read_text(encoding="utf-8"))
RUNBOOKS = sorted((INFRA / "runbooks").glob("*.md"))
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]


# ---------------------------------------------------------------- kubernetes.yml
def test_a_cron_job_is_closed_in_and_begins_no_night_again_that_has_an_exit_code() -> None:
    volume, cron = yaml.safe_load_all((INFRA / "examples/kubernetes.yml").read_text(encoding="utf-8"))
    job = cron["spec"]["jobTemplate"]["spec"]
    pod = job["template"]["spec"]
    (container,) = pod["containers"]
    assert cron["spec"]["concurrencyPolicy"] == "Forbid"
    ended = job["podFailurePolicy"]["rules"][0]["onExitCodes"]
    assert ended == {"containerName": container["name"], "operator": "In", "values": sorted({*OUTCOMES, 2})}
    assert pod["securityContext"]["runAsUser"] == 10001
    assert "useradd --uid 10001" in (INFRA / "Dockerfile").read_text(encoding="utf-8")
    closed = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    assert container["securityContext"] == closed
    assert {each["name"] for each in container["volumeMounts"]} == {each["name"] for each in pod["volumes"]}
    assert pod["volumes"][0]["persistentVolumeClaim"]["claimName"] == volume["metadata"]["name"]
    assert container["image"].endswith(f":{VERSION}")
    settings = {each["name"] for each in container["env"]}
    assert settings <= {f"PROMPTAUDIT_{name.upper()}" for name in Settings.model_fields}


# ---------------------------------------------------------------- compose.yaml
@pytest.mark.parametrize(
    ("schema", "file"),
    [
        ("compose-spec", "compose.yaml"),
        ("github-workflows", "examples/github-actions.yml"),
        ("github-workflows", "examples/soak.yml"),
        ("github-actions", "examples/action.yml"),
    ],
)
def test_a_file_of_another_program_holds_to_its_schema(schema: str, file: str) -> None:
    line = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", str(INFRA / file)]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_a_service_is_closed_in_and_published_on_loopback_alone(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert "/tmp" in service["tmpfs"]  # noqa: S108 - a mount of the container
    assert not {"privileged", "network_mode", "pid", "cap_add", "devices", "env_file"} & set(service)
    assert all(str(port).startswith("127.0.0.1:") for port in service.get("ports", []))
    assert service["networks"]
    assert "docker.sock" not in str(service)
    assert "healthcheck" in service or service["restart"] == "no", "it runs on and is asked whether it is well"


def test_loopback_ports_are_those_a_person_needs_and_the_database_has_no_way_out() -> None:
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    ports = {"server": 4200, "view": 4300, "vllm": 8000}
    assert published == {name: [f"127.0.0.1:{port}:{port}"] for name, port in ports.items()}
    assert COMPOSE["networks"]["database"] == {"internal": True}
    assert SERVICES["postgres"]["networks"] == ["database"]
    assert {name for name, service in SERVICES.items() if "database" in service["networks"]} == {"postgres", "server"}


def test_compose_refuses_to_start_without_the_auth_string_and_the_password() -> None:
    required = {"PREFECT_SERVER_API_AUTH_STRING", "POSTGRES_PASSWORD"}
    secrets = {
        (name, key): str(value)
        for name, service in SERVICES.items()
        for key, value in service.get("environment", {}).items()
        if value is not None and re.search(r"PASSWORD|AUTH|KEY|TOKEN|LOGIN", key)
    }
    assert ("server", "PREFECT_SERVER_API_AUTH_STRING") in secrets
    assert {name for name, key in secrets if key == "PREFECT_API_AUTH_STRING"} == {"deploy", "worker-api", "worker-gpu"}
    assert {key for name, key in secrets if name == "postgres"} == {"POSTGRES_PASSWORD"}
    for value in secrets.values():  # each is asked for by name, and none has a default
        found = re.fullmatch(r"\$\{(\w+):\?[^}]+\}", value)
        assert found, value
        assert found[1] in required
    # interpolated whatever the profile, so nothing else may be required
    asked = re.findall(r"\$\{(\w+):\?", (INFRA / "compose.yaml").read_text(encoding="utf-8"))
    assert set(asked) == required


def test_images_are_pinned_to_releases_that_the_locks_and_the_package_name() -> None:
    images = {name: service["image"] for name, service in SERVICES.items()}
    ours = {name for name, image in images.items() if image == f"promptaudit:{VERSION}"}
    assert ours == {"server", "deploy", "view", "worker-api", "worker-gpu"}
    vllm = re.search(r"^vllm==([\d.]+) ", (INFRA / "vllm" / "gpu.txt").read_text(encoding="utf-8"), re.MULTILINE)
    assert vllm
    assert images["vllm"] == f"vllm/vllm-openai:v{vllm[1]}"
    assert re.fullmatch(r"postgres:\d+\.\d+-\w+", images["postgres"])
    for name in ours:
        build = SERVICES[name]["build"]
        assert (INFRA / build["context"] / build["dockerfile"]).resolve() == INFRA / "Dockerfile"


def test_pages_are_served_read_only_and_are_what_messages_link_to() -> None:
    view = SERVICES["view"]
    assert view["volumes"] == ["audits:/audits:ro"]
    assert view["environment"]["PROMPTAUDIT_VIEW_LOGIN"].startswith("${PREFECT_SERVER_API_AUTH_STRING:?")
    for name in ("worker-api", "worker-gpu"):
        linked = SERVICES[name]["environment"]["PROMPTAUDIT_REPORT_URL"]
        assert linked == "${PROMPTAUDIT_REPORT_URL:-http://127.0.0.1:4300}"


def test_a_gpu_is_asked_for_behind_a_profile_alone() -> None:
    behind = {name for name, service in SERVICES.items() if service.get("profiles") == ["gpu"]}
    assert behind == {"worker-gpu", "vllm"}
    assert {name for name, service in SERVICES.items() if "nvidia" in str(service)} == {"vllm"}


def test_workers_poll_the_pools_that_are_deployed_to_and_install_nothing() -> None:
    commands = [SERVICES[name]["command"] for name in SERVICES if name.startswith("worker-")]
    assert {command[command.index("--pool") + 1] for command in commands} == set(POOLS)
    for command in commands:
        assert command[command.index("--install-policy") + 1] == "never"
        assert "--with-healthcheck" in command
    assert SERVICES["worker-api"]["environment"]["PREFECT_WORKER_WEBSERVER_HOST"] == "127.0.0.1"
    assert SERVICES["worker-api"]["volumes"][0] == SERVICES["worker-gpu"]["volumes"][0] == "audits:/audits"


def test_env_example_names_what_the_files_here_read() -> None:
    listed = set(re.findall(r"^#(\w+)=$", (INFRA / "env.example").read_text(encoding="utf-8"), re.MULTILINE))
    text = (INFRA / "compose.yaml").read_text(encoding="utf-8")
    asked = set(re.findall(r"\$\{(\w+)", text))
    handed_on = {
        key for service in SERVICES.values() for key, value in service.get("environment", {}).items() if value is None
    }
    assert handed_on >= {"OPENAI_API_KEY", "PROMPTAUDIT_NOTIFY", "PROMPTAUDIT_HEARTBEAT_URL"}
    assert asked | handed_on | {"AUDIT_FOLDER", "PREFECT_API_URL", "PREFECT_API_AUTH_STRING"} <= listed


def test_each_setting_of_a_place_reaches_the_workers() -> None:
    of_the_image = {"warehouse", "registry", "trust_file", "cache", "vllm_python", "llama_server", "prefect"}
    of_readers = {"sql_memory", "sql_seconds", "view_login"}
    handed_on = set(SERVICES["worker-api"]["environment"])
    own = Settings.model_fields.keys() - of_the_image - of_readers
    assert {f"PROMPTAUDIT_{name.upper()}" for name in own} - handed_on == set()


# ---------------------------------------------------------------- Dockerfile
def instructions() -> list[tuple[str, str]]:
    """The Dockerfile's instructions in order, each on one line."""
    text = (INFRA / "Dockerfile").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    return [(line.split()[0], " ".join(line.split()[1:])) for line in joined.splitlines()]


def final_stage() -> list[tuple[str, str]]:
    found = instructions()
    last = max(number for number, (word, _) in enumerate(found) if word == "FROM")
    return found[last:]


def test_the_image_runs_as_a_fixed_user_that_owns_none_of_the_code() -> None:
    stage = final_stage()
    (user,) = [rest for word, rest in stage if word == "USER"]
    assert re.fullmatch(r"[1-9]\d{3,}:[1-9]\d{3,}", user)
    (made,) = [rest for word, rest in stage if word == "RUN"]
    assert f"--uid {user.split(':')[0]} " in made
    assert not any("--chown" in rest for _, rest in stage)
    order = [word for word, _ in stage]
    assert order.index("USER") > max(number for number, word in enumerate(order) if word in ("RUN", "COPY"))
    assert ("ENTRYPOINT", '["promptaudit"]') in stage


def test_the_image_installs_what_the_lock_hashes_and_fetches_nothing_else() -> None:
    words = {word for word, _ in instructions()}
    assert words == {"FROM", "ENV", "WORKDIR", "COPY", "RUN", "USER", "ENTRYPOINT", "CMD"}, (
        "no ADD, no ARG with a secret"
    )
    text = " ".join(rest for _, rest in instructions())
    assert not re.search(r"https?://|\b(curl|wget|git|apt-get|apk)\b|latest|--trusted-host|--index-url", text)
    runs = [step.strip() for word, rest in instructions() if word == "RUN" for step in rest.split("&&")]
    installs = [step for step in runs if " install " in step]
    assert len(installs) == 2
    assert "--require-hashes" in installs[0]
    assert "infra/locks/run.txt" in installs[0]
    assert "--no-index --no-deps" in installs[1]
    assert any(re.search(r"uninstall --yes .*\bhatchling\b", step) for step in runs), "what builds stays behind"
    assert not any("pip" in rest for word, rest in final_stage() if word == "RUN")
    bases = {rest.split()[0] for word, rest in instructions() if word == "FROM"}
    whole, slim = sorted(bases)
    assert re.fullmatch(r"python:3\.11\.\d+-slim-\w+", slim)
    assert whole == slim.replace("-slim", "")


def test_the_image_reports_nowhere() -> None:
    environment = " ".join(rest for word, rest in final_stage() if word == "ENV")
    assert all(f"{name}={value}" in environment for name, value in SILENT.items())


def test_a_build_sees_what_it_copies_and_no_more() -> None:
    ignored = (INFRA / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    rules = [line for line in ignored if line and not line.startswith("#")]
    assert rules[0] == "*"
    seen = {rule[1:] for rule in rules if rule.startswith("!")}
    copied = {
        source
        for word, rest in instructions()
        if word == "COPY" and not rest.startswith("--from")
        for source in rest.split()[:-1]
    }
    assert seen == copied
    assert all((ROOT / source).exists() for source in copied)
    build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]
    packed = build["targets"]["wheel"]["only-include"]  # hatchling passes over what is not there
    assert all(any(Path(path).is_relative_to(source) for source in copied) for path in packed)


# ---------------------------------------------------------------- prefect.yaml
def test_deployments_run_the_nightly_flow_with_arguments_it_takes() -> None:
    tree = ast.parse((ROOT / "flows/promptaudit/nightly/flow.py").read_text(encoding="utf-8"))
    (function,) = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "nightly"]
    taken = {argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)}
    for deployment in PREFECT["deployments"]:
        # imported from the installed package: as a file, its folder would be searched first, and holds a trust, a plan, a run
        assert deployment["entrypoint"] == "promptaudit.nightly.flow.nightly"
        assert set(deployment["parameters"]) <= taken
        assert "concurrency_limit" not in deployment  # the warehouse has a lock of its own
        (schedule,) = deployment["schedules"]
        assert (schedule["cron"], schedule["timezone"]) == ("0 2 * * *", "UTC")
        assert {"promptaudit", deployment["name"]} == set(deployment["tags"])
    assert [step for steps in PREFECT["pull"] for step in steps] == ["prefect.deployments.steps.set_working_directory"]
    assert not {"build", "push"} & set(PREFECT)


def test_the_shipped_deployments_are_what_deploy_writes_of_the_shipped_card(tmp_path: Path) -> None:
    written = tmp_path / "prefect.yaml"
    ended = promptaudit(tmp_path, "deploy", "nightly", "--output", "prefect.yaml")
    assert ended.code == 0, ended.err
    assert written.read_text(encoding="utf-8") == (INFRA / "prefect.yaml").read_text(encoding="utf-8")


def test_deploy_says_which_server_or_card_it_lacks(tmp_path: Path) -> None:
    ended = promptaudit(tmp_path, "deploy")
    unknown = promptaudit(tmp_path, "deploy", "nightlyy")
    assert (ended.code, unknown.code) == (2, 2)
    assert "PREFECT_API_URL names no server" in ended.one_line()
    assert "nearest: nightly" in unknown.one_line()


# ---------------------------------------------------------------- examples
def test_cron_the_timer_the_workflow_and_the_deployments_name_one_hour() -> None:
    examples = INFRA / "examples"
    (line,) = re.findall(
        r"^[^#\n].* promptaudit.*$|^\d.*$", (examples / "crontab").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert line.split()[:5] == ["0", "2", "*", "*", "*"]
    assert "%" not in line, "cron ends a command there"
    assert "\nCRON_TZ=UTC\n" in (examples / "crontab").read_text(encoding="utf-8")
    assert "OnCalendar=*-*-* 02:00:00 UTC\n" in (examples / "promptaudit.timer").read_text(encoding="utf-8")
    assert WORKFLOW[True]["schedule"] == [{"cron": "0 2 * * *"}]  # YAML reads `on` as true


@pytest.mark.parametrize("file", ["github-actions.yml", "soak.yml", "action.yml"])
def test_an_action_is_pinned_to_a_commit_and_says_which_release_that_is(file: str) -> None:
    text = (INFRA / "examples" / file).read_text(encoding="utf-8")
    used = re.findall(r"uses: (?!\./)(.+)$", text, re.MULTILINE)
    assert used
    assert [each for each in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each)] == []


@pytest.mark.parametrize("file", ["github-actions.yml", "soak.yml", "action.yml"])
def test_python_of_an_action_imports_nothing_of_the_checkout(file: str) -> None:
    text = (INFRA / "examples" / file).read_text(encoding="utf-8")
    assert re.findall(r"python[\d.]* (?!-I )-.*", text) == []  # `python -m pip` would run a `pip.py` of a pull request


def test_the_workflow_hands_secrets_to_single_steps_and_none_to_a_fork() -> None:
    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert WORKFLOW["concurrency"]["cancel-in-progress"] is False
    assert "secrets." not in str(WORKFLOW["env"])
    for job in WORKFLOW["jobs"].values():
        assert "env" not in job
        for step in job["steps"]:
            assert "${{" not in step.get("run", ""), "a value of GitHub's is never part of a shell's line"
            if "secrets." in str(step):
                assert step.get("uses") == "./.github/actions/promptaudit" or step["run"].startswith(
                    "promptaudit nightly "
                )
    assert "head.repo.full_name == github.repository" in WORKFLOW["jobs"]["gate"]["if"]
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step.get("run", "")
    assert "secrets." not in str(ACTION)


# ---------------------------------------------------------------- commands and queries
def pieces() -> Iterator[tuple[str, str]]:
    """Every piece of shell under infra with the file it stands in: of runbooks what is set as code."""
    fence = re.compile(r"^ *```bash\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
    for path in RUNBOOKS:
        text = path.read_text(encoding="utf-8")
        for block in fence.findall(text):
            yield from ((path.name, line.strip()) for line in block.splitlines())
        yield from ((path.name, " ".join(span.split())) for span in re.findall(r"`([^`]+)`", fence.sub("", text)))
    steps = [("github-actions.yml", step) for job in WORKFLOW["jobs"].values() for step in job["steps"]]
    steps += [("action.yml", step) for step in ACTION["runs"]["steps"]]
    yield from ((file, line) for file, step in steps for line in step.get("run", "").splitlines())
    crontab = (INFRA / "examples" / "crontab").read_text(encoding="utf-8")
    yield from (("crontab", line.split(maxsplit=5)[5]) for line in crontab.splitlines() if line[:1].isdigit())
    service = (INFRA / "examples" / "promptaudit.service").read_text(encoding="utf-8")
    yield from (("promptaudit.service", line) for line in re.findall(r"^ExecStart=(.+)$", service, re.MULTILINE))


def commands(program: str) -> list[tuple[str, list[str]]]:
    """Each call of a program in these pieces: the file and the words after the program's name."""
    found = []
    for file, piece in pieces():
        lexer = shlex.shlex(piece, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words: list[str] = []
        for token in [*lexer, ";"]:
            if token.strip("();<>|&"):
                words.append(token)
                continue
            while words and re.match(r"\w+=", words[0]):
                words = words[1:]
            if words and words[0].rsplit("/", 1)[-1] == program and len(words) > 1:
                found.append((file, words[1:]))
            words = []
    return found


def test_every_command_of_a_runbook_or_an_example_exists_with_its_options() -> None:
    group = typer.main.get_command(app)
    called = commands("promptaudit")
    assert {file for file, _ in called} == {path.name for path in RUNBOOKS} | {
        "github-actions.yml",
        "action.yml",
        "crontab",
        "promptaudit.service",
    }
    for file, words in called:
        name, *arguments = [word for word in hoisted(words) if word not in ("--json", "--quiet")]
        assert name in group.commands, f"{file}: promptaudit {name}"  # type: ignore[attr-defined]
        command = group.commands[name]  # type: ignore[attr-defined]
        with command.make_context(name, list(arguments)):  # raises for an option or an argument it does not take
            pass


@pytest.fixture(scope="module")
def empty_marts() -> duckdb.DuckDBPyConnection:
    """Every mart as its contract has it, without rows."""
    con = duckdb.connect()
    con.execute("create schema marts")
    for path in (ROOT / "dbt" / "models" / "marts").rglob("*.yml"):
        for model in yaml.safe_load(path.read_text(encoding="utf-8")).get("models", []):
            columns = ", ".join(
                f'"{column["name"]}" {column.get("data_type", "varchar")}' for column in model["columns"]
            )
            con.execute(f"create table marts.{model['name']} ({columns})")
    return con


def test_every_query_of_a_runbook_runs_on_the_marts(empty_marts: duckdb.DuckDBPyConnection) -> None:
    queries = [words[1] for _, words in commands("promptaudit") if words[0] == "sql"]
    assert len(queries) >= 4
    for query in queries:
        empty_marts.execute(query)


def test_runbooks_have_one_shape_and_their_links_lead_somewhere() -> None:
    assert {path.stem for path in RUNBOOKS} >= {name for names in RUNBOOKS_OF.values() for name in names}
    assert {path.stem for path in RUNBOOKS} == {
        "gate_failed",
        "could_not_measure",
        "alarm_is_false",
        "missed_night",
        "locked_warehouse",
        "budget_reached",
        "new_model",
        "backfill",
        "restore",
    }
    for path in RUNBOOKS:
        text = path.read_text(encoding="utf-8")
        assert text.startswith("# ")
        assert re.search(r"^\*\*You (see|want)\*\*", text, re.MULTILINE)
        assert re.search(r"^\*\*Do\*\*", text, re.MULTILINE)
        assert re.search(r"^\*\*Over when\*\*", text, re.MULTILINE)
        links = re.findall(r"\]\(([^)]+)\)", text)
        assert all((path.parent / link).with_suffix(".md").is_file() for link in links), links
