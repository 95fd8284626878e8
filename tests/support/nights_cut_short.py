"""Runs of an audit over HTTP that are killed at a place that a test knows: what was answered is kept, nothing is in flight."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from tests.support.http_audit import query
from tests.support.provider_server import Provider
from tests.support.shell import start

CONNECTIONS = 4
LIMITS = f"{{max_connections: {CONNECTIONS}}}"
"""What the model's card has: so many wait when a silent provider has been asked for more."""

PATIENCE_S = 240


def killed_between_answers(folder: Path, provider: Provider, n_answered: int, *arguments: str, **extra: str) -> None:
    """Runs a command and kills it once the provider has given so many answers in all, and nobody works on one of them."""
    with provider.silent_from(n_answered):
        running = start(folder, *arguments, has_server=False, **extra)
        _wait_for(lambda: provider.n_waiting == CONNECTIONS, running)
        _kill(running)
    assert provider.n_requests == n_answered


def killed_when_it_says(folder: Path, said: str, *arguments: str, **extra: str) -> None:
    """Runs a command and kills it as soon as a line of its progress says this."""
    running = start(folder, *arguments, has_server=False, **extra)
    assert running.stderr is not None
    lines = []
    for line in running.stderr:
        lines.append(line)
        if said in line:
            break
    else:
        raise AssertionError("".join(lines))
    _kill(running)


def kept(folder: Path) -> int:
    """Answers that have landed or wait in the spool; one may be in both, and counts once."""
    rows = query(folder / "warehouse/audit.duckdb", "select prediction_id from raw.predictions")
    waiting = (folder / "warehouse/audit.duckdb.spool").glob("*/*.predictions.jsonl")
    lines = [line for path in waiting for line in path.read_text(encoding="utf-8").splitlines()]
    return len({prediction_id for (prediction_id,) in rows} | {json.loads(line)["prediction_id"] for line in lines})


def _kill(running: subprocess.Popen[str]) -> None:
    running.send_signal(signal.SIGKILL)
    running.communicate(timeout=PATIENCE_S)
    assert running.returncode == -signal.SIGKILL


def _wait_for(is_so: Callable[[], bool], running: subprocess.Popen[str]) -> None:
    until = time.monotonic() + PATIENCE_S
    while not is_so():
        if running.poll() is not None or time.monotonic() > until:
            running.kill()
            raise AssertionError(running.communicate()[1])
        time.sleep(0.02)
