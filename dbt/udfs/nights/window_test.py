"""Tests tonight against normal nights: five windows at once, each a paired t test over samples, widened by a spread factor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from promptaudit.udfs.codes import dense_codes
from promptaudit.udfs.resampling import mean_defined, t_quantile
from promptaudit.udfs.sql_function import sql_function
from promptaudit.udfs.sql_types import FloatsOrNaN, Integers

Floats = NDArray[np.float64]

WINDOWS = (1, 2, 4, 8, 16)
"""How many nights up to tonight each window spans."""
FEWEST_SAMPLES = 10
"""Samples asked both in a window and in the nights before it, below which nothing is tested."""
FULL_RULE = 3
"""Normal nights before tonight below which nothing is known of how they wander, and no alarm is latched."""
FEWEST_BEFORE = 2
"""Normal nights before a window of several nights."""
_PRIOR_NIGHTS = 6.0
_MOST_A_PAIR = 9.0  # so that one odd night, or an undetected step, does not widen every later test


class WindowTest(NamedTuple):
    """The test of tonight in one stream, over its windows; figures are NaN and counts 0 where there is too little to test.

    Attributes:
        difference: mean over samples of the window's mean less that of the normal nights before it.
        low, high: its two-sided 95 % interval.
        standard_error: over samples, not widened.
        spread_factor: factor by which normal nights vary more than their samples explain, at least 1.
        p_value: two-sided, of the window with the least p-value, times the number of windows, at most 1.
        span: nights of that window; of windows with equal p-values, the shortest.
        p_value_tonight: of tonight alone, not multiplied by the number of windows.
        difference_tonight: of tonight alone.
        difference_two: of the last two nights, whether or not the one before was normal.
        error_two: its standard error, widened.
        n_samples: samples of that window.
        n_nights: normal nights it was held against.
    """

    difference: float
    low: float
    high: float
    standard_error: float
    spread_factor: float
    p_value: float
    span: int
    p_value_tonight: float
    difference_tonight: float
    difference_two: float
    error_two: float
    n_samples: int
    n_nights: int


UNTESTED = WindowTest(*(np.nan,) * 6, 0, *(np.nan,) * 4, 0, 0)


class Nights(NamedTuple):
    """The nights that are looked at, tonight last, the oldest first; shape (n_nights,) each.

    Attributes:
        age: how many nights ago each was, falling to 0; nights that are left out leave gaps, which no window spans.
        is_normal: whether it is a normal night: false of tonight, and of a good night within an alarm.
        is_pinned: whether somebody pinned it; where one is, tonight is held against the pinned nights alone.
    """

    age: NDArray[np.int64]
    is_normal: NDArray[np.bool_]
    is_pinned: NDArray[np.bool_]

    @classmethod
    def of(cls, ages: NDArray[np.int64], normal_ages: Sequence[int], pinned_ages: Sequence[int]) -> Self:
        """Returns the nights of these ages, and tonight; neither normal nor pinned is a good one within an alarm."""
        every = np.unique(np.concatenate([ages, np.array([*normal_ages, *pinned_ages, 0], np.int64)]))[::-1]
        return cls(every, np.isin(every, normal_ages), np.isin(every, pinned_ages))

    def places(self, ages: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns the place of the night of each age."""
        return np.searchsorted(-self.age, -ages)

    def before(self, window: int) -> NDArray[np.bool_]:
        """Returns the nights that a window is held against."""
        reference = self.is_pinned if self.is_pinned.any() else self.is_normal
        return reference & (self.age >= window)

    def windows(self) -> list[int]:
        """Returns the windows that can be tested; the last two nights among them where both are known."""
        windows = []
        for window in WINDOWS:
            fewest = 1 if window == 1 or self.is_pinned.any() else FEWEST_BEFORE
            if (self.age < window).sum() == window and self.before(window).sum() >= fewest:
                windows.append(window)
        return windows

    def is_tested(self, window: int) -> bool:
        """Returns whether all nights of a window but tonight are normal, so that it may raise an alarm."""
        return bool(self.is_normal[(self.age < window) & (self.age > 0)].all())


class Difference(NamedTuple):
    """The mean of samples' differences, with the error of that mean and its degrees of freedom."""

    mean: float
    error: float
    degrees_of_freedom: int
    n_samples: int


@sql_function("window_test")
def window_test_of(
    age: Integers,
    sample: Integers,
    cluster: Integers,
    value: FloatsOrNaN,
    normal_ages: Sequence[int],
    pinned_ages: Sequence[int],
    n_wordings: int,
) -> WindowTest:
    """Returns `window_test` of entries of a night and a sample each; age 0 is tonight, and a NaN is no value."""
    if not len(sample):
        return UNTESTED
    nights = Nights.of(age, normal_ages, pinned_ages)
    code, distinct = dense_codes(sample)
    values = np.full((len(nights.age), len(distinct)), np.nan)
    values[nights.places(age), code] = value
    return window_test(values, nights, n_wordings, cluster_of_each(cluster, code))


