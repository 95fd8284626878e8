"""Every column of every mart, followed to what landed, through the project as dbt compiles it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml

from promptaudit.lineage.columns import project
from promptaudit.lineage.columns.follow import Column, lineage_of
from promptaudit.registry.errors import UsageError
from promptaudit.registry.mart_columns import dbt_project
from promptaudit.system import user_cache
from promptaudit.system.display.encode import encoded
from promptaudit.udfs.register import functions
from promptaudit.warehouse.raw_tables import SCHEMA_SQL

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

CONSTANTS = {"measure_version", "annotation_filter", "scope"}
CONSTANT_OF = {
    ("rpt_measures_across_tasks", "measure"),
    ("rpt_measures_across_tasks", "direction"),
    ("rpt_sensitivity_against_consistency", "min_sensitivity"),
}  # of all columns of marts, what takes nothing from a table


CHOSEN = {
    ("rpt_stability_summaries", name) for name in ("scope", "annotation_filter")
}  # of whichever of three tables has the row


@pytest.fixture(scope="module", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A place where nothing is kept yet: the project is compiled once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PROMPTAUDIT_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setattr(project, "_memory", {})
        assert project.models()
        yield


def marts() -> dict[str, list[str]]:
    """The marts' contracts: their columns in order."""
    found = {}
    for path in sorted((dbt_project() / "models" / "marts").rglob("*.yml")):
        for model in yaml.safe_load(path.read_text(encoding="utf-8"))["models"]:
            found[model["name"]] = [column["name"] for column in model["columns"]]
    return found


def landed() -> set[str]:
    """The columns of flows/promptaudit/warehouse/schema.sql, as DuckDB reads it."""
    with duckdb.connect() as con:
        con.execute(SCHEMA_SQL)
        query = "select table_name, column_name from information_schema.columns where table_schema = 'raw'"
        return {f"raw.{table}.{column}" for table, column in con.execute(query).fetchall()}


def names(column: Column) -> set[str]:
    return {each.name for each in column.walk()}


def test_every_column_of_every_mart_ends_in_what_landed_or_in_a_constant() -> None:
    known, n_columns, seen = landed(), 0, set()
    for mart, columns in marts().items():
        assert list(project.models()[mart].columns) == columns, mart
        for column in columns:
            tree = lineage_of(mart, column)
            n_columns += 1
            for each in tree.walk():
                if each.kind == "raw":
                    assert each.name in known
                    assert each.children == ()
                elif each.kind == "constant":
                    assert each.expression
                    assert each.children == ()
                else:
                    assert bool(each.children) != each.is_repeated, each
            is_constant = (column in CONSTANTS or (mart, column) in CONSTANT_OF) and (mart, column) not in CHOSEN
            assert bool(tree.raw_columns()) != is_constant, (mart, column)
            seen |= set(tree.raw_columns())
    assert n_columns > 400
    assert {
        "raw.predictions.completion",
        "raw.samples.gold_label",
        "raw.audit_runs.seed",
        "raw.verdicts.is_match",
    } <= seen


def test_sensitivity_is_made_of_answers_of_how_they_are_read_and_of_wordings() -> None:
    tree = lineage_of("rpt_audit", "sensitivity")
    assert tree.expression == "avg(fct_sensitivity.sensitivity)"
    (below,) = [each for each in tree.children if each.name == "fct_sensitivity.sensitivity"]
    assert "normalised_entropy(" in below.expression
    assert "array_agg(fct_p_tau.p_tau)" in below.expression
    raw = tree.raw_columns()
    assert {
        "raw.predictions.completion",
        "raw.tasks.reader",
        "raw.task_labels.label",
        "raw.prompt_variants.instruction",
    } <= set(raw)
    assert not [name for name in raw if name.endswith(("latency_ms", "cost_usd", "prompt_tokens", "served_model"))]


@pytest.mark.parametrize(
    ("mart", "column", "needs", "spares"),
    [
        ("fct_predictions", "latency_ms", "raw.predictions.latency_ms", "raw.predictions.completion"),
        ("rpt_audit", "cost_usd", "raw.predictions.cost_usd", "raw.predictions.completion"),
        ("fct_prompt_stability", "pss", "raw.audit_runs.seed", "raw.predictions.cost_usd"),
        ("fct_judge_agreement", "cohen_kappa", "raw.verdicts.completion", "raw.predictions.latency_ms"),
        ("fct_scores", "score", "raw.samples.reference_answers", "raw.predictions.latency_ms"),
        ("rpt_run_comparisons", "difference", "raw.comparisons.base_run_id", "raw.alarms.summary"),
        ("dim_prompt_variants", "prompt", "raw.prompt_variants.prompt", "raw.predictions.completion"),
    ],
)
def test_what_a_figure_needs_and_what_it_does_not(mart: str, column: str, needs: str, spares: str) -> None:
    raw = lineage_of(mart, column).raw_columns()
    assert needs in raw
    assert spares not in raw


def test_every_measure_in_sql_is_in_some_expression() -> None:
    texts = [
        text
        for model in project.models().values()
        for derived in model.columns.values()
        for text in (derived.expression, *derived.steps.values())
    ]
    assert [name for name in functions() if not any(f"{name}(" in text for text in texts)] == []


def test_it_is_fast_once_read_and_another_process_reads_what_was_kept() -> None:
    kept = user_cache.kept(project._file())
    assert kept is not None
    assert kept.stat().st_mode & 0o777 == 0o600
    project._memory.clear()
    started = time.process_time()
    lineage_of("rpt_run_comparisons", "verdict")
    assert time.process_time() - started < 0.3


@pytest.mark.parametrize(
    "text", ['[{"name": "half', "{}", "[1]", '[{"name": "a", "schema": "b", "columns": {"c": {}}}]']
)
def test_what_was_kept_and_is_spoilt_counts_as_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr(project, "_memory", {})
    monkeypatch.setenv("PROMPTAUDIT_CACHE", str(tmp_path))
    user_cache.keep(project._file(), text.encode())
    assert project._kept() == {}


def test_a_name_that_is_nobodys_has_a_nearest() -> None:
    with pytest.raises(UsageError, match="no model is 'fct_sensitivitty'; nearest: fct_sensitivity"):
        lineage_of("fct_sensitivitty", "sensitivity")
    with pytest.raises(UsageError, match="rpt_audit has no column 'sensitivitty'; nearest: sensitivity"):
        lineage_of("rpt_audit", "sensitivitty")


def test_as_json_it_says_what_it_holds() -> None:
    same: dict[str, Any] = {"column": "started_at", "use": "value", "steps": {}, "is_repeated": False}
    raw = {**same, "model": "raw.audit_runs", "kind": "raw", "expression": "", "children": []}
    staged = {**same, "model": "stg_audit_runs", "kind": "derived", "expression": "raw.audit_runs.started_at"}
    mart = {**same, "model": "dim_audit_runs", "kind": "derived", "expression": "stg_audit_runs.started_at"}
    assert encoded(lineage_of("dim_audit_runs", "started_at")) == {**mart, "children": [{**staged, "children": [raw]}]}
