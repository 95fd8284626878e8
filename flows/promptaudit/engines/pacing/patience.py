"""Bounds how long a try may wait for its answer; the limit counts from when the tries sent before it were answered."""

from __future__ import annotations

from bisect import bisect_right

MOST_TIMES = 4.0  # the limit is multiplied by at most so much if answers take longer, or none comes
ROOM = 2.0  # the limit is at least so many times what an answer took
FADING = (
    0.98  # factor on the multiple for each answer that took less: of several computed at once all but the first seem to
)


class Patience:
    """Sets the time limit of tries of one endpoint, which may answer them one after the other.

    Times are of one monotonic clock.

    A server that computes few requests at once lets the others wait. As long as earlier tries are answered, a try waits
    for its turn, and its own limit begins with the last of their answers. If nothing was answered within the limit, the
    limit is four times as long until something is, and it is never less than twice what an answer took of late.
    """

    def __init__(self, limit_s: float, n_kept: int) -> None:
        self._limit_s, self._n_kept = limit_s, n_kept
        self._times = 1.0
        # when a try was sent, and when the last answer came to a try sent until then; both lists are sorted
        self._sent: list[float] = []
        self._answered: list[float] = []

    @property
    def limit_s(self) -> float:
        """Computes how long a try may take from its turn on, in seconds."""
        return self._limit_s * self._times

    def expires_at(self, sent_at: float) -> float:
        """Says when a try is given up, as far as is known by now."""
        return self._turn_of(sent_at) + self.limit_s

    def answered(self, sent_at: float, now: float) -> None:
        """Records that a try was answered."""
        took_s = now - self._turn_of(sent_at)
        self._times = max(1.0, min(MOST_TIMES, max(ROOM * took_s / self._limit_s, FADING * self._times)))
        place = bisect_right(self._sent, sent_at)
        # earlier answers to tries that were sent after this one no longer count
        del self._sent[place:], self._answered[place:]
        self._sent.append(sent_at)
        self._answered.append(now)
        if len(self._sent) > 2 * self._n_kept:
            del self._sent[: -self._n_kept], self._answered[: -self._n_kept]

    def left_s(self, sent_at: float, now: float) -> float:
        """Says how many seconds more a try may wait; 0 if it is given up, which may lengthen the limit."""
        left_s = self.expires_at(sent_at) - now
        if left_s > 0:
            return left_s
        if not self._answered or self._answered[-1] <= sent_at:
            self._times = MOST_TIMES
        return 0.0

    def _turn_of(self, sent_at: float) -> float:
        place = bisect_right(self._sent, sent_at)
        return max(sent_at, self._answered[place - 1]) if place else sent_at
