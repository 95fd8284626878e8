"""Gives the verdict on a difference of two sides; all comparisons use these rules."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.sql_function import sql_function

Verdict = Literal["regressed", "improved", "changed", "unconfirmed", "same", "none_shown"]
LEVEL = 0.05
"""The level of comparisons that somebody asks for."""


@sql_function()
def difference_verdict(
    difference: float,
    low: float,
    high: float,
    q_value: float,
    min_effect: float,
    worse: int,
    is_unconfirmed: bool,  # noqa: FBT001 - as SQL calls it
    is_one_sided: bool,  # noqa: FBT001
) -> Verdict:
    """Decides the verdict on a difference.

    Args:
        difference: candidate minus base.
        low: lower end of its interval.
        high: upper end.
        q_value: its p-value, adjusted for all that is judged together with it.
        min_effect: smallest difference that counts.
        worse: 1 where more of the measure is worse, -1 where less is, 0 where the verdict on any change is `changed`.
        is_unconfirmed: whether nights of unknown variation lie between the sides.
        is_one_sided: whether a value below the expected one is no change either, as in `label_churn`.

    Returns:
        `regressed`, `improved` or `changed` where q is at most .05 and the difference is min_effect or more,
        `unconfirmed` where also the variation of the nights between is unknown; `same` where that is known and the
        interval lies within min_effect; else `none_shown`.

    Example:
        >>> difference_verdict(-0.03, -0.05, -0.01, 0.02, 0.02, -1, False, False)
        'regressed'
        >>> difference_verdict(-0.006, -0.015, 0.003, 0.3, 0.02, -1, False, False)
        'same'
    """
    size = difference if is_one_sided else abs(difference)
    if q_value <= LEVEL and size >= min_effect:
        if is_unconfirmed:
            return "unconfirmed"
        if worse == 0:
            return "changed"
        return "regressed" if worse * difference > 0 else "improved"
    is_same = high < min_effect and (is_one_sided or low > -min_effect)
    return "same" if is_same and not is_unconfirmed else "none_shown"


def adjusted(p_values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Adjusts p-values for each other by the method of Benjamini and Hochberg; NaN stays NaN."""
    found, known = np.full(len(p_values), np.nan), np.flatnonzero(~np.isnan(p_values))
    falling = known[np.argsort(-p_values[known], kind="stable")]
    at_most = np.arange(len(known), 0, -1)
    found[falling] = np.minimum(1.0, np.minimum.accumulate(p_values[falling] * len(known) / np.maximum(at_most, 1)))
    return found
