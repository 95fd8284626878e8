"""Each rule reads its example, and no other rule does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from promptaudit.udfs.readers import option_letter, option_rules
from promptaudit.udfs.readers.option_letter import read_option
from promptaudit.udfs.readers.option_rules import (
    BEFORE_A_CLAUSE_ENDS,
    BEFORE_A_SENTENCE_ENDS,
    WHATEVER_FOLLOWS,
    Rule,
    strong,
    weak,
)

RULES = (*WHATEVER_FOLLOWS, *BEFORE_A_CLAUSE_ENDS, *BEFORE_A_SENTENCE_ENDS)


@pytest.fixture(autouse=True)
def _nothing_kept() -> Iterator[None]:
    option_letter._end_asked.cache_clear()
    yield
    option_letter._end_asked.cache_clear()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.example)
def test_a_rule_reads_its_example_alone(rule: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_option(rule.example, ("A", "B", "C")).index == 1
    without = [
        tuple(each for each in rules if each is not rule)
        for rules in (WHATEVER_FOLLOWS, BEFORE_A_CLAUSE_ENDS, BEFORE_A_SENTENCE_ENDS)
    ]
    monkeypatch.setattr(option_rules, "STRONG", strong(without[0]))
    monkeypatch.setattr(option_rules, "WEAK", weak(*without[1:]))
    option_letter._end_asked.cache_clear()
    assert read_option(rule.example, ("A", "B", "C")).index != 1
