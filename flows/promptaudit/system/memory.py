"""Sets how much of the machine's memory DuckDB may take. What does not fit waits on the disk."""

from __future__ import annotations

import contextlib
import functools
import os
from pathlib import Path

from promptaudit.system.settings import Settings

ENOUGH = 3 * 2**29
A_VALUE = 160  # bytes: the lists of a measure hold what was said and some numbers of each at once, and cannot wait on the disk
PROC, CGROUPS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")


def duckdb_memory(n_values: int) -> str:
    """Computes the memory limit of the DuckDB that derives marts of so many answers or fields.

    PROMPTAUDIT_MEMORY sets it. Otherwise it is 1.5 GiB, and above ten million values 160 bytes each, but no more than a
    quarter of the machine's memory; on a machine of less than 6 GiB it is 1.5 GiB or half, whichever is less. Lists of
    all answers of a run have to fit into it; the rest may wait on the disk. Measures hold arrays of their own beside
    it.
    """
    whole = machine_memory()
    most = max(whole // 4, min(whole // 2, ENOUGH))
    return f"{(Settings().memory or min(most, max(ENOUGH, A_VALUE * n_values))) // 2**20}MiB"


@functools.cache
def machine_memory() -> int:
    """Reads the bytes of memory of this machine, or the part that this process's cgroups allow."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    with contextlib.suppress(OSError):
        for line in PROC.read_text(encoding="utf-8").splitlines():
            limits += _limits(*line.split(":")[1:3])
    return min(limits)


def _limits(controllers: str, path: str) -> list[int]:
    # limits of a cgroup and of those above it, as far as they are visible, for both versions of cgroups
    if controllers and "memory" not in controllers.split(","):
        return []
    root, name = (CGROUPS / "memory", "memory.limit_in_bytes") if controllers else (CGROUPS, "memory.max")
    own = root / path.lstrip("/")
    limits = []
    for folder in (own, *own.parents):
        with contextlib.suppress(OSError, ValueError):  # the host's path in a container; the word max
            limits.append(int((folder / name).read_text(encoding="utf-8")))
        if folder == root:
            break
    return limits
