"""Sets how often Python collects garbage in our programs. It imports nothing, so that `--help` stays instant."""

from __future__ import annotations

import gc


def collect_rarely() -> None:
    """Has Python collect garbage after each 50,000 new objects; a program calls it first.

    The imports of large libraries make hundreds of thousands of objects and hardly any garbage. At Python's own 700 a
    seventh of a night's processor time goes there.
    """
    gc.set_threshold(50_000, 10, 10)
