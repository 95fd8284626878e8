"""Groups of answers by what rules and judges say of them."""

from __future__ import annotations

import numpy as np
import pytest

from promptaudit.udfs.raters.verdict_groups import (
    GROUPS,
    JUDGE_RIGHT,
    JUDGE_WRONG,
    JUDGES_DISAGREE,
    RIGHT,
    RULES_DISAGREE,
    UNSCORED,
    UNSCORED_RIGHT,
    UNSCORED_WRONG,
    WRONG,
    verdict_groups,
)


@pytest.mark.parametrize(
    ("rules", "judges", "is_unscored", "group"),
    [
        ([True], [False], False, JUDGE_WRONG),
        ([True, False], [True], False, JUDGE_RIGHT),
        ([True], [True, False], False, JUDGES_DISAGREE),
        ([], [True, False], True, JUDGES_DISAGREE),
        ([True, False], [], False, RULES_DISAGREE),
        ([], [True], True, UNSCORED_RIGHT),
        ([], [False], True, UNSCORED_WRONG),
        ([], [], True, UNSCORED),
        ([], [], False, UNSCORED),  # a share of words without a threshold rules nothing
        ([], [True], False, RIGHT),  # and leaves the ruling to the judges
        ([True], [], False, RIGHT),
        ([True], [True], True, RIGHT),  # one rule of two could not score it
        ([False], [False], False, WRONG),
        ([False], [], False, WRONG),
    ],
)
def test_groups(rules: list[bool], judges: list[bool], is_unscored: bool, group: str) -> None:
    said = (True in rules, False in rules, True in judges, False in judges, is_unscored)
    assert verdict_groups(*(np.array([flag]) for flag in said)) == [group]
    assert group in GROUPS


def test_no_answers_have_no_groups() -> None:
    assert verdict_groups(*[np.empty(0, bool)] * 5) == []
