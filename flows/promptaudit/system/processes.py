"""Names processes so that another process can check whether they are still running."""

from __future__ import annotations

import contextlib
import socket
from pathlib import Path

import psutil

CLOCK_S = 5.0
"""Seconds by which two readings of a process's start may differ.

They depend on the clock, which may be set meanwhile.
"""


def machine() -> str:
    """Names the space of process ids that this process sees: a machine since it booted, or a container on it."""
    with contextlib.suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {Path('/proc/self/ns/pid').stat().st_ino}"
    return socket.gethostname()


def began_at() -> float:
    """Reads when this process began, in seconds."""
    return psutil.Process().create_time()


def is_running(machine_name: str, pid: int, began: float) -> bool | None:
    """Checks whether a process of a machine is running; None if that cannot be seen from here."""
    if machine_name != machine():
        return None
    try:
        process = psutil.Process(pid)
        return abs(process.create_time() - began) < CLOCK_S and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
