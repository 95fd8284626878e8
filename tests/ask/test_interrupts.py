"""An interrupt ends asking at once, whatever has been imported, and a second one what it cleans up."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading

import pytest

from promptaudit.ask.workers import run_to_end

WORK = """
import asyncio, sys
import polars
from promptaudit.ask.workers import run_to_end

async def work():
    try:
        print("asking", flush=True)
        await asyncio.sleep(60)
    finally:
        try:
            print("cleaning", flush=True)
            await asyncio.sleep(float(sys.argv[1]))
        finally:
            print("cleaned", flush=True)

try:
    run_to_end(work())
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(("cleaning_s", "n_interrupts"), [(0, 1), (60, 2)])
def test_asking_ends_before_the_interrupt_goes_on(how: signal.Signals, cleaning_s: float, n_interrupts: int) -> None:
    command = [sys.executable, "-c", WORK, str(cleaning_s)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in ("asking\n", "cleaning\n")[:n_interrupts]:
            assert process.stdout.readline() == line
            process.send_signal(how)
        said = process.communicate(timeout=30)[0].splitlines()
    assert said[-2:] == ["cleaned", "interrupted"]


def test_a_thread_that_cannot_be_started_is_no_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[threading.Thread] = []
    starting = threading.Thread.start

    def start(thread: threading.Thread) -> None:
        tried.append(thread)
        if len(tried) == 1:
            raise RuntimeError
        starting(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    work = asyncio.sleep(0)
    with pytest.raises(RuntimeError):
        run_to_end(work)
    work.close()
    assert len(tried) == 1
