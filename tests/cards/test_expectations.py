"""A suite of Great Expectations that a card names: what is refused before anything is asked, and what the card keeps of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from promptaudit.cards.check_cards import check_audit
from promptaudit.registry.cards import FormatLimits
from promptaudit.registry.errors import CardError
from promptaudit.registry.registry import Registry, load_registry

CARD = "a:\n  tasks: [question_type]\n  models: [lexical]\n  format:\n    expectations: {file}\n"
BETWEEN = "expect_column_values_to_be_between"
SOUND = {"type": BETWEEN, "kwargs": {"column": "empty_rate", "max_value": 0.1}}


def registry_of(folder: Path, suite: object, file: str = "checks/mine.json") -> Registry:
    for name in ("audits", "checks"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "audits/a.yml").write_text(CARD.replace("{file}", file))
    (folder / "checks/mine.json").write_text(suite if isinstance(suite, str) else json.dumps(suite))
    return load_registry([folder])


def refusal(folder: Path, **expectation: Any) -> str:
    checked = check_audit(registry_of(folder, {"expectations": [SOUND, expectation]}), "a")
    (error,) = checked.errors
    return str(error).removeprefix("CardError: audits/a.yml line 5: checks/mine.json expectation 2: ")


@pytest.mark.parametrize(
    ("name", "kwargs", "said"),
    [
        (
            "expect_column_value_to_be_between",
            {"column": "empty_rate", "max_value": 1},
            f"'expect_column_value_to_be_between' is no expectation of Great Expectations on data frames; nearest: {BETWEEN}",
        ),
        ("expect_query_results_to_match_comparison", {}, "is no expectation of Great Expectations on data frames"),
        (
            "unexpected_rows_expectation",
            {"unexpected_rows_query": "select 1"},
            "is no expectation of Great Expectations",
        ),
        ("expect_column_values_to_match_regex", {"column": "model_id", "regex": "(a+)+$"}, "may take for ever"),
        ("expect_column_quantile_values_to_be_between", {}, "cannot write down its result"),
        (
            BETWEEN,
            {"column": "empty", "max_value": 1},
            f"{BETWEEN}: the summary has no column 'empty'; nearest: empty_rate",
        ),
        (
            BETWEEN,
            {"column": "empty_rate", "max_vale": 1},
            f"{BETWEEN}: 'max_vale' is none of its arguments; nearest: max_value",
        ),
        (BETWEEN, {"max_value": 1}, f"{BETWEEN} needs the argument 'column'"),
        (BETWEEN, {"column": "empty_rate"}, f"{BETWEEN} needs the argument 'min_value' or 'max_value'"),
        (BETWEEN, {"column": "empty_rate", "max_value": "1"}, f"{BETWEEN}: max_value: '1' is not of type 'number'"),
        (BETWEEN, {"column": "empty_rate", "max_value": {"$PARAMETER": "x"}}, "'$PARAMETER' is not taken"),
        (
            "expect_column_kl_divergence_to_be_less_than",
            {"column": "strategy", "threshold": 1, "partition_object": {"values": [{"$PARAMETER": "9^9^9^9"}]}},
            "'$PARAMETER' is not taken: nothing is put in later; write the value",
        ),
        (BETWEEN, {"column": "x" * 9_000, "max_value": 1}, f"the summary has no column '{'x' * 300}"),
        (
            BETWEEN,
            {"column": "empty_rate", "max_value": 1, "mostly": 2},
            "mostly: 2 is greater than the maximum of 1.0",
        ),
        (
            BETWEEN,
            {"column": "empty_rate", "max_value": 1, "row_condition": "__import__('os')"},
            f"{BETWEEN}: 'row_condition' is not taken: no condition is evaluated",
        ),
        (
            "expect_multicolumn_values_to_be_equal",
            {"column_list": ["empty_rate", "errors_rate"]},
            "the summary has no column 'errors_rate'; nearest: error_rate",
        ),
    ],
)
def test_an_expectation_is_refused_in_a_line_with_the_nearest_right_thing(
    tmp_path: Path, name: str, kwargs: dict[str, Any], said: str
) -> None:
    message = refusal(tmp_path, type=name, kwargs=kwargs)
    assert said in message
    assert len(message) < 500


@pytest.mark.parametrize(
    ("suite", "said"),
    [
        ("{", "checks/mine.json: not JSON"),
        ('{"expectations": [{"type": "x", "type": "y"}]}', "checks/mine.json: not JSON: a key stands twice"),
        ([SOUND], "checks/mine.json is no suite: it is an object with a list of `expectations`"),
        ({"expectations": []}, "checks/mine.json is no suite"),
        ({"expectations": [SOUND] * 201}, "checks/mine.json has 201 expectations; a suite of a card has 200 at most"),
        ({"expectations": [{"expectation_type": BETWEEN}]}, "checks/mine.json expectation 1 is an object with `type`"),
        ({"expectations": [SOUND | {"window": 1}]}, "expectation 1: 'window' is not taken"),
        (
            {"expectations": [SOUND | {"severity": "bad"}]},
            "expectation 1: severity: Input should be 'critical', 'warning'",
        ),
        (
            '{"expectations": [{"type": "x", "kwargs": {"max_value": NaN}}]}',
            "expectation 1: kwargs.max_value.float: Input should be a finite number",
        ),
    ],
)
def test_a_file_that_is_no_suite_is_refused_when_the_card_is_loaded(tmp_path: Path, suite: object, said: str) -> None:
    with pytest.raises(CardError) as refused:
        registry_of(tmp_path, suite)
    assert str(refused.value).startswith("CardError: audits/a.yml line 5: format.expectations: ")
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("checks/yours.json", "checks/yours.json: cannot be read: No such file or directory"),
        ("checks", "checks: cannot be read: it is no regular file"),
        ("../mine.json", "../mine.json leaves the registry"),
        ("/etc/hosts", "/etc/hosts leaves the registry"),
        ('"checks/\\0.json"', "the name of a JSON file in the registry folder"),
        ("{type: x}", "the name of a JSON file in the registry folder"),
        (
            f"{{file: x, sha256: {'0' * 64}, expectations: [{{type: x}}]}}",
            "the name of a JSON file in the registry folder",
        ),
    ],
)
def test_a_suite_is_a_file_of_its_registry(tmp_path: Path, file: str, said: str) -> None:
    with pytest.raises(CardError, match=r"audits/a\.yml line 5: format\.expectations: ") as refused:
        registry_of(tmp_path, {"expectations": [SOUND]}, file)
    assert said in str(refused.value)


def test_a_card_keeps_its_suite_and_another_suite_makes_another_card(tmp_path: Path) -> None:
    """What Great Expectations writes beside an expectation is left out; what a run lands is read again as it was."""
    written = {
        "name": "mine",
        "id": None,
        "meta": {},
        "expectations": [{**SOUND, "meta": {}, "id": "7", "severity": "info"}],
    }
    first = registry_of(tmp_path, written)
    suite = first.audit("a").format.suite
    assert suite is not None
    assert (suite.file, len(suite.sha256), suite.expectations[0].severity) == ("checks/mine.json", 64, "info")
    assert suite.expectations[0].call == f"{BETWEEN}(column=empty_rate, max_value=0.1)"
    limits = first.audit("a").format
    assert FormatLimits.model_validate_json(limits.model_dump_json()) == limits
    assert check_audit(first, "a").errors == ()
    second = registry_of(tmp_path, {"expectations": [SOUND, SOUND]})
    assert first.fingerprint("a") != second.fingerprint("a")
