"""Tests whether samples that were right on normal nights are wrong on all of the last nights: how many, and which."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc

from promptaudit.udfs.differences.alike_nights import FEWEST_SAMPLES
from promptaudit.udfs.differences.difference import FEWEST_LIKE, FULL_RULE
from promptaudit.udfs.nights.window_test import UNTESTED, Floats, Nights, WindowTest, table_of
from promptaudit.udfs.resampling import mean_defined
from promptaudit.udfs.sql_function import sql_function
from promptaudit.udfs.sql_types import FloatsOrNaN, Integers

WINDOWS = (1, 2, 4)
"""Numbers of nights of the windows."""
LOST = 0.5
"""A lost sample is right less often than on normal nights by at least this much, on each night of the window."""
_MOST_COUNTED = 2  # nights since a sample was lost


@sql_function("lost_samples_test")
def lost_samples_of(
    age: Integers, sample: Integers, value: FloatsOrNaN, normal_ages: Sequence[int], pinned_ages: Sequence[int]
) -> WindowTest:
    """Runs `lost_samples` on entries of a night and a sample each; age 0 is tonight."""
    if not len(sample):
        return UNTESTED
    nights, values, _ = table_of(age, sample, value, normal_ages, pinned_ages)
    return lost_samples(values, nights)


def lost_samples(values: Floats, nights: Nights) -> WindowTest:
    """Tests how many samples are lost at once, exactly, given how many ever had an odd night.

    p = P(Bin(k + J, 1 / C(R + w, w)) >= k) of a window of w nights against R normal ones: k samples are lost, J had a
    normal night that lies LOST from the mean of their others; if nothing changed, each of them had its odd nights just
    now with that probability. Where g samples are gained as well, it is not below P(Bin(k + g, 1/2) >= k).

    Args:
        values: shape (n_nights, n_samples), shares of right answers; NaN where a sample was not asked or does not
            count.
        nights: see `window_test`; three normal nights are needed.

    Returns:
        See `WindowTest`: the difference is the sum over lost samples of their differences, divided by the number of all
        samples; it has no interval and no error.
    """
    found: dict[int, WindowTest] = {}
    for window in WINDOWS:
        if window not in nights.windows() or not nights.is_full(window):
            continue
        inside, usual = values[nights.inside(window)], mean_defined(values[nights.before(window)])
        like = values[nights.like(window)]
        n_like = (~np.isnan(like)).sum(axis=0)
        known = ~np.isnan(inside).any(axis=0) & ~np.isnan(usual) & (n_like >= FEWEST_LIKE)
        n_samples = int(known.sum())
        if n_samples < FEWEST_SAMPLES:
            continue
        differences, like, n_like = (inside - usual)[:, known], like[:, known], n_like[known]
        is_lost, is_gained = (differences <= -LOST).all(axis=0), (differences >= LOST).all(axis=0)
        is_odd = _had_an_odd_night(like)
        n_lost, n_gained = int(is_lost.sum()), int(is_gained.sum())
        fewest = int(n_like[is_lost | is_odd].min(initial=n_like.max()))
        p = _at_least(n_lost, n_lost + int(is_odd.sum()), 1 / math.comb(fewest + window, window))
        if n_gained:
            p = max(p, _at_least(n_lost, n_lost + n_gained, 0.5))
        found[window] = UNTESTED._replace(
            difference=float(differences.mean(axis=0)[is_lost].sum()) / n_samples,
            p_value=p,
            span=window,
            carried_by=float(n_lost),
            n_samples=n_samples,
            n_nights=int(nights.before(window).sum()),
        )
    if not found:
        return UNTESTED
    chosen, tonight = min(found.values(), key=lambda each: each.p_value), found.get(1, UNTESTED)
    return chosen._replace(
        p_value=min(1.0, len(WINDOWS) * chosen.p_value),
        p_value_tonight=tonight.p_value,
        difference_tonight=tonight.difference,
        difference_two=found.get(2, tonight).difference,
        error_two=0.0,
    )


class SampleTest(NamedTuple):
    """The test of one sample; p-value NaN and counts 0 where there is too little to test or the sample is not lost.

    Attributes:
        p_value: the probability of so many wordings that are wrong in all asks since a night and were right in all
            before.
        n_nights_wrong: nights since then, tonight included.
        n_nights_right: nights before.
        n_wordings: the number of these wordings.
    """

    p_value: float
    n_nights_wrong: int
    n_nights_right: int
    n_wordings: int


@sql_function("lost_sample_test")
def lost_sample_of(age: Integers, wording: Integers, right: FloatsOrNaN) -> SampleTest:
    """Runs `lost_sample` on entries of a night and a wording each; age 0 is tonight."""
    ages, wordings = np.unique(age)[::-1], np.unique(wording)
    values = np.full((len(ages), len(wordings)), np.nan)
    values[np.searchsorted(-ages, -age), np.searchsorted(wordings, wording)] = right
    return lost_sample(values)


def lost_sample(values: Floats) -> SampleTest:
    """Tests whether a sample is lost: right before some night, wrong on it and on all since.

    p = P(Bin(m + M, 1 / C(R + w, w)) >= m), w the nights since, at most 2, against the R before: m wordings are right
    in all asks on every one of the R nights and wrong in all on every one since, M others had an odd night before. Of
    all nights since which the sample is right less often by LOST, the night of the least p is taken. At most two nights
    count, since answers that carry over from night to night stay wrong for many in a row.

    Args:
        values: shape (n_nights, n_wordings), shares of the asks that were right, tonight last; NaN where a wording was
            not asked.
    """
    found, by_night = SampleTest(np.nan, 0, 0, 0), mean_defined(values.T)
    for window in range(1, len(values) - FULL_RULE + 1):
        inside, before = values[-window:], values[:-window]
        if not (by_night[-window:] <= by_night[:-window].mean() - LOST).all():
            continue
        is_lost = (inside == 0).all(axis=0) & (before == 1).all(axis=0)
        n_odd = int(_had_an_odd_night(before[:, ~is_lost & ~np.isnan(before).any(axis=0)]).sum())
        n_lost, n_before = int(is_lost.sum()), len(before)
        counted = min(window, _MOST_COUNTED)
        p = _at_least(n_lost, n_lost + n_odd, 1 / math.comb(n_before + counted, counted))
        if not p >= found.p_value:
            found = SampleTest(p, window, n_before, n_lost)
    return found


def _had_an_odd_night(values: Floats) -> NDArray[np.bool_]:
    # one of a column's nights lies LOST from the mean of the others
    others = (np.nansum(values, axis=0) - values) / ((~np.isnan(values)).sum(axis=0) - 1)
    return np.asarray((np.abs(values - others) >= LOST).any(axis=0))


def _at_least(k: int, n: int, chance: float) -> float:
    return 1.0 if k == 0 else float(bdtrc(k - 1, n, chance))
