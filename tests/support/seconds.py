"""Takes the time of a piece of work."""

from __future__ import annotations

import time
from collections.abc import Callable


def seconds(work: Callable[[], object], times: int = 1) -> float:
    """Returns the fastest of several runs: the least disturbed by what else the machine does."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return min(taken)
