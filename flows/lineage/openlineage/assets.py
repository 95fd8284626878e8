"""Names the assets of Prefect: the tables a step lands or publishes, and those it reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from flows.lineage.openlineage.names import asset_of
from flows.warehouse import Warehouse
from flows.warehouse.figure_names import grains

_LANDED: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "paraphrase": (("prompt_variants",), ("tasks",)),
    "infer": (("predictions", "attempts"), ("models", "samples", "prompt_variants")),
    "validate": (("format_checks", "format_validations"), ("predictions",)),
    "judge": (("verdicts",), ("predictions",)),
}
"""By step: the raw tables it lands, and those it reads."""
_DERIVED_FROM = (
    "audit_runs", "models", "tasks", "task_labels", "samples", "prompt_variants", "predictions", "format_checks", "verdicts",
)  # fmt: skip


def assets_of(step: str, warehouse: Warehouse) -> tuple[dict[str, str], dict[str, str]]:
    """Returns what a step makes and what it needs, as keys of assets with names; empty for a step that makes no table."""
    if step == "publish":
        return _named(warehouse, "marts", sorted(grains())), _named(warehouse, "raw", _DERIVED_FROM)
    landed, needed = _LANDED.get(step, ((), ()))
    return _named(warehouse, "raw", landed), _named(warehouse, "raw", needed)


def _named(warehouse: Warehouse, schema: str, tables: Iterable[str]) -> dict[str, str]:
    return {asset_of(warehouse, schema, table): f"{schema}.{table}" for table in tables}
