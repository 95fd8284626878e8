"""Servers of this machine, without one: what a log is read for, who shares and who ends one, what is left."""

from __future__ import annotations

import asyncio
import fcntl
import os
import socket
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any, cast

import pytest

from promptaudit.engines import Say
from promptaudit.engines.local_server import folder as server_folder
from promptaudit.engines.local_server import process as server_process
from promptaudit.engines.local_server import shared
from promptaudit.engines.local_server.launch import Launch
from promptaudit.engines.local_server.log import last_words
from promptaudit.engines.local_server.process import ServerProcess
from promptaudit.engines.local_server.shared import Servers
from promptaudit.engines.vllm.command_line import launch_of
from promptaudit.engines.vllm.engine import VllmServerEngine
from promptaudit.registry.errors import EngineError
from tests.support.vllm import card


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(server_folder, "MAX_BASE_BYTES", 1000)  # no socket is made there
    return tmp_path


def test_a_reserved_port_is_given_to_the_server_and_to_nobody_else() -> None:
    with server_process._reserved_port() as held, socket.socket() as server, socket.socket() as other:
        address = held.getsockname()
        with pytest.raises(OSError, match="in use"):
            other.bind(address)
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(address)
        server.listen()
        with socket.create_connection(address, timeout=5):
            pass


# ---------------------------------------------------------------- what its log says
MEMORY = (
    "(EngineCore pid=28839) ERROR 11-21 20:16:08 [core.py:1510]     raise ValueError(\n"
    "(EngineCore pid=28839) ERROR 11-21 20:16:08 [core.py:1510] ValueError: Available memory on node 0 (8.15/10.46 GiB) "
    "on startup is less than desired CPU memory utilization (0.92, 9.63 GiB).\n"
    "(APIServer pid=28796) Traceback (most recent call last):\n"
    "    raise RuntimeError(\n"
    "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore': 1}\n"
)
LENGTH = (
    "  Value error, User-specified max_model_len (100000) is greater than the derived max_model_len (2048)\n"
    "    For further information visit https://errors.pydantic.dev\n"
)
UNKNOWN = (
    "OSError: We couldn't connect to 'https://hub' to load the files, and couldn't find them in the cached files.\n"
    "Check your internet connection or see how to run the library in offline mode.\n"
)
DIED = (
    "(APIServer pid=15648) WARNING 11-21 20:39:20 [core_client.py:817] [shutdown] MPClient: engine core exited unexpectedly; "
    "starting cleanup\n(APIServer pid=15648) ERROR 11-21 20:39:20 [async_llm.py:906] vllm.v1.engine.exceptions."
    "EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause.\n"
    "INFO:     Finished server process [15648]\nresource_tracker.py:254: UserWarning: resource_tracker: There appear to be 1 "
    "leaked semaphore objects to clean up at shutdown\n  warnings.warn('resource_tracker: There appear to be %d '\n"
)
LIMIT = (
    "(APIServer pid=2) WARNING 11-21 20:15:48 [system_utils.py:255] Found ulimit of 20000. This can cause fd limit errors "
    "like `OSError: [Errno 24] Too many open files`.\n(APIServer pid=2) INFO 11-21 20:15:49 [model.py:1] Resolved\n"
)


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (MEMORY, MEMORY.splitlines()[1].partition("[core.py:1510] ")[2]),
        (LENGTH, LENGTH.splitlines()[0].strip()),
        (
            "usage: api_server.py [-h]\napi_server.py: error: argument --dtype: invalid choice: 'x'\n",
            "error: argument --dtype: invalid choice: 'x'",
        ),
        (UNKNOWN, UNKNOWN.splitlines()[0]),
        ("OSError: [Errno 98] Address already in use\n", "OSError: [Errno 98] Address already in use"),
        # its engine was killed, it was stopped, it was killed itself: neither a warning nor a consequence is a reason
        (DIED, "engine core exited unexpectedly"),
        (DIED.partition("\n")[2], "INFO:     Finished server process [15648]".replace("     ", " ")),
        (LIMIT, "(APIServer pid=2) INFO 11-21 20:15:49 [model.py:1] Resolved"),
        ("PermissionError: token=hf_abcdefghij refused\n", "PermissionError: token=[hidden] refused"),
        ("", "it said nothing"),
    ],
)
def test_the_line_of_a_log_that_says_why(tmp_path: Path, log: str, said: str) -> None:
    path = tmp_path / "log.txt"
    path.write_text(log)
    assert last_words(path) == said


