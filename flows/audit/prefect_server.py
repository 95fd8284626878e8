"""Runs the audit under Prefect, and without it where Prefect cannot be reached: an outage loses no audit.

Prefect reads `.env`, `prefect.toml` and `pyproject.toml` of the folder it is imported in, and `profiles.toml`, `logging.yml`
and a database of PREFECT_HOME: each can name another server, or code to run. A folder of cards may be somebody else's, so
Prefect is imported, and whatever it starts is started, `apart`. Then the environment and the user's own profile decide.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from flows.settings import silence
from flows.system import user_cache
from flows.system.files import PRIVATE_UMASK
from flows.system.helper_processes import environment

if TYPE_CHECKING:
    from flows.audit.execution import Execution
    from flows.audit.prefect_steps import Steps

STARTS_WITHIN_S, STALLS_AFTER_S = 300.0, 30.0
"""How long an own server may take to start, and how long it may do nothing meanwhile."""
EVENTS_WITHIN_S = 5.0
NOT_RECORDED = "Prefect: {}: it shows no steps of this run; the audit goes on without it"


def run_tracked(execution: Execution) -> None:
    """Takes the steps of an execution as a Prefect flow run, on the server that Prefect is set to or one of its own."""
    server = server_url()
    from flows.audit.prefect_steps import Steps

    steps = Steps(execution)
    if server is None:
        execution.progress.say("no PREFECT_API_URL: starting an ephemeral Prefect server")
        _run_on_own_server(steps)
    else:
        execution.progress.say(f"Prefect server: {server}")
        _keep_logs_there()
        _run_flow(steps)


def _keep_logs_there() -> None:
    """Has the lines of steps, which are words of our own and ids, kept by the server and not shown in the terminal."""
    from prefect.context import FlowRunContext

    if FlowRunContext.get() is None:  # a worker's own flow run has its logging already
        for name in ("prefect.flow_runs", "prefect.task_runs"):
            logger = logging.getLogger(name)
            logger.setLevel(logging.INFO)
            logger.propagate = False


def _run_on_own_server(steps: Steps[Execution]) -> None:
    """The server takes seconds to start: the models are asked meanwhile, and it is told of that once it answers."""
    from prefect.settings import PREFECT_API_AUTH_STRING, PREFECT_API_KEY, PREFECT_API_URL, temporary_settings

    from flows.audit.flow import ask
    from flows.audit.prefect_steps import StepOutcome, kept_at_hand

    progress = steps.work.progress
    with contextlib.ExitStack() as opened:
        try:
            ready = opened.enter_context(_own_server())
        except OSError as error:
            progress.warn(NOT_RECORDED.format(type(error).__name__))
            _run_alone(steps)
            return
        steps.is_ahead = True
        with kept_at_hand(steps):
            StepOutcome().do(lambda: ask(steps.work, steps))  # what it raises is raised when the flow takes these steps
        steps.is_ahead = False
        try:
            url = ready()
        except OSError as error:
            progress.warn(NOT_RECORDED.format(error))
            _run_alone(steps)
            return
        with apart():  # settings are read anew, and so are the files that stand where they are read
            opened.enter_context(
                temporary_settings({PREFECT_API_URL: url, PREFECT_API_KEY: None, PREFECT_API_AUTH_STRING: None})
            )
        try:
            _run_flow(steps)
        finally:
            _end_events()


def _end_events() -> None:
    """Has Prefect send what it still has to say while the server is there: the process waits for it at its end otherwise."""
    from prefect.events.worker import EventsWorker

    with contextlib.suppress(Exception):
        EventsWorker.drain_all(timeout=EVENTS_WITHIN_S, at_exit=False)


def _run_flow(steps: Steps[Execution]) -> None:
    """The steps as a flow run; where Prefect is away, the steps alone."""
    from flows.audit.flow import audit
    from flows.audit.prefect_steps import kept_at_hand

    execution = steps.work
    with kept_at_hand(steps):
        try:
            audit(
                audit_id=execution.audit_id,
                audit_run_id=execution.audit_run_id,
                rephrase=execution.rephrase,
                max_usd=execution.max_usd,
                max_requests=execution.max_requests,
                return_state=True,
            )
        except Exception as error:  # noqa: BLE001 - whatever Prefect's client or its transport raises
            execution.progress.warn(NOT_RECORDED.format(type(error).__name__))
    if steps.whole is None:
        _run_alone(steps)
    else:
        steps.whole.settle()


def _run_alone(steps: Steps[Execution]) -> None:
    """The steps without Prefect."""
    from flows.audit.flow import measure
    from flows.audit.prefect_steps import kept_at_hand

    with kept_at_hand(steps):
        measure(steps.work, steps)


@contextlib.contextmanager
def _own_server() -> Iterator[Callable[[], str]]:
    """Starts a Prefect server for this command alone, and gives what waits for it and returns its address.

    Prefect's own way waits at once, and starts it where the user stands.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}/api"
    program = "from flows.system.garbage import collect_rarely; collect_rarely(); import uvicorn; uvicorn.main()"
    line = [
        sys.executable, "-P", "-c", program, "--factory", "prefect.server.api.server:create_app",
        "--host", "127.0.0.1", "--port", str(port), "--log-level", "error", "--lifespan", "on",
    ]  # fmt: skip
    files = Path(tempfile.mkdtemp(prefix="promptaudit-prefect-"))
    database, empty = files / "prefect.db", f"prefect-{version('prefect')}.db"
    kept = user_cache.read(empty)  # to make a database costs 5 s
    if kept is not None:
        database.write_bytes(kept)
    as_ephemeral = {
        "PREFECT_UI_ENABLED": "0", "PREFECT_SERVER_SERVICES_TRIGGERS_ENABLED": "0",
        "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_ENABLED": "0", "PREFECT__SERVER_EPHEMERAL": "1", "PREFECT__SERVER_FINAL": "1",
        "PREFECT_API_DATABASE_CONNECTION_URL": f"sqlite+aiosqlite:///{database}",
    }  # fmt: skip
    with apart():
        server = subprocess.Popen(  # noqa: S603 - this interpreter, our own words
            line, env=environment() | as_ephemeral, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True, umask=PRIVATE_UMASK,
        )  # fmt: skip

    def ready() -> str:
        import httpx
        import psutil

        until = time.monotonic() + STARTS_WITHIN_S
        worked_s, stalled_at = 0.0, time.monotonic() + STALLS_AFTER_S
        with httpx.Client(timeout=1, trust_env=False) as client:
            while server.poll() is None and time.monotonic() < min(until, stalled_at):
                with contextlib.suppress(psutil.Error):
                    spent = psutil.Process(server.pid).cpu_times()
                    if spent.user + spent.system > worked_s:
                        worked_s, stalled_at = spent.user + spent.system, time.monotonic() + STALLS_AFTER_S
                with contextlib.suppress(httpx.TransportError):
                    if client.get(f"{url}/health").is_success:
                        if kept is None:
                            _keep_empty(database, empty)
                        return url
                time.sleep(0.05)
        code = server.poll()
        msg = "its server does not answer" if code is None else f"its server ended with exit code {code}"
        raise OSError(msg)

    try:
        yield ready
    finally:
        server.kill()  # nothing of it is wanted any more
        server.wait()
        shutil.rmtree(files, ignore_errors=True)


