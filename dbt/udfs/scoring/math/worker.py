"""The worker of `math_equal`: compares formulas in children that nothing they are given can keep, fill or leave.

Run as `python -m udfs.scoring.math.worker SECONDS N`. Lines of JSON come in, `[number, answer, reference]`, and go out,
`[number, is_equal, reason]`, in any order; an empty list goes out first, when sympy is imported. Up to N children, each
forked from here in milliseconds, are given one pair at a time; one that takes more than SECONDS over it is killed, and
one to which a pair was hard is not asked again. The worker ends with its input, and its children with it.

A child has 1 GiB of address space, can write to no file and start no program. What it reads has passed `formula`;
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

# a child in which a pair took more processor time or memory than this ends: the next pair finds nothing of it
COSTLY_SECONDS = 0.3
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


@dataclass(kw_only=True)
class _Child:
    """A forked process, and the job it is at until when, if it is at one."""

    process: int
    jobs: int  # the pipe on which it is told
    job: Job | None = None
    deadline: float = 0.0
    unread: bytes = b""


class Worker:
    """Hands pairs to children, one at a time each, and their answers back; ends a child that takes too long.

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
        self.unread = b""
        self.children: dict[int, _Child] = {}  # by the pipe on which they answer
        self.selector = selectors.DefaultSelector()

    def serve(self) -> None:
        """Answers until the input ends."""
        self.selector.register(self.source, selectors.EVENT_READ)
        os.write(self.sink, b"[]\n")
        try:
            while self.turn():
                self.dispatch()
        finally:
            for child in self.children.values():
                os.kill(child.process, signal.SIGKILL)
                os.waitpid(child.process, 0)

    def turn(self) -> bool:
        """Waits for the next thing to happen and sees to it; False when the input has ended."""
        deadlines = [child.deadline for child in self.children.values() if child.job is not None]
        events = self.selector.select(max(0.0, min(deadlines) - time.monotonic()) if deadlines else None)
        for key, _ in events:
            if key.fd == self.source:
                if not self.read():
                    return False
            else:
                self.hear(key.fd)
        for pipe, child in list(self.children.items()):
            if child.job is not None and child.deadline <= time.monotonic():
                os.kill(child.process, signal.SIGKILL)
                self.bury(pipe, "timeout")
        return True

    def read(self) -> bool:
        """Takes in jobs; False when there will be no more."""
        part = os.read(self.source, 2**16)
        *lines, self.unread = (self.unread + part).split(b"\n")
        self.jobs.extend(tuple(json.loads(line)) for line in lines)
        return bool(part)

    def dispatch(self) -> None:
        """Gives a job to every child that has none, and starts children while there are jobs for them."""
        idle = [child for child in self.children.values() if child.job is None]
        while self.jobs and (idle or len(self.children) < self.n_children):
            child = idle.pop() if idle else self.fork()
            try:
                os.write(child.jobs, json.dumps(self.jobs[0]).encode() + b"\n")
            except BrokenPipeError:  # it died without work, and its end will be heard
                break
            child.job, child.deadline = self.jobs.popleft(), time.monotonic() + self.seconds

    def fork(self) -> _Child:
        """Starts a child."""
        (told, tell), (hear, say) = os.pipe(), os.pipe()
        process = os.fork()
        if process == 0:
            for pipe, sibling in self.children.items():  # else a pipe that closes would stay open here
                os.close(pipe)
                os.close(sibling.jobs)
            os.close(tell)
            os.close(hear)
            _work(self.compare, self.seconds, told, say)
        os.close(told)
        os.close(say)
        self.children[hear] = _Child(process=process, jobs=tell)
        self.selector.register(hear, selectors.EVENT_READ)
        return self.children[hear]

    def hear(self, pipe: int) -> None:
        """Passes on what a child answers; one that ends without an answer had what is said of its end."""
        child = self.children[pipe]
        part = os.read(pipe, 2**16)
        child.unread += part
        if not part:
            self.bury(pipe)
        elif part.endswith(b"\n"):
            is_last, *answer = json.loads(child.unread)
            os.write(self.sink, json.dumps(answer).encode() + b"\n")
            child.job, child.unread = None, b""
            if is_last:
                self.bury(pipe)

    def bury(self, pipe: int, reason: str | None = None) -> None:
        """Waits for a child that ends; the job it was at is answered with a reason."""
        child = self.children.pop(pipe)
        self.selector.unregister(pipe)
        os.close(pipe)
        os.close(child.jobs)
        status = os.waitstatus_to_exitcode(os.waitpid(child.process, 0)[1])
        if child.job is not None:
            answer = [child.job[0], None, reason or _ENDINGS.get(status, "too much memory")]
            os.write(self.sink, json.dumps(answer).encode() + b"\n")


def _work(compare: Callable[[str, str], Found], seconds: float, jobs: int, answers: int) -> NoReturn:
    """What a child does, from its first moment to its last."""
    status = _FAILED
    try:
        _confine()
        with open(jobs, encoding="ascii", buffering=1) as lines:
            for line in lines:
                number, answer, reference = json.loads(line)
                until = int(time.process_time() + seconds) + 2
                resource.setrlimit(resource.RLIMIT_CPU, (until, resource.RLIM_INFINITY))
                started = time.process_time()
                found = compare(answer, reference)
                peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
                if found[0] is not True and peak > MEMORY_BYTES // 2:  # the algebra takes its want of memory for a no
                    found = None, "too much memory"
                is_last = time.process_time() - started > COSTLY_SECONDS or peak > COSTLY_BYTES
                os.write(answers, json.dumps([is_last, number, *found]).encode() + b"\n")
                if is_last:
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
    sys.dont_write_bytecode = True  # what is imported from here on stays uncompiled
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
    from udfs.scoring.math.algebra import compare, warm_up

    logging.disable(logging.CRITICAL)  # math-verify warns that it has no time limit of its own
    warm_up()
    gc.collect()
    gc.freeze()  # a child's garbage collection then copies no page of what stands here
    Worker(compare, float(sys.argv[1]), int(sys.argv[2])).serve()
    os._exit(0)  # Python would take apart all of sympy first


if __name__ == "__main__":
    main()
