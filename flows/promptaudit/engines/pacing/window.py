"""Limits how many requests of one endpoint are in flight: up by addition, down by the rejected share, to a half."""

from __future__ import annotations

import math

MAX_QUIET_ROUNDS = 8
AFTERMATH_ROUNDS = 1.5  # a rejection so soon after a cut means that the cut was too small; a later one does not


class Window:
    """Tracks how many requests may be in flight, from 1 to `ceiling`. Times are of one monotonic clock.

    A round is as many accepted requests as may be in flight. If growing brought the rejection, the next growth waits
    for twice as many rounds, so that an endpoint that takes 4 at once is not sent a fifth in every round.
    """

    def __init__(self, ceiling: int) -> None:
        self.ceiling = ceiling
        self.size = float(ceiling)
        self._round_at, self._half = -math.inf, 0.0
        self._rounds = 1  # without growth after a cut
        self._quiet = 0.0  # of these the rounds that are left
        self._has_grown = False

    def accepted(self) -> None:
        """Grows after each quiet round: by 1/16 of the ceiling, by 1/4 of itself, or by one near a known limit."""
        if self.size >= self.ceiling:
            return
        if self._quiet > 0:
            self._quiet -= 1 / self.size
            return
        self._has_grown = True
        step = max(min(self.ceiling / 16, self.size / 4), 1.0) if self._rounds == 1 else 1.0
        self.size = min(self.ceiling, self.size + step / self.size)

    def rejected(self, sent_at: float, now: float, least: float = 1.0) -> None:
        """Takes one off for each rejection, down to half of what it was and not under `least`.

        A round trip halves once: requests sent before it are of the same burst, so that 64 rejections at once leave 32.
        Few rejections among many accepted requests take little: with one request in 16 rejected at random, halving for
        each leaves 5 in flight.
        """
        if sent_at > self._round_at:
            self._round_at, self._half = now, self.size / 2
            if self._has_grown:
                self._rounds = min(self._rounds * 2, MAX_QUIET_ROUNDS)
            elif self._rounds - self._quiet > AFTERMATH_ROUNDS:
                self._rounds = 1
            self._quiet, self._has_grown = float(self._rounds), False
        self.size = min(self.ceiling, max(self.size - 1, self._half, least, 1.0))
