"""Describes in a few words how endpoints slow an engine down."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from promptaudit.engines.pacing.pace import Pace


def pressure_of(paces: Sequence[Pace[Any]], max_connections: int, now: float) -> str:
    """Writes e.g.

    `throttled: 12 of 64 connections, 41/s, 18 × 429`, `unreachable for 12 s`, `slow: 4 of 64 connections`.

    "" if nothing is held back. A slow endpoint gets only as many requests at once as bring most answers.
    """
    down = [now - pace.down_since for pace in paces if pace.down_since is not None]
    if len(down) == len(paces):
        return f"unreachable for {max(down):.0f} s"
    limits = [pace.held_back(now) for pace in paces]
    parts = []
    allowed = min(sum(size for size, _, _ in limits), max_connections)
    if allowed < max_connections:
        parts.append(f"{allowed} of {max_connections} connections")
    rate = sum(per_second for _, per_second, _ in limits)
    if rate < math.inf:
        parts.append(f"{rate:.0f}/s" if rate >= 10 else f"{rate:.1f}/s")  # noqa: PLR2004 - two digits are enough
    pause = min(seconds for _, _, seconds in limits)
    if pause:
        parts.append(f"waits {pause:.0f} s as asked")
    if not parts:
        slow = sum(pace.most.size for pace in paces)
        is_slow = all(pace.most.is_slow for pace in paces) and slow < max_connections
        return f"slow: {slow} of {max_connections} connections" if is_slow else ""
    rejections = sum((pace.rejections for pace in paces), Counter[int]())
    parts += [f"{n} × {status}" for status, n in sorted(rejections.items())]
    return f"throttled: {', '.join(parts)}"
