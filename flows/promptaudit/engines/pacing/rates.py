"""Learns how many requests a second an endpoint takes, from what it accepts and rejects.

A number of connections cannot hold a rate: 16 of them against answers of 2 ms are 8,000 requests/s. So a rejection sets
the rate a little under what was accepted in the last second. From there it rises by a cubic, as in TCP CUBIC: flat
around the last known limit, steeper beyond it, which keeps rejections to a few in ten seconds.
"""

from __future__ import annotations

import math
from collections import deque

# the rate is measured over the first of these spans in which ENOUGH requests were accepted
SPANS_S = (1.0, 2.0, 5.0, 10.0)
ENOUGH = 20
BURST_S = 0.004  # a late timer may catch up on so many seconds of requests
BELOW = 0.95  # of the known limit: where the cubic starts
# seconds until it is at that limit again: at first, and at most, twice as long each time the limit proves right
PLATEAU_S = (4.0, 8.0)
PAUSED_PLATEAU_S = (15.0, 60.0)  # where a rejection brings a pause for all
SURE_GROWTH = 1.25  # a second: how a first rate, which may lie far below the limit, rises until it is rejected
BLIND_GROWTH = 2.0  # the same after a pause, which spoils what was measured
FORGOTTEN = 4.0  # times the limit: a rate that got so far without a rejection has no limit any more
FORGOTTEN_SEARCH = 64.0  # the same of a first rate
MIN_SHARE = 0.025  # of requests: fewer rejections need no slowing down, unless each brings a pause
MIN_RATE = 0.1
VAIN_SHARE = 0.03
VAIN_S = 3.0
VAIN_CUTS = 5  # in a row, so soon after each other and with such a share: rejections have nothing to do with the rate
VAIN_FALL = 0.6  # of the limit: a lower rate with FEW rejections means that less was sent, not that the limit fell
FEW = 0.2  # of requests: if the limit had fallen so far, more would be rejected
DEAF_S = 30.0


