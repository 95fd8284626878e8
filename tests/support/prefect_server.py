"""A real Prefect server on loopback, on SQLite or on Postgres, with real workers; nothing of it outlives its block."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

from tests.support.openai_server import RunningServer
from tests.support.shell import promptaudit_process

BIN = Path(sys.executable).parent
AUTH = "admin:a pass+word/@"
MEMORY = "prefect.server.concurrency.lease_storage.memory"  # Prefect's default for leases, which a restart empties
SOON_S = 240.0  # for what takes seconds on a machine that does nothing else
OVER = ("COMPLETED", "FAILED", "CRASHED", "CANCELLED")
WORKER = ("--no-prompt", "worker", "start", "--install-policy", "never", "--no-create-pool-if-not-found")


@dataclass
class PrefectServer:
    """A server: where it answers, its folder, what a client's environment needs."""

    url: str
    home: Path
    environment: dict[str, str]
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts it, or starts it again on the same port and database."""
        port = self.url.removesuffix("/api").rpartition(":")[2]
        with (self.home / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                [BIN / "prefect", "server", "start", "--host", "127.0.0.1", "--port", port],
                env=self.environment,
                cwd=self.home,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

        def is_well() -> bool:
            assert self.process is not None
            assert self.process.poll() is None, self.log()
            with contextlib.suppress(OSError):
                return bool(self.ask("/health"))
            return False

        wait_for(is_well, "the server to answer", self.log)

    def kill(self) -> None:
        """Ends it as a power cut does."""
        assert self.process is not None
        end_group(self.process)

    def log(self) -> str:
        """What it printed."""
        return (self.home / "server.log").read_text(encoding="utf-8", errors="replace")

    def ask(self, path: str, body: object = None, method: str | None = None) -> Any:
        """The answer to a POST (a GET without a body) as JSON."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "Authorization": f"Basic {b64encode(AUTH.encode()).decode()}"}
        request = urllib.request.Request(f"{self.url}{path}", data, headers, method=method)  # noqa: S310
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        is_read = body is None or path.endswith("/filter")
        for _ in range(20):
            try:
                with opener.open(request, timeout=30) as answer:
                    text = answer.read()
                break
            except urllib.error.HTTPError as error:
                if error.code != 503:  # a database that is busy; Prefect's own client asks again too
                    raise
                time.sleep(0.5)
            except TimeoutError:  # SQLite under many writers
                if not is_read:
                    raise
        else:
            msg = f"{path}: the server stays busy"
            raise TimeoutError(msg)
        return json.loads(text) if text else None

    def run(self, *line: str | Path, cwd: Path, **variables: str) -> str:
        """What a client's command printed on both streams; fails with it."""
        done = subprocess.run(
            line,
            cwd=cwd,
            env=self.environment | variables,
            text=True,
            check=False,
            timeout=SOON_S,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert done.returncode == 0, f"{line}: exit {done.returncode}\n{done.stdout}"
        return done.stdout

    def runs(self, flow: str = "nightly") -> list[dict[str, Any]]:
        """The runs of a flow that were due, oldest first."""
        body = {
            "flows": {"name": {"any_": [flow]}},
            "sort": "EXPECTED_START_TIME_ASC",
            "flow_runs": {"state": {"name": {"not_any_": ["Scheduled"]}}},
        }
        return list(self.ask("/flow_runs/filter", body))

    def until(self, run_id: str, *states: str, seconds: float = SOON_S) -> dict[str, Any]:
        """A run once it is in one of the states, by type or by name."""
        run: dict[str, Any] = {}

        def is_there() -> bool:
            run.update(self.ask(f"/flow_runs/{run_id}"))
            return not {run["state_type"], run["state_name"]}.isdisjoint(states)

        wait_for(is_there, f"run {run_id} to be {states}", lambda: f"{run['state']}\n{self.log()[-2000:]}", seconds)
        return run

    def everything(self) -> str:
        """What the server tells of runs, their states, tasks, logs, artifacts and events, as text."""
        pages = []
        for path in ("flow_runs", "task_runs", "artifacts", "deployments", "logs", "variables"):
            offset = 0
            while found := self.ask(f"/{path}/filter", {"limit": 200, "offset": offset}):
                pages.append(json.dumps(found, ensure_ascii=False))
                offset += len(found)
        pages += [json.dumps(self.ask(f"/flow_run_states/?flow_run_id={run['id']}")) for run in self.runs()]
        return "\n".join([*pages, json.dumps(self.events())])

    def events(self, prefix: str = "prefect.") -> list[dict[str, Any]]:
        """The events whose names begin so."""
        found = self.ask("/events/filter", {"filter": {"event": {"prefix": [prefix]}}, "limit": 50})
        events = list(found["events"])
        while page := found.get("next_page"):
            found = self.ask(page.removeprefix(self.url))
            events += found["events"]
        return events


@contextlib.contextmanager
def running_prefect(home: Path, **variables: str) -> Iterator[PrefectServer]:
    """Prefect's server, asking for the auth string; its files, and those of its clients, lie in `home`."""
    url = f"http://127.0.0.1:{free_port()}/api"
    environment = {
        "PATH": f"{BIN}{os.pathsep}{os.defpath}",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "PREFECT_HOME": str(home),
        "PREFECT_API_URL": url,
        "PREFECT_API_AUTH_STRING": AUTH,
        "PREFECT_SERVER_API_AUTH_STRING": AUTH,
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
        "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": "prefect.server.concurrency.lease_storage.filesystem",
    }
    server = PrefectServer(url, home, environment | variables)
    try:
        server.start()
        yield server
    finally:
        server.kill()


@contextlib.contextmanager
def running_worker(
    server: PrefectServer, folder: Path, log: Path, pool: str = "api", *options: str, **variables: str
) -> Iterator[subprocess.Popen[bytes]]:
    """A worker of a pool whose flows run in `folder`; ended with what it started."""
    environment = server.environment | {"AUDIT_FOLDER": str(folder), "PREFECT_WORKER_QUERY_SECONDS": "2"} | variables
    line = [BIN / "prefect", *WORKER, "--pool", pool, *options]
    with log.open("ab") as said:
        process = subprocess.Popen(
            line, env=environment, cwd=log.parent, stdout=said, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        yield process
    finally:
        end_group(process)
        end_all(lambda found: found.environ().get("AUDIT_FOLDER") == str(folder))


@dataclass
class Stage:
    """A server, a provider that its nights ask, and the folder of their audits."""

    server: PrefectServer
    provider: RunningServer
    folder: Path
    n_asked: int = 0
    ended: dict[str, Any] = field(default_factory=dict)

    @property
    def warehouse(self) -> Path:
        return self.folder / "warehouse/audit.duckdb"

    @property
    def log(self) -> Path:
        return self.folder.parent / "worker.log"

    def said(self) -> str:
        """What the workers printed."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def processes(self, flow: str | None = None) -> list[psutil.Process]:
        """The processes in this folder that run a flow, of that name, now."""
        running = {run["id"] for run in self.server.runs(flow) if run["state_type"] == "RUNNING"} if flow else ()
        return all_of(
            lambda process: (
                "prefect.engine" in process.cmdline()
                and process.environ().get("AUDIT_FOLDER") == str(self.folder)
                and (flow is None or process.environ().get("PREFECT__FLOW_RUN_ID") in running)
            )
        )

    def kill(self, processes: Iterable[psutil.Process]) -> None:
        """Kills them as a power cut does."""
        for process in processes:
            os.killpg(os.getpgid(process.pid), signal.SIGKILL)

    def asked(self, more_than: int) -> None:
        """Waits until the provider was asked more often than that."""
        wait_for(
            lambda: self.provider.counters()["requests"] > more_than,
            f"the provider to be asked more than {more_than} times",
            lambda: self.said()[-4000:],
        )

    def deploy(self, audit_id: str, **changed: Any) -> str:
        """Deploys what `promptaudit deploy` writes of an audit, so changed; the night's id."""
        file = self.folder.parent / "prefect.yaml"
        written = promptaudit_process(self.folder, "deploy", audit_id, "--output", str(file))
        assert written.code == 0, written.err
        config = yaml.safe_load(file.read_text(encoding="utf-8"))
        config["deployments"][0] |= changed
        file.write_text(yaml.safe_dump(config), encoding="utf-8")
        line = ("--no-prompt", "deploy", "--all", "--prefect-file", file)
        self.server.run(BIN / "prefect", *line, cwd=file.parent)
        (night,) = [each for each in self.server.ask("/deployments/filter", {}) if each["name"] == audit_id]
        return str(night["id"])

    def page(self, browser: Any) -> Any:
        """A page of the server's, signed in."""
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        page.goto(self.server.url.removesuffix("/api"))
        page.get_by_placeholder("Password").or_(page.locator("input[type=password]")).first.fill(AUTH, timeout=60_000)
        page.keyboard.press("Enter")
        page.get_by_text("Deployments").first.wait_for(timeout=60_000)
        return page


@contextlib.contextmanager
def running_database(place: Path, kind: str) -> Iterator[PrefectServer]:
    """A server on SQLite or on Postgres; skips where Postgres is not installed."""
    (place / "home").mkdir()
    (place / "audits").mkdir()
    with contextlib.ExitStack() as stack:
        try:
            database = stack.enter_context(running_postgres()) if kind == "postgres" else {}
        except FileNotFoundError as missing:
            pytest.skip(f"{missing} is not on this machine: apt-get install postgresql")
        yield stack.enter_context(running_prefect(place / "home", **database))


def postgres_programs() -> Path:
    """The folder of Postgres's programs; raises FileNotFoundError without them."""
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name), reverse=True)
    found = shutil.which("initdb", path=os.pathsep.join([*map(str, places), os.environ.get("PATH", "")]))
    if found is None:
        msg = "initdb of Postgres"
        raise FileNotFoundError(msg)
    return Path(found).parent


