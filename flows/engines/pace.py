"""Spaces requests so that a provider's limits a minute hold."""

from __future__ import annotations

import asyncio
import math
import time

from models_registry.cards import Limits


class Pace:
    """A bucket of one request that refills at the card's rates; one event loop, requests served in the order they ask."""

    def __init__(self, limits: Limits) -> None:
        self._requests = limits.requests_per_minute or math.inf
        self._tokens = limits.tokens_per_minute or math.inf
        self._free_at = 0.0

    async def take(self, tokens: int) -> float:
        """Waits until one more request of about `tokens` tokens fits; returns the seconds waited.

        A request holds the bucket for 1/requests_per_minute or tokens/tokens_per_minute of a minute, whichever is longer.
        """
        cost = 60 * max(1 / self._requests, tokens / self._tokens)
        if cost == 0:
            return 0.0
        now = time.monotonic()
        start = max(now, self._free_at)
        self._free_at = start + cost
        await asyncio.sleep(start - now)
        return start - now
