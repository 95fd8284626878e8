"""The unit tests that stand beside the models, all of them, on a warehouse of empty tables."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from flows.settings import dbt_project
from flows.transform import dbt
from flows.warehouse import apply_schema

# models that only rename, hand on or hold what another model decides
UNDECIDING = {"dim_audit_runs", "dim_models", "dim_samples"}


def _written() -> dict[str, str]:
    """Unit tests of the project: name to model."""
    return {
        test["name"]: test["model"]
        for path in sorted((dbt_project() / "models").rglob("*.yml"))
        for test in yaml.safe_load(path.read_text()).get("unit_tests", [])
    }


def test_every_model_that_decides_has_one() -> None:
    models = {path.stem for path in (dbt_project() / "models").rglob("*.sql") if not path.stem.startswith("stg_")}
    assert models - UNDECIDING - set(_written().values()) == set()


def test_unit_tests(tmp_path: Path) -> None:
    warehouse = tmp_path / "audit.duckdb"
    apply_schema(warehouse)
    dbt(warehouse, "run")  # a unit test learns column types from its model's inputs
    dbt(warehouse, "test", "--selector", "unit_tests")
    results = json.loads((tmp_path / "dbt" / "target" / "run_results.json").read_text())["results"]
    ran = {result["unique_id"].rpartition(".")[2]: result["status"] for result in results}
    assert set(ran) >= set(_written())
    assert set(ran.values()) == {"pass"}
