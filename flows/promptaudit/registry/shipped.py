"""Finds the folders of data that ship with the code: the cards, the dbt project and the runbooks."""

from __future__ import annotations

import functools
from pathlib import Path

_HELD = {"dbt": "dbt_project.yml", "models_registry": "audits", "infra/runbooks": "gate_failed.md"}


@functools.cache
def shipped(folder: str) -> Path:
    """Finds a folder of the installed package, or in a checkout the folder of that name at its top.

    Raises FileNotFoundError if neither is there.
    """
    package = Path(__file__).resolve().parents[1]
    for place in (package / folder, package.parents[1] / folder):
        if (place / _HELD[folder]).exists():
            return place
    msg = f"{folder} is missing from this installation"
    raise FileNotFoundError(msg)
