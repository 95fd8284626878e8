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
"""Folders that hold no code, or are hashed separately: in an installation the package contains them."""


def made_by() -> dict[str, str]:
    """Hashes the code and the dbt project that run now. The hashes are the same in every place and folder."""
    return {"code": code_sha256(), "dbt_project": project_sha256()}


@functools.cache
def code_sha256() -> str:
    """Hashes the package's files and the cards that ship with it."""
    package = Path(__file__).parents[1]
    return sha256_of(*_files(package, {".py", ".sql", ".j2", ".css", ".js"}), *_files(SHIPPED, {".yml"}))


@functools.cache
def project_sha256() -> str:
    """Hashes the dbt project's models, macros, tests, analyses and seeds."""
    return sha256_of(*_files(dbt_project(), {".sql", ".yml", ".csv"}))


def _files(root: Path, endings: set[str]) -> Iterable[str]:
    for path in sorted(root.rglob("*")):
        inside = path.relative_to(root)
        if path.suffix in endings and not LEFT_OUT & set(inside.parts[:-1]):
            yield inside.as_posix()
            yield file_sha256(path)
