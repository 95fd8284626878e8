"""Plain rules for open answers: what is right by each, and where it is not known."""

from __future__ import annotations

from typing import get_args

import pytest

from promptaudit.udfs.scoring.plain_rules import PlainRule, plain_rule


@pytest.mark.parametrize(
    ("rule", "answer", "references", "is_right"),
    [
        ("exact", " Nile\n", ["Nile"], True),
        ("exact", "<think>Amazon?</think>Nile", ["Amazon", "Nile"], True),
        ("exact", "na\u0303o", ["n\u00e3o"], True),
        ("exact", "nile", ["Nile"], False),
        ("exact", "The Nile", ["Nile"], False),
        ("contains", "It is the River Nile, I think.", ["nile"], True),
        ("contains", "It is the Amazon", ["Nile", "amazon"], True),
        ("contains", "It is the Congo", ["Nile", "Amazon"], False),
        ("regex", "Order 66-A", [r"\b\d+-[A-Z]$"], True),
        ("regex", "Order 66", [r"\b\d+-[A-Z]$", "(?i)^order"], True),
        ("regex", "66", ["^6$"], False),
        ("number", "1,234.50 EUR.", ["1234.5"], True),
        ("number", "-5", ["5", "-5.0"], True),
        ("number", "5", ["6"], False),
    ],
)
def test_each_rule_reads_an_answer(rule: PlainRule, answer: str, references: list[str], is_right: bool) -> None:
    assert plain_rule(rule, answer, references) == (is_right, None)


def test_what_is_not_known_has_a_reason() -> None:
    for rule in get_args(PlainRule):
        assert plain_rule(rule, "5", [" "]) == (None, "no reference")
    assert plain_rule("number", "five", ["5"]) == (None, "no number")
    assert plain_rule("number", "5", ["five"]) == (None, "no reference")
    assert plain_rule("regex", "5", ["(5"]) == (None, "no reference")


def test_a_hostile_pattern_takes_no_time() -> None:
    assert plain_rule("regex", "a" * 100_000 + "b", ["(a+)+$"]) == (False, None)
