"""Shares one vLLM server among the engines of this process that ask the same model under the same settings."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from promptaudit.flows.engines import Say
from promptaudit.flows.engines.vllm.command_line import arguments
from promptaudit.flows.engines.vllm.process import VllmProcess
from promptaudit.models_registry.cards import ModelCard
from promptaudit.models_registry.errors import EngineError
from promptaudit.models_registry.model_cards import VllmServer

Start = Callable[[ModelCard, Say], Awaitable[VllmProcess]]
"""Starts a server for a card; where that fails or is cancelled, it leaves none."""


async def started(card: ModelCard, say: Say) -> VllmProcess:
    """Returns a server that answers; raises EngineError in one line where none comes up."""
    settings, began = card.vllm or VllmServer(), time.monotonic()
    process = VllmProcess(card)
    try:
        say(f"model '{card.model}': starting vLLM, which takes minutes for a large model; its log: {process.log}")
        await process.ready(settings.start_timeout_s)
    except BaseException:
        await process.close()
        raise
    say(f"model '{card.model}': vLLM answers after {time.monotonic() - began:.0f} s")
    return process


@dataclass(slots=True)
class _Slot:
    """What one set of arguments is served by."""

    n_borrowers: int = 0
    server: VllmProcess | None = None
    failed: str | None = None
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


class Servers:
    """The servers that run. The first who borrows one has it started; it ends when the last has given it back.

    Nobody holds one from the paraphrase step to the next: they run in event loops of their own, and the server starts
    again. For one event loop at a time.
    """

    def __init__(self, start: Start = started) -> None:
        self._start = start
        self._slots: dict[tuple[str, ...], _Slot] = {}

    async def borrow(self, card: ModelCard, say: Say) -> VllmProcess:
        """Returns the server of a card; raises what starting it raised, to all who wait for it at once."""
        slot = self._slots.setdefault(tuple(arguments(card)), _Slot())
        slot.n_borrowers += 1
        try:
            async with slot.turn:
                return await self._server_of(slot, card, say)
        except BaseException:
            await self.give_back(card)
            raise

    async def _server_of(self, slot: _Slot, card: ModelCard, say: Say) -> VllmProcess:
        if slot.failed is not None:
            raise EngineError(slot.failed)
        if slot.server is None:
            try:
                slot.server = await self._start(card, say)
            except EngineError as error:
                slot.failed = str(error.args[0])
                raise
        if slot.server.ended() is not None:
            raise slot.server.blamed()
        return slot.server

    async def give_back(self, card: ModelCard) -> None:
        """Ends the server where nobody else has borrowed it."""
        key = tuple(arguments(card))
        slot = self._slots[key]
        slot.n_borrowers -= 1
        if slot.n_borrowers:
            return
        # who comes from now on starts one of their own
        del self._slots[key]
        if slot.server is not None:
            await slot.server.close()


SERVERS = Servers()
