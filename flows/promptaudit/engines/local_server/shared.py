"""Shares a server among the engines of this process that ask the same model under the same settings."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from promptaudit.registry.errors import EngineError

if TYPE_CHECKING:
    from promptaudit.engines import Say
    from promptaudit.engines.local_server.launch import Launch
    from promptaudit.engines.local_server.process import ServerProcess

Start = Callable[["Launch", "Say"], Awaitable["ServerProcess"]]
"""Starts a server. If that fails or is cancelled, no server is left."""


async def started(launch: Launch, say: Say) -> ServerProcess:
    """Starts a server and waits until it answers; raises EngineError in one line if it does not come up."""
    # every run imports this module, and few start a server
    from promptaudit.engines.local_server.process import ServerProcess

    began = time.monotonic()
    process = ServerProcess(launch)
    who = f"model '{launch.model}'"
    try:
        say(f"{who}: starting {launch.program}, which takes minutes for a large model; its log: {process.log}")
        await process.ready()
    except BaseException:
        await process.close()
        raise
    say(f"{who}: {launch.program} answers after {time.monotonic() - began:.0f} s")
    return process


@dataclass(slots=True)
class _Slot:
    # one set of settings and its server

    n_borrowers: int = 0
    server: ServerProcess | None = None
    failed: str | None = None
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


class Servers:
    """Lends out running servers. The first borrower has one started, and it ends when the last has given it back.

    Inside `kept` servers end with the block instead, so that the steps of a run, each in an event loop of its own, have
    one server; or when another one starts, which may need the memory. For one event loop at a time.
    """

    def __init__(self, start: Start = started) -> None:
        self._start = start
        self._slots: dict[tuple[str, ...], _Slot] = {}
        self._is_kept = False

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """Keeps servers that nobody borrows running until the block ends; the outermost of several blocks counts."""
        if self._is_kept:
            yield
            return
        self._is_kept = True
        try:
            yield
        finally:
            self._is_kept = False
            for slot in self._slots.values():
                if slot.server is not None:
                    slot.server.end()
            self._slots.clear()

    async def borrow(self, launch: Launch, say: Say) -> ServerProcess:
        """Lends the server of a launch; raises what starting it raised, to all who wait for it at once."""
        slot = self._slots.setdefault(launch.settings, _Slot())
        slot.n_borrowers += 1
        if slot.n_borrowers == 1:
            slot.turn = asyncio.Lock()  # it may have waited in another event loop
        try:
            async with slot.turn:
                return await self._server_of(slot, launch, say)
        except BaseException:
            await self.give_back(launch)
            raise

    async def _server_of(self, slot: _Slot, launch: Launch, say: Say) -> ServerProcess:
        if slot.failed is not None:
            raise EngineError(slot.failed)
        if slot.server is None:
            await self._end_idle()
            try:
                slot.server = await self._start(launch, say)
            except EngineError as error:
                slot.failed = str(error.args[0])
                raise
        if slot.server.ended() is not None:
            raise slot.server.blamed()
        return slot.server

    async def _end_idle(self) -> None:
        idle = [key for key, slot in self._slots.items() if not slot.n_borrowers]
        for server in [self._slots.pop(key).server for key in idle]:
            if server is not None:
                await server.close()

    async def give_back(self, launch: Launch) -> None:
        """Ends the server if nobody else has borrowed it, unless it is kept and still runs."""
        if launch.settings not in self._slots:  # they have all been ended
            return
        slot = self._slots[launch.settings]
        slot.n_borrowers -= 1
        if slot.n_borrowers or (self._is_kept and slot.server is not None and slot.server.ended() is None):
            return
        # later borrowers start a new one
        del self._slots[launch.settings]
        if slot.server is not None:
            await slot.server.close()


SERVERS = Servers()
