"""How long a try may wait for its answer: its limit counts from when those that were sent before it were answered."""

from __future__ import annotations

from bisect import bisect_right

MOST_TIMES = 4.0  # as often the limit is waited where answers take longer than it, or none comes
ROOM = 2.0  # times what an answer took
FADING = 0.98  # kept with each answer that took less, as all but the first of several that are computed at once seem to


class Patience:
    """The time limit of tries of one endpoint, which may answer them one after the other. Times are of one monotonic clock.

    A server that computes few requests at once lets the others wait. As long as those before it are answered, a try waits
    for its turn, and its own limit begins with the last of these answers. Where nothing was answered within the limit, it is
    four times as long until something is, and it is never less than twice what an answer took of late.
    """

    def __init__(self, limit_s: float, n_kept: int) -> None:
        self._limit_s, self._n_kept = limit_s, n_kept
        self._times = 1.0
        # by when a try was sent, when the last answer came to those sent until then: both grow from entry to entry
        self._sent: list[float] = []
        self._answered: list[float] = []

    @property
    def limit_s(self) -> float:
        """Returns how long a try may take from its turn on, in seconds."""
        return self._limit_s * self._times

    def expires_at(self, sent_at: float) -> float:
        """Returns when a try is given up, as far as is known by now."""
        return self._turn_of(sent_at) + self.limit_s

    def answered(self, sent_at: float, now: float) -> None:
        """Takes in that a try was answered."""
        took_s = now - self._turn_of(sent_at)
        self._times = max(1.0, min(MOST_TIMES, max(ROOM * took_s / self._limit_s, FADING * self._times)))
        place = bisect_right(self._sent, sent_at)
        # answers that came before this one to what was sent after it tell nothing any more
        del self._sent[place:], self._answered[place:]
        self._sent.append(sent_at)
        self._answered.append(now)
        if len(self._sent) > 2 * self._n_kept:
            del self._sent[: -self._n_kept], self._answered[: -self._n_kept]

    def left_s(self, sent_at: float, now: float) -> float:
        """Returns for how many seconds more a try may wait; 0 where it is given up, which the others learn from."""
        left_s = self.expires_at(sent_at) - now
        if left_s > 0:
            return left_s
        if not self._answered or self._answered[-1] <= sent_at:
            self._times = MOST_TIMES
        return 0.0

    def _turn_of(self, sent_at: float) -> float:
        place = bisect_right(self._sent, sent_at)
        return max(sent_at, self._answered[place - 1]) if place else sent_at
