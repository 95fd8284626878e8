"""A folder that somebody else filled configures no library: what it brings is neither read nor executed.

The folder holds a configuration file of each library that looks for one where it is started, a database of Prefect's home,
and modules called like libraries. Every Python process of a command reports which files of the folder it opens.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from promptaudit.cards.new_cards import scaffold
from tests.support.prefect_server import OVER, SOON_S, end_group, running_prefect, wait_for

COMMAND = Path(sys.executable).parent / "promptaudit"
OWN_SERVER = "http://127.0.0.1:9/api"  # of the user's own profile; nobody listens there
HOOK = """
import os, sys

folder, report = os.environ["FOREIGN_FOLDER"] + os.sep, os.environ["FOREIGN_REPORT"]

def hook(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, bytes)):
        try:
            path = os.path.realpath(os.fsdecode(arguments[0]))
        except OSError:
            return
        if path.startswith(folder):
            with open(report, "a") as file:
                file.write(path[len(folder):] + "\\n")

sys.addaudithook(hook)
"""
MODULES = """
    aiohttp apprise click conftest dbt duckdb great_expectations httpx json logging multiprocessing numpy openai openlineage
    pandas platformdirs polars prefect psutil pydantic pydantic_settings random rich secrets sitecustomize socket sqlglot
    typer usercustomize uvicorn yaml
"""
LOGGING = """
version: 1
handlers: {{planted: {{"()": subprocess.getoutput, cmd: "echo logging >> {executed}"}}}}
root: {{handlers: [planted]}}
"""
PROFILES = (
    'active = "planted"\n[profiles.planted]\nPREFECT_API_URL = "{url}"\nPREFECT_LOGGING_CONFIG_PATH = "logging.yml"\n'
)
FILES = {
    ".env": "PREFECT_API_URL={url}\nPREFECT_LOGGING_CONFIG_PATH=logging.yml\nPREFECT_PROFILES_PATH=profiles.toml\n"
    "OPENAI_BASE_URL={url}\nPROMPTAUDIT_HEARTBEAT_URL={url}\n",
    "prefect.toml": '[api]\nurl = "{url}"\n[logging]\nconfig_path = "logging.yml"\n',
    "pyproject.toml": '[tool.prefect.api]\nurl = "{url}"\n[tool.prefect.logging]\nconfig_path = "logging.yml"\n',
    "profiles.toml": PROFILES,
    ".prefect/profiles.toml": PROFILES,
    "logging.yml": LOGGING,
    "openlineage.yml": "transport: {{type: http, url: '{url}'}}\n",
    "profiles.yml": "promptaudit: {{target: planted, outputs: {{planted: {{type: duckdb, path: planted.duckdb}}}}}}\n",
    "dbt_project.yml": "name: planted\nversion: '1'\nprofile: promptaudit\n",
    ".netrc": "machine 127.0.0.1 login planted password planted\n",
} | dict.fromkeys(
    (
        ".apprise",
        ".config/apprise.yml",
        ".dbt/profiles.yml",
        ".user.yml",
        "alembic.ini",
        "apprise.yml",
        "config.yaml",
        "dbt_cloud.yml",
        "great_expectations.yml",
        "great_expectations/great_expectations.yml",
        "gx/great_expectations.yml",
        "logging.conf",
        "logging.ini",
        "matplotlibrc",
        "memo_store.toml",
        "packages.yml",
        "planted.pth",
        "prefect.db",
        "prefect.yaml",
        "selectors.yml",
        "setup.cfg",
        "uv.toml",
    ),
    "planted: [\n",
)


@dataclass
class Foreign:
    """A planted folder, the environment its commands get, and what came of it."""

    folder: Path
    place: Path
    environment: dict[str, str]
    requests: list[str] = field(default_factory=list)

    @property
    def executed(self) -> list[str]:
        """What of the folder was executed."""
        file = self.place / "executed"
        return file.read_text().splitlines() if file.exists() else []

    @property
    def opened(self) -> set[str]:
        """The planted files that were opened."""
        file = self.place / "opened"
        opened = set(file.read_text().splitlines()) if file.exists() else set()
        return {path for path in opened if self.is_planted(path)}

    def is_planted(self, path: str) -> bool:
        """Whether a path inside the folder is one of those that `plant` wrote."""
        return any(path.endswith(name) for name in FILES) or (
            path.endswith(".py") and Path(path).stem in MODULES.split()
        )

    def plant(self, url: str) -> None:
        """Writes every file into the working folder, the registry, and the folders beside the warehouse."""
        executed = self.place / "executed"
        module = f"open({str(executed)!r}, 'a').write(__file__ + '\\n')\nraise SystemExit('planted')\n"
        for name in (".", "registry", "warehouse", "warehouse/prefect", "warehouse/dbt"):
            for module_name in MODULES.split():
                path = self.folder / name / f"{module_name}.py"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(module)
            for file, text in FILES.items():
                path = self.folder / name / file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text.format(url=url, executed=executed) if "{" in text else text)

    def run(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        """A command in the folder, to its end."""
        return subprocess.run(
            words, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False, timeout=600
        )

    def assert_untouched(self) -> None:
        """Nothing of the folder was executed, opened or sent anywhere."""
        assert self.executed == []
        assert self.opened == set()
        assert self.requests == []


@pytest.fixture
def foreign(tmp_path: Path) -> Iterator[Foreign]:
    """Cards of a small audit among what is planted, and a server at the planted address that notes what it is asked."""
    folder, home, hook = (tmp_path / name for name in ("folder", "home", "hook"))
    scaffold(folder / "registry")
    card = folder / "registry/audits/mine.yml"
    text = re.sub(r"samples: .*", 'samples: {limit: 6}\n  schedule: "* * * * *"', card.read_text())
    text = text.replace("variants: 10", "variants: 3").replace("[simple, detail]", "[simple]")
    card.write_text(re.sub(r"repetitions: .*", "repetitions: {original: 2, variants: 2}\n  resamples: 50", text))
    hook.mkdir()
    home.mkdir()
    (hook / "sitecustomize.py").write_text(HOOK)
    found = Foreign(
        folder,
        tmp_path,
        {
            "PATH": f"{COMMAND.parent}{os.pathsep}{os.defpath}",
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(hook),
            "FOREIGN_FOLDER": str(folder.resolve()),
            "FOREIGN_REPORT": str(tmp_path / "opened"),
            "PROMPTAUDIT_CACHE": os.environ["PROMPTAUDIT_CACHE"],
            "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
        },
    )

    class Planted(BaseHTTPRequestHandler):
        def parse_request(self) -> bool:
            found.requests.append(self.requestline if super().parse_request() else "")
            return False

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Planted) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        found.plant(f"http://127.0.0.1:{server.server_port}")
        yield found
        server.shutdown()


LIBRARIES = """
import json, logging, threading
from promptaudit.system.prefect_server import load_prefect
from promptaudit.audit.formats.validate import SUMMARY_COLUMNS, Limit, _ask

