"""Finds how many requests of one endpoint at once bring most answers a second."""

from __future__ import annotations

import math

FIRST = 16
SLOW_SHARE = 1 / 12  # of a try's limit; an endpoint with faster answers gets all requests that the card allows
TOO_SLOW_SHARE = 1 / 2  # of a try's limit; with slower answers fewer at once are tried first, then more
QUICK_SHARE = 1 / 4  # of the slow limit; an endpoint with faster answers is slow no more
FEWEST = 8  # a size is judged by at least so many answers, and by as many as are in flight if they are more
GAIN = 1.4  # twice as many in flight have to bring this many times the answers a second
LOSS = 0.9  # half as many in flight may bring this share of the answers a second
MAX_REST = 8  # rounds of answers


class InFlight:
    """Tracks how many requests go in flight, from `least` to `ceiling`.

    It begins with 16, or with `least` or the ceiling where 16 lies outside. While answers come soon each adds one more,
    up to the ceiling. If they take long, as from a server that computes few at once or slows down under load, the
    number doubles while that gains answers and halves while that loses none, and rests for longer after each step that
    it takes back. Times are of one monotonic clock.
    """

    def __init__(self, ceiling: int, limit_s: float, least: int = 1) -> None:
        self._ceiling, self._slow_s, self._too_slow_s = ceiling, limit_s * SLOW_SHARE, limit_s * TOO_SLOW_SHARE
        self._least, self.size = least, min(ceiling, max(FIRST, least))
        self._began_at: float | None = None
        self._n = 0
        self._sum_s = 0.0
        # whether answers take long
        self.is_slow = False
        self._before: tuple[int, float] | None = None  # the size before the last step, and its answers a second
        self._is_growing = True
        self._rest, self._resting = 1, 0
        self._cut_at, self._is_cut = -math.inf, False

    def answered(self, sent_at: float, now: float) -> None:
        """Records an answer."""
        self._is_cut = False
        if self._began_at is None:
            self._began_at = sent_at
        self._n += 1
        self._sum_s += now - sent_at
        if now - sent_at < self._slow_s and not self.is_slow:
            self.size = min(self._ceiling, self.size + 1)
        if self._n < max(self.size, FEWEST):
            return
        rate, latency_s = self._n / max(now - self._began_at, 1e-9), self._sum_s / self._n
        self._begin(now)
        if latency_s >= self._slow_s and not self.is_slow:
            self.is_slow, self._is_growing = True, latency_s < self._too_slow_s
        elif latency_s < self._slow_s * QUICK_SHARE:
            self.is_slow = False
        if not self.is_slow:
            self._before = None
        elif self._resting:
            self._resting -= 1
        else:
            self._step(rate)

    def timed_out(self, sent_at: float, now: float) -> None:
        """Records a try that had no answer in its time: halves the number, once for all tries sent before."""
        if sent_at >= self._cut_at and not self._is_cut:
            self._is_cut = True  # silence alone brings it no further down
            self._before, self.size, self._cut_at = None, max(self._least, self.size // 2), now
            self._begin(now)

    def _begin(self, now: float) -> None:
        self._began_at, self._n, self._sum_s = now, 0, 0.0

    def _step(self, rate: float) -> None:
        # judges the last step by the answers a second that it brought, and takes the next
        if self._before is not None:
            size, rate_before = self._before
            self._before = None
            if rate < rate_before * (GAIN if self.size > size else LOSS):
                self.size, self._is_growing = size, not self._is_growing
                self._resting, self._rest = self._rest, min(2 * self._rest, MAX_REST)
                return
        if self.size in (self._least, self._ceiling):
            self._is_growing = self.size == self._least
        self._before = (self.size, rate)
        self.size = min(self._ceiling, 2 * self.size) if self._is_growing else max(self._least, self.size // 2)
