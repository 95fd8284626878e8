"""Reads the dbt project's models with their columns, once for each version of the project."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from promptaudit.lineage.columns.derived import Derived
from promptaudit.registry.mart_columns import dbt_project
from promptaudit.system import user_cache
from promptaudit.warehouse.raw_tables import SCHEMA_SQL, TABLES

PREFIX = "model.promptaudit."
_READ = (".sql", ".yml")


@dataclass(frozen=True, slots=True)
class Model:
    """One model: its name, its schema, and its columns in order."""

    name: str
    schema: str
    columns: Mapping[str, Derived]

    @property
    def relation(self) -> str:
        """Names the model as SQL does: `schema.name`."""
        return f"{self.schema}.{self.name}"


def models() -> dict[str, Model]:
    """Reads every model of the project by name. Where no build has shown its SQL yet, dbt compiles it, in some 10 s."""
    if are_known():
        return _kept()
    from promptaudit.warehouse.dbt_project import compiled

    return learn(compiled())


def are_known() -> bool:
    """Checks whether builds have shown the SQL of every model."""
    return set(_names()) <= set(_kept())


def learn(manifest: Mapping[str, Any]) -> dict[str, Model]:
    """Adds the models that a manifest of dbt has compiled to the known ones, and keeps them for later.

    A model is left out whose parents are not known.
    """
    known = dict(_kept())
    nodes = list(_in_order(manifest))
    promised = {node["name"]: list(node["columns"]) for node in nodes if node["schema"] == "marts"}
    for node in nodes:
        if node["name"] not in known and node.get("compiled_code"):
            parents = _parents(manifest, node)
            if all(parent in known for parent in parents):
                known[node["name"]] = _read(node, [known[parent] for parent in parents], promised)
    _keep(known)
    return known


def _read(node: Mapping[str, Any], parents: list[Model], promised: Mapping[str, list[str]]) -> Model:
    from promptaudit.lineage.columns.expressions import columns_of

    schema: dict[str, dict[str, list[str]]] = {"raw": {name: list(table.columns) for name, table in TABLES.items()}}
    for parent in parents:
        schema.setdefault(parent.schema, {})[parent.name] = list(parent.columns)
    own = f"{node['schema']}.{node['name']}"
    # a mart may read itself, and a night the states of the nights before: the columns that they promise
    for name, columns in promised.items():
        schema.setdefault("marts", {}).setdefault(name, columns)
    return Model(node["name"], node["schema"], columns_of(node["compiled_code"], schema, own))


def _parents(manifest: Mapping[str, Any], node: Mapping[str, Any]) -> list[str]:
    parents = manifest["parent_map"][node["unique_id"]]
    return [parent.removeprefix(PREFIX) for parent in parents if parent.startswith(PREFIX)]


def _in_order(manifest: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    # each model comes after the ones it reads
    nodes = {key: node for key, node in manifest["nodes"].items() if key.startswith(PREFIX)}
    seen: set[str] = set()

    def visit(key: str) -> Iterator[Mapping[str, Any]]:
        if key in seen or key not in nodes:
            return
        seen.add(key)
        for parent in manifest["parent_map"][key]:
            yield from visit(parent)
        yield nodes[key]

    for key in nodes:
        yield from visit(key)


@functools.cache
def _names() -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in (dbt_project() / "models").rglob("*.sql")))


@functools.cache
def _key() -> str:
    # changes with the project, with the schema of raw, and with how SQL is read
    project, here = dbt_project(), Path(__file__).parent
    folders = [project / "models", project / "macros"]
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in _READ]
    files += [
        project / "dbt_project.yml",
        *(here / f"{name}.py" for name in ("derived", "expressions", "project")),
    ]
    digest = hashlib.sha256(f"{version('sqlglot')} {version('dbt-core')} {SCHEMA_SQL}".encode())
    for path in sorted(files):
        content = path.read_bytes()
        digest.update(f"{path.name} {len(content)} ".encode() + content)
    return digest.hexdigest()[:16]


def _file() -> str:
    return f"columns-{_key()}.json"


_memory: dict[str, dict[str, Model]] = {}  # by key: a process reads each key once


def _kept() -> dict[str, Model]:
    if _key() not in _memory:
        with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError):
            known = json.loads(user_cache.read(_file()) or b"[]")
            _memory[_key()] = {each["name"]: _model(each) for each in known}
    return _memory.get(_key(), {})


def _model(known: Mapping[str, Any]) -> Model:
    columns = {
        name: Derived(
            each["expression"],
            tuple((relation, column) for relation, column in each["inputs"]),
            tuple((relation, column) for relation, column in each["rows"]),
            each["steps"],
        )
        for name, each in known["columns"].items()
    }
    return Model(known["name"], known["schema"], columns)


def _keep(known: dict[str, Model]) -> None:
    # for later processes; where nothing can be kept each process reads the project again
    if len(known) == len(_memory.get(_key(), ())):
        return
    _memory[_key()] = known
    user_cache.keep(
        _file(), json.dumps([asdict(model) for model in known.values()]).encode(), instead_of="columns-*.json"
    )
