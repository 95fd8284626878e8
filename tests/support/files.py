"""Writes the files that a test begins with, and lists those of the checkout."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Writes texts by their paths within a folder, which is made where it is missing, as are folders in it."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def tracked(checkout: Path) -> list[Path]:
    """Lists the files of a checkout that git tracks or would track; skips the test where there is no git or no checkout."""
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],  # noqa: S607 - whichever git there is
            cwd=checkout,
            capture_output=True,
            text=True,
            check=True,
        )
    except (FileNotFoundError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    names = sorted({name for name in listed.stdout.split("\0") if name})
    return [checkout / name for name in names if (checkout / name).is_file()]
