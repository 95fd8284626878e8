"""An event loop whose time jumps to the next timer, and a server of a known limit in it: a minute passes in a moment."""

from __future__ import annotations

import asyncio
import math
import random
import selectors
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from promptaudit.engines.openai_api.endpoints import Endpoint
from promptaudit.engines.pacing import lanes, retry
from promptaudit.engines.pacing.lanes import Lanes
from promptaudit.engines.pacing.pace import Pace


class _Jumping(selectors.DefaultSelector):
    """Waits for nothing."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        self.now += max(timeout or 0.0, 0.0) + 1e-6
        return []


def run_in_virtual_time(monkeypatch: pytest.MonkeyPatch, do: Callable[[], Awaitable[Any]]) -> Any:
    """What `do` returns; `lanes.clock` and the loop's time are the virtual one, which starts at 0; waits are spread alike."""
    selector = _Jumping()

    class Loop(asyncio.SelectorEventLoop):
        def time(self) -> float:
            return selector.now

    loop = Loop(selector)
    monkeypatch.setattr(lanes, "clock", loop.time)
    monkeypatch.setattr(retry, "_dice", random.Random(7))
    try:
        return loop.run_until_complete(do())
    finally:
        loop.close()


def pace_of(ceiling: int, host: str = "host") -> Pace:
    """A pace whose endpoint is only a name."""
    return Pace(cast("Endpoint", host), ceiling, 60.0)


@dataclass
class Limited:
    """A token bucket that rejects what is over `per_second`; answers come `latency_s` later, give or take a third."""

    per_second: float
    burst: float
    kinds: tuple[str, ...] = ()  # retry-after (whole seconds), x-ratelimit
    latency_s: float = 0.005
    accepted: list[float] = field(default_factory=list)
    rejected: list[float] = field(default_factory=list)
    lost: int = 0

    def __post_init__(self) -> None:
        self.dice = random.Random(7)
        self.tokens, self.at = self.burst, 0.0

    def take(self, now: float) -> tuple[bool, dict[str, str]]:
        self.tokens, self.at = min(self.burst, self.tokens + (now - self.at) * self.per_second), now
        fits = self.tokens >= 1
        self.tokens -= fits
        headers = {}
        if "x-ratelimit" in self.kinds:
            reset = (self.burst - self.tokens) / self.per_second
            headers = {
                "x-ratelimit-limit-requests": f"{self.burst:.0f}",
                "x-ratelimit-remaining-requests": str(int(self.tokens)),
                "x-ratelimit-reset-requests": f"{reset * 1000:.0f}ms",
            }
        if not fits and "retry-after" in self.kinds:
            headers["retry-after"] = str(max(math.ceil((1 - self.tokens) / self.per_second), 1))
        return fits, headers

    async def ask(self, shared: Lanes) -> None:
        """One request, asked as the engine asks it."""
        for attempt in range(1, 7):
            turn = shared.take() or await shared.wait()
            assert turn is not None
            pace, sent_at = turn
            await asyncio.sleep(self.latency_s / 2 * self.dice.uniform(0.7, 1.3))
            fits, headers = self.take(lanes.clock())
            await asyncio.sleep(self.latency_s / 2 * self.dice.uniform(0.7, 1.3))
            now = lanes.clock()
            if fits:
                self.accepted.append(now)
                pace.accepted(sent_at, now, headers, 10)
                shared.serve()
                return
            self.rejected.append(now)
            pace.rejected(sent_at, now, 429, headers, 10)
            shared.serve()
            await asyncio.sleep(retry.wait_before(attempt + 1, retry.retry_after(headers)))
        self.lost += 1

    async def asked_by(self, workers: int, seconds: float, shared: Lanes) -> None:
        """Asked by many for so long."""

        async def work() -> None:
            while lanes.clock() < seconds:
                await self.ask(shared)

        await asyncio.gather(*(work() for _ in range(workers)))

    def between(self, start: float, end: float) -> tuple[float, float]:
        """(accepted requests/s, share of rejected ones) in a span of time."""
        n = sum(start < at <= end for at in self.accepted)
        rejected = sum(start < at <= end for at in self.rejected)
        return n / (end - start), rejected / max(n + rejected, 1)
