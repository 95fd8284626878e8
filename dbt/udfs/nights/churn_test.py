"""Tests whether tonight's cells are answered otherwise than on normal nights: an energy distance between nights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.codes import dense_codes
from promptaudit.udfs.nights.window_test import (
    UNTESTED,
    Floats,
    Nights,
    WindowTest,
    cluster_of_each,
    factor_of,
    mean_difference,
    strongest,
)
from promptaudit.udfs.resampling import mean_defined
from promptaudit.udfs.sql_function import sql_function
from promptaudit.udfs.sql_types import FloatsOrNaN, Integers


@sql_function("churn_test")
def churn_test_of(
    age: Integers,
    other_age: Integers,
    sample: Integers,
    cluster: Integers,
    apart: FloatsOrNaN,
    normal_ages: Sequence[int],
    pinned_ages: Sequence[int],
    n_wordings: int,
) -> WindowTest:
    """Returns `churn_test` of entries of two nights and a sample each; of a night with itself it is that within the night."""
    if not len(sample):
        return UNTESTED
    nights = Nights.of(age, normal_ages, pinned_ages)
    first, second = nights.places(age), nights.places(other_age)
    code, distinct = dense_codes(sample)
    n = len(nights.age)
    table = np.full((n, n, len(distinct)), np.nan)
    table[first, second, code] = apart
    table[second, first, code] = apart
    within = table[np.arange(n), np.arange(n)].copy()
    return churn_test(table, within, nights, n_wordings, cluster_of_each(cluster, code))


def churn_test(
    apart: Floats, within: Floats, nights: Nights, n_wordings: int, cluster: NDArray[np.int64] | None = None
) -> WindowTest:
    """Returns the one-sided test of tonight by the disagreement of the same cells across nights.

    Of a sample asked on two nights of the window or more, d = A(window, before) - A(before, before) / 2 -
    A(window, window) / 2, A being the mean disagreement over pairs of two different nights; of one asked on a single night
    d = A(that, before) - A(before, before) - (within that night - mean of within before) / 2. Both are 0 on average where
    nights are exchangeable, whatever repeats within a night, and at least 0.

    Args:
        apart: shape (n_nights, n_nights, n_samples), symmetric: 1 - sum over labels of p_tc p_sc, averaged over the cells that
            both nights have; NaN where they share none. Tonight is last.
        within: shape (n_nights, n_samples), the disagreement of a night's cells with themselves, 1 - sum n (n - 1) / (R (R - 1));
            NaN where no cell was asked twice.
        nights: see `window_test`.
        n_wordings: see `window_test`.
        cluster: see `window_test`.

    Returns:
        See `WindowTest`; the difference is of the disagreement. Without repetitions windows of one night are not tested.
    """
    found = {}
    for window in nights.windows():
        inside = nights.age < window
        known = (nights.is_normal | nights.is_pinned) & ~inside
        differences = _differences(apart, within, inside, nights.before(window), known)
        found[window] = mean_difference(differences, n_wordings, cluster)
    return strongest(found, nights, factor_of(_between(apart, within, nights), nights), is_one_sided=True)


def _differences(
    apart: Floats,
    within: Floats,
    inside: NDArray[np.bool_],
    before: NDArray[np.bool_],
    known: NDArray[np.bool_],
) -> Floats:
    """Returns d of each sample; one pinned night alone says nothing of how nights differ, so the normal ones say it."""
    across = mean_defined(apart[np.ix_(inside, before)].reshape(-1, apart.shape[2]))
    of_before, of_window = _mean_apart(apart[np.ix_(known, known)]), _mean_apart(apart[np.ix_(inside, inside)])
    single = across - of_before - (mean_defined(within[inside]) - mean_defined(within[before])) / 2
    return np.where(np.isnan(of_window), single, across - of_before / 2 - of_window / 2)


def _mean_apart(apart: Floats) -> Floats:
    """Returns the mean over pairs of two different nights, by sample; NaN where there is none."""
    return mean_defined(apart[np.triu_indices(len(apart), k=1)])


def _between(apart: Floats, within: Floats, nights: Nights) -> Floats:
    """Returns how far each night is from the normal ones that are not it, beyond half of what it is from itself."""
    others = apart.copy()
    own = np.arange(len(apart))
    others[own, own] = np.nan
    itself = np.where(np.isnan(within), 0.0, within)
    return np.stack([mean_defined(row[nights.is_normal]) for row in others]) - itself / 2
