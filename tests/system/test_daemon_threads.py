"""Calls run beside each other in threads that nobody waits for."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time

import pytest

from promptaudit.system.daemon_threads import DaemonThreads


def test_so_many_calls_at_once_and_the_loop_lives() -> None:
    both = threading.Barrier(2)
    names: set[str] = set()

    def meet(number: int) -> int:
        both.wait(10)  # for two at once
        names.add(threading.current_thread().name)
        return number

    async def calls() -> list[int]:
        threads = DaemonThreads(2)
        asked = asyncio.gather(*(threads.run(lambda n=n: meet(n)) for n in range(6)))
        await asyncio.sleep(0)
        numbers = await asked
        threads.end()
        return list(numbers)

    assert asyncio.run(calls()) == list(range(6))
    assert len(names) == 2


@pytest.mark.parametrize(
    ("error", "seen"),
    [
        (ValueError("x"), ValueError),
        (StopIteration(), RuntimeError),
        (SystemExit(3), RuntimeError),
        (KeyboardInterrupt(), RuntimeError),
    ],
)
def test_what_a_call_raises_comes_back_and_ends_no_loop(error: BaseException, seen: type[Exception]) -> None:
    def fail() -> None:
        raise error

    async def call() -> None:
        threads = DaemonThreads(1)
        with pytest.raises(seen):
            await threads.run(fail)
        assert await threads.run(lambda: 1) == 1

    asyncio.run(call())


HANGS = """
import asyncio, time
from promptaudit.system.daemon_threads import DaemonThreads
async def call():
    await asyncio.wait_for(DaemonThreads(1).run(lambda: time.sleep(600)), 0.1)
asyncio.run(call())
"""


def test_a_call_that_hangs_keeps_no_process_alive() -> None:
    started = time.monotonic()
    done = subprocess.run([sys.executable, "-c", HANGS], capture_output=True, text=True, timeout=60, check=False)
    assert "TimeoutError" in done.stderr
    assert time.monotonic() - started < 30
