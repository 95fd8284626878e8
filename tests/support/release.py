"""The last release, or another commit: its files, and the environment in which its code runs beside today's."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RELEASE = "953bed4"  # 0.1.0 as it stood before builds shared a process; moves with each release


def check_out(folder: Path, commit: str = RELEASE) -> Path:
    """Puts the files of a commit into a folder, which is returned; skips the test where this clone does not have it."""
    git = shutil.which("git") or "git"
    archive = subprocess.run([git, "archive", commit], cwd=ROOT, check=False, capture_output=True)
    if archive.returncode:
        pytest.skip(f"this clone does not have {commit}")
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")
    return folder


def environment(checkout: Path) -> dict[str, str]:
    """Returns the environment in which Python imports a checkout's code, in the layout of today or of earlier ones."""
    parts = ("flows", "flows/python", "", "dbt")
    return os.environ | {"PYTHONPATH": os.pathsep.join(str(checkout / part) for part in parts)}


def command_line(checkout: Path) -> str:
    """Returns the module that is `promptaudit` in a checkout."""
    places = (
        ("flows/promptaudit/cli", "promptaudit.cli"),
        ("flows/python", "promptaudit.flows.cli"),
        ("flows", "flows.cli"),
    )
    return next(module for place, module in places if (checkout / place).is_dir())
