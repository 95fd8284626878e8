"""Calls blocking functions in threads that do not delay the end of the process."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")
_Call = tuple[Callable[[], object], asyncio.AbstractEventLoop, "asyncio.Future[Any]"]


class DaemonThreads:
    """At most `n` threads, started as they are needed.

    The process waits at its end for the threads of concurrent.futures: a function that hangs would outlive Ctrl-C.
    """

    def __init__(self, n: int) -> None:
        self._n = n
        self._calls: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []

    async def run(self, call: Callable[[], T]) -> T:
        """Runs a call in a thread and returns or raises what it does.

        Its SystemExit or KeyboardInterrupt becomes RuntimeError.
        """
        if len(self._threads) < self._n:
            thread = threading.Thread(target=self._work, daemon=True)
            self._threads.append(thread)
            thread.start()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[tuple[T, Exception | None]] = loop.create_future()
        self._calls.put((call, loop, future))
        value, error = await future
        if error is not None:
            raise error
        return value

    def end(self) -> None:
        """Lets the threads end after their present calls, without waiting for them."""
        for _ in self._threads:
            self._calls.put(None)
        self._threads.clear()

    def _work(self) -> None:
        while (taken := self._calls.get()) is not None:
            call, loop, future = taken
            with contextlib.suppress(RuntimeError):  # the loop may be closed by now
                loop.call_soon_threadsafe(_settle, future, _outcome(call))


def _outcome(call: Callable[[], object]) -> tuple[object, Exception | None]:
    try:
        return call(), None
    except Exception as error:  # noqa: BLE001 - handed to the caller
        return None, error
    except BaseException as error:  # noqa: BLE001 - it would end the loop
        return None, RuntimeError(f"it ended with {type(error).__name__}")


def _settle(future: asyncio.Future[Any], outcome: tuple[object, Exception | None]) -> None:
    if not future.done():
        future.set_result(outcome)
