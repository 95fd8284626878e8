"""The worker of `math_equal`: compares formulas in children that nothing they are given can keep, fill or leave.

Run as `python -m udfs.scoring.math_worker SECONDS N`. Lines of JSON come in, `[number, answer, reference]`, and go out,
`[number, is_equal, reason]`, in any order; an empty list goes out first, when sympy is imported. Up to N children, each
forked from here in milliseconds, compare a few pairs; one that takes more than SECONDS over a pair is killed. The worker
ends with its input, and its children with it.

A child has 1 GiB of address space, can write to no file and start no program. What it reads has passed `math_formula`;
this is for what that might miss.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import logging
import os
import resource
import selectors
import signal
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

MEMORY_BYTES = 2**30
PAIRS_PER_CHILD = 16

# a child in which a pair took more than this is followed by another: the next pair finds nothing of the last
COSTLY_SECONDS = 0.2
COSTLY_BYTES = MEMORY_BYTES // 4

_REFUSED = ("os.", "shutil.", "subprocess.", "socket.", "ctypes.", "mmap.", "fcntl.", "pty.", "sqlite3.", "urllib.")
_IMPORTING = frozenset(("os.listdir", "os.scandir"))
# multiplication of monomials unrolled for a number of letters; classes of modules imported late. Neither holds a name
# that was read. Refused are sympify, which is Python's eval, and lambdify, which writes the names of letters into code.
_WRITES_ITS_OWN = frozenset(("sympy.polys.monomials", "dataclasses", "collections", "typing"))
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_PR_SET_PDEATHSIG = 1  # of linux/prctl.h

_FAILED, _REFUSED_STATUS = 1, 3
_ENDINGS = {_REFUSED_STATUS: "unreadable", -signal.SIGXCPU: "timeout"}

Job = tuple[int, str, str]
Found = tuple[bool | None, str | None]


@dataclass
class _Child:
    """A forked process: what it has yet to answer, first what it is at, and when that must be done."""

    process: int
    jobs: deque[Job]
    deadline: float
    unread: bytes = b""


class Worker:
    """Hands pairs to children and their answers back, and ends children that take too long.

    Args:
        compare: gives a reading of two formulas; called in a child.
        seconds: of wall time that one pair may take.
        n_children: at once.
        source: file descriptor of the jobs; its end ends the worker.
        sink: file descriptor of the answers.
    """

    def __init__(
        self, compare: Callable[[str, str], Found], seconds: float, n_children: int, source: int = 0, sink: int = 1
    ) -> None:
        self.compare, self.seconds, self.n_children, self.source, self.sink = compare, seconds, n_children, source, sink
        self.jobs: deque[Job] = deque()
        self.children: dict[int, _Child] = {}  # by the pipe on which they answer
        self.selector = selectors.DefaultSelector()

    def serve(self) -> None:
        """Answers until the input ends."""
        self.selector.register(self.source, selectors.EVENT_READ)
        os.write(self.sink, b"[]\n")
        unread = b""
        try:
            while True:
                while self.jobs and len(self.children) < self.n_children:
                    self.fork()
                soonest = min((child.deadline for child in self.children.values()), default=None)
                wait = None if soonest is None else max(0.0, soonest - time.monotonic())
                for key, _ in self.selector.select(wait):
                    if key.fd != self.source:
                        self.hear(key.fd)
                        continue
                    part = os.read(self.source, 2**16)
                    if not part:
                        return
                    *lines, unread = (unread + part).split(b"\n")
                    self.jobs.extend(tuple(json.loads(line)) for line in lines)
                for pipe, child in list(self.children.items()):
                    if child.deadline <= time.monotonic():
                        self.end(pipe, "timeout")
        finally:
            for child in self.children.values():
                os.kill(child.process, signal.SIGKILL)

    def fork(self) -> None:
        """Hands the next jobs to a new child."""
        share = max(1, min(PAIRS_PER_CHILD, len(self.jobs) // self.n_children))
        jobs = deque(self.jobs.popleft() for _ in range(share))
        reading, writing = os.pipe()
        process = os.fork()
        if process == 0:
            _work(self.compare, self.seconds, jobs, writing)
        os.close(writing)
        self.children[reading] = _Child(process, jobs, time.monotonic() + self.seconds)
        self.selector.register(reading, selectors.EVENT_READ)

    def hear(self, pipe: int) -> None:
        """Passes on what a child answered, or takes note of its end."""
        child = self.children[pipe]
        part = os.read(pipe, 2**16)
        if not part:
            self.end(pipe, None)
            return
        *lines, child.unread = (child.unread + part).split(b"\n")
        for line in lines:
            child.jobs.popleft()
            child.deadline = time.monotonic() + self.seconds
            os.write(self.sink, line + b"\n")

    def end(self, pipe: int, reason: str | None) -> None:
        """Ends a child, or buries it; the job it was at gets a reason, those behind it another child."""
        child = self.children.pop(pipe)
        self.selector.unregister(pipe)
        os.close(pipe)
        if reason is not None:
            os.kill(child.process, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(child.process, 0)[1])
        if reason is None and status != 0:
            reason = _ENDINGS.get(status, "too much memory")
        if reason is not None and child.jobs:
            os.write(self.sink, _line(child.jobs.popleft()[0], (None, reason)))
        self.jobs.extendleft(reversed(child.jobs))


def _line(number: int, found: Found) -> bytes:
    return json.dumps([number, *found]).encode() + b"\n"


def _work(compare: Callable[[str, str], Found], seconds: float, jobs: deque[Job], sink: int) -> NoReturn:
    """What a child does, from its first moment to its last."""
    status = _FAILED
    try:
        _confine()
        for number, answer, reference in jobs:
            until = int(time.process_time() + seconds) + 2
            resource.setrlimit(resource.RLIMIT_CPU, (until, resource.RLIM_INFINITY))
            started = time.monotonic()
            found = compare(answer, reference)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
            if found[0] is not True and peak > MEMORY_BYTES // 2:  # the algebra takes its own want of memory for a no
                found = None, "too much memory"
            os.write(sink, _line(number, found))
            if time.monotonic() - started > COSTLY_SECONDS or peak > COSTLY_BYTES:
                break
        status = 0
    finally:
        os._exit(status)


def _confine() -> None:
    """Takes from this process all that comparing formulas does not need."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    for limit, most in (
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        with contextlib.suppress(OSError, ValueError):  # macOS has no limit of address space
            resource.setrlimit(limit, (most, most))
    sys.addaudithook(_refuse)


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    """Ends the process when it is about to write, to start a program or to run text as code; imports may go on."""
    if event == "open":
        is_refused = bool(arguments[2] & _WRITING)
    elif event == "compile":
        is_refused = _is_text(arguments[1])
    elif event == "exec":
        is_refused = _is_text(arguments[0].co_filename)
    else:
        is_refused = event.startswith(_REFUSED) and event not in _IMPORTING
    if is_refused:
        os._exit(_REFUSED_STATUS)


def _is_text(name: str | bytes | None) -> bool:
    """Whether code of this file name comes from no file, nor from a module that writes code of its own words."""
    if isinstance(name, str) and (not name.startswith("<") or name.startswith("<frozen ")):
        return False
    return sys._getframe(2).f_globals.get("__name__") not in _WRITES_ITS_OWN  # noqa: SLF001 - there is no other way


def main() -> None:
    """Imports sympy, then serves."""
    from udfs.scoring.math_compare import compare, warm_up

    logging.disable(logging.CRITICAL)  # math-verify warns that it has no time limit of its own
    warm_up()
    gc.collect()
    gc.freeze()  # a child's garbage collection then copies no page of what stands here
    Worker(compare, float(sys.argv[1]), int(sys.argv[2])).serve()


if __name__ == "__main__":
    main()
