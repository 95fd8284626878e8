"""The levels that SQL and the gate say again are those of the rule."""

from __future__ import annotations

import math
import re

import pytest

from promptaudit.gate import night_rules
from promptaudit.registry.gate_columns import OF_ANSWERS
from promptaudit.registry.mart_columns import dbt_project
from promptaudit.udfs.differences import difference
from promptaudit.udfs.nights import states, window_test


@pytest.mark.parametrize(
    ("file", "macro", "level"),
    [
        ("alarm_level", "alarm_level", states.ALARM_LEVEL),
        ("alarm_level", "suspect_level", states.SUSPECT_LEVEL),
        ("most_normal_nights", "most_normal_nights", states.MOST_NORMAL_NIGHTS),
        ("most_normal_nights", "longest_window", max(window_test.WINDOWS)),
    ],
)
def test_macros_say_what_the_rule_says(file: str, macro: str, level: float) -> None:
    text = (dbt_project() / "macros" / f"{file}.sql").read_text(encoding="utf-8")
    found = re.search(rf"macro {macro}\(\) -%}} ([0-9.]+) {{%- endmacro", text)
    assert found is not None
    assert float(found[1]) == level


def test_the_macro_of_least_effects_says_what_the_rule_says() -> None:
    text = (dbt_project() / "macros" / "answer_measures.sql").read_text(encoding="utf-8")
    (factor,) = re.findall(r"ln\(([0-9.]+)\)", text)
    assert math.log(float(factor)) == states.LEAST_LOG_EFFECT
    (least,) = re.findall(r"greatest\(.*, ([0-9.]+)\)", text)
    assert float(least) == states.LEAST_CLASS_EFFECT


def test_the_macro_of_answer_measures_has_those_that_gates_know() -> None:
    text = (dbt_project() / "macros" / "answer_measures.sql").read_text(encoding="utf-8")
    (names,) = re.findall(r"macro answer_measures\(\) -%}\s+\((.*)\)", text)
    assert tuple(names.replace("'", "").split(", ")) == OF_ANSWERS


def test_the_gate_knows_from_how_many_nights_the_rule_is_whole() -> None:
    assert night_rules.FULL_RULE == difference.FULL_RULE
