"""The dbt project's models with their columns, read once for each version of the project and kept beside the warehouse."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from flows.lineage.derived import Derived
from flows.settings import dbt_project
from flows.warehouse import SCHEMA_SQL

PREFIX = "model.promptaudit."
_READ = (".sql", ".yml")


@dataclass(frozen=True, slots=True)
class Model:
    """One model: where it lies, and its columns in order."""

    name: str
    schema: str
    columns: Mapping[str, Derived]

    @property
    def relation(self) -> str:
        """`schema.name`, as SQL names it."""
        return f"{self.schema}.{self.name}"


def models(warehouse: Path) -> dict[str, Model]:
    """Every model of the project by name; has dbt compile the project where no build has shown its SQL yet, some 10 s.

    What was read is kept in `<warehouse folder>/dbt`; the warehouse itself is not opened.
    """
    known = _kept(warehouse)
    if not set(_names()) <= set(known):
        from flows.transform import compiled

        known = learn(warehouse, compiled())
    return known


def learn(warehouse: Path, manifest: Mapping[str, Any]) -> dict[str, Model]:
    """The models known so far and those a manifest of dbt has compiled, which are kept for later.

    A model is left out whose parents are not known.
    """
    known = dict(_kept(warehouse))
    for node in _in_order(manifest):
        if node["name"] not in known and node.get("compiled_code"):
            parents = _parents(manifest, node)
            if all(parent in known for parent in parents):
                known[node["name"]] = _read(node, [known[parent] for parent in parents])
    _keep(warehouse, known)
    return known


@functools.cache
def raw() -> dict[str, list[str]]:
    """Columns of each table of schema raw, from flows/schema.sql."""
    from flows.lineage.expressions import raw_columns

    return raw_columns(SCHEMA_SQL.read_text(encoding="utf-8"))["raw"]


def _read(node: Mapping[str, Any], parents: list[Model]) -> Model:
    from flows.lineage.expressions import columns_of

    schema: dict[str, dict[str, list[str]]] = {"raw": raw()}
    for parent in parents:
        schema.setdefault(parent.schema, {})[parent.name] = list(parent.columns)
    own = f"{node['schema']}.{node['name']}"
    # an incremental model may read itself: the columns it promises
    schema.setdefault(node["schema"], {}).setdefault(node["name"], list(node["columns"]))
    return Model(node["name"], node["schema"], columns_of(node["compiled_code"], schema, own))


def _parents(manifest: Mapping[str, Any], node: Mapping[str, Any]) -> list[str]:
    parents = manifest["parent_map"][node["unique_id"]]
    return [parent.removeprefix(PREFIX) for parent in parents if parent.startswith(PREFIX)]


def _in_order(manifest: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The models, each after those it reads."""
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
    """Changes with the project, with the schema of raw, and with how SQL is read."""
    project, here = dbt_project(), Path(__file__).parent
    folders = [project / "models", project / "macros"]
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in _READ]
    files += [
        project / "dbt_project.yml",
        SCHEMA_SQL,
        *(here / f"{name}.py" for name in ("derived", "expressions", "project")),
    ]
    digest = hashlib.sha256(f"{version('sqlglot')} {version('dbt-core')}".encode())
    for path in sorted(files):
        content = path.read_bytes()
        digest.update(f"{path.name} {len(content)} ".encode() + content)
    return digest.hexdigest()[:16]


def _file(warehouse: Path) -> Path:
    return warehouse.parent / "dbt" / f"columns-{_key()}.json"


_memory: dict[str, dict[str, Model]] = {}  # by key: what one process has read it reads once


def _kept(warehouse: Path) -> dict[str, Model]:
    if _key() not in _memory:
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
            kept = json.loads(_file(warehouse).read_text(encoding="utf-8"))
            _memory[_key()] = {each["name"]: _model(each) for each in kept}
    return _memory.get(_key(), {})


def _model(kept: Mapping[str, Any]) -> Model:
    columns = {
        name: Derived(
            each["expression"],
            tuple((relation, column) for relation, column in each["inputs"]),
            tuple((relation, column) for relation, column in each["rows"]),
            each["steps"],
        )
        for name, each in kept["columns"].items()
    }
    return Model(kept["name"], kept["schema"], columns)


def _keep(warehouse: Path, known: dict[str, Model]) -> None:
    """Where nothing can be written each process reads the project again."""
    file = _file(warehouse)
    if len(known) == len(_memory.get(_key(), ())) and file.exists():
        return
    _memory[_key()] = known
    draft = file.with_name(f"{file.name}.{os.getpid()}.new")
    with contextlib.suppress(OSError):
        file.parent.mkdir(exist_ok=True, mode=0o700)
        draft.write_text(json.dumps([asdict(model) for model in known.values()]), encoding="utf-8")
        draft.chmod(0o600)
        draft.replace(file)
        for older in file.parent.glob("columns-*.json"):
            if older != file:
                older.unlink(missing_ok=True)
