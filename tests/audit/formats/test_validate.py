"""The validation of a run's format summary by Great Expectations: what lands, what is refused, what is kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from promptaudit.audit.formats.validate import validate
from promptaudit.audit.steps import AuditRun
from promptaudit.cards.check_cards.expectations import known_expectations
from promptaudit.registry.cards import FormatLimits
from promptaudit.registry.errors import MeasureError
from promptaudit.registry.expectation_suites import SUMMARY_COLUMNS, Expectation, ExpectationSuite
from promptaudit.report.formats_page import page_of
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.sql import sql

RUN = "a" * 32
MODELS = ("<img src=x onerror=alert(1)>", "plain")
VARIANTS = ("v0", "v1")
INVALID = {("plain", "v1"): 3}
SETUP = f"""
    create schema intermediate; create schema staging;
    insert into raw.audit_runs (audit_run_id, audit_id, origin, state, started_at, fingerprint, plan_fingerprint, card,
        format_limits, seed, n_resamples, code_version, library_versions)
        values ('{RUN}', 'colours', 'run', 'running', timestamp '2026-01-01', '', '', '',
            '{{"max_invalid_rate": 0.2, "max_empty_rate": 1.0}}', 1, 1, '', '');
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


def test_a_field_that_limits_no_longer_have_is_passed_over_in_those_that_a_run_kept(warehouse: Warehouse) -> None:
    assert AuditRun(warehouse=warehouse, audit_run_id=RUN).limits == FormatLimits(max_invalid_rate=0.2)


def test_a_validation_lands_with_its_suite_and_the_rows_above_a_limit(warehouse: Warehouse) -> None:
    outcome = validate(warehouse, RUN, FormatLimits(policy="warn", max_invalid_rate=0.2))
    assert (outcome.action, outcome.n_checks, outcome.n_variants, outcome.n_breaking) == ("warned", 16, 4, 1)
    assert outcome.failures == ("model 'plain', task 't', simple variant 1: invalid rate 0.3, allowed 0.2",)
    (row,) = validations(warehouse)
    result = json.loads(row["result"])
    assert (row["suite"], row["is_success"], row["n_failed"]) == ("answer formats of colours", False, 1)
    assert row["n_expectations"] == len(result["results"]) == 14
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
        validate(warehouse, RUN, FormatLimits(policy="warn", max_invalid_rate=limit))
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


def own(*expectations: tuple[str, dict[str, Any]], policy: str = "fail", severity: str = "critical") -> FormatLimits:
    """Limits that nothing breaks, and a suite of a card's own."""
    each = [
        Expectation.model_validate({"type": name, "kwargs": kwargs, "severity": severity})
        for name, kwargs in expectations
    ]
    suite = ExpectationSuite(file="checks/mine.json", sha256="0" * 64, expectations=tuple(each))
    return FormatLimits.model_validate({"policy": policy, "max_invalid_rate": 1, "expectations": suite})


# of the four rows one has the invalid rate 3/10, the others 0: the mean is 0.3/4 = 0.075
ROWS = ("expect_column_values_to_be_between", {"column": "invalid_rate", "max_value": 0.2})
MOST_ROWS = ("expect_column_values_to_be_between", {"column": "invalid_rate", "max_value": 0.2, "mostly": 0.75})
WHOLE = ("expect_column_mean_to_be_between", {"column": "invalid_rate", "max_value": 0.07})
NONE = ("expect_column_mean_to_be_between", {"column": "strategy", "max_value": 1})
OF_ROWS = (
    "model 'plain', task 't', simple variant 1: checks/mine.json expectation 1, "
    "expect_column_values_to_be_between(column=invalid_rate, max_value=0.2): invalid_rate is 0.3"
)
OF_ALL = (
    "all answers: checks/mine.json expectation 1, expect_column_mean_to_be_between(column=invalid_rate, max_value=0.07): "
    "0.075 is observed"
)


