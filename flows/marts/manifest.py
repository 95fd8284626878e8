"""What a run is made from, as hashes: cards, data files, code and dbt project; it opens with them, and `trace` shows them."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import models_registry
import udfs
from flows.settings import dbt_project
from flows.system.keys import sha256_of

if TYPE_CHECKING:
    from flows.audit.design import Design

LEFT_OUT = {
    "__pycache__",
    "target",
    "logs",
    "dbt_packages",
    "udfs",
    "dbt_project",
}  # of the code, and of the dbt project


def manifest_of(design: Design) -> dict[str, Any]:
    """Hashes of everything an audit's run is made from: `cards`, `data`, `code`, `dbt_project`, each sha256 in hex.

    Data that no file holds (a hub's) have no hash of their own: the samples that were chosen are rows, which the seal covers.
    """
    used = design.registry.used_by(design.audit_id)
    return {
        "cards": {
            kind: {name: sha256_of(entry.card.canonical_json()) for name, entry in entries.items()}
            for kind, entries in used.items()
        },
        "data": {task_id: _data(design, task_id) for task_id in design.tasks},
        **made_by(),
    }


def made_by() -> dict[str, str]:
    """Hashes of the code and the dbt project that are at work: equal wherever and from whichever folder they run."""
    return {"code": code_sha256(), "dbt_project": project_sha256()}


@functools.cache
def code_sha256() -> str:
    """Of the three packages' files, by their names within the package."""
    packages = {"flows": Path(__file__).parents[1], "udfs": Path(udfs.__file__).parent}
    packages["models_registry"] = Path(models_registry.__file__).parent
    return sha256_of(
        *(
            part
            for name, root in sorted(packages.items())
            for part in (name, *_files(root, {".py", ".sql", ".j2", ".css", ".js", ".yml"}))
        )
    )


@functools.cache
def project_sha256() -> str:
    """Of the dbt project's models, macros, tests, analyses and seeds."""
    return sha256_of(*_files(dbt_project(), {".sql", ".yml", ".csv"}))


def file_sha256(path: Path) -> str:
    """Of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _data(design: Design, task_id: str) -> dict[str, Any]:
    data, n = design.tasks[task_id].data, design.n_samples(task_id)
    if data.path is None:
        return {"hub": data.hub, "split": data.split, "n_samples": n}
    path = design.registry.data_root(task_id) / data.path
    return {"path": str(data.path), "sha256": file_sha256(path), "n_samples": n}


def _files(root: Path, endings: set[str]) -> Iterable[str]:
    for path in sorted(root.rglob("*")):
        inside = path.relative_to(root)
        if path.suffix in endings and not LEFT_OUT & set(inside.parts[:-1]):
            yield inside.as_posix()
            yield file_sha256(path)
