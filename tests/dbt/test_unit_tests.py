"""The unit tests that stand beside the models, all of them, on a warehouse of empty tables."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from promptaudit.marts import relations
from promptaudit.marts.transform import transform
from promptaudit.registry.mart_columns import dbt_project
from promptaudit.system import user_cache
from promptaudit.system.settings import SILENT
from promptaudit.udfs import COMPARISON_IDS, RUN_IDS
from promptaudit.warehouse import Warehouse

# models that only rename, hand on or hold what another model decides
UNDECIDING = {"dim_audit_runs", "dim_models", "dim_samples", "rpt_not_derived"}


# a unit test learns column types from its model's inputs, which are there, and empty
TESTS = """
import sys
from dbt.cli.main import dbtRunner

project, folder = sys.argv[1:]
places = ["--project-dir", project, "--profiles-dir", project, "--target-path", f"{folder}/target", "--log-path", folder]
shared = ["--quiet", "--no-use-colors", "--log-level-file", "none"]
manifest = dbtRunner().invoke([*shared, "parse", *places]).result
done = dbtRunner(manifest=manifest).invoke([*shared, "test", "--select", "test_type:unit", *places])
if not done.success:
    sys.exit(str(done.exception or ""))
"""


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


# which mark what breaks or say the figures without it; fields, templates, judges, nights and comparisons are none of them
MARKING = {
    "int_variants_asked",
    "int_wordings_working",
    "int_groups_measured",
    "int_sensitivities_measured",
    "rpt_audit",
    "rpt_prompt_variants",
    "fct_answer_formats",
    "dim_prompt_variants",
    "int_streams_tested",
}


def test_no_other_model_can_leave_out_what_breaks() -> None:
    """With quarantine every model had such a filter, and the figure of what was left looked better than what was asked."""
    read = {path.stem: path.read_text(encoding="utf-8") for path in (dbt_project() / "models").rglob("*.sql")}
    assert {name for name, query in read.items() if "breaking" in query} == MARKING
    # in those two the wordings that do not break make the figures whose names say so
    kept = {name: query.count("not working.is_breaking") for name, query in read.items()}
    assert {name: n for name, n in kept.items() if n} == {"int_groups_measured": 1, "int_sensitivities_measured": 1}


def test_no_view_reads_what_earlier_builds_left() -> None:
    """A view is made once, on the first night, when there is nothing of earlier ones."""
    read = {path.stem: path.read_text(encoding="utf-8") for path in (dbt_project() / "models").rglob("*.sql")}
    readers = {name for name, query in read.items() if "night_states_before()" in query}
    assert readers >= {"int_nights_before", "int_streams_adjusted"}
    assert not {name for name in readers if "view" in read[name]}


@pytest.mark.slow  # `dbt test` of 73 tests, which nothing that is not in dbt/ can break
def test_unit_tests(tmp_path: Path) -> None:
    warehouse = tmp_path / "audit.duckdb"
    Warehouse(warehouse).apply_schema()
    if not relations.stand(Warehouse(warehouse)):
        transform(Warehouse(warehouse), [], "up_to_formats", command="run")
        transform(Warehouse(warehouse), [], "after_formats", command="run")
    (tmp_path / "target").mkdir()
    if (
        parsed := user_cache.read(f"{warehouse.name}.msgpack")
    ) is not None:  # as `promptaudit.marts.transform` keeps it
        (tmp_path / "target" / "partial_parse.msgpack").write_bytes(parsed)
    variables = {"PROMPTAUDIT_WAREHOUSE": f"./{warehouse.name}", RUN_IDS: "", COMPARISON_IDS: ""}
    done = subprocess.run(
        [sys.executable, "-P", "-c", TESTS, str(dbt_project()), str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, **SILENT, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads((tmp_path / "target" / "run_results.json").read_text())["results"]
    ran = {result["unique_id"].rpartition(".")[2]: result["status"] for result in results}
    assert set(ran) >= set(_written())
    assert set(ran.values()) == {"pass"}
