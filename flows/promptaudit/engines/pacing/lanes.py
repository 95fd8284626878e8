"""Shares requests among endpoints: first come, first served, each to the endpoint with most room."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import math
import time
from collections import deque
from collections.abc import AsyncIterator, Sequence
from typing import Any

from promptaudit.engines.pacing.pace import Pace

MAX_UNREACHABLE_S = 300.0  # then answers stay missing

Turn = tuple[Pace[Any], float]
"""Pairs the endpoint that a request goes to with the time when it was sent."""

# not the loop's own time: uvloop's counts whole milliseconds, and on a near network an answer comes within one
clock = time.monotonic


class Lanes:
    """Holds the paces of all endpoints and the queue of waiting requests; for one event loop."""

    def __init__(self, paces: Sequence[Pace[Any]]) -> None:
        self.paces = tuple(paces)
        self.is_closed = False
        self._turns = itertools.count(1)
        self._waiting: deque[tuple[asyncio.Future[Turn | None], Pace[Any] | None]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    def take(self, avoid: Pace[Any] | None = None) -> Turn | None:
        """Takes an endpoint at once; None if the request has to wait for one."""
        if self._waiting or self.is_closed:
            return None
        return self._pick(clock(), avoid)

    async def wait(self, avoid: Pace[Any] | None = None) -> Turn | None:
        """Waits in line until an endpoint opens, another than `avoid` if one is open.

        None if no endpoint could be reached for 5 minutes, or after `close`. Cancelling leaves no trace.
        """
        future: asyncio.Future[Turn | None] = asyncio.get_running_loop().create_future()
        self._waiting.append((future, avoid))
        self.serve()
        try:
            return await future
        except asyncio.CancelledError:
            turn = None if future.cancelled() else future.result()
            if turn is not None:
                turn[0].given_up(turn[1])
            self.serve()
            raise

    def serve(self) -> None:
        """Gives endpoints to waiting requests; called whenever one may have opened."""
        if not self._waiting:
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        now = clock()
        while self._waiting:
            future, avoid = self._waiting[0]
            if not future.done():
                turn = None if self.is_closed else self._pick(now, avoid)
                if turn is None and not self.is_hopeless(now):
                    self._wake_at(now)
                    return
                future.set_result(turn)
            self._waiting.popleft()

    def close(self) -> None:
        """Gives None to every request that waits or comes later."""
        self.is_closed = True
        self.serve()

    def is_hopeless(self, now: float) -> bool:
        """Checks whether all endpoints have been unreachable for so long (5 minutes) that waiting is no use."""
        return self.is_closed or all(
            pace.down_since is not None and now - pace.down_since > MAX_UNREACHABLE_S for pace in self.paces
        )

    def _pick(self, now: float, avoid: Pace[Any] | None) -> Turn | None:
        if len(self.paces) == 1:
            pace = self.paces[0]
            return (pace, pace.take(now)) if pace.opens_at(now) <= now else None
        is_down = all(pace.down_since is not None for pace in self.paces)
        ready = [pace for pace in self.paces if pace.opens_at(now, is_alone=is_down) <= now]
        if not ready:
            return None
        best = min(ready, key=lambda pace: (pace is avoid, pace.load, pace.turn))
        best.turn = next(self._turns)
        return best, best.take(now)

    def _wake_at(self, now: float) -> None:
        is_down = all(pace.down_since is not None for pace in self.paces)
        opens = min(pace.opens_at(now, is_alone=is_down) for pace in self.paces)
        if opens < math.inf:
            self._timer = asyncio.get_running_loop().call_later(opens - now, self.serve)


@contextlib.asynccontextmanager
async def in_time(turn: Turn) -> AsyncIterator[None]:
    """Raises TimeoutError in the block when the patience with its try is over; answers to other tries prolong it."""
    (pace, sent_at), loop = turn, asyncio.get_running_loop()
    timer: asyncio.TimerHandle

    def look() -> None:
        nonlocal timer
        left_s = pace.patience.left_s(sent_at, clock())
        if left_s:
            timer = loop.call_later(left_s, look)
        else:
            limit.reschedule(loop.time())

    async with asyncio.timeout(None) as limit:
        timer = loop.call_later(pace.patience.limit_s, look)
        try:
            yield
        finally:
            timer.cancel()
