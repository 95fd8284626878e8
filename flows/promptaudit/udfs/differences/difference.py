"""Judges a difference between two sides by samples: all its errors, intervals and p-values are made here."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from promptaudit.udfs.differences.alike_nights import (
    FEWEST_SAMPLES,
    PRIOR_PAIRS,
    Ages,
    Flags,
    Floats,
    NightSpread,
    carriers,
    opposite_variance,
    own_variance,
    unit_values,
)
from promptaudit.udfs.resampling import mean_defined, t_quantile

FULL_RULE = 3
"""With fewer normal nights than this, nothing is known of how nights vary."""
FEWEST_LIKE = 2
"""With fewer normal nights that ask a night's samples, their variation is unknown: panels ask samples in turn."""


class Sides(NamedTuple):
    """The nights that a difference is between, shape (n_nights,) each.

    Attributes:
        age: how many nights ago each was.
        inside: the nights of the one side.
        before: the nights that it is compared with.
        like: normal nights, which show how far nights differ.
    """

    age: Ages
    inside: Flags
    before: Flags
    like: Flags

    @property
    def is_known(self) -> bool:
        """Says whether there are enough normal nights: 3, and half as many as there are inside."""
        return bool(self.like.sum() >= max(FULL_RULE, self.inside.sum() / 2))


class WordingsError(NamedTuple):
    """The variance that wordings drawn anew add to a difference, 0 where wordings are kept.

    Attributes:
        excess: their variance beyond the part that comes from single answers.
        variance: the whole variance, from which the uncertainty of the excess follows.
        freedom: degrees of freedom of the whole.
    """

    excess: float
    variance: float
    freedom: float


KEPT = WordingsError(0.0, 0.0, 1.0)


class Difference(NamedTuple):
    """The mean of samples' differences between two sides.

    Attributes:
        mean: the difference.
        variance: of the mean, not widened.
        factor: the square of the factor that widens the error, at least 1.
        degrees_of_freedom: of both together.
        least_p: the least p-value: the probability that every sample that carries the mean had its odd nights just now.
        carried_by: how many samples carry it.
        n_samples: samples that count on both sides.
    """

    mean: float
    variance: float
    factor: float
    degrees_of_freedom: float
    least_p: float
    carried_by: float
    n_samples: int

    @property
    def error(self) -> float:
        """Computes the widened standard error."""
        return math.sqrt(self.factor * self.variance)

    def p_value(self, *, is_one_sided: bool = False) -> float:
        """Computes the probability of as large a difference where nothing changed."""
        t = self.mean / self.error
        by_size = stdtr(self.degrees_of_freedom, -t if is_one_sided else -abs(t)) * (1 if is_one_sided else 2)
        return max(float(by_size), self.least_p)

    @property
    def half_width(self) -> float:
        """Computes half the width of the two-sided 95 % interval."""
        return t_quantile(self.degrees_of_freedom) * self.error


class _Units(NamedTuple):
    # differences of samples, summed over clusters where there are any
    values: Floats
    mean: float
    n_samples: int
    by_samples: float  # n^2 times the variance of the mean where samples are drawn anew
    floor: float


def _units_of(differences: Floats, cluster: NDArray[np.int64] | None, n_wordings: int) -> _Units | None:
    # None below FEWEST_SAMPLES samples or clusters
    n = len(differences)
    units = differences if cluster is None else sums_of(differences, cluster)
    if len(units) < FEWEST_SAMPLES:
        return None
    sizes = 1.0 if cluster is None else np.unique(cluster, return_counts=True)[1]
    mean, many = float(differences.mean()), len(units) / (len(units) - 1)
    floor = many / n_wordings**2
    return _Units(units, mean, n, many * float(np.square(units - mean * sizes).sum()) + floor, floor)