@pytest.mark.parametrize(
    ("expectation", "policy", "severity", "action", "line"),
    [
        (ROWS, "fail", "critical", "failed", OF_ROWS),
        (ROWS, "fail", "warning", "warned", OF_ROWS),
        (ROWS, "warn", "critical", "warned", OF_ROWS),
        (MOST_ROWS, "fail", "critical", "none", None),  # three of four hold, which is all that it asks
        (ROWS, "quarantine", "critical", "warned", OF_ROWS),  # which means warn now
        (WHOLE, "fail", "critical", "failed", OF_ALL),
        (WHOLE, "fail", "info", "warned", OF_ALL),
        (WHOLE, "warn", "critical", "warned", OF_ALL),
    ],
)
def test_what_breaks_an_expectation_of_the_cards_own_follows_policy_and_severity(
    warehouse: Warehouse,
    expectation: tuple[str, dict[str, Any]],
    policy: str,
    severity: str,
    action: str,
    line: str | None,
) -> None:
    outcome = validate(warehouse, RUN, own(expectation, policy=policy, severity=severity))
    assert outcome.action == action
    assert outcome.failures == (() if line is None else (line,))
    assert outcome.n_breaking == (line is OF_ROWS)  # no one wording breaks what is said of all
    # our four limits are of four rows each; its own is of four rows, or of all of them
    assert outcome.n_checks == 4 * 4 + (1 if expectation is WHOLE else 4)
    (row,) = validations(warehouse)
    assert row["n_failed"] == (action != "none")
    landed = warehouse.read(
        "select * from raw.format_checks where starts_with(expectation, 'checks/') and not is_success"
    )
    assert [(each["model_id"], each["prompt_variant_id"], each["action"], each["observed"]) for each in landed] == (
        []
        if line is None
        else [(None, None, action, pytest.approx(0.075))]
        if expectation is WHOLE
        else [("plain", "v1", action, 0.3)]
    )


def test_asks_without_an_answer_fail_the_run_under_every_policy_and_break_no_format(warehouse: Warehouse) -> None:
    with warehouse.write() as con:
        con.execute("update intermediate.int_answer_formats set n_error = 2, n_valid = 8 where model_id = 'plain'")
    outcome = validate(warehouse, RUN, FormatLimits(policy="warn", max_error_rate=0.1))
    assert (outcome.action, outcome.n_breaking) == ("failed", 0)
    assert outcome.failures[0] == "model 'plain', task 't', simple variant 0: error rate 0.2, allowed 0.1"
    assert validate(warehouse, RUN, FormatLimits(policy="warn", max_error_rate=0.2)).action == "none"


def test_what_cannot_be_held_against_the_summary_fails(warehouse: Warehouse) -> None:
    outcome = validate(warehouse, RUN, own(ROWS, NONE))
    assert (outcome.action, outcome.n_breaking, len(outcome.failures)) == ("failed", 1, 2)
    assert outcome.failures[1].startswith(
        "all answers: checks/mine.json expectation 2, expect_column_mean_to_be_between"
    )
    (row,) = validations(warehouse)
    page = page_of(row, RUN)
    assert "format.expectations of the audit card: checks/mine.json" in page
    assert "raised an exception" in page
    assert "Traceback" not in row["result"]


def test_every_expectation_that_a_suite_may_have_gets_a_result_and_stands_on_the_page(warehouse: Warehouse) -> None:
    """One of each with what it needs, held against the four rows; whether it holds is not asked."""
    assert warehouse.read(sql("audit.formats", "format_summary"), run=RUN)[0].keys() == SUMMARY_COLUMNS.keys()
    each = {name: arguments(name, json.loads(path.read_text())) for name, path in known_expectations().items()}
    outcome = validate(warehouse, RUN, own(*each.items(), policy="warn"))
    (row,) = validations(warehouse)
    result = json.loads(row["result"])
    assert row["n_expectations"] == 14 + len(each) == len(result["results"])
    assert not [one for one in result["results"] if one["exception_info"].get("raised_exception", True)]
    assert len(each) > 30
    assert outcome.action == "warned"
    assert page_of(row, RUN).count("✓") + page_of(row, RUN).count("✗") >= 1 + row["n_expectations"]


OF_TEXTS = ("lengths", "strftime", "most_common", "in_set")
ARGUMENTS = {
    "column": "invalid_rate",
    "column_A": "invalid_rate",
    "column_B": "empty_rate",
    "column_list": ["invalid_rate", "empty_rate"],
    "column_set": ["invalid_rate"],
    "double_sided": True,
    "max_value": 1,
    "partition_object": {"values": ["simple"], "weights": [1.0]},
    "strftime_format": "%Y",
    "sum_total": 0,
    "threshold": 3,
    "type_": "float64",
    "value": 4,
    "value_pairs_set": [[0.0, 0.0]],
    "value_set": ["simple"],
}


def arguments(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Arguments of an expectation, by its schema: what it needs, an upper end, a distribution."""
    known = schema["properties"].keys() & ARGUMENTS.keys()
    given = {argument: ARGUMENTS[argument] for argument in sorted(known)}
    if "partition_object" in given:
        del given["max_value"]
    is_of_text = "partition_object" in given or any(word in name for word in OF_TEXTS)
    return given | ({"column": "strategy"} if is_of_text and "column" in given else {})
