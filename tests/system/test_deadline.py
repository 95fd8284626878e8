"""Work that takes too long is interrupted, and a process that does not end then is ended."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time
from datetime import timedelta

import pytest

from promptaudit.registry.errors import MeasureError
from promptaudit.system.deadline import at_most, hours

DEAF = """
import signal, time
from datetime import timedelta
from promptaudit.system.deadline import at_most
with at_most(timedelta(seconds=0.2), "the night", grace_s=0.2):
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    time.sleep(60)
"""


def test_what_hangs_is_interrupted_and_says_why() -> None:
    before, started = signal.getsignal(signal.SIGTERM), time.monotonic()
    said = r"the night took longer than 0\.2 s and was stopped"
    with pytest.raises(MeasureError, match=said), at_most(timedelta(seconds=0.2), "the night"):
        time.sleep(60)
    assert time.monotonic() - started < 30
    assert signal.getsignal(signal.SIGTERM) is before


def test_what_was_waited_for_before_is_part_of_the_time() -> None:
    said = "the night took longer than 1 h and was stopped"
    with pytest.raises(MeasureError, match=said), at_most(timedelta(hours=1), "the night", spent_s=3599.9):
        time.sleep(60)


def test_what_ends_in_time_ends_as_it_would() -> None:
    with at_most(timedelta(hours=1), "the night"):
        pass
    with pytest.raises(ValueError, match="invalid literal"), at_most(timedelta(hours=1), "the night"):
        int("an error of its own")


def test_a_process_that_hears_nothing_is_ended_and_shows_where_it_was() -> None:
    done = subprocess.run([sys.executable, "-c", DEAF], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 3  # could not measure: 1 is a failed gate
    assert "the night took longer than 0.2 s and was stopped" in done.stderr.splitlines()[0]
    assert "most recent call first" in done.stderr


def test_a_process_without_a_stderr_works_and_is_ended_all_the_same() -> None:
    for work, code in ((DEAF, 3), (DEAF.replace("seconds=0.2", "hours=1").replace("time.sleep(60)", "pass"), 0)):
        closed = f"import os, sys; os.close(2); sys.stderr = sys.__stderr__ = None\n{work}"
        assert subprocess.run([sys.executable, "-c", closed], timeout=60, check=False).returncode == code


def test_what_goes_on_though_it_was_interrupted_has_failed_too() -> None:
    with (
        pytest.raises(MeasureError),
        at_most(timedelta(seconds=0.1), "the night"),
        contextlib.suppress(KeyboardInterrupt),
    ):
        time.sleep(60)


def test_an_end_just_in_time_is_either_in_time_or_late_and_nothing_else() -> None:
    before = signal.getsignal(signal.SIGTERM)
    for _ in range(200):
        try:
            with at_most(timedelta(seconds=0.002), "the night"):
                time.sleep(0.0019)
        except MeasureError:
            pass
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize(("seconds", "said"), [(86_400, "24 h"), (5_400, "90 min"), (20, "20 s"), (0.5, "0.5 s")])
def test_a_span_is_said_in_its_largest_whole_unit(seconds: float, said: str) -> None:
    assert hours(timedelta(seconds=seconds)) == said
