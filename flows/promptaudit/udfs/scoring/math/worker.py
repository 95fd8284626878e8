"""Compares formulas for `math_equal` in child processes that a formula cannot hang, fill or leave.

Run as `python -m promptaudit.udfs.scoring.math.worker SECONDS N`. Lines of JSON come in, `[number, answer, reference]`,
and go out, `[number, is_equal, reason]`, in any order; an empty list goes out first, when sympy is imported. Up to N
children, each forked from here in milliseconds, get one pair at a time. A child that takes more than SECONDS over a
pair is killed, and a child that found a pair costly gets no further one. The worker ends with its input, and its
children with it.

A child has 1 GiB of address space, can write to no file and start no program. Its input has passed `formula`; these
limits are for anything that `formula` might miss.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import json
import logging
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

from promptaudit.udfs.scoring.math.pool import Equality

MEMORY_BYTES = 2**30

# a child in which a pair took more processor time or memory than this ends, so that the next pair finds nothing of it
COSTLY_SECONDS = 0.3
COSTLY_BYTES = MEMORY_BYTES // 4

_REFUSED = ("os.", "shutil.", "subprocess.", "socket.", "ctypes.", "mmap.", "fcntl.", "pty.", "sqlite3.", "urllib.")
_IMPORTING = frozenset(("os.listdir", "os.scandir"))
# multiplication of monomials unrolled for a number of letters; classes of modules imported late. Neither holds a name
# from a formula. sympify, which is Python's eval, and lambdify, which writes names of letters into code, are refused.
_WRITES_ITS_OWN = frozenset(("sympy.polys.monomials", "dataclasses", "collections", "typing"))
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_PR_SET_PDEATHSIG = 1  # of linux/prctl.h

_FAILED, _REFUSED_STATUS = 1, 3
_ENDINGS = {_REFUSED_STATUS: "unreadable", -signal.SIGXCPU: "timeout"}

_LINE = 0  # where a child has the socket to its parent
_LONGEST_LINE = 2**20  # two formulas of 1,000 characters, each of which may be written in forty

Compare = Callable[[str, str], Equality]
Job = tuple[int, str, str]


class _Child(NamedTuple):
    # a forked process, and the two directions of the socket on which it reads pairs and answers
    process: int
    answers: asyncio.StreamReader
    pairs: asyncio.StreamWriter

    async def ask(self, pair: list[str]) -> list[Any]:
        # whether the child ends with this pair, and then its finding
        self.pairs.write(json.dumps(pair).encode() + b"\n")
        return list(json.loads(await self.answers.readuntil()))

    def end(self) -> int:
        self.pairs.close()
        os.kill(self.process, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])


class Worker:
    """Passes pairs to children, one at a time each, writes their answers, and ends a child that takes too long.

    Args:
        compare: compares two formulas; called in a child.
        seconds: of wall time that one pair may take.
        n_children: at once.
    """

    def __init__(self, compare: Compare, seconds: float, n_children: int) -> None:
        self.compare, self.seconds, self.n_children = compare, seconds, n_children

    def serve(self) -> None:
        """Reads jobs from the standard input until it ends, and writes their answers to the standard output."""
        asyncio.run(self.listen())

    async def listen(self) -> None:
        """Reads jobs while as many tasks as there may be children answer them."""
        lines, jobs = asyncio.StreamReader(limit=_LONGEST_LINE), asyncio.Queue[Job]()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self.answer(jobs)) for _ in range(self.n_children)]
            _say([])
            async for line in lines:
                jobs.put_nowait(json.loads(line))
            for task in tasks:
                task.cancel()

    async def answer(self, jobs: asyncio.Queue[Job]) -> None:
        """Has a child answer one job after the other, and forks another child where that one has ended."""
        child: _Child | None = None
        try:
            while True:
                number, *pair = await jobs.get()
                if child is not None and child.answers.at_eof():  # it died without work
                    child.end()
                    child = None
                child = child or await self.fork()
                try:
                    async with asyncio.timeout(self.seconds):
                        is_last, *equality = await child.ask(pair)
                except TimeoutError:
                    is_last, equality = True, [None, "timeout"]
                except (EOFError, ConnectionError):
                    is_last, equality = True, []
                if is_last:
                    status, child = child.end(), None
                    equality = equality or [None, _ENDINGS.get(status, "too much memory")]
                _say([number, *equality])
        finally:
            if child is not None:
                child.end()

    async def fork(self) -> _Child:
        """Forks a child, which answers pairs until its socket is closed."""
        ours, its = socket.socketpair()
        answers, pairs = await asyncio.open_connection(sock=ours)
        process = os.fork()
        if process == 0:
            _work(self.compare, self.seconds, its.fileno())
        its.close()
        return _Child(process, answers, pairs)


def _say(answer: list[Any]) -> None:
    os.write(1, json.dumps(answer).encode() + b"\n")


def _work(compare: Compare, seconds: float, line: int) -> NoReturn:
    # all of a child's life, from its first moment to its last
    status = _FAILED
    try:
        _confine(line)
        for pair in open(_LINE, encoding="ascii", closefd=False):  # noqa: SIM115 - it ends with the process
            until = int(time.process_time() + seconds) + 2
            resource.setrlimit(resource.RLIMIT_CPU, (until, resource.RLIM_INFINITY))
            started = time.process_time()
            equality = compare(*json.loads(pair))
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
            if equality[0] is not True and peak > MEMORY_BYTES // 2:  # out of memory, the algebra answers no
                equality = None, "too much memory"
            is_last = time.process_time() - started > COSTLY_SECONDS or peak > COSTLY_BYTES
            os.write(_LINE, json.dumps([is_last, *equality]).encode() + b"\n")
            if is_last:
                break
        status = 0
    finally:
        os._exit(status)


def _confine(line: int) -> None:
    # takes from this process everything that comparing formulas does not need, except the socket to its parent
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    os.dup2(line, _LINE)
    os.closerange(3, 256)  # the sockets of the other children too: they end when the worker's side of theirs is closed
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
    # ends the process when it is about to write, to start a program or to run text as code; imports may go on
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
    # whether code of this file name comes from no file, and not from a module that writes its own code
    if isinstance(name, str) and (not name.startswith("<") or name.startswith("<frozen ")):
        return False
    return sys._getframe(2).f_globals.get("__name__") not in _WRITES_ITS_OWN  # noqa: SLF001 - there is no other way


def main() -> None:
    """Imports sympy, then serves jobs until the standard input ends."""
    from promptaudit.udfs.scoring.math.algebra import compare, warm_up

    logging.disable(logging.CRITICAL)  # math-verify warns that it has no time limit of its own
    warm_up()
    gc.collect()
    gc.freeze()  # a child's garbage collection then copies no page of this process
    Worker(compare, float(sys.argv[1]), int(sys.argv[2])).serve()
    os._exit(0)  # Python would take apart all of sympy first


if __name__ == "__main__":
    main()
