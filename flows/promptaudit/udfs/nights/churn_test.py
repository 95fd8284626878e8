"""Tests whether tonight's cells are answered differently than on normal nights, compared with nights as far apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.codes import dense_codes
from promptaudit.udfs.differences.alike_nights import NO_SPREAD
from promptaudit.udfs.differences.difference import FULL_RULE, Difference, between_nights
from promptaudit.udfs.nights.window_test import (
    UNTESTED,
    Floats,
    Nights,
    WindowTest,
    cluster_of_each,
    spread_of,
    strongest,
)
from promptaudit.udfs.resampling import mean_defined
from promptaudit.udfs.sql_function import sql_function
from promptaudit.udfs.sql_types import FloatsOrNaN, Integers

WINDOWS = (2, 4)
"""Numbers of nights of the windows: a changed answer stays changed, the effect of a night with heavy load does not."""
_FARTHEST = 12  # nights farther apart than this are not compared
_FEWEST_PAIRS = 2  # of normal nights as far apart; one where there are three normal nights


@sql_function("churn_test")
def churn_test_of(
    age: Integers,
    other_age: Integers,
    sample: Integers,
    cluster: Integers,
    apart: FloatsOrNaN,
    normal_ages: Sequence[int],
    n_wordings: int,
    min_effect: float,
) -> WindowTest:
    """Runs `churn_test` on entries of two nights and a sample each."""
    if not len(sample):
        return UNTESTED
    nights = Nights.of(np.concatenate([age, other_age]), normal_ages, ())
    first, second = nights.places(age), nights.places(other_age)
    code, distinct = dense_codes(sample)
    n = len(nights.age)
    table = np.full((n, n, len(distinct)), np.nan)
    table[first, second, code] = apart
    table[second, first, code] = apart
    return churn_test(table, nights, n_wordings, min_effect, cluster_of_each(cluster, code))


def churn_test(
    apart: Floats,
    nights: Nights,
    n_wordings: int,
    min_effect: float,
    cluster: NDArray[np.int64] | None = None,
) -> WindowTest:
    """Tests the last nights, one-sided, by the disagreement of the same cells across nights.

    A night's value of a sample is the mean over normal nights, k nights apart, of (its disagreement with that night -
    the mean disagreement of normal nights k apart). It is 0 on average where nights are exchangeable, however answers
    repeat within a night, and where answers carry over and change night by night.

    Args:
        apart: shape (n_nights, n_nights, n_samples), symmetric: 1 - sum over labels of p_tc p_sc, averaged over the
            cells that both nights have; NaN where they share none. Tonight is last.
        nights: see `window_test`; none is pinned, since answers may move any distance from a single night.
        n_wordings: see `window_test`.
        min_effect: both of the last two nights must reach half of it, else p is 1.
        cluster: see `window_test`.

    Returns:
        See `WindowTest`; the difference is a difference of disagreement. Windows have two and four nights, and p is 3
        times the least.
    """
    windows = [window for window in nights.windows() if window in (1, *WINDOWS) and nights.is_full(window)]
    if not windows:
        return UNTESTED

    def compared(values: Mapping[int, Floats]) -> dict[int, Difference | None]:
        spread = spread_of(values[1], nights, cluster)
        return {
            each: between_nights(
                own, nights.sides(each), n_wordings, cluster, is_rate=False, spread=spread, shared=NO_SPREAD
            )
            for each, own in values.items()
        }

    def values_of(*, is_far: bool) -> dict[int, Floats]:
        return {each: lagged_values(apart, nights, nights.like(each), is_far=is_far) for each in windows}

    near = values_of(is_far=False)
    test = strongest(compared(near), nights, WINDOWS, is_one_sided=True)
    # too far from normal nights for a test; within an alarm the figures are still given
    if np.isnan(test.p_value + test.difference_tonight):
        return strongest(compared(values_of(is_far=True)), nights, ())
    is_lasting = (mean_defined(near[2][-2:].T) >= min_effect / 2).all()
    return test if is_lasting else test._replace(p_value=1.0)


def lagged_values(apart: Floats, nights: Nights, like: NDArray[np.bool_], *, is_far: bool) -> Floats:
    """Computes how far each night is from normal ones, beyond how far normal nights as far apart are from each other.

    With `is_far`, nights that are farther apart than any two normal ones are compared with the normal ones that are
    farthest apart. Values of normal nights are (R - 1) / (R - 2) times as large: they are part of what they are
    compared with.

    Returns:
        Shape (n_nights, n_samples); NaN where no normal night is near enough.
    """
    lag = np.abs(nights.age[:, None] - nights.age[None, :])
    n_like, others = int(like.sum()), ~np.eye(len(lag), dtype=bool)
    pairs = np.outer(like, like) & np.triu(others)
    expected = np.full((_FARTHEST + 1, apart.shape[2]), np.nan)
    fewest = 1 if n_like == FULL_RULE else _FEWEST_PAIRS
    for k in range(1, _FARTHEST + 1):
        as_far = pairs & (lag == k)
        if as_far.sum() >= fewest:
            expected[k] = mean_defined(apart[as_far])
        elif is_far:
            expected[k] = expected[k - 1]
    beyond = apart - expected[np.minimum(lag, _FARTHEST)]
    beyond[~others | ((lag > _FARTHEST) & (not is_far))] = np.nan
    values: Floats = np.stack([mean_defined(own[like]) for own in beyond])
    values[like] *= (n_like - 1) / max(n_like - 2, 1)
    return values
