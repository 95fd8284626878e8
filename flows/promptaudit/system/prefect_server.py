"""Shows work as a flow run of Prefect, with its steps as tasks, on the server that is set or on one of its own.

Prefect reads `.env`, `prefect.toml` and `pyproject.toml` of the folder it is imported in, and `profiles.toml`,
`logging.yml` and a database of PREFECT_HOME: each can name another server, or code to run. A folder of cards may be
somebody else's, so Prefect is imported, and whatever it starts is started, `apart`. Then the environment and the user's
own profile decide. A task gets values that Prefect neither stores nor looks into. Of an error of ours Prefect gets the
kind and the scrubbed words, of any other the kind alone, since its words may be anybody's.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import logging
import os
import secrets
import socket
import sqlite3
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from promptaudit.registry.errors import MeasureError, PromptauditError, UsageError, WarehouseError, WarehouseLocked
from promptaudit.system import user_cache
from promptaudit.system.files import PRIVATE_UMASK, private_folder, write_bytes
from promptaudit.system.helper_processes import environment
from promptaudit.system.scrub import one_line
from promptaudit.system.settings import Settings, settings_of, silence, work_in_audit_folder

if TYPE_CHECKING:
    from prefect.client.schemas.objects import State

Result = TypeVar("Result")

STARTS_WITHIN_S, STALLS_AFTER_S = 300.0, 30.0
"""How many seconds an own server may take to start, and how many it may do nothing meanwhile."""
DEFECT = 2  # the exit code of an error that has none of its own
DATABASE = "flow_runs.db"  # of own servers, beside a warehouse
EVENTS_WITHIN_S, ENDS_WITHIN_S = 5.0, 5.0
LONGEST_S = 6 * 3600.0
"""How many seconds a step that asks nobody may take before it is stopped. How long a night may ask, its card says."""


class Listener(Protocol):
    """Takes the lines in which a command says what it does."""

    def say(self, text: str) -> None:
        """Says one line."""

    def warn(self, text: str) -> None:
        """Says one line that should not be missed."""


class StepFailed(Exception):
    """Tells Prefect of an error: of one of ours the scrubbed words without what they quote, of others the kind."""

    def __init__(self, error: Exception) -> None:
        words = type(error).__name__
        if isinstance(error, PromptauditError):
            words = "; ".join(error.lines)
            for quoted in error.quotes:
                words = words.replace(quoted, "[a text]")
        super().__init__(one_line(words))
        self.error = error


def step(as_task: Callable[..., Any], work: Callable[..., Any]) -> Any:  # noqa: ANN401 - what `work` is
    """Makes a task of a function by Prefect's `task(...)` or `materialize(...)`.

    Outside a flow run the function itself is called. It takes its subject, which has a `progress`, and results of
    earlier steps: from each result Prefect draws an edge. A call raises what the function raises.
    """
    if inspect.iscoroutinefunction(work):

        @functools.wraps(work)
        async def scrubbed_async(*given: Any) -> Any:  # noqa: ANN401
            with _scrubbed():
                return await work(*given)

        async_task = _named(as_task(scrubbed_async), work)

        @functools.wraps(work)
        async def take_async(*given: Any) -> Any:  # noqa: ANN401
            if not is_in_flow_run():
                return await work(*given)
            with _raising(work.__name__):
                return await async_task(*_opaque(given))

        return take_async

    @functools.wraps(work)
    def scrubbed(subject: Any, *given: Any) -> Any:  # noqa: ANN401
        with _scrubbed(), _heard(subject.progress):
            return work(subject, *given)

    task = _named(as_task(scrubbed), work)

    @functools.wraps(work)
    def take(*given: Any) -> Any:  # noqa: ANN401
        if not is_in_flow_run():
            return work(*given)
        with _raising(work.__name__):
            return task(*_opaque(given))

    return take


def _named(task: Any, work: Callable[..., Any]) -> Any:  # noqa: ANN401 - Prefect's
    task.task_run_name = task.task_run_name or work.__name__  # Prefect's own name ends with a number
    return task


def _opaque(values: Sequence[object]) -> list[object]:
    # Prefect recognizes these values and does not look into them: an empty tuple in one it would take for what another
    # step made
    from prefect.utilities.annotations import opaque

    return [opaque(value) for value in values]


@contextlib.contextmanager
def _scrubbed() -> Iterator[None]:
    try:
        yield
    except Exception as error:  # noqa: BLE001 - of one that is not ours the kind alone is shown
        raise StepFailed(error) from None


@contextlib.contextmanager
def _raising(name: str) -> Iterator[None]:
    # raises what the step's work raised; MeasureError if it took too long or Prefect could not show it
    error: Exception | None = None
    try:
        yield
    except StepFailed as failure:
        error = failure.error
    except TimeoutError:
        error = MeasureError(f"{name} was stopped after {LONGEST_S / 3600:g} hours")
    except Exception as failure:  # noqa: BLE001 - whatever Prefect's client or its transport raises
        kind = type(failure).__name__
        error = MeasureError(f"Prefect: {kind} at {name}; what landed stays, and the same command goes on")
    if error is not None:
        raise error


@contextlib.contextmanager
def _heard(progress: Any) -> Iterator[None]:  # noqa: ANN401 - a Progress, whose room stands beside this one
    # what begins, in words of our own and ids alone, stands in the logs of the task
    from prefect.logging import get_run_logger

    before, progress.listener = progress.listener, get_run_logger().info
    try:
        yield
    finally:
        progress.listener = before


def is_locked(_task: object, _run: object, state: State[Any]) -> bool:
    """Checks whether a task failed because another program has the warehouse open; then Prefect takes the task again."""
    return f"{WarehouseLocked.__name__}: " in (state.message or "")


def is_in_flow_run(name: str | None = None) -> bool:
    """Checks whether this code runs inside a flow run of Prefect, of a flow called `name` if that is given."""
    context = _flow_run_context()
    return context is not None and (name is None or context.flow.name == name)


def flow_run_id() -> str | None:
    """Gives the id of the flow run that this code runs in; None elsewhere."""
    context = _flow_run_context()
    return None if context is None else str(context.flow_run.id)


def _flow_run_context() -> Any:  # noqa: ANN401 - Prefect's, where it is imported
    if "prefect.context" not in sys.modules:
        return None
    from prefect.context import FlowRunContext

    return FlowRunContext.get()


def as_flow_run(
    work: Callable[[], Result], shown: Callable[[Callable[[], Any]], None], name: str, folder: Path, progress: Listener
) -> Result:
    """Does work, whose steps are tasks, in a flow of Prefect; returns what it returns and raises what it raises.

    `shown` gets the body of a flow of that `name`, and calls the flow. The server is the one that Prefect is set to,
    else one of our own, which keeps its database in `folder`. If none answers, if PROMPTAUDIT_PREFECT is off, or inside
    a flow run of that name, the work is done without a flow run of its own.

    The steps are taken here, and a server that goes away meanwhile does not learn of them.
    """
    if not Settings().prefect or is_in_flow_run(name):
        return work()
    from prefect.states import Failed

    results: list[Result] = []
    errors: list[BaseException] = []

    def body() -> Any:  # noqa: ANN401 - a state of Prefect's, or what was made
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)
            if not isinstance(error, Exception):
                raise
            return Failed(message=str(StepFailed(error)))  # Prefect would pickle an exception that it sees
        return results[0]

    try:
        with _server(folder, progress):
            _keep_logs_there()
            shown(body)
    except Exception as error:  # noqa: BLE001 - that the work failed, or whatever Prefect's client or its transport raises
        why = str(error) if isinstance(error, NoServer) else type(error).__name__
        if results:
            progress.warn(f"Prefect: {why}: its server does not know how this run ended")
        elif not errors:
            progress.warn(f"Prefect: {why}: it shows no steps of this run; the audit goes on without it")
    if errors:
        raise errors[0]
    # there is also no result if Prefect takes the state of an earlier try for the end of this one
    return results[0] if results else work()


class NoServer(Exception):
    """Says why no server of our own is there."""


@contextlib.contextmanager
def _server(folder: Path, progress: Listener) -> Iterator[None]:
    # raises NoServer if Prefect is set to no server and our own does not come
    from prefect.settings import (
        PREFECT_API_AUTH_STRING,
        PREFECT_API_KEY,
        PREFECT_API_URL,
        get_current_settings,
        temporary_settings,
    )

    url = get_current_settings().api.url
    progress.say(f"Prefect server: {url}" if url else "no PREFECT_API_URL: starting a Prefect server of its own")
    with contextlib.ExitStack() as opened:
        if url is None:
            try:
                own = opened.enter_context(own_server(folder))
            except (OSError, WarehouseError) as error:
                raise NoServer(
                    type(error).__name__ if isinstance(error, OSError) and error.errno else str(error)
                ) from None
            with apart():  # settings are read again here, also from files of the working folder
                changed = {PREFECT_API_URL: own.url, PREFECT_API_AUTH_STRING: own.login, PREFECT_API_KEY: None}
                opened.enter_context(temporary_settings(changed))
        if not is_in_flow_run():
            opened.enter_context(events_sent())
        yield


def deployed(
    work: Callable[[Settings], State[Any]],
    warn: Callable[[str], None],
    warehouse: str | None,
    names: Mapping[int, str] | None = None,
    **limits: float | None,
) -> State[Any]:
    """Does the work of a deployed flow in the audit's folder, and returns the state that it ends in.

    An error becomes a failed state, because Prefect pickles an exception that it sees; `names` has a name for the state
    by exit code. The worker's output has the whole error, and the stack of a defect.
    """
    from prefect.states import Failed

    silence()
    try:
        work_in_audit_folder()
        with events_sent():
            return work(settings_of(None if warehouse is None else Path(warehouse), (), **limits))
    except PromptauditError as error:
        warn(str(error))
        code, failure = error.exit_code, StepFailed(error)
    except Exception as error:  # noqa: BLE001 - as above
        traceback.print_exception(error)
        code, failure = DEFECT, StepFailed(error)
    return Failed(name=(names or {}).get(code, "Failed"), message=f"exit code {code}: {failure}")


def _keep_logs_there() -> None:
    # the server keeps the lines of steps, which are words of our own and ids; the terminal does not show them
    if not is_in_flow_run():  # a worker's own flow run has its logging already
        for name in ("prefect.flow_runs", "prefect.task_runs"):
            logger = logging.getLogger(name)
            logger.setLevel(logging.INFO)
            logger.propagate = False


@contextlib.contextmanager
def events_sent() -> Iterator[None]:
    """Sends Prefect's waiting events of steps at the end of this block, and drops what is not sent within 5 s.

    Otherwise the process waits at its end for every event: if the server is away, 7 s for each of some 200.
    """
    from prefect.events.worker import EventsWorker

    service: Any = EventsWorker  # it answers otherwise inside a loop

    async def dropped(_event: object) -> None:
        """Sends nothing."""

    try:
        yield
    finally:
        with contextlib.suppress(Exception):
            waiting = tuple(service._instances.values())  # noqa: SLF001 - Prefect has no other way to give events up
            _, unsent = service.drain_all(timeout=EVENTS_WITHIN_S, at_exit=False)
            for worker in waiting if unsent else ():
                vars(worker)["_handle"] = dropped


def show_flow_runs(folder: Path, progress: Listener) -> None:
    """Serves Prefect's own pages about the flow runs that own servers kept in `folder`, until interrupted.

    Raises UsageError if there are none, or if the server ends.
    """
    if not (folder / DATABASE).exists():
        msg = f"no run was shown by a Prefect server of its own: {folder} has no {DATABASE}"
        raise UsageError(msg)
    try:
        with own_server(folder, has_pages=True) as own:
            address = own.url.removesuffix("/api")
            progress.say(f"Prefect's pages at {address}, password {own.login}; Ctrl-C ends it")
            code = own.process.wait()
    except OSError as error:
        msg = f"Prefect: {error}"
        raise UsageError(msg) from None
    msg = f"Prefect: its server ended with exit code {code}"
    raise UsageError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnServer:
    """Holds a Prefect server of ours: the address of its API, its login as `user:password`, and its process."""

    url: str
    login: str
    process: subprocess.Popen[bytes]


@contextlib.contextmanager
def own_server(folder: Path, *, has_pages: bool = False) -> Iterator[OwnServer]:
    """Starts a Prefect server that ends with this block, waits until it answers, and yields it.

    It asks for a login, since every user of this machine can reach its loopback. It keeps its records in `folder`, for
    the next one. With `has_pages` it serves Prefect's own pages too. Prefect's own way to start one would start it in
    the user's folder.

    Raises:
        OSError: it does not come to answer, or a link stands in the place of its folder or database.
        WarehouseError: the folder cannot be made.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}/api"
    program = "from promptaudit.system.garbage import collect_rarely; collect_rarely(); import uvicorn; uvicorn.main()"
    line = [
        sys.executable,
        "-P",
        "-c",
        program,
        "--factory",
        "prefect.server.api.server:create_app",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--log-level",
        "error",
        "--lifespan",
        "on",
    ]
    database, empty = folder / DATABASE, f"prefect-{version('prefect')}.db"
    if folder.is_symlink() or database.is_symlink():
        msg = f"{database} or its folder is a link"
        raise OSError(msg)
    private_folder(folder)
    is_new = not database.exists()
    if is_new and (kept := user_cache.read(empty)) is not None:  # making a database takes 5 s
        write_bytes(kept, database)
        is_new = False
    login = f"promptaudit:{secrets.token_urlsafe(16)}"
    variables = {
        "PREFECT_SERVER_API_AUTH_STRING": login,
        "PREFECT__SERVER_FINAL": "1",
        "PREFECT_SERVER_SERVICES_TRIGGERS_ENABLED": "0",
        "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_ENABLED": "0",
        "PREFECT_API_DATABASE_CONNECTION_URL": f"sqlite+aiosqlite:///{database}",
    }
    if has_pages:
        variables |= {
            "PREFECT_UI_ENABLED": "1",
            "PREFECT_UI_API_URL": url,
            "PREFECT__SERVER_WEBSERVER_ONLY": "1",
            "PREFECT_UI_STATIC_DIRECTORY": str(user_cache.folder("prefect-pages")),
        }
    else:
        variables |= {"PREFECT_UI_ENABLED": "0", "PREFECT__SERVER_EPHEMERAL": "1"}
    with apart():
        server = subprocess.Popen(  # noqa: S603 - this interpreter, our own words
            line,
            env=environment() | variables,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            umask=PRIVATE_UMASK,
        )
    try:
        if not _answers(server, url, login):
            code = server.poll()
            how = "does not answer" if code is None else f"ended with exit code {code}"
            msg = f"its server {how}; what it keeps is {database}"
            raise OSError(msg)
        if is_new:
            _keep_empty(database, empty)
        yield OwnServer(url=url, login=login, process=server)
    finally:
        server.terminate()  # this lets it keep the last events
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(ENDS_WITHIN_S)
        server.kill()
        server.wait()