def cluster_of_each(cluster: NDArray[np.int64], code: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns the cluster of each sample, from that of each entry and the entry's dense code of its sample."""
    own = np.zeros(int(code.max(initial=-1)) + 1, np.int64)
    own[code] = cluster
    return own


def window_test(
    values: Floats, nights: Nights, n_wordings: int, cluster: NDArray[np.int64] | None = None
) -> WindowTest:
    """Returns the test of tonight's values against those of normal nights.

    Args:
        values: shape (n_nights, n_samples), of the nights in their order; NaN where a sample was not asked or does not count.
        nights: the normal nights, a good night within an alarm, and tonight.
        n_wordings: Q; an answer that flips under one wording moves a sample by 1 / Q, and unanimous samples have an error of
            that size, too.
        cluster: shape (n_samples,), codes of what samples have in common (a document, a user); by default each is its own.

    Returns:
        See `WindowTest`. A window of several nights needs FEWEST_BEFORE normal nights before it; below FULL_RULE normal nights
        the spread factor is 1.
    """
    found = {}
    for window in nights.windows():
        inside = nights.age < window
        differences = mean_defined(values[inside]) - mean_defined(values[nights.before(window)])
        found[window] = mean_difference(differences, n_wordings, cluster)
    return strongest(found, nights, factor_of(values, nights))


def mean_difference(
    differences: Floats, n_wordings: int, cluster: NDArray[np.int64] | None = None
) -> Difference | None:
    """Returns the mean of samples' differences, NaN left out, with its error; None below FEWEST_SAMPLES samples or clusters.

    The squared error is G / (G - 1) (sum over clusters of the squared sums of deviations + 1 / Q^2) / n^2, G the clusters: the
    usual one where each sample is its own.
    """
    known = ~np.isnan(differences)
    kept = differences[known]
    n = len(kept)
    if n < FEWEST_SAMPLES:
        return None
    mean = float(kept.mean())
    deviations = kept - mean
    if cluster is not None:
        _, code = np.unique(cluster[known], return_inverse=True)
        deviations = np.asarray(np.bincount(code, weights=deviations), np.float64)
    groups = len(deviations)
    if groups < FEWEST_SAMPLES:
        return None
    squares = float(deviations @ deviations) + 1 / n_wordings**2
    return Difference(mean, float(np.sqrt(groups / (groups - 1) * squares)) / n, groups - 1, n)


def strongest(
    found: dict[int, Difference | None], nights: Nights, factor: float, *, is_one_sided: bool = False
) -> WindowTest:
    """Returns the test of the window with the least p-value, of those that may raise an alarm."""
    tested: dict[int, tuple[float, Difference]] = {}
    for window, difference in found.items():
        if difference is not None and nights.is_tested(window):
            t = difference.mean / (factor * difference.error)
            freedom = difference.degrees_of_freedom
            tested[window] = float(stdtr(freedom, -t) if is_one_sided else 2 * stdtr(freedom, -abs(t))), difference
    if not tested:
        return UNTESTED
    window = min(tested, key=lambda each: tested[each][0])
    p, chosen = tested[window]
    half = t_quantile(chosen.degrees_of_freedom) * factor * chosen.error
    p_tonight, tonight = tested.get(1, (np.nan, None))
    two = found.get(2)
    return WindowTest(
        difference=chosen.mean,
        low=chosen.mean - half,
        high=chosen.mean + half,
        standard_error=chosen.error,
        spread_factor=factor,
        p_value=min(1.0, len(WINDOWS) * p),
        span=window,
        p_value_tonight=p_tonight,
        difference_tonight=np.nan if tonight is None else tonight.mean,
        difference_two=np.nan if two is None else two.mean,
        error_two=np.nan if two is None else factor * two.error,
        n_samples=chosen.n_samples,
        n_nights=int(nights.before(window).sum()),
    )


def factor_of(values: Floats, nights: Nights) -> float:
    """Returns the spread factor of the normal nights; 1 below FULL_RULE of them."""
    normal = values[nights.is_normal]
    return spread_factor(normal) if len(normal) >= FULL_RULE else 1.0


def spread_factor(values: Floats) -> float:
    """Returns by how much normal nights differ from their neighbours more than their samples explain, at least 1.

    sqrt(max(1, (6 + 2 q / 3) / (6 + 2 P / 3))): P pairs of neighbouring nights, q the sum over them of (m_r - m_s)^2 /
    (v_r + v_s), at most 9 a pair; m_r is the mean over samples of a night's deviations from each sample's own mean, v_r the
    variance of that mean. Neighbours, since in the plain variance of nights a step that nobody found widens every test.

    Args:
        values: shape (n_nights, n_samples), NaN where not asked; a sample asked on one night alone tells nothing.
    """
    asked = (~np.isnan(values)).sum(axis=0)
    deviations = values[:, asked >= 2] - mean_defined(values[:, asked >= 2])
    counts = (~np.isnan(deviations)).sum(axis=1)
    deviations, counts = deviations[counts >= 2], counts[counts >= 2]
    if len(deviations) < 2:
        return 1.0
    means = mean_defined(deviations.T)
    variances = np.nansum((deviations - means[:, None]) ** 2, axis=1) / (counts - 1) / counts
    squares, expected = np.diff(means) ** 2, variances[1:] + variances[:-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(squares < _TINY, 0.0, squares / expected)
    q = float(np.minimum(ratios, _MOST_A_PAIR).sum())
    return float(np.sqrt(max(1.0, (_PRIOR_NIGHTS + 2 * q / 3) / (_PRIOR_NIGHTS + 2 * len(ratios) / 3))))


_TINY = 1e-24
