"""Groups answers by verdicts of rules and judges: sheets are drawn within groups, and rulings stand for their group."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.sql_function import sql_function

JUDGES_DISAGREE, RULES_DISAGREE = "judges disagree", "rules disagree"
JUDGE_RIGHT, JUDGE_WRONG = "judge says right, rule does not", "judge says wrong, rule does not"
UNSCORED_RIGHT, UNSCORED_WRONG, UNSCORED = (
    "rule unscored, judge says right",
    "rule unscored, judge says wrong",
    "unscored",
)
RIGHT, WRONG = "all say right", "all say wrong"
GROUPS = (
    JUDGE_RIGHT,
    JUDGE_WRONG,
    JUDGES_DISAGREE,
    RULES_DISAGREE,
    UNSCORED_RIGHT,
    UNSCORED_WRONG,
    UNSCORED,
    RIGHT,
    WRONG,
)


@sql_function("verdict_group", at_once=True)
def verdict_groups(
    rule_right: NDArray[np.bool_],
    rule_wrong: NDArray[np.bool_],
    judge_right: NDArray[np.bool_],
    judge_wrong: NDArray[np.bool_],
    is_unscored: NDArray[np.bool_],
) -> list[str]:
    """Assigns each answer to one of GROUPS.

    Judges who differ among themselves come first, then judges who agree against a rule, in two groups by direction.

    Args:
        rule_right: shape (n,), whether any rule calls the answer right.
        rule_wrong: shape (n,), whether any rule calls it wrong.
        judge_right: shape (n,), whether any judge passes it.
        judge_wrong: shape (n,), whether any judge does not.
        is_unscored: shape (n,), whether a rule could not score it, or there is none.

    Example:
        The rule calls an answer wrong, the judge right:

        >>> verdict_groups(*(np.array([each]) for each in (False, True, True, False, False)))
        ['judge says right, rule does not']
    """
    is_judged, is_ruled = judge_right | judge_wrong, rule_right | rule_wrong
    is_unread = ~is_ruled & (is_unscored | ~is_judged)
    groups = np.select(
        [
            judge_right & judge_wrong,
            judge_right & rule_wrong,
            judge_wrong & rule_right,
            rule_right & rule_wrong,
            is_unread & judge_right,
            is_unread & judge_wrong,
            is_unread,
            rule_right | judge_right,
        ],
        [
            JUDGES_DISAGREE,
            JUDGE_RIGHT,
            JUDGE_WRONG,
            RULES_DISAGREE,
            UNSCORED_RIGHT,
            UNSCORED_WRONG,
            UNSCORED,
            RIGHT,
        ],
        WRONG,
    )
    return [str(group) for group in groups]
