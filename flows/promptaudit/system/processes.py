"""Names processes so that another one can tell whether they are still there."""

from __future__ import annotations

import contextlib
import socket
from pathlib import Path

import psutil

CLOCK_S = 5.0
"""How far two looks at the beginning of one process may differ: it is reckoned from the clock, which may be set meanwhile."""


def machine() -> str:
    """Returns what names the place whose process ids this process sees: a machine since it booted, or a container on it."""
    with contextlib.suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {Path('/proc/self/ns/pid').stat().st_ino}"
    return socket.gethostname()


def began_at() -> float:
    """Returns when this process began, in seconds."""
    return psutil.Process().create_time()


def is_running(machine_name: str, pid: int, began: float) -> bool | None:
    """Returns whether a process of a machine is there; None where that cannot be seen from here."""
    if machine_name != machine():
        return None
    try:
        process = psutil.Process(pid)
        return abs(process.create_time() - began) < CLOCK_S and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
