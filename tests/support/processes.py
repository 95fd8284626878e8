"""Processes that a test waits for."""

from __future__ import annotations

import time
from collections.abc import Sequence

import psutil


def have_ended(pids: Sequence[int], within_s: float = 10) -> bool:
    """Whether all of them end in time; a killed process may be seen at work for a moment after the signal was sent."""
    until = time.monotonic() + within_s
    while any(map(_is_at_work, pids)):
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def _is_at_work(pid: int) -> bool:
    try:  # what has ended stays a zombie until the first process of a container gets to it, which may be never
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
