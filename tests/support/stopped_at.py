"""Runs a command and stops its process at a border between two steps: just before a named file appears or goes.

`python -m tests.support.stopped_at HOW PATTERN ARGUMENT...`: HOW is a signal's name or `list`, which writes the borders to
stderr; PATTERN matches what happens to a path, such as `rename published/audit.duckdb`.
"""

from __future__ import annotations

import functools
import importlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
EVENTS = {"os.rename": "rename", "os.remove": "remove", "shutil.rmtree": "remove", "os.mkdir": "make"}
CALLS = {
    "promptaudit.marts.publication": "end",
    "promptaudit.marts.seal": "seal_runs",
    "promptaudit.audit.runs": "close_run",
    "promptaudit.report.record": "record",
}
"""A function of each module, before which a process may be stopped; imported before what imports it."""


def started(folder: Path, how: str, border: str, *arguments: str, **extra: str) -> subprocess.Popen[str]:
    """Starts a command in `folder` in a process of its own, up to a border; `list` runs it to its end."""
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "tests.support.stopped_at", how, border, *arguments],
        cwd=folder,
        env={**os.environ, "PROMPTAUDIT_PREFECT": "off", "COLUMNS": "120", "PYTHONPATH": str(ROOT), **extra},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def stopped(folder: Path, how: str, border: str, *arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
    """Runs a command up to a border, where it ends."""
    with started(folder, how, border, *arguments, **extra) as running:
        try:
            out, err = running.communicate(timeout=280)
        finally:
            running.kill()
    return subprocess.CompletedProcess(arguments, running.returncode, out, err)


def _watch(how: str, border: str) -> None:
    wanted, home, process = re.compile(border), f"{Path.cwd()}{os.sep}", os.getpid()

    def hook(event: str, values: tuple[object, ...]) -> None:
        if event not in EVENTS or os.getpid() != process:
            return
        path = str(values[1 if event == "os.rename" else 0])
        path = path.removeprefix(home).removeprefix("warehouse/")
        happens = f"{EVENTS[event]} {path}"
        if how == "list" and path.startswith(("published", "archive", "audit.duckdb")):
            sys.stderr.write(f"border: {happens}\n")
        elif how != "list" and wanted.search(happens):
            os.kill(process, signal.Signals[how])

    sys.addaudithook(hook)
    for name, function in CALLS.items():
        module = importlib.import_module(name)
        setattr(module, function, _told(getattr(module, function), f"call {function}", how, wanted))


def _told(function: Callable[..., Any], happens: str, how: str, wanted: re.Pattern[str]) -> Callable[..., Any]:
    @functools.wraps(function)
    def called(*arguments: Any, **named: Any) -> Any:
        if how == "list":
            sys.stderr.write(f"border: {happens}\n")
        elif wanted.search(happens):
            os.kill(os.getpid(), signal.Signals[how])
        return function(*arguments, **named)

    return called


if __name__ == "__main__":
    _watch(sys.argv[1], sys.argv[2])
    from promptaudit.cli import main

    main(sys.argv[3:])
