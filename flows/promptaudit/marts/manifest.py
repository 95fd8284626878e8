"""Hashes the code and the dbt project that a run is made by, for its manifest."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable
from pathlib import Path

from promptaudit import models_registry, udfs
from promptaudit.registry.mart_columns import dbt_project
from promptaudit.system.files import file_sha256
from promptaudit.system.keys import sha256_of

LEFT_OUT = {
    "__pycache__",
    "target",
    "logs",
    "dbt_packages",
    "udfs",
    "dbt_project",
    "python",
}  # of the code, and of the dbt project


def made_by() -> dict[str, str]:
    """Returns hashes of the code and the dbt project that are at work: equal wherever and from whichever folder they run."""
    return {"code": code_sha256(), "dbt_project": project_sha256()}


@functools.cache
def code_sha256() -> str:
    """Returns the hash of the package's files, by their names within its parts."""
    packages = {"flows": Path(__file__).parents[1], "udfs": Path(udfs.__file__).parent}
    packages["models_registry"] = Path(models_registry.__file__).parent
    door = sorted(Path(sys.modules["promptaudit"].__path__[0]).glob("*.py"))
    return sha256_of(
        *(part for path in door for part in (path.name, file_sha256(path))),
        *(
            part
            for name, root in sorted(packages.items())
            for part in (name, *_files(root, {".py", ".sql", ".j2", ".css", ".js", ".yml"}))
        ),
    )


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
