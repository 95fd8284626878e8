"""The validation of a run's format summary by Great Expectations: what lands, what is refused, what is kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from promptaudit.flows.formats.validate import validate
from promptaudit.flows.warehouse import Warehouse
from promptaudit.models_registry.cards import FormatLimits
from promptaudit.models_registry.errors import MeasureError

RUN = "a" * 32
MODELS = ("<img src=x onerror=alert(1)>", "plain")
VARIANTS = ("v0", "v1")
INVALID = {("plain", "v1"): 3}
SETUP = f"""
    create schema intermediate; create schema staging;
    insert into raw.audit_runs (audit_run_id, audit_id, origin, state, started_at, fingerprint, plan_fingerprint, card,
        format_limits, seed, n_resamples, code_version, library_versions)
        values ('{RUN}', 'colours', 'run', 'running', timestamp '2026-01-01', '', '', '', '', 1, 1, '', '');
    insert into raw.samples (audit_run_id, task_id, sample_id, sample_index) values ('{RUN}', 't', 's', 0);
    create table intermediate.int_answer_formats as select '{RUN}' as audit_run_id, model_id, 't' as task_id,
        prompt_variant_id, 10 as n_planned, 0 as n_missing, 10 as n_landed, 10 as n_valid, 0 as n_empty, 0 as n_error
        from (values ('{MODELS[0]}'), ('plain')) as m (model_id), (values ('v0'), ('v1')) as v (prompt_variant_id);
    update intermediate.int_answer_formats set n_valid = 7 where model_id = 'plain' and prompt_variant_id = 'v1';
    create table intermediate.int_predictions_labelled as select audit_run_id, model_id, task_id, prompt_variant_id,
        'x' as completion_md5, 'valid' as answer_status, 'a' as label from intermediate.int_answer_formats;
    create table staging.stg_tasks as select '{RUN}' as audit_run_id, 't' as task_id, 'classification' as kind;
"""


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    """A run of two models and two wordings, one of which is misread by one model; a third wording was refused."""
    made = Warehouse(tmp_path / "audit.duckdb")
    made.apply_schema()
    with made.write() as con:
        con.execute(SETUP)
        for model in MODELS:
            con.execute(
                "insert into raw.models (audit_run_id, model_id, engine, model, card, fingerprint) values (?, ?, '', '', '', '')",
                [RUN, model],
            )
        for index, (variant, repetitions) in enumerate((("v0", [1]), ("v1", [1]), ("refused", []))):
            con.execute(
                "insert into raw.prompt_variants (audit_run_id, prompt_variant_id, task_id, strategy, variant_index, "
                "is_original, is_edited, repetitions) values (?, ?, 't', 'simple', ?, false, false, ?)",
                [RUN, variant, index, repetitions],
            )
    return made


def validations(warehouse: Warehouse) -> list[dict[str, Any]]:
    return warehouse.read("select * from raw.format_validations order by checked_at")


def test_a_validation_lands_with_its_suite_and_the_rows_above_a_limit(warehouse: Warehouse) -> None:
    outcome = validate(warehouse, RUN, FormatLimits(policy="quarantine", max_invalid_rate=0.2))
    assert (outcome.action, outcome.n_checks, outcome.n_variants, outcome.n_quarantined) == ("quarantined", 20, 4, 1)
    assert outcome.failures == ("model 'plain', task 't', simple variant 1: invalid rate 0.3, allowed 0.2",)
    (row,) = validations(warehouse)
    result = json.loads(row["result"])
    assert (row["suite"], row["is_success"], row["n_failed"]) == ("answer formats of colours", False, 1)
    assert row["n_expectations"] == len(result["results"]) == 15
    notes = {
        each["expectation_config"]["kwargs"]["column"]: each["expectation_config"]["notes"]
        for each in result["results"]
        if each["expectation_config"]["type"] == "expect_column_values_to_be_between"
    }
    assert notes["invalid_rate"] == "format.max_invalid_rate of the audit card"
    (failed,) = (each for each in result["results"] if not each["success"])
    assert failed["result"]["unexpected_index_list"] == [
        {"invalid_rate": 0.3, "model_id": "plain", "prompt_variant_id": "v1"}
    ]
    assert row["gx_version"] == result["meta"]["great_expectations_version"]

    # again: the checks of now, and no second row of the same result, until a limit changes and changes back
    for limit in (0.2, 0.5, 0.2):
        validate(warehouse, RUN, FormatLimits(policy="quarantine", max_invalid_rate=limit))
    rows = validations(warehouse)
    assert [each["is_success"] for each in rows] == [False, True, False]
    assert len({each["validation_id"] for each in rows}) == 3
    assert warehouse.read("select count(distinct checked_at) as n from raw.format_checks") == [{"n": 4}]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("delete from intermediate.int_answer_formats where model_id = 'plain'", "it has 2 rows, planned were 4"),
        ("delete from intermediate.int_answer_formats", "it has 0 rows, planned were 4"),
        ("update raw.models set model_id = 'other' where model_id = 'plain'", "2 rows have a model_id that is none"),
        (
            "update intermediate.int_answer_formats set n_missing = null where model_id = 'plain'",
            "2 rows have no n_missing",
        ),
        (
            "update intermediate.int_answer_formats set model_id = null where model_id = 'plain'",
            "2 rows have no model_id",
        ),
    ],
)
def test_a_summary_that_is_not_as_planned_is_refused(warehouse: Warehouse, change: str, said: str) -> None:
    with warehouse.write() as con:
        con.execute(change)
    with pytest.raises(MeasureError, match=said) as refused:
        validate(warehouse, RUN, FormatLimits(policy="warn"))
    assert refused.value.exit_code == 3
    assert warehouse.read("select count(*) as n from raw.format_checks") == [{"n": 0}]
    (row,) = validations(warehouse)
    assert not row["is_success"]


def test_a_result_names_twenty_rows_an_expectation(warehouse: Warehouse) -> None:
    with warehouse.write() as con:
        con.execute(
            "insert into raw.models (audit_run_id, model_id, engine, model, card, fingerprint) "
            "select $run, 'm' || range, '', '', '', '' from range(40)",
            {"run": RUN},
        )
        con.execute(
            "insert into intermediate.int_answer_formats select $run, 'm' || m.range, 't', 'v' || v.range, 10, 1, 9, 9, 0, 0 "
            "from range(40) as m, range(2) as v",
            {"run": RUN},
        )
    outcome = validate(warehouse, RUN, FormatLimits(policy="warn"))
    assert len(outcome.failures) == 81
    (row,) = validations(warehouse)
    named = [len(each["result"].get("unexpected_index_list", ())) for each in json.loads(row["result"])["results"]]
    assert max(named) == 20
    assert len(row["result"]) < 40_000
