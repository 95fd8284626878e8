"""Names processes so that another one can tell whether they are still there."""

from __future__ import annotations

import contextlib
import socket
from pathlib import Path

import psutil


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
        return psutil.Process(pid).create_time() == began and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
