"""Computes how long to wait before a request is tried again."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

FIRST_WAIT_S = 0.5
MAX_BACKOFF_S = 60.0
MAX_RETRY_AFTER_S = 300.0

_dice = random.SystemRandom()


def wait_before(next_try: int, asked_for: float | None = None) -> float:
    """Computes the seconds to wait before try `next_try` (2 is the first that waits).

    0.5 s doubled each time up to 60 s, or what the server asked for if that is longer: a server that asks for 20 ms
    would use up every try in a tenth of a second. Either is spread by chance, so that workers do not come back
    together: ours over its upper half, the server's by up to a tenth more, never less.
    """
    ours = float(min(FIRST_WAIT_S * 2.0 ** min(next_try - 2, 30), MAX_BACKOFF_S) * _dice.uniform(0.5, 1.0))
    return max(ours, min((asked_for or 0.0) * _dice.uniform(1.0, 1.1), MAX_RETRY_AFTER_S))


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Reads the wait the server asks for, in [0, 300] s: `retry-after-ms`, else `Retry-After` in seconds or as a date.

    None if neither is there or can be read; a date gone by is 0.
    """
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            seconds = float(value) * scale
        except ValueError:
            try:
                date = parsedate_to_datetime(value)
            except ValueError:
                continue
            date = date if date.tzinfo else date.replace(tzinfo=UTC)
            seconds = (date - (now or datetime.now(UTC))).total_seconds()
        if not math.isnan(seconds):
            return min(max(seconds, 0.0), MAX_RETRY_AFTER_S)
    return None
