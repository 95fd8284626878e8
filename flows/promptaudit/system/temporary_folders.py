"""Temporary folders that last as long as somebody holds them; those that a killed process left are removed by the next."""

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
    """Returns a new folder below `base`; those of this prefix that are a day old and whose `held` nobody holds are removed.

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
    """Returns the descriptor of a file or folder, which is locked for as long as it is open.

    Raises OSError where another holds it and is not to be waited for; whoever looks for old folders holds each for a moment.
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
