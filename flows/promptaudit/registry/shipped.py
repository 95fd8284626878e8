"""Finds the folders of data that ship with the code: the cards and the dbt project."""

from __future__ import annotations

import functools
from pathlib import Path


@functools.cache
def shipped(folder: str) -> Path:
    """Returns a folder of the installed package, or in a checkout the one of that name at its top."""
    package = Path(__file__).resolve().parents[1]
    inside = package / folder
    return inside if inside.is_dir() else package.parents[1] / folder
