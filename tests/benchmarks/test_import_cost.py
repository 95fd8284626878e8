"""What every run pays before its first figure: a fixed price that must not creep back."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.benchmark

FOUR = "model,sample_id,completion,gold_label,variant_index\nm,a,yes,yes,0\nm,b,no,no,0\nm,a,yes,yes,1\nm,b,yes,no,1\n"
LIBRARIES = "import dbt.cli.main, great_expectations"
MOST = 1.5 * 2.7  # half as much again as it was when this was written


def processor_seconds(folder: Path, *arguments: str) -> float:
    """User and system time of a Python program and all it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-P", *arguments], cwd=folder, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_an_import_costs_little_more_than_the_two_libraries_it_cannot_do_without(tmp_path: Path) -> None:
    (tmp_path / "four.csv").write_text(FOUR)
    bare = min(processor_seconds(tmp_path, "-c", LIBRARIES) for _ in range(2))
    line = ("-m", "promptaudit.cli", "import", "four.csv", "--labels", "yes,no")
    first = processor_seconds(tmp_path, *line, "--audit", "first")
    second = processor_seconds(tmp_path, *line, "--audit", "second")
    assert second < MOST * bare, f"{second:.1f} s of processors, the libraries alone {bare:.1f}"
    assert second < 1.2 * first
