"""Help is instant and light commands start fast: nothing heavy is imported before a command needs it."""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest

from promptaudit.system.child_processes import WATCHER

pytestmark = pytest.mark.benchmark


def seconds(*arguments: str) -> float:
    started = time.monotonic()
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    return time.monotonic() - started


def test_help() -> None:
    helped = min(seconds("-m", "promptaudit.cli", "--help") for _ in range(3))
    bare = min(seconds("-c", "import typer") for _ in range(3))
    print(f"\n--help {helped:.2f} s, import of typer alone {bare:.2f} s")
    assert helped < 0.5
    assert helped < 4 * bare


def processor_seconds(*arguments: str) -> float:
    """User and system time of a command and what it starts, the middle of five: load of the machine does not touch it."""
    taken = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-P", *arguments], check=True, capture_output=True, input=b".")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(taken)


def test_light_commands_cost_little_more_than_the_libraries_they_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    published = tmp_path / "warehouse" / "published"
    published.mkdir(parents=True)
    duckdb.connect(str(published / "audit.duckdb")).close()
    monkeypatch.chdir(tmp_path)
    # typer reads options through pydantic; the cards are YAML
    peers = {
        ("sql", "select 1"): "import duckdb, typer, pydantic.main, rich.table",
        ("plan",): "import duckdb, typer, pydantic.main, polars, yaml, lark",
    }
    for command, peer in peers.items():
        own, others = processor_seconds("-m", "promptaudit.cli", *command), processor_seconds("-c", peer)
        print(f"\n{command[0]} {own:.2f} s of a processor, `{peer}` {others:.2f} s: {own / others:.2f} times")
        assert own < 2 * others
    watcher, bare = processor_seconds("-S", str(WATCHER), "no mark"), processor_seconds("-c", "pass")
    print(f"the watcher of a run {watcher:.3f} s, Python alone {bare:.3f} s: {watcher / bare:.2f} times")
    assert watcher < 2 * bare