load_prefect()
from prefect.settings import PREFECT_LOGGING_SETTINGS_PATH, get_current_settings
said = {"server": get_current_settings().api.url}

def elsewhere():
    said["thread"] = get_current_settings().api.url

thread = threading.Thread(target=elsewhere)
thread.start()
thread.join()
row = dict.fromkeys(SUMMARY_COLUMNS, 0) | {
    "model_id": "m", "prompt_variant_id": "v", "task_id": "t", "strategy": "s", "variant_index": 0, "n_missing": 1
}
planned = {"audit_id": "a", "n_rows": 1, "models": ["m"], "strategies": ["s"]}
limit = Limit(name="every cell", column="n_missing", allowed=0, allowed_by="a test")
said["offenders"] = _ask([row], planned, [limit], None)["offenders"]
import apprise, openai, openlineage.client
from promptaudit.system.settings import Settings
said["heartbeat"] = Settings().heartbeat_url
print(json.dumps(said))
"""


@pytest.mark.slow
def test_libraries_read_nothing_of_the_working_folder_and_prefect_the_users_profile(foreign: Foreign) -> None:
    own = Path(foreign.environment["HOME"]) / ".prefect/profiles.toml"
    own.parent.mkdir()
    own.write_text(f'active = "mine"\n[profiles.mine]\nPREFECT_API_URL = "{OWN_SERVER}"\n')
    done = foreign.run(sys.executable, "-P", "-c", LIBRARIES)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    assert said == {
        "server": OWN_SERVER,
        "thread": OWN_SERVER,
        "offenders": {"n_missing": [["m", "v"]]},
        "heartbeat": None,
    }
    foreign.assert_untouched()


@pytest.mark.soak  # the libraries above and what dbt reads in tests/marts are nearly all of it, at a quarter of the time
@pytest.mark.timeout(900)
def test_a_night_on_a_server_of_its_own_touches_nothing_of_the_folder_but_cards_and_warehouse(foreign: Foreign) -> None:
    done = foreign.run(COMMAND, "nightly", "mine")
    assert done.returncode == 0, done.stderr
    assert "starting a Prefect server of its own" in done.stderr
    assert "goes on without it" not in done.stderr
    foreign.assert_untouched()


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_a_served_night_touches_nothing_of_the_folder_but_cards_and_warehouse(foreign: Foreign) -> None:
    home = foreign.place / "prefect"
    home.mkdir()
    with running_prefect(home) as server:
        client = {name: server.environment[name] for name in ("PREFECT_API_URL", "PREFECT_API_AUTH_STRING")}
        with (foreign.place / "said").open("wb") as said:
            serving = subprocess.Popen(
                [COMMAND, "serve", "mine"],
                cwd=foreign.folder,
                env=foreign.environment | client,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            log = foreign.place / "said"
            wait_for(server.runs, "a night to begin", log.read_text, SOON_S)
            night = server.until(server.runs()[0]["id"], *OVER, seconds=600)
        finally:
            end_group(serving)
    assert night["state_type"] == "COMPLETED", f"{night['state']}\n{log.read_text()}"
    foreign.assert_untouched()