class Rate:
    """Learns the sending rate of one endpoint in requests/s, infinite until it rejects.

    Times are of one monotonic clock.
    """

    def __init__(self) -> None:
        self.limit = math.inf  # the last known
        self.is_watching = False
        self._accepted: deque[float] = deque(maxlen=4096)
        self._rejected: deque[float] = deque(maxlen=4096)
        self._learnt_at = self._resumed_at = self._next_at = self._deaf_until = -math.inf
        self._growth = 0.0  # of a search; 0 once the limit is known
        self._plateau_s = PLATEAU_S[0]
        self._n_vain = 0
        # whether the endpoint says how much is left of its limit
        self.has_quota = False

    def per_second(self, now: float) -> float:
        """Computes how many requests a second may be sent now."""
        if self.limit == math.inf:
            return math.inf
        since = max(now - max(self._learnt_at, self._resumed_at), 0.0)
        if self._growth:
            return float(self.limit * BELOW * self._growth ** min(since, 60.0))
        return float(self.limit * (1 + (1 - BELOW) * (since / self._plateau_s - 1) ** 3))

    def opens_at(self, now: float) -> float:
        """Says when the next request may be sent; not after `now` if it may go at once."""
        if self.limit == math.inf:
            return now
        if self.per_second(now) > (FORGOTTEN_SEARCH if self._growth else FORGOTTEN) * self.limit:
            self._forget()
            return now
        return self._next_at

    def sent(self, now: float) -> None:
        """Records a request that goes out."""
        if self.limit != math.inf:
            gap = 1 / self.per_second(now)
            self._next_at = max(self._next_at, now - max(gap, BURST_S)) + gap

    def accepted(self, now: float) -> None:
        """Records a request that was not rejected."""
        if self.is_watching:
            self._accepted.append(now)
            if self.limit == math.inf and now - self._learnt_at > SPANS_S[-1]:
                self._forget()

    def paused(self, until: float) -> None:
        """Records that nothing is sent until `until`."""
        self._resumed_at = max(self._resumed_at, until)

    def rejected(self, sent_at: float, now: float, pause_s: float = 0.0) -> bool:
        """Records a rejection and the pause it brings, and says whether it set the rate.

        A request that was sent before the rate was last set, or in the same tick of the clock, proves nothing about it:
        a burst of rejections sets the rate once.
        """
        if now < self._deaf_until:
            return False
        if not self.is_watching:
            # what was accepted so far may be a saved-up burst, so measuring starts at the first rejection
            self.is_watching, self._learnt_at = True, now
            return False
        self._rejected.append(now)
        if sent_at <= self._learnt_at:
            return False
        limit = self._measured(now)
        if limit is None:
            return False
        self._learn(limit, now, PAUSED_PLATEAU_S if pause_s else PLATEAU_S)
        return True

    def _learn(self, limit: float, now: float, plateau_s: tuple[float, float]) -> None:
        is_first, was_search = self.limit == math.inf, bool(self._growth)
        self._growth = 0.0
        if is_first:
            # a first measure may lie far below the limit: look for it from there
            self._growth = BLIND_GROWTH if self._resumed_at > self._learnt_at else SURE_GROWTH
        is_right = not is_first and not was_search and abs(limit / self.limit - 1) < 1 - BELOW
        first, most = plateau_s
        self._plateau_s = min(max(self._plateau_s * 2, first), most) if is_right else first
        self.limit = max(limit, MIN_RATE)
        self._learnt_at = now
        self._next_at = now + 1 / self.per_second(now)

    def _measured(self, now: float) -> float | None:
        # None if too little was seen, or too little of it was rejected
        passed_s = max(now - self._learnt_at, 1e-3)
        is_first, was_paused = self.limit == math.inf, self._resumed_at > self._learnt_at
        if was_paused and not is_first:
            # in the pause a token bucket saves up requests, accepted beyond the rate, and loses what it cannot hold:
            # the limit lies between, and nearer to the rate if it is known already
            rate = self.per_second(now)
            accepted = sum(at > self._learnt_at for at in self._accepted) / passed_s
            return max((min(accepted, rate) + rate) / 2, rate * (0.7 if self._growth else 0.9))
        if self._growth:
            return self.per_second(now) * BELOW
        if passed_s < SPANS_S[0]:
            return None
        for seconds in SPANS_S:
            span = min(seconds, passed_s)
            n_accepted = sum(at > now - span for at in self._accepted)
            if n_accepted >= ENOUGH:
                break
        n_rejected = sum(at > now - span for at in self._rejected)
        share = n_rejected / (n_accepted + n_rejected)
        # so few, and most of them accepted: the endpoint or this machine stood still
        is_unsure = is_first and n_accepted < ENOUGH and share < FEW and not (was_paused or self.has_quota)
        if n_accepted == 0 or share < MIN_SHARE or is_unsure or self._is_vain(n_accepted / span, share, now):
            return None
        return n_accepted / span

    def _is_vain(self, limit: float, share: float, now: float) -> bool:
        # if rejections have nothing to do with the rate, there is none for DEAF_S
        is_soon = now - self._learnt_at < VAIN_S
        self._n_vain = self._n_vain + 1 if is_soon and share >= VAIN_SHARE else 0
        is_standstill = 0 < limit / self.limit < VAIN_FALL and share < FEW and not self.has_quota  # 0 of a first limit
        if self._n_vain < VAIN_CUTS and not is_standstill:
            return False
        self._forget()
        self._deaf_until = now + DEAF_S
        return True

    def _forget(self) -> None:
        self.limit, self.is_watching = math.inf, False
        self._learnt_at = self._resumed_at = self._next_at = -math.inf
        self._growth, self._plateau_s, self._n_vain = 0.0, PLATEAU_S[0], 0
        self._accepted.clear()
        self._rejected.clear()
