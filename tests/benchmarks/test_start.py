"""Help is instant: nothing heavy is imported before a command needs it."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.benchmark


def seconds(*arguments: str) -> float:
    started = time.monotonic()
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    return time.monotonic() - started


def test_help() -> None:
    helped = min(seconds("-m", "flows.cli", "--help") for _ in range(3))
    bare = min(seconds("-c", "import typer") for _ in range(3))
    print(f"\n--help {helped:.2f} s, import of typer alone {bare:.2f} s")
    assert helped < 0.5
    assert helped < 4 * bare