def _keep_empty(database: Path, name: str) -> None:
    """Keeps a database as Prefect made it, before it is told of anything, for the next server of this version."""
    copy = database.with_name(name)
    with (
        contextlib.suppress(sqlite3.Error, OSError),
        contextlib.closing(sqlite3.connect(database)) as source,
        contextlib.closing(sqlite3.connect(copy)) as kept,
    ):
        source.backup(kept)
        kept.execute("pragma journal_mode = delete")
        user_cache.keep(name, copy.read_bytes(), instead_of="prefect-*.db")


def run_small(execution: Execution) -> None:
    """Takes the steps without starting a server: on that which Prefect is set to, else alone."""
    if server_url():
        run_tracked(execution)
        return
    from flows.audit.prefect_steps import Steps

    _run_alone(Steps(execution))


def server_url() -> str | None:
    """Returns the address of Prefect's server by PREFECT_API_URL or the user's profile; imports Prefect, which takes seconds."""
    with apart():
        from prefect.settings import get_current_settings

        import flows.audit.flow  # noqa: F401 - the first import settles what Prefect goes by
    return get_current_settings().api.url


@contextlib.contextmanager
def apart() -> Iterator[None]:
    """Works in a private folder of ours meanwhile, where Prefect finds none of the files it would read in the user's.

    Prefect is kept quiet. Its own files go there too, unless PREFECT_HOME says where, and its profiles are the user's. The
    working folder is that of all threads: none that needs it may run beside this.
    """
    silence()
    # LOGGING_ROOT has those of its services
    for logger in ("LOGGING", "SERVER_LOGGING", "INTERNAL_LOGGING", "LOGGING_ROOT"):
        os.environ.setdefault(f"PREFECT_{logger}_LEVEL", "CRITICAL")
    folder = user_cache.folder("prefect")
    try:
        home = Path(os.environ.get("PREFECT_HOME") or Path.home() / ".prefect").expanduser().absolute()
    except RuntimeError:  # no home
        home = folder
    profiles = Path(os.environ.get("PREFECT_PROFILES_PATH") or home / "profiles.toml").expanduser().absolute()
    os.environ["PREFECT_HOME"] = str(home if os.environ.get("PREFECT_HOME") else folder)
    os.environ["PREFECT_PROFILES_PATH"] = str(profiles)
    with contextlib.chdir(folder):
        yield
