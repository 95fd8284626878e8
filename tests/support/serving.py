"""An open engine that started a server of its own, and the event loop that both live in."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

from promptaudit.engines import Answer, Request, Say, silent
from promptaudit.engines.local_server.engine import LocalServerEngine
from promptaudit.engines.local_server.process import ServerProcess
from tests.support.vllm import until

MakeEngine = Callable[[Say, dict[str, Any]], LocalServerEngine]
"""Makes an engine that says what it does, of a card with some other fields."""


class Serving:
    """An open engine, for tests that run in no event loop."""

    def __init__(self, make: MakeEngine, **fields: Any) -> None:
        self._make, self.said = make, list[str]()
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        self.engine = make(self.said.append, fields)
        self.do(self.engine.open())

    def do(self, work: Coroutine[Any, Any, Any]) -> Any:
        """The outcome of work in the engine's event loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(200)

    def close(self) -> None:
        """Closes the engine; a second call does nothing."""
        if self._loop.is_running():
            self.do(self.engine.close())
            self._loop.call_soon_threadsafe(self._loop.stop)
            until(lambda: not self._loop.is_running())

    @property
    def server(self) -> ServerProcess:
        """The server that was started."""
        assert self.engine._server is not None
        return self.engine._server

    @property
    def pid(self) -> int:
        """Its process."""
        return self.server._process.pid

    def ask(self, *requests: Request, **fields: Any) -> list[Answer]:
        """Answers by an engine of its own, which shares the server."""
        return list(self.do(asked(self._make(silent, fields), *requests)))


async def asked(engine: LocalServerEngine, *requests: Request) -> list[Answer]:
    """Answers by an engine that is opened for them and closed."""
    try:
        await engine.open()
        return list(await asyncio.gather(*(engine.answer(request) for request in requests)))
    finally:
        await engine.close()
