"""Spaces requests so that a card's limits a minute hold."""

from __future__ import annotations

import asyncio
import math
import time

from promptaudit.registry.cards import Limits


class Spacing:
    """Holds a bucket of one request that refills at the card's rates, for one event loop, first come first served."""

    def __init__(self, limits: Limits) -> None:
        self._requests = limits.requests_per_minute or math.inf
        self._tokens = limits.tokens_per_minute or math.inf
        self._free_at = 0.0
        # the part of the limits that this process may use, in (0, 1]
        self.part = 1.0
        self.is_set = bool(limits.requests_per_minute or limits.tokens_per_minute)

    async def take(self, tokens: int) -> None:
        """Waits until one more request of about `tokens` tokens fits.

        A request holds the bucket for 1/requests_per_minute or tokens/tokens_per_minute of a minute, whichever is
        longer.
        """
        cost = 60 * max(1 / self._requests, tokens / self._tokens) / self.part
        now = time.monotonic()
        start = max(now, self._free_at)
        self._free_at = start + cost
        await asyncio.sleep(start - now)
