"""Hashes the code and the dbt project that a run is made by, for its manifest."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from pathlib import Path

from promptaudit.registry.mart_columns import dbt_project
from promptaudit.registry.registry import SHIPPED
from promptaudit.system.files import file_sha256
from promptaudit.system.keys import sha256_of

LEFT_OUT = {"__pycache__", "target", "logs", "dbt_packages", "dbt", "models_registry"}
"""Folders that are no code, or are hashed for themselves: in an installation the package holds them."""


def made_by() -> dict[str, str]:
    """Returns hashes of the code and the dbt project that are at work: equal wherever and from whichever folder they run."""
    return {"code": code_sha256(), "dbt_project": project_sha256()}


@functools.cache
def code_sha256() -> str:
    """Returns the hash of the package's files, and of the cards that ship with it."""
    package = Path(__file__).parents[1]
    return sha256_of(*_files(package, {".py", ".sql", ".j2", ".css", ".js"}), *_files(SHIPPED, {".yml"}))


@functools.cache
def project_sha256() -> str:
    """Returns the hash of the dbt project's models, macros, tests, analyses and seeds."""
    return sha256_of(*_files(dbt_project(), {".sql", ".yml", ".csv"}))


def _files(root: Path, endings: set[str]) -> Iterable[str]:
    for path in sorted(root.rglob("*")):
        inside = path.relative_to(root)
        if path.suffix in endings and not LEFT_OUT & set(inside.parts[:-1]):
            yield inside.as_posix()
            yield file_sha256(path)
