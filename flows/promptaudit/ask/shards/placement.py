"""Starts askers: as processes of this machine, or somewhere else."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from promptaudit.ask.shards.land_segments import askers_folder
from promptaudit.system.helper_processes import without_secret_settings
from promptaudit.system.settings import PREFIX
from promptaudit.system.shared_folder import SharedFolder
from promptaudit.warehouse import Warehouse

ENDS_WITHIN_S = 15.0
"""Sets how long an asker may take to land its answers, once it should end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskersSetting:
    """Sets how many processes ask a run, where they run, and what they share; with one, this process asks."""

    n: int = 1
    work_pool: str | None = None
    spool: str | None = None
    registry: tuple[Path, ...] = ()

    def folder(self, warehouse: Warehouse, audit_run_id: str) -> SharedFolder:
        """Opens the folder that the askers of a run share."""
        return askers_folder(warehouse, self.spool).under(audit_run_id)


class Placement(Protocol):
    """Starts the asker of a shard, and knows whether it is still there."""

    async def start(self, shard: int) -> None:
        """Starts an asker; raises UsageError if nothing can start it."""

    async def ended(self, shard: int) -> str | None:
        """Says in a few words how the asker that was started last ended; None while it is there or to come."""

    async def stop(self) -> None:
        """Ends all askers."""


class ChildProcesses:
    """Runs askers as processes of this machine, which end with this one."""

    def __init__(
        self, audit_id: str, audit_run_id: str, n_shards: int, warehouse: Path, registry: Sequence[Path]
    ) -> None:
        self._line = [sys.executable, "-P", "-m", "promptaudit.ask.asker", audit_id, audit_run_id]
        self._n_shards = n_shards
        self._environment = {
            f"{PREFIX}warehouse".upper(): str(warehouse),
            f"{PREFIX}registry".upper(): os.pathsep.join(str(folder) for folder in registry),
        }
        self._processes: dict[int, subprocess.Popen[bytes]] = {}

    async def start(self, shard: int) -> None:
        """Starts an asker with this environment, less secret settings, in a session that gets none of its signals."""
        self._processes[shard] = subprocess.Popen(  # noqa: S603, ASYNC220 - this interpreter; it starts in a millisecond
            [*self._line, str(shard), str(self._n_shards)],
            env=without_secret_settings() | self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C reaches this process alone, which then stops the askers
        )

    async def ended(self, shard: int) -> str | None:
        """Reports the exit code or the signal of an asker that has ended."""
        code = self._processes[shard].poll()
        return None if code is None else f"exit code {code}" if code >= 0 else f"killed by signal {-code}"

    async def stop(self) -> None:
        """Ends all askers: each lands its answers first."""
        for process in self._processes.values():
            if process.poll() is None:
                process.terminate()
        for process in self._processes.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(ENDS_WITHIN_S)
            process.kill()
            process.wait()
