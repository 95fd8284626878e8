"""Starts one server on this machine, waits for it, ends it, and reports what its log says when it ends by itself."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import socket
import subprocess
import time

import httpx2

from promptaudit.engines.local_server.folder import LOG, make_folder, open_log, remove_folder
from promptaudit.engines.local_server.launch import Launch
from promptaudit.engines.local_server.log import last_words
from promptaudit.engines.openai_api.bounded_http import bounded_client
from promptaudit.registry.errors import EngineError

PEEK_S = 0.25  # between two looks at the process
GRACE_S = 10.0  # from being asked to end to being ended


class ServerProcess:
    """Runs a server of a model on a free port of loopback, in a process group of its own, with a key made for it alone.

    Its log and temporary files lie in a private folder with a short path, because its sockets lie there too. If a kill
    ends this program first, `child_processes` ends the server by the mark it inherits, and the next start removes the
    folder a day later. Raises EngineError if the server cannot be started.
    """

    def __init__(self, launch: Launch) -> None:
        self._launch = launch
        self._name = f"model '{launch.model}': {launch.program}"
        self._reserved = _reserved_port()
        port: int = self._reserved.getsockname()[1]
        self.base_url = f"http://127.0.0.1:{port}/v1"
        self.key = secrets.token_urlsafe(32)
        self._folder = make_folder()
        self.log = self._folder / LOG
        try:
            self._process = self._started(launch.words(port))
        except OSError as error:
            self._reserved.close()
            remove_folder(self._folder)
            msg = f"{self._name} cannot be started: {error}"
            raise EngineError(msg) from None
        self._ended: str | None = None
        self._is_blamed = False

    def _started(self, command: list[str]) -> subprocess.Popen[bytes]:
        given = {**self._launch.environment, self._launch.key_variable: self.key, "TMPDIR": str(self._folder)}
        with open_log(self._folder) as log:
            return subprocess.Popen(  # noqa: S603 - a program of typed settings, or one that its user trusts
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=given,
                start_new_session=True,  # a group of its own, which ends together
            )

    async def ready(self) -> None:
        """Waits until the server answers; raises EngineError if it ends first or neither happens within `timeout_s`."""
        until = time.monotonic() + self._launch.timeout_s
        async with bounded_client(1, 5) as http:
            while not await _is_healthy(http, self.base_url):
                if self.ended() is not None:
                    raise self.blamed()
                if time.monotonic() > until:
                    self._ended = f"does not answer within {self._launch.timeout_s:g} s: {self._last_words()}"
                    raise self.blamed()
                await asyncio.sleep(PEEK_S)
        # nobody else can take the port any more
        self._reserved.close()

    def ended(self) -> str | None:
        """Says how the server ended, with its last words; None while it runs."""
        if self._ended is None and (code := self._process.poll()) is not None:
            how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"
            self._ended = f"{how}: {self._last_words()}"
        return self._ended

    def _last_words(self) -> str:
        return last_words(self.log, (self.key,))

    def blamed(self) -> EngineError:
        """Makes the error for a server that ended by itself; it names the log, which is therefore kept."""
        self._is_blamed = True
        return EngineError(f"{self._name} {self.ended()}; its log: {self.log}")

    async def close(self) -> None:
        """Ends the server and what it started, and removes its folder, except a log that an error named.

        It has 10 s to end by itself, and none when this is cancelled. A second call does nothing.
        """
        try:
            self._process.terminate()
            await asyncio.to_thread(self._wait)
        finally:
            self._kill()

    def end(self) -> None:
        """Does what `close` does, outside of any event loop."""
        try:
            self._process.terminate()
            self._wait()
        finally:
            self._kill()

    def _wait(self) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE_S)

    def _kill(self) -> None:
        # processes that it started outlive it if it was killed
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._reserved.close()
        remove_folder(self._folder, keep_log=self._is_blamed)


def _reserved_port() -> socket.socket:
    # bound and not listening: the server, which binds with SO_REUSEADDR as well, gets the port, and no other program
    # that asks the system for a free one
    reserved = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    reserved.bind(("127.0.0.1", 0))
    return reserved


async def _is_healthy(http: httpx2.AsyncClient, base_url: str) -> bool:
    try:
        reply = await http.get(f"{base_url.removesuffix('/v1')}/health")
    except httpx2.HTTPError:
        return False
    return reply.is_success
