"""Decides when one endpoint may be sent the next request, by what it rejected, asked for or was unreachable for."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from http import HTTPStatus
from typing import Generic, TypeVar

from promptaudit.engines.pacing import retry
from promptaudit.engines.pacing.in_flight import InFlight
from promptaudit.engines.pacing.patience import Patience
from promptaudit.engines.pacing.quota import Quota
from promptaudit.engines.pacing.rates import Rate
from promptaudit.engines.pacing.window import Window

PROBE_ALONE_S = 5.0  # the longest between two looks at an endpoint that is down, where all are
PROBE_BESIDE_S = 60.0  # where others answer
SILENT_S = 300.0
TOO_LATE = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.BAD_GATEWAY, HTTPStatus.GATEWAY_TIMEOUT, 524)
"""Lists the statuses of a gateway that gave up waiting: the server behind it has too much at once."""
_ROOM = 1.25  # a learnt rate needs rate × latency requests in flight; a little more lets latencies differ
_SMOOTHING = 0.1
Endpoint = TypeVar("Endpoint")


class Pace(Generic[Endpoint]):
    """Tracks one endpoint: its requests in flight, its window, rate and quota, and whether it can be reached.

    Each request starts with `take` and ends with one of `accepted`, `rejected`, `unreachable`, `timed_out` and
    `given_up`. Times are of one monotonic clock. As long as nothing was ever rejected, the only limit is the number in
    flight that brings most answers, which is never below `least`. `limit_s` bounds one try.
    """

    def __init__(self, endpoint: Endpoint, ceiling: int, limit_s: float, least: int = 1) -> None:
        self.endpoint = endpoint
        self.window = Window(ceiling)
        self.most = InFlight(ceiling, limit_s, least)
        self.patience = Patience(limit_s, ceiling)
        self.rate = Rate()
        self.in_flight = 0
        self.rejections: Counter[int] = Counter()  # by status
        self.is_reached = False
        self.down_since: float | None = None
        self.n_failed = 0  # looks in a row that found it down
        self.n_silent = 0  # tries in a row that had no response in their time
        self.responded_at: float | None = None  # when the last response came; the first try's sending, before any
        self.turn = 0  # of all requests, when it was last chosen
        self._quota = Quota(ceiling)
        self._paused_until = -math.inf
        self._failed_at = -math.inf
        self._probe: float | None = None  # when the one request was sent that finds out whether it is up again
        self._latency_s = 0.0
        self._is_calm = True  # nothing holds back but the ceiling

    def opens_at(self, now: float, *, is_alone: bool = True) -> float:
        """Says when the next request may be sent: by `now` if at once, infinity if an answer has to come first."""
        if self._is_calm:
            return now if self.in_flight < self.most.size else math.inf
        if self.down_since is not None:
            longest = PROBE_ALONE_S if is_alone else PROBE_BESIDE_S
            wait = min(retry.FIRST_WAIT_S * 2.0 ** min(self.n_failed - 1, 30), longest)
            return math.inf if self._probe is not None else self._failed_at + wait
        if self.in_flight >= min(int(self.window.size), self.most.size):
            return math.inf
        return max(self._paused_until, self.rate.opens_at(now), self._quota.opens_at(now, self.in_flight))

    @property
    def load(self) -> float:
        """Divides the requests in flight by the number that may be in flight."""
        return self.in_flight / min(self.window.size, self.most.size)

    def take(self, now: float) -> float:
        """Counts a request as sent and returns the time, which `accepted` and the other endings take as `sent_at`."""
        self.in_flight += 1
        if self.responded_at is None:
            self.responded_at = now
        if not self._is_calm:
            self.rate.sent(now)
            self._quota.sent()
            if self.down_since is not None:
                self._probe = now
        return now

    def accepted(
        self, sent_at: float, now: float, headers: Mapping[str, str], tokens: int, *, status: int = HTTPStatus.OK
    ) -> None:
        """Records a response that is no rejection, whatever else it says."""
        self._reached(sent_at, now)
        self.patience.answered(sent_at, now)
        if status in TOO_LATE:
            self.most.timed_out(sent_at, now)
        elif status < HTTPStatus.BAD_REQUEST:
            self.most.answered(sent_at, now)
        latency_s = now - sent_at
        self._latency_s += (latency_s - self._latency_s) * (_SMOOTHING if self._latency_s else 1.0)
        if not self._is_calm:
            self.window.accepted()
            self.rate.accepted(now)
        if "x-ratelimit-remaining-requests" in headers or "x-ratelimit-remaining-tokens" in headers:
            self._quota.read(headers, now, self.in_flight, tokens)
            self._is_calm, self.rate.has_quota = False, True
        elif not self._is_calm:
            self._is_calm = self._has_recovered(now)

    def rejected(self, sent_at: float, now: float, status: int, headers: Mapping[str, str], tokens: int) -> None:
        """Records a 429 or 503: fewer go in flight, a 429 also sets a rate, and a wait that it asks for is kept."""
        self._reached(sent_at, now)
        self.patience.answered(sent_at, now)
        self._is_calm = False
        self.rejections[status] += 1
        least = 1.0
        wait = retry.retry_after(headers) or 0.0
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            self.rate.rejected(sent_at, now, wait)
            rate = self.rate.per_second(now)
            least = 1.0 if rate == math.inf else rate * self._latency_s * _ROOM + 1
        self.window.rejected(sent_at, now, least)
        self._quota.read(headers, now, self.in_flight, tokens)
        if wait:
            self._paused_until = max(self._paused_until, now + wait)
            self.rate.paused(self._paused_until)

    def unreachable(self, sent_at: float, now: float) -> None:
        """Records a request that found no connection.

        From now on one request at a time tests if the endpoint is back.
        """
        self.given_up(sent_at)
        self._is_calm = False
        if sent_at < self._failed_at:
            return
        self._failed_at = now
        self.n_failed += 1
        if self.down_since is None:
            self.down_since = now

    def timed_out(self, sent_at: float, now: float) -> None:
        """Records a request that had no response in its time: fewer go in flight."""
        self.most.timed_out(sent_at, now)
        self.n_silent += 1
        self.given_up(sent_at)

    def given_up(self, sent_at: float) -> None:
        """Records a request that got no response: cut off or cancelled."""
        self.in_flight -= 1
        if self._probe == sent_at:
            self._probe = None

    def is_silent(self, now: float, n_tries: int) -> bool:
        """Checks whether this many tries in a row had no response, and none has come for more than 5 minutes."""
        return self.n_silent >= n_tries and self.responded_at is not None and now - self.responded_at > SILENT_S

    def held_back(self, now: float) -> tuple[int, float, float]:
        """Says how many requests may be in flight, how many go out a second, and the seconds until the next one."""
        allowed = 0 if self.down_since is not None else int(self.window.size)
        return allowed, self.rate.per_second(now), max(self._paused_until - now, 0.0)

    def _reached(self, sent_at: float, now: float) -> None:
        self.given_up(sent_at)
        self.is_reached, self.n_silent, self.responded_at = True, 0, now
        if self.down_since is not None:
            self.down_since, self.n_failed = None, 0

    def _has_recovered(self, now: float) -> bool:
        return (
            self.window.size >= self.window.ceiling
            and not self.rate.is_watching
            and self._paused_until <= now
            and self._quota.is_open
        )