def _answers(server: subprocess.Popen[bytes], url: str, login: str) -> bool:
    # waits for a server that starts; False if it ends, takes too long or does nothing for too long
    import httpx
    import psutil

    until = time.monotonic() + STARTS_WITHIN_S
    worked_s, stalled_at = 0.0, time.monotonic() + STALLS_AFTER_S
    with httpx.Client(auth=httpx.BasicAuth(*login.split(":")), timeout=1, trust_env=False) as client:
        while server.poll() is None and time.monotonic() < min(until, stalled_at):
            with contextlib.suppress(psutil.Error):
                spent = psutil.Process(server.pid).cpu_times()
                if spent.user + spent.system > worked_s:
                    worked_s, stalled_at = spent.user + spent.system, time.monotonic() + STALLS_AFTER_S
            with contextlib.suppress(httpx.TransportError):
                if client.get(f"{url}/health").is_success:
                    return True
            time.sleep(0.05)
    return False


def _keep_empty(database: Path, name: str) -> None:
    # a database as Prefect made it, without any records, serves the next server of this version
    with (
        contextlib.suppress(sqlite3.Error, OSError),
        contextlib.closing(sqlite3.connect(database)) as source,
        contextlib.closing(sqlite3.connect(":memory:")) as kept,
    ):
        source.backup(kept)
        user_cache.keep(name, kept.serialize(), instead_of="prefect-*.db")


def load_prefect() -> None:
    """Imports Prefect, which takes seconds. The first import settles what it goes by, so it is done `apart`."""
    with apart():
        import prefect.events
        import prefect.main  # sets the levels of its loggers

        prefect.settings.get_current_settings()


@contextlib.contextmanager
def apart() -> Iterator[None]:
    """Works in a private folder of ours for the block, without the files that Prefect would read in the user's.

    Prefect is kept quiet. Its own files go there too, unless PREFECT_HOME says where, and its profiles are the user's.
    All threads share the working folder: none that needs it may run beside this.
    """
    silence()
    logging.raiseExceptions = False  # Prefect would print that its server does not take a line of a log
    # LOGGING_ROOT is for the loggers of its services
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
