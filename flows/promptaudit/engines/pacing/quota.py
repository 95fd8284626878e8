"""Reads what is left of an endpoint's limits from `x-ratelimit-remaining-requests`, `-reset-requests` and their kin."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

MAX_RESET_S = 300.0
MIN_RESET_S = 0.01

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ns": 1e-9}
_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ms|us|µs|μs|ns|h|m|s)")
_WHOLE = re.compile(rf"(?:{_PART.pattern})+")


def seconds_of(text: str) -> float | None:
    """Reads seconds from a Go duration (`6m0s`, `20ms`, `1h2m3.5s`) or a plain number, cut to [0, 300]; else None."""
    text = text.strip()
    try:
        seconds = float(text)
    except ValueError:
        if len(text) > 100 or not _WHOLE.fullmatch(text):  # noqa: PLR2004 - no duration is that long
            return None
        seconds = sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))
    return None if math.isnan(seconds) else min(max(seconds, 0.0), MAX_RESET_S)


class Quota:
    """Counts the requests that may be sent before the endpoint's limit starts anew; no limit until it names one."""

    def __init__(self, ceiling: int) -> None:
        self._ceiling = ceiling
        self._left: int | None = None  # what was left, less what is on its way
        self._size = 1
        self._reset_s, self._reset_at = 0.0, -math.inf
        self._tokens_at = -math.inf

    def read(self, headers: Mapping[str, str], now: float, n_in_flight: int, tokens: int) -> None:
        """Reads the headers of a response; `n_in_flight` others are not answered yet, the next needs about `tokens`."""
        left, reset = _pair(headers, "requests")
        if left is not None:
            # answers overtake each other: an older one says that more is left, by no more than may be in flight
            known = left if self._left is None or not n_in_flight else self._left
            self._left = max(min(known, left - n_in_flight), left - n_in_flight - self._ceiling)
            self._size = max(_whole(headers.get("x-ratelimit-limit-requests")) or 1, 1)
            self._reset_s, self._reset_at = reset, now + reset
        left, reset = _pair(headers, "tokens")
        if left is not None:
            self._tokens_at = now + reset if left == 0 or left < tokens else -math.inf

    def opens_at(self, now: float, n_in_flight: int) -> float:
        """Says when the next request may be sent; not after `now` if it may go at once."""
        opens = self._tokens_at
        if self._left is not None and self._left <= 0:
            if now >= self._reset_at:
                # one less than all: resets are rounded, and the next answers name the true number soon enough
                self._left = max(self._size - 1 - n_in_flight, 1)
                self._reset_at = now + max(self._reset_s, MIN_RESET_S)
            else:
                # or earlier, when an answer on its way says that more is left
                opens = max(opens, self._reset_at)
        return max(opens, now)

    @property
    def is_open(self) -> bool:
        """Checks that the endpoint names no limit."""
        return self._left is None and self._tokens_at == -math.inf

    def sent(self) -> None:
        """Records a request that goes out."""
        if self._left is not None:
            self._left -= 1


def _pair(headers: Mapping[str, str], what: str) -> tuple[int | None, float]:
    # None if the endpoint does not say both, how much is left and when there is more
    left = _whole(headers.get(f"x-ratelimit-remaining-{what}"))
    if left is None:
        return None, 0.0
    reset = seconds_of(headers.get(f"x-ratelimit-reset-{what}", ""))
    return (None, 0.0) if reset is None else (left, reset)


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() and len(text) < 19 else None  # noqa: PLR2004 - 64 bits
