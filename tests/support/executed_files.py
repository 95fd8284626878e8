"""Finds which files of ours a piece of work passes through."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).parents[2]
OURS = f"{ROOT}/flows/"


@contextmanager
def executed_files() -> Iterator[set[str]]:
    """Yields the files of ours whose functions are called within it, in any thread of this process, as paths from the root."""
    found: set[str] = set()

    def see(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_name != "<module>" and code.co_filename.startswith(OURS):
            found.add(code.co_filename.removeprefix(f"{ROOT}/"))

    before = sys.getprofile()
    threading.setprofile(see)
    sys.setprofile(see)
    try:
        yield found
    finally:
        sys.setprofile(before)
        threading.setprofile(None)
