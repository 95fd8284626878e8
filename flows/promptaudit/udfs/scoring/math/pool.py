"""Starts the worker of `math_equal`, writes pairs of formulas to it and reads its answers, over pipes."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import islice
from multiprocessing.connection import wait
from typing import IO, NoReturn, cast

START_SECONDS = 120.0
"""The worker has so much time to import sympy and report: it takes 4 s where nothing else runs."""

_SILENCE_SECONDS = 20.0  # beyond a pair's time: a worker that takes longer is itself at fault
_IN_FLIGHT = 64  # answers to so many fit into a pipe, so that neither side waits for the other to read
_LIVES = 3

# The variables that a Python may need to start, and the mark by which a killed run's processes are found: none of
# the user's keys is passed on.
_KEPT = (
    *("HOME", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PROMPTAUDIT_GUARD"),
    *("PYTHONHOME", "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"),
)

Equality = tuple[bool | None, str | None]
"""Whether two formulas are equal; None with a reason where that is unknown."""


class WorkerGone(OSError):
    """Says that a worker ended or stopped answering; the message ends in the worker's standard error."""


class MathProcess:
    """Runs a worker process that starts when it is first needed.

    One thread at a time may use it, and no forked process.
    """

    def __init__(self, seconds_per_pair: float, n_processes: int) -> None:
        self._seconds = seconds_per_pair
        self._n_processes = n_processes or min(4, os.cpu_count() or 1)
        self._running: _Running | None = None

    def compare(self, jobs: Sequence[tuple[str, str]]) -> list[Equality]:
        """Compares the two formulas of each job, in the order of the jobs.

        Raises:
            OSError: there is no `os.fork`, the extra `math` is not installed, or the worker died three times.
        """
        equalities: dict[int, Equality] = {}
        for n_lives_left in reversed(range(_LIVES)):
            try:
                self._running = self._running or _Running(self._seconds, self._n_processes)
                self._running.answer(jobs, equalities)
                break
            except BaseException as error:  # an answer still on its way must not be read as an answer to the next call
                self._end()
                if not n_lives_left or not isinstance(error, WorkerGone):
                    raise
        return [equalities[number] for number in range(len(jobs))]

    def close(self) -> None:
        """Ends the worker and waits for it."""
        self._end(patience=5)

    def _end(self, patience: float = 0) -> None:
        if self._running is not None:
            self._running.end(patience)
        self._running = None


class _Running:
    # one life of the worker
    def __init__(self, seconds_per_pair: float, n_processes: int) -> None:
        if not hasattr(os, "fork"):
            msg = "math_equal compares formulas in forked processes, and this platform has no os.fork"
            raise OSError(msg)
        if importlib.util.find_spec("math_verify") is None:
            msg = "math_equal compares formulas by the extra `math`: python -m pip install 'promptaudit[math]'"
            raise OSError(msg)
        self.silence = seconds_per_pair + _SILENCE_SECONDS
        self.is_started = False
        self.errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the worker has ended
        self.process = subprocess.Popen(  # noqa: S603 - this interpreter, our own words
            [
                sys.executable,
                "-P",
                "-m",
                "promptaudit.udfs.scoring.math.worker",
                str(seconds_per_pair),
                str(n_processes),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            start_new_session=True,  # Ctrl-C reaches only the parent: the worker ends with its input
            env={name: os.environ[name] for name in _KEPT if name in os.environ} | {"PYTHONHASHSEED": "0"},
        )
        self.source, self.sink = cast("IO[bytes]", self.process.stdout), cast("IO[bytes]", self.process.stdin)
        self.unread = b""

    def answer(self, jobs: Sequence[tuple[str, str]], equalities: dict[int, Equality]) -> None:
        # sends the jobs that have no answer yet
        if not self.is_started:
            self.line(START_SECONDS)
            self.is_started = True
        waiting = iter([number for number in range(len(jobs)) if number not in equalities])
        for number in islice(waiting, _IN_FLIGHT):
            self.send(number, jobs[number])
        while len(equalities) < len(jobs):
            number, is_equal, reason = json.loads(self.line(self.silence))
            equalities[number] = is_equal, reason
            for following in islice(waiting, 1):
                self.send(following, jobs[following])

    def send(self, number: int, job: tuple[str, str]) -> None:
        try:
            self.sink.write(json.dumps([number, *job]).encode() + b"\n")
            self.sink.flush()
        except BrokenPipeError:
            self.gone()

    def line(self, seconds: float) -> bytes:
        until = time.monotonic() + seconds
        while b"\n" not in self.unread:
            is_ready = wait([self.source.fileno()], max(0.0, until - time.monotonic()))
            part = os.read(self.source.fileno(), 2**16) if is_ready else b""
            if not part:
                self.gone()
            self.unread += part
        line, _, self.unread = self.unread.partition(b"\n")
        return line

    def gone(self) -> NoReturn:
        self.errors.seek(0)
        last_words = self.errors.read()[-2000:].decode(errors="replace").strip()
        msg = f"the worker of math_equal is gone: {last_words or 'it said nothing'}"
        raise WorkerGone(msg)

    def end(self, patience: float) -> None:
        # on Linux the children of a worker that was killed end by themselves
        if patience:
            with contextlib.suppress(BrokenPipeError, subprocess.TimeoutExpired):
                self.sink.close()
                self.process.wait(patience)
        self.process.kill()
        self.process.wait()
        for stream in (self.sink, self.source, self.errors):
            with contextlib.suppress(BrokenPipeError):  # something was still to be written
                stream.close()
