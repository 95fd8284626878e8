"""The worker of `math_equal` as its parent sees it: formulas in, readings out, over pipes."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Sequence
from typing import IO, NoReturn, cast

START_SECONDS = 120.0
"""Time for the worker to import sympy and say so: 4 s where nothing else runs."""

_SILENCE_SECONDS = 20.0  # beyond a pair's time: the worker answers each pair in that, or is itself at fault
_IN_FLIGHT = 64  # answers to so many fit into a pipe, so that neither side waits for the other to read
_ATTEMPTS = 3

# What a Python may need to start, and the mark by which a killed run's processes are found (flows.guard): none of the
# user's keys is handed on.
_KEPT = (
    *("HOME", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "PROMPTAUDIT_GUARD"),
    *("PYTHONHOME", "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"),
)

Found = tuple[bool | None, str | None]
"""Whether two formulas are equal; None with a reason where that was not found out."""


class WorkerGone(OSError):
    """The worker ended, or stopped answering; the message ends in what it wrote to its standard error."""


class MathProcess:
    """A worker that starts when it is first needed; for one thread at a time, and not to be used across a fork."""

    def __init__(self, seconds_per_pair: float, n_processes: int) -> None:
        self._seconds = seconds_per_pair
        self._n_processes = n_processes or min(4, os.cpu_count() or 1)
        self._running: _Running | None = None

    def compare(self, jobs: Sequence[tuple[str, str]]) -> list[Found]:
        """Whether the two formulas of each job are equal, in their order.

        Raises:
            OSError: there is no `os.fork`, the worker does not start, or it died three times.
        """
        found: dict[int, Found] = {}
        for attempt in range(_ATTEMPTS):
            if len(found) == len(jobs):
                break
            if self._running is None:
                self._running = _Running(self._seconds, self._n_processes)
            try:
                self._running.answer(jobs, found)
            except WorkerGone:
                self._end()
                if attempt == _ATTEMPTS - 1:
                    raise
            except BaseException:  # an answer still on its way must not be taken for one to the next call
                self._end()
                raise
        return [found[number] for number in range(len(jobs))]

    def close(self) -> None:
        """Ends the worker and waits for it."""
        if self._running is not None:
            self._running.finish()
        self._end()

    def _end(self) -> None:
        if self._running is not None:
            self._running.kill()
        self._running = None


class _Running:
    """One life of the worker.

    Raises:
        OSError: it does not start.
    """

    def __init__(self, seconds_per_pair: float, n_processes: int) -> None:
        if not hasattr(os, "fork"):
            msg = "math_equal compares formulas in forked processes, and this platform has no os.fork"
            raise OSError(msg)
        self.silence = seconds_per_pair + _SILENCE_SECONDS
        self.errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the worker has ended
        self.process = subprocess.Popen(  # noqa: S603 - this interpreter, our own words
            [sys.executable, "-P", "-m", "udfs.scoring.math.worker", str(seconds_per_pair), str(n_processes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            start_new_session=True,  # a Ctrl-C is for the parent alone: this ends with its input
            env={name: os.environ[name] for name in _KEPT if name in os.environ} | {"PYTHONHASHSEED": "0"},
        )
        self.source, self.sink = cast("IO[bytes]", self.process.stdout), cast("IO[bytes]", self.process.stdin)
        self.unread = b""
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.source, selectors.EVENT_READ)
        try:
            self.line(START_SECONDS)
        except BaseException as error:
            self.kill()
            if isinstance(error, WorkerGone):  # it would not start the next time either
                raise OSError(*error.args) from None
            raise

    def answer(self, jobs: Sequence[tuple[str, str]], found: dict[int, Found]) -> None:
        """Adds the answers to what was found before."""
        waiting = deque(number for number in range(len(jobs)) if number not in found)
        n_in_flight = 0
        while len(found) < len(jobs):
            lines = []
            while waiting and n_in_flight < _IN_FLIGHT:
                number = waiting.popleft()
                lines.append(json.dumps([number, *jobs[number]]))
                n_in_flight += 1
            self.send("".join(line + "\n" for line in lines).encode())
            number, is_equal, reason = json.loads(self.line(self.silence))
            found[number] = is_equal, reason
            n_in_flight -= 1

    def send(self, lines: bytes) -> None:
        """Writes to the worker."""
        try:
            self.sink.write(lines)
            self.sink.flush()
        except BrokenPipeError:
            self.gone()

    def line(self, seconds: float) -> bytes:
        """The worker's next line."""
        until = time.monotonic() + seconds
        while b"\n" not in self.unread:
            is_ready = self.selector.select(max(0.0, until - time.monotonic()))
            part = os.read(self.source.fileno(), 2**16) if is_ready else b""
            if not part:
                self.gone()
            self.unread += part
        line, _, self.unread = self.unread.partition(b"\n")
        return line

    def gone(self) -> NoReturn:
        """Gives up on the worker."""
        self.errors.seek(0)
        last_words = self.errors.read()[-2000:].decode(errors="replace").strip()
        msg = f"the worker of math_equal is gone: {last_words or 'it said nothing'}"
        raise WorkerGone(msg)

    def finish(self) -> None:
        """Lets the worker end its children and itself."""
        with contextlib.suppress(BrokenPipeError):
            self.sink.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=5)

    def kill(self) -> None:
        """Ends the worker if it has not ended; on Linux its children then end by themselves."""
        self.process.kill()
        self.process.wait()
        self.selector.close()
        for stream in (self.sink, self.source, self.errors):
            with contextlib.suppress(BrokenPipeError):  # of what was still to be written
                stream.close()