def between_nights(
    values: Floats,
    sides: Sides,
    n_wordings: int,
    cluster: NDArray[np.int64] | None = None,
    *,
    is_rate: bool,
    spread: NightSpread,
    shared: NightSpread,
) -> Difference | None:
    """Computes how far nights lie from earlier ones, samples and wordings kept; None below FEWEST_SAMPLES.

    Its variance is the largest of: the variance of normal nights as far apart; the movement against the mean; and, for
    a figure that is no rate or where too few normal nights asked these samples, the spread over samples: G / (G - 1)
    (sum over clusters of the squared sums of deviations + 1 / Q^2) / n^2, G the clusters.

    Args:
        values: shape (n_nights, n_samples), NaN where a sample was not asked or does not count.
        sides: the nights that are compared.
        n_wordings: Q.
        cluster: shape (n_samples,), codes of clusters; None where each sample is its own.
        is_rate: whether noise alone leaves the figure where it is; in other figures the spread over samples counts too.
        spread: of the normal nights.
        shared: the same for all groups together.
    """
    differences = mean_defined(values[sides.inside]) - mean_defined(values[sides.before])
    counts = ~np.isnan(differences)
    own = None if cluster is None else cluster[counts]
    units = _units_of(differences[counts], own, n_wordings)
    if units is None:
        return None
    n_like = nights_a_sample(values[sides.like][:, counts])
    if not sides.is_known or n_like < FEWEST_LIKE:
        return _of_samples(units, KEPT)
    of_nights, freedom = own_variance(
        unit_values(values[:, counts], own), sides.age, sides.inside, sides.before, sides.like
    )
    of_nights += units.floor
    variance = max(of_nights, opposite_variance(units.values), 0.0 if is_rate else units.by_samples)
    factor = spread.factor(shared)
    of_factor = (factor - 1) ** 2 / (PRIOR_PAIRS + 2 * spread.n_pairs / 3)
    freedom = factor**2 / (1 / freedom + of_factor)
    if units.by_samples >= of_nights:
        freedom = min(freedom, len(units.values) - 1)
    carried = carriers(units.values)
    ways = _ways(values[sides.inside] - mean_defined(values[sides.before]), counts, n_like)
    return Difference(
        units.mean, variance / units.n_samples**2, factor, freedom, ways**-carried, carried, units.n_samples
    )


def between_samples(
    differences: Floats,
    n_wordings: int,
    cluster: NDArray[np.int64] | None = None,
    *,
    wordings: WordingsError = KEPT,
    of_nights: float = 0.0,
    n_pairs: int = 0,
) -> Difference | None:
    """Computes a difference for other samples, and other wordings if drawn anew; None below FEWEST_SAMPLES.

    Args:
        differences: shape (n_samples,), one side minus the other.
        n_wordings: Q.
        cluster: shape (n_samples,), codes of clusters; None where each sample is its own.
        wordings: the variance that other wordings add.
        of_nights: the variance that other nights add.
        n_pairs: pairs of neighbouring nights that this is estimated from.
    """
    units = _units_of(differences, cluster, n_wordings)
    return None if units is None else _of_samples(units, wordings, of_nights, n_pairs)


def _of_samples(units: _Units, wordings: WordingsError, of_nights: float = 0.0, n_pairs: int = 0) -> Difference:
    own, free = units.by_samples / units.n_samples**2, len(units.values) - 1
    total = own + wordings.excess + of_nights
    parts = own**2 / free + wordings.variance**2 / wordings.freedom + of_nights**2 / (PRIOR_PAIRS + 2 * n_pairs / 3)
    freedom = max(min(free, wordings.freedom), total**2 / parts)
    return Difference(units.mean, total, 1.0, freedom, 0.0, carriers(units.values), units.n_samples)


def _ways(differences: Floats, counts: NDArray[np.bool_], n_like: int) -> float:
    # in how many ways the odd nights of a sample may lie among all nights, for each way that they may lie in the
    # window: C(R + w, w) where the whole window moved; where the difference sits in m of its nights, C(R + w, m) / C(w,
    # m)
    by_night = mean_defined(differences[:, counts].T)
    moving = by_night[by_night * np.nansum(by_night) > 0]
    n_inside = max(1, nights_a_sample(differences[:, counts]))
    n_odd = round(float(np.abs(moving).sum() ** 2 / (moving @ moving))) if len(moving) else 1
    n_odd = min(max(n_odd, 1), n_inside)
    return math.comb(n_like + n_inside, n_odd) / math.comb(n_inside, n_odd)


def nights_a_sample(values: Floats) -> int:
    """Counts how many nights ask a sample on average, rounded: all of them unless panels ask samples in turn."""
    return round(float((~np.isnan(values)).sum(axis=0).mean())) if values.size else 0


def sums_of(values: Floats, cluster: NDArray[np.int64]) -> Floats:
    """Sums the values of each cluster, in the order of the clusters' codes."""
    _, code = np.unique(cluster, return_inverse=True)
    return np.asarray(np.bincount(code, weights=values), np.float64)
