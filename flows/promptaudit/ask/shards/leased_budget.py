"""Tracks the budget of an asker: the lander lends it in time, and gets the rest back at its end."""

from __future__ import annotations

from promptaudit.ask.shards.messages import Lease
from promptaudit.plan.budget import Budget

SECONDS_AHEAD = 2.0
"""Sets for how many seconds of requests an asker borrows ahead, so that it never waits while there is money."""


class LeasedBudget(Budget):
    """Holds a budget that grows as the lander lends more; for one event loop. Nothing is lent at first."""

    def __init__(self, n_at_least: int) -> None:
        super().__init__(0.0, 0)
        self._is_final = False
        self._n_at_least = n_at_least
        self._n_waiting = 0
        # US dollars: the most that one request so far may cost
        self.most_usd = 0.0
        self._n_before = 0
        self._per_second = 0.0

    def take(self, lease: Lease) -> None:
        """Sets the amounts that are lent now, in all."""
        self.max_requests, self.max_usd = lease.max_requests, lease.max_usd
        self._is_final = self._is_final or lease.is_final
        self._settled.set()

    def end(self) -> None:
        """Releases every caller that waits for more: nothing more is lent."""
        self._is_final = True
        self._settled.set()

    @property
    def spent(self) -> tuple[int, float]:
        """Counts the requests and US dollars that are spent or set aside; what rounding makes negative is 0."""
        return self.n_requests, max(self.spent_usd, 0.0)

    def wanted(self, seconds: float) -> tuple[int, float]:
        """Computes the requests and US dollars that this asker wants lent in all; called every `seconds` seconds."""
        self._per_second = max(0.8 * self._per_second, (self.n_requests - self._n_before) / seconds)
        self._n_before = self.n_requests
        n_ahead = max(self._n_at_least, int(self._per_second * SECONDS_AHEAD))
        n_requests, usd = self.spent
        return n_requests + n_ahead, usd + n_ahead * self.most_usd

    @property
    def is_waiting(self) -> bool:
        """Checks whether nothing can be asked before more is lent."""
        return self._n_waiting > 0 and self._n_open == 0

    async def reserve(self, usd: float) -> None:
        """Sets aside the most a request can cost, waits until it is lent, raises BudgetReached when no more comes."""
        self.most_usd = max(self.most_usd, usd)
        while not self._is_final and (self._is_out_of_requests() or self._crosses_usd(usd)):
            self._n_waiting += 1
            try:
                self._settled.clear()
                await self._settled.wait()
            finally:
                self._n_waiting -= 1
        await super().reserve(usd)

    def refuse_out_of_requests(self) -> None:
        """Raises BudgetReached when no request is left and none will be lent."""
        if self._is_final:
            super().refuse_out_of_requests()
