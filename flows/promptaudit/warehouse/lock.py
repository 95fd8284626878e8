"""Locks a warehouse for one run. The lock file says who holds it."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from promptaudit.registry.errors import WarehouseLocked
from promptaudit.system.clock import span
from promptaudit.system.files import private_folder, writing

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows has no flock; DuckDB's own lock still holds there
    fcntl = None  # type: ignore[assignment]

LONG_S = 120.0  # from here on a wait is printed in minutes or hours


@contextmanager
def lock(warehouse: Path, path: Path, wait_s: float, say: Callable[[str], None] | None, by: str = "") -> Iterator[None]:
    """Holds the lock file at `path` of a warehouse.

    Waits `wait_s` seconds, says so at once, then raises WarehouseLocked.

    `by` names the holder to others who wait.
    """
    private_folder(path.parent)
    with writing(path):
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        deadline, has_said = time.monotonic() + wait_s, False
        how_long = f"{wait_s:g} s" if wait_s < LONG_S else span(timedelta(seconds=wait_s))
        while fcntl is not None:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                holder = os.pread(handle, 1000, 0).decode("utf-8", "replace").strip() or "another process"
                if time.monotonic() >= deadline:
                    again = "run this again once it has ended, or let PROMPTAUDIT_LOCK_WAIT_S be longer"
                    msg = f"{warehouse} is held by {holder}; waited {how_long}: {again}"
                    raise WarehouseLocked(msg) from None
                if say and not has_said:
                    say(f"waiting up to {how_long} for {warehouse}: held by {holder}")
                    has_said = True
                time.sleep(0.2)
        process = f"process {os.getpid()} on {socket.gethostname()} since {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"
        who = f"{by}, {process}" if by else process
        os.ftruncate(handle, 0)
        with suppress(OSError):  # on a full disk the holder has no name
            os.pwrite(handle, who.encode(), 0)
        try:
            yield
        finally:
            os.ftruncate(handle, 0)
    finally:
        os.close(handle)
