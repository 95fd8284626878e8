"""Names the assets of Prefect: tables that a step lands, marts it derives with dbt's graph, the copy it publishes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from promptaudit.lineage.openlineage.names import asset_of
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.dbt_project import manifest_of_build, results_of_build
from promptaudit.warehouse.figure_names import grains

# by step: the raw tables it lands, and the ones it reads
_LANDED: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "paraphrase": (("prompt_variants", "grid", "option_orders"), ("tasks", "samples", "designs")),
    "infer": (("predictions", "attempts"), ("models", "samples", "prompt_variants", "grid", "option_orders")),
    "validate": (("format_checks", "format_validations"), ("predictions",)),
    "judge": (("verdicts",), ("predictions",)),
}
_DERIVING = ("transform", "compare")


@dataclass(frozen=True, slots=True, kw_only=True)
class AssetMade:
    """An asset that a step made: its key, its name for people, and the keys of the assets it was made of."""

    key: str
    name: str
    made_of: tuple[str, ...]


def assets_of(step: str, warehouse: Warehouse, since: float) -> list[AssetMade]:
    """Lists what a step that began at `since` (seconds of `time.time`) made. Empty for a step that made no table."""
    if step in _LANDED:
        landed, read = _LANDED[step]
        return [_made(warehouse, "raw", table, [("raw", name) for name in read]) for table in landed]
    if step in _DERIVING:
        return list(_derived(warehouse, since))
    if step == "publish":
        return [_made(warehouse, "published", warehouse.path.name, [("marts", mart) for mart in sorted(grains())])]
    return []


def _derived(warehouse: Warehouse, since: float) -> Iterator[AssetMade]:
    # each mart of the last build, with the marts and raw tables that dbt's graph has before it
    target = warehouse.places.dbt / "target"
    if (target / "run_results.json").stat().st_mtime < since:  # there was nothing to build
        return
    manifest = manifest_of_build(target)
    for unique_id in results_of_build(target):
        node = manifest["nodes"].get(unique_id, {})
        if node.get("resource_type") == "model" and node["schema"] == "marts":
            yield _made(warehouse, "marts", node["name"], sorted(_before(manifest, unique_id)))


def _before(manifest: Mapping[str, Any], unique_id: str) -> set[tuple[str, str]]:
    nearest: set[tuple[str, str]] = set()
    for parent in manifest["parent_map"][unique_id]:
        node = manifest["nodes"].get(parent) or manifest["sources"][parent]
        nearest |= {(node["schema"], node["name"])} if node["schema"] in ("raw", "marts") else _before(manifest, parent)
    return nearest


def _made(warehouse: Warehouse, schema: str, table: str, made_of: Iterable[tuple[str, str]]) -> AssetMade:
    keys = tuple(asset_of(warehouse, *each) for each in made_of)
    return AssetMade(key=asset_of(warehouse, schema, table), name=f"{schema}.{table}", made_of=keys)
