"""The worker of `math_equal` as its parent sees it: formulas in, readings out, over pipes."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Sequence
from typing import IO

START_SECONDS = 120.0
"""Time for the worker to import sympy and say so; 2 to 4 s on a machine that is not busy."""

_SILENCE_SECONDS = 20.0  # beyond a pair's time: the worker answers each pair in that, so it hangs itself
_IN_FLIGHT = 64  # so that answers always fit into the pipe, and neither side ever waits for the other to read
_MAX_STARTS = 3

# What a Python needs to start where it is installed, and the mark by which a killed run's processes are found. No key
# of the user's is handed on, and hashes are the same in every worker.
_KEPT = (
    *("HOME", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "TMPDIR", "PROMPTAUDIT_GUARD"),
    *("PYTHONHOME", "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"),
)

Found = tuple[bool | None, str | None]
"""Whether two formulas are equal; None with a reason where that was not found out."""


class WorkerGone(OSError):
    """The worker ended, or stopped answering."""


class MathProcess:
    """A worker process, started when it is first needed; for one thread at a time, and not across `os.fork`."""

    def __init__(self, seconds_per_pair: float, n_processes: int) -> None:
        self._arguments = (str(seconds_per_pair), str(n_processes or min(4, os.cpu_count() or 1)))
        self._silence = seconds_per_pair + _SILENCE_SECONDS
        self._worker: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None
        self._read = b""

    def compare(self, jobs: Sequence[tuple[str, str]]) -> list[Found]:
        """Whether the two formulas of each job are equal, in their order.

        Raises:
            OSError: there is no `os.fork`, or the worker does not start, or it died three times.
        """
        found: dict[int, Found] = {}
        for start in range(_MAX_STARTS):
            if len(found) == len(jobs):
                break
            try:
                self._exchange(jobs, found)
            except WorkerGone:
                self._end()
                if start == _MAX_STARTS - 1:
                    raise
            except BaseException:  # whatever is still on its way must not be taken for an answer to another call
                self._end()
                raise
        return [found[number] for number in range(len(jobs))]

    def close(self) -> None:
        """Ends the worker and waits for it."""
        if self._worker is not None and self._worker.stdin is not None:
            self._worker.stdin.close()  # at which the worker ends its own
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._worker.wait(timeout=5)
        self._end()

    def _exchange(self, jobs: Sequence[tuple[str, str]], found: dict[int, Found]) -> None:
        worker = self._started()
        waiting = deque(number for number in range(len(jobs)) if number not in found)
        n_in_flight = 0
        while len(found) < len(jobs):
            lines = b""
            while waiting and n_in_flight < _IN_FLIGHT:
                number = waiting.popleft()
                lines += json.dumps([number, *jobs[number]]).encode() + b"\n"
                n_in_flight += 1
            if lines:
                try:
                    worker.write(lines)
                    worker.flush()
                except BrokenPipeError as error:
                    raise WorkerGone(self._last_words()) from error
            number, is_equal, reason = json.loads(self._line(self._silence))
            found[number] = is_equal, reason
            n_in_flight -= 1

    def _started(self) -> IO[bytes]:
        """The worker's input."""
        if self._worker is None:
            if not hasattr(os, "fork"):
                msg = "math_equal compares formulas in forked processes, and this platform has no os.fork"
                raise OSError(msg)
            self._errors = tempfile.TemporaryFile()
            self._read = b""
            self._worker = subprocess.Popen(
                [sys.executable, "-P", "-m", "udfs.scoring.math_worker", *self._arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                start_new_session=True,  # no Ctrl-C from the terminal: it ends with its input
                env={name: os.environ[name] for name in _KEPT if name in os.environ} | {"PYTHONHASHSEED": "0"},
            )
            self._line(START_SECONDS)
        assert self._worker.stdin is not None
        return self._worker.stdin

    def _line(self, seconds: float) -> bytes:
        assert self._worker is not None
        assert self._worker.stdout is not None
        source = self._worker.stdout.fileno()
        until = time.monotonic() + seconds
        while b"\n" not in self._read:
            ready, _, _ = select.select([source], [], [], max(0.0, until - time.monotonic()))
            part = os.read(source, 65536) if ready else b""
            if not part:
                raise WorkerGone(self._last_words())
            self._read += part
        line, _, self._read = self._read.partition(b"\n")
        return line

    def _last_words(self) -> str:
        """What the worker wrote to its standard error."""
        assert self._errors is not None
        self._errors.seek(0)
        return "the worker of math_equal is gone: " + self._errors.read()[-2000:].decode(errors="replace").strip()

    def _end(self) -> None:
        if self._worker is None:
            return
        self._worker.kill()
        self._worker.wait()
        for stream in (self._worker.stdin, self._worker.stdout, self._errors):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):  # what was still to be written
                    stream.close()
        self._worker = self._errors = None
