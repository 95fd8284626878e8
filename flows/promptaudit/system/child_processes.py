"""Ends the processes that a killed run would leave behind: its Prefect server, its dbt build.

A watcher holds the reading end of a pipe. When the run ends as it should, it says so through the pipe; when it is
killed outright, the pipe closes unsaid and the watcher ends every process that carries the run's mark in its
environment.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

from promptaudit.system.helper_processes import environment
from promptaudit.system.watcher import ENDED, MARK

WATCHER = Path(__file__).with_name("watcher.py")


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Marks every process started inside, and has them ended if this one is killed.

    Only the outermost of several does so.
    """
    if MARK in os.environ:  # inside a longer piece of work that is guarded already
        yield
        return
    mark = uuid.uuid4().hex
    os.environ[MARK] = mark
    reading, writing = os.pipe()
    watcher = subprocess.Popen(  # noqa: S603 - this interpreter, our own words
        # -P: nothing of the folder it is started in; -S: no look through the installed packages before they are wanted
        [sys.executable, "-P", "-S", str(WATCHER), mark],
        stdin=reading,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env={name: value for name, value in environment().items() if name != MARK},
    )
    os.close(reading)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.write(writing, ENDED)
        os.close(writing)
        watcher.wait()
        os.environ.pop(MARK, None)