def test_a_log_that_is_gone_says_nothing(tmp_path: Path) -> None:
    assert last_words(tmp_path / "log.txt") == "it said nothing"


# ---------------------------------------------------------------- when it does not come up
def test_a_server_that_ends_at_once_is_one_line_and_its_log(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMPTAUDIT_VLLM_PYTHON", sys.executable)
    said: list[str] = []

    async def start() -> None:
        engine = VllmServerEngine(card(), say=said.append)
        try:
            await engine.open()
        finally:
            await engine.close()

    began = time.monotonic()
    with pytest.raises(EngineError) as raised:
        asyncio.run(start())
    assert time.monotonic() - began < 20
    (log,) = folder.rglob("*.txt")
    assert "model 'm': vLLM ended with 1: ModuleNotFoundError: " in str(raised.value)
    assert str(raised.value).endswith(f"No module named 'vllm'); its log: {log}")
    assert len(said) == 1
    assert "starting vLLM" in said[0]
    assert (log.stat().st_mode & 0o777, log.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert list(log.parent.iterdir()) == [log]


def test_what_cannot_even_be_started_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "python").write_text("no program")
    monkeypatch.setenv("PROMPTAUDIT_VLLM_PYTHON", str(folder / "python"))
    with pytest.raises(EngineError, match=r"vLLM cannot be started: .*Permission denied"):
        ServerProcess(launch_of(card()))
    assert list(folder.iterdir()) == [folder / "python"]


@pytest.mark.parametrize("ends_itself", [True, False])
def test_a_server_that_never_answers_is_given_up_and_ended(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *, ends_itself: bool
) -> None:
    # a program that hears no question stands for a model that takes too long to load; one that ignores SIGTERM is killed
    handler = "" if ends_itself else "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    program = folder / "python"
    program.write_text(
        f"#!{sys.executable}\nimport signal, time\n{handler}print('loading', flush=True)\ntime.sleep(60)\n"
    )
    program.chmod(0o700)
    monkeypatch.setenv("PROMPTAUDIT_VLLM_PYTHON", str(program))
    monkeypatch.setattr(server_process, "GRACE_S", 0.5)
    slow = card(vllm={"start_timeout_s": 1})
    with pytest.raises(EngineError, match=r"vLLM does not answer within 1 s: loading; its log: .*log\.txt"):
        asyncio.run(shared.started(launch_of(slow), lambda _: None))


def test_cancelling_a_start_ends_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = folder / "python"
    program.write_text(f"#!{sys.executable}\nimport time\ntime.sleep(60)\n")
    program.chmod(0o700)
    monkeypatch.setenv("PROMPTAUDIT_VLLM_PYTHON", str(program))

    async def start() -> None:
        opening = asyncio.create_task(VllmServerEngine(card()).open())
        await asyncio.sleep(0.5)
        assert shared.SERVERS._slots
        opening.cancel()
        await asyncio.gather(opening, return_exceptions=True)
        assert opening.cancelled()

    asyncio.run(start())
    assert list(folder.glob("promptaudit-server-*")) == []
    assert shared.SERVERS._slots == {}


def test_no_server_where_the_card_says_is_one_line() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
        engine = VllmServerEngine(card(base_url=f"http://{address}/v1"))
        with pytest.raises(EngineError, match=f"model 'm' at {address}: Connect.*: Cannot connect to host"):
            asyncio.run(engine.open())


def test_a_deep_folder_for_temporary_files_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path / ("deep" * 30)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    monkeypatch.setenv("PROMPTAUDIT_VLLM_PYTHON", sys.executable)
    process = ServerProcess(launch_of(card()))
    assert len(str(process.log.parent / str(uuid.uuid4()))) <= 107
    asyncio.run(process.close())
    assert not process.log.parent.exists()


def test_what_a_killed_run_left_goes_after_a_day(folder: Path) -> None:
    made = {name: folder / f"promptaudit-server-{name}" for name in ("old", "young", "lives")}
    for name, path in made.items():
        path.mkdir()
        (path / "log.txt").touch()
        if name != "young":
            os.utime(path, (0, 0))
    with (made["lives"] / "log.txt").open("rb") as log:
        fcntl.flock(log, fcntl.LOCK_EX)
        new = server_folder.make_folder()
    assert {*folder.iterdir()} == {made["lives"], made["young"], new}


# ---------------------------------------------------------------- who shares one
def launch(*settings: str) -> Launch:
    return Launch(
        program="vLLM",
        model="m",
        settings=settings,
        words=lambda port: [str(port)],
        environment={},
        key_variable="KEY",
        timeout_s=1,
    )


class _Counted:
    def __init__(self) -> None:
        self.n_started = self.n_ended = 0
        self.fails = self.has_ended = False

    async def start(self, asked: Launch, say: Say) -> ServerProcess:
        del asked, say
        await asyncio.sleep(0.01)
        self.n_started += 1
        if self.fails:
            msg = "no memory"
            raise EngineError(msg)
        return cast("ServerProcess", self)

    def ended(self) -> str | None:
        return "ended with 1: no memory left" if self.has_ended else None

    def blamed(self) -> EngineError:
        return EngineError(f"vLLM {self.ended()}")

    async def close(self) -> None:
        await asyncio.sleep(0)
        self.n_ended += 1

    def end(self) -> None:
        self.n_ended += 1


def test_engines_of_one_model_and_settings_share_a_server_until_the_last_is_done() -> None:
    counted = _Counted()
    servers = Servers(counted.start)
    warm = cold = launch("long")

    async def run() -> None:
        one, other = await asyncio.gather(servers.borrow(warm, print), servers.borrow(cold, print))
        assert one is other
        await servers.borrow(launch("short"), print)
        assert (counted.n_started, counted.n_ended) == (2, 0)
        await servers.give_back(warm)
        assert counted.n_ended == 0
        await servers.give_back(cold)
        assert counted.n_ended == 1
        await servers.borrow(warm, print)
        assert (counted.n_started, counted.n_ended) == (3, 1)

    asyncio.run(run())


def test_who_waits_for_a_server_that_fails_is_told_and_starts_none() -> None:
    counted = _Counted()
    counted.fails = True
    servers = Servers(counted.start)

    async def run() -> list[Any]:
        return await asyncio.gather(*(servers.borrow(launch(), print) for _ in range(3)), return_exceptions=True)

    errors = asyncio.run(run())
    assert [str(error) for error in errors] == ["EngineError: no memory"] * 3
    assert (counted.n_started, servers._slots) == (1, {})


def test_nobody_is_lent_a_server_that_has_ended() -> None:
    counted = _Counted()
    servers = Servers(counted.start)

    async def run() -> None:
        await servers.borrow(launch(), print)
        counted.has_ended = True
        with pytest.raises(EngineError, match="vLLM ended with 1: no memory left"):
            await servers.borrow(launch(), print)
        await servers.give_back(launch())

    asyncio.run(run())
    assert (counted.n_started, counted.n_ended, servers._slots) == (1, 1, {})


def test_who_goes_while_another_starts_it_ends_nothing() -> None:
    counted = _Counted()
    servers = Servers(counted.start)

    async def run() -> None:
        first = asyncio.create_task(servers.borrow(launch(), print))
        waiting = asyncio.create_task(servers.borrow(launch(), print))
        await asyncio.sleep(0)
        waiting.cancel()
        await first
        assert (counted.n_started, counted.n_ended) == (1, 0)
        await servers.give_back(launch())
        assert counted.n_ended == 1

    asyncio.run(run())


def test_a_run_keeps_its_server_from_step_to_step_and_ends_it() -> None:
    counted = _Counted()
    servers = Servers(counted.start)

    async def step() -> None:
        await asyncio.gather(servers.borrow(launch(), print), servers.borrow(launch(), print))
        await servers.give_back(launch())
        await servers.give_back(launch())

    with servers.kept():
        with servers.kept():
            asyncio.run(step())
        asyncio.run(step())
        assert (counted.n_started, counted.n_ended) == (1, 0)
        counted.has_ended = True
        with pytest.raises(EngineError, match="no memory left"):
            asyncio.run(step())
        # who comes after one that ended by itself has another
        counted.has_ended = False
        asyncio.run(step())
        assert counted.n_started == 2
    assert (counted.n_ended, servers._slots) == (2, {})


def test_a_kept_server_makes_room_for_the_next_and_none_outlives_the_run() -> None:
    counted = _Counted()
    servers = Servers(counted.start)

    async def steps() -> None:
        await servers.borrow(launch("rephraser"), print)
        await servers.give_back(launch("rephraser"))
        assert (counted.n_started, counted.n_ended) == (1, 0)
        await servers.borrow(launch("model"), print)
        assert (counted.n_started, counted.n_ended) == (2, 1)
        await servers.borrow(launch("another model beside it"), print)

    with servers.kept():
        asyncio.run(steps())
    # whoever was cut short gives nothing back
    assert (counted.n_started, counted.n_ended, servers._slots) == (3, 3, {})
    asyncio.run(servers.give_back(launch("model")))
