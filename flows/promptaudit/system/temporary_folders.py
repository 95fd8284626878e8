"""Makes temporary folders that last as long as a process locks them.

The next process removes what a killed one left.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

LEFT_S = 24 * 3600.0  # a log that an error names stays so long


def make_folder(prefix: str, base: str | None = None, *, held: str = ".") -> Path:
    """Makes a new folder below `base`, and removes unlocked folders of the same prefix that are a day old.

    `held` is a file in the folder, or the folder itself, that its owner locks with `fcntl.flock`.
    """
    base = base or tempfile.gettempdir()
    for folder in Path(base).glob(f"{prefix}*"):
        with contextlib.suppress(OSError), _locked(folder / held):
            there = folder.stat()
            if time.time() - there.st_mtime > LEFT_S and there.st_uid == os.getuid():
                shutil.rmtree(folder, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=prefix, dir=base))


def hold(path: Path, *, waits: bool = True) -> int:
    """Opens and locks a file or folder; the lock lasts as long as the returned descriptor is open.

    Raises OSError if another process holds it and `waits` is false. A search for old folders holds each for a moment.
    """
    descriptor = os.open(
        path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    )  # a pipe that somebody put there is not waited for
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    descriptor = hold(path, waits=False)
    try:
        yield
    finally:
        os.close(descriptor)