@contextlib.contextmanager
def running_postgres() -> Iterator[dict[str, str]]:
    """Postgres on loopback with an empty database; yields the variables that point a server at it.

    It lies in a folder of its own user, which none of a test's are. Raises FileNotFoundError without its programs.
    """
    programs, port = postgres_programs(), free_port()
    as_user: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="promptaudit-postgres-", ignore_cleanup_errors=True) as place:
        folder = Path(place)
        password, log = folder / "password", folder / "postgres.log"
        password.write_text("pass", encoding="utf-8")
        log.touch()
        if os.geteuid() == 0:  # which Postgres refuses to run as
            owner = next(each for each in pwd.getpwall() if each.pw_name in ("postgres", "nobody"))
            as_user = {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}
            for path in (folder, password, log):
                os.chown(path, owner.pw_uid, owner.pw_gid)
        options: dict[str, Any] = {"env": {"PATH": os.defpath, "LANG": "C.UTF-8"}, "cwd": folder, **as_user}
        line = ["--username=prefect", f"--pwfile={password}", "--auth=scram-sha-256", "--encoding=UTF8", "--no-sync"]
        made = [programs / "initdb", "--pgdata", folder / "data", *line]
        subprocess.run(made, check=True, capture_output=True, **options)
        served = ["-D", folder / "data", "-p", str(port), "-h", "127.0.0.1", "-k", folder, "-c", "fsync=off"]
        with log.open("wb") as said:
            process = subprocess.Popen(
                [programs / "postgres", *served],
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                **options,
            )
        try:
            ready = [programs / "pg_isready", "-h", "127.0.0.1", "-p", str(port), "-d", "postgres", "-U", "prefect"]
            wait_for(
                lambda: subprocess.run(ready, capture_output=True, check=False).returncode == 0,
                "Postgres",
                log.read_text,
            )
            yield {
                "PREFECT_SERVER_DATABASE_DRIVER": "postgresql+asyncpg",
                "PREFECT_SERVER_DATABASE_HOST": "127.0.0.1",
                "PREFECT_SERVER_DATABASE_PORT": str(port),
                "PREFECT_SERVER_DATABASE_USER": "prefect",
                "PREFECT_SERVER_DATABASE_NAME": "postgres",
                "PREFECT_SERVER_DATABASE_PASSWORD": "pass",
            }
        finally:
            process.send_signal(signal.SIGINT)  # at once, and in order
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(20)
            end_group(process)


def wait_for(
    is_so: Callable[[], object], what: str, said: Callable[[], str] = lambda: "", seconds: float = SOON_S
) -> None:
    """Waits until it is so; fails with what was said meanwhile."""
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, f"waited {seconds:g} s for {what}\n{said()}"
        time.sleep(0.2)


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Kills a process that leads its group, and the group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(30)


def all_of(is_one: Callable[[psutil.Process], bool]) -> list[psutil.Process]:
    """The processes that are so, as far as they may be looked at."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.status() != psutil.STATUS_ZOMBIE and is_one(process):
                found.append(process)
    return found


def end_all(is_one: Callable[[psutil.Process], bool]) -> None:
    """Kills the processes that are so."""
    for process in all_of(is_one):
        with contextlib.suppress(psutil.Error):
            process.kill()


def free_port() -> int:
    """A port of loopback that nobody listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
    return port
