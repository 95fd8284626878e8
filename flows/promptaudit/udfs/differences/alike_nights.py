"""Estimates how far two nights differ where nothing changed: by how far normal nights differ on the same samples."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.resampling import mean_defined

Floats = NDArray[np.float64]
Ages = NDArray[np.int64]
Flags = NDArray[np.bool_]

FEWEST_SAMPLES = 10
"""Two nights with fewer common samples, or clusters of samples, are not compared."""
PRIOR_PAIRS = 6.0
"""The prior of a group's spread factor weighs as much as so many pairs of nights."""
_MOST_A_PAIR = 9.0  # so that one odd night, or an undetected step, does not widen every later test
_STEADY_FREEDOM = 1e4  # where no sample ever varied
_TINY = 1e-24


class NightSpread(NamedTuple):
    """How far neighbouring normal nights lie apart, relative to the spread that their samples explain.

    Attributes:
        q: sum over pairs of the square of the ratio, at most 9 a pair.
        n_pairs: pairs of neighbouring normal nights.
    """

    q: float
    n_pairs: int

    def factor(self, shared: NightSpread) -> float:
        """Computes the square of the factor that widens an error, at least 1.

        (6 c + 2 q / 3) / (6 + 2 P / 3), where c is the same for all groups together, `shared`, with a centre of 1.
        """
        centre = max(1.0, (PRIOR_PAIRS + 2 * shared.q / 3) / (PRIOR_PAIRS + 2 * shared.n_pairs / 3))
        return max(1.0, (PRIOR_PAIRS * centre + 2 * self.q / 3) / (PRIOR_PAIRS + 2 * self.n_pairs / 3))


NO_SPREAD = NightSpread(0.0, 0)


def unit_values(values: Floats, cluster: NDArray[np.int64] | None) -> Floats:
    """Computes how far each unit deviates on each night. A unit is a sample, or the sum over the samples of a cluster.

    Args:
        values: shape (n_nights, n_samples), NaN where a sample was not asked or does not count.
        cluster: shape (n_samples,), codes of clusters; None where each sample is its own.

    Returns:
        Shape (n_nights, n_units): deviations from each sample's own mean over nights; NaN where no sample of a unit
        counts.
    """
    deviations = values - mean_defined(values)
    if cluster is None:
        return deviations
    _, code = np.unique(cluster, return_inverse=True)
    is_of = np.equal.outer(code, np.arange(code.max(initial=-1) + 1)).astype(np.float64)
    known = ~np.isnan(deviations)
    return np.where(known @ is_of > 0, np.where(known, deviations, 0.0) @ is_of, np.nan)


def variances_by_lag(units: Floats, age: Ages, sides: list[Flags], n_needed: int) -> Floats:
    """Estimates the variance of one night's value, by how many nights two nights lie apart.

    gamma(k) is the mean over units and pairs of nights k apart, both of one side, of half their squared difference. It
    grows with k where answers carry over from night to night.

    Args:
        units: shape (n_nights, n_units), NaN where a unit has no value.
        age: shape (n_nights,), how many nights ago each was.
        sides: masks of shape (n_nights,); pairs across two sides are left out.
        n_needed: a lag with fewer terms takes the value of the next shorter lag that has so many; the first lags take
            the value of the shortest such lag.

    Returns:
        Shape (largest lag + 1,); all 0 where no two nights of a side have a unit in common.
    """
    known = ~np.isnan(units)
    zeroed, counted = np.where(known, units, 0.0), known.astype(np.float64)
    squares = np.square(zeroed) @ counted.T
    apart = np.maximum(squares + squares.T - 2 * zeroed @ zeroed.T, 0.0)
    lag = np.abs(age[:, None] - age[None, :])
    within = np.triu(np.any([np.outer(side, side) for side in sides], axis=0), k=1)
    size = int(lag.max(initial=0)) + 1
    total = np.bincount(lag[within], weights=apart[within], minlength=size)
    terms = np.bincount(lag[within], weights=(counted @ counted.T)[within], minlength=size)
    least = min(n_needed, int(terms.max(initial=0)))
    has = np.flatnonzero(terms >= max(least, 1))
    if not len(has):
        return np.zeros(size)
    nearest = has[np.maximum(np.searchsorted(has, np.arange(size), side="right") - 1, 0)]
    gamma: Floats = total[nearest] / (2 * terms[nearest])
    return gamma


def night_spread(units: Floats, age: Ages) -> NightSpread:
    """Measures how far neighbouring normal nights lie apart.

    q is the sum over pairs of min(9, (sum over common units of their difference)^2 / (2 gamma G)), G the common units.
    Only neighbours are compared, since an undetected step would widen every test through the plain variance of nights.

    Args:
        units: shape (n_nights, n_units), of the normal nights, the oldest first.
        age: shape (n_nights,), falling.
    """
    gamma = variances_by_lag(units, age, [np.ones(len(units), bool)], FEWEST_SAMPLES)
    q, n_pairs = 0.0, 0
    for one in range(len(units) - 1):
        common = ~np.isnan(units[one] + units[one + 1 :])
        enough = np.flatnonzero(common.sum(axis=1) >= FEWEST_SAMPLES)
        if not len(enough):
            continue
        other = one + 1 + int(enough[0])
        difference = (units[other] - units[one])[common[enough[0]]]
        expected = 2 * gamma[age[one] - age[other]] * len(difference)
        square = float(difference.sum()) ** 2
        q += 0.0 if square < _TINY else min(_MOST_A_PAIR, square / max(expected, _TINY))
        n_pairs += 1
    return NightSpread(q, n_pairs)


def own_variance(units: Floats, age: Ages, inside: Flags, before: Flags, like: Flags) -> tuple[float, float]:
    """Estimates the variance, and its freedom, of a sum over units of (mean of a window - mean of nights before).

    Units and wordings are kept, nights are drawn anew: - sum over two different nights of A gamma(their lag), never
    less than gamma of the shortest lag times the sum of the squared weights. A_st = sum over units of a_s a_t, where a
    is 1 / w on the w nights of the window that have the unit and - 1 / R on the R before.

    Args:
        units: shape (n_nights, n_units); every unit has a value inside and before.
        age: shape (n_nights,).
        inside: the nights of the window.
        before: the nights that it is compared with.
        like: the normal nights outside the window; the same as `before` unless a night is pinned.
    """
    known = ~np.isnan(units)
    weights = np.zeros_like(units)
    for side, sign in ((inside, 1.0), (before, -1.0)):
        own = known & side[:, None]
        weights += sign * own / np.maximum(own.sum(axis=0), 1)
    gamma = variances_by_lag(units, age, [inside, like], units.shape[1])
    shared = weights @ weights.T
    by_lag = gamma[np.abs(age[:, None] - age[None, :])]
    between = -float((shared * by_lag).sum() - (np.diag(shared) * np.diag(by_lag)).sum())
    variance = max(between, float(gamma[min(1, len(gamma) - 1)] * np.trace(shared)))
    normal = units[like]
    counts = (~np.isnan(normal)).sum(axis=0)
    squares = np.nansum(np.square(normal - mean_defined(normal)), axis=0)[counts > 1] / (counts[counts > 1] - 1)
    fourth = float((np.square(squares) / (counts[counts > 1] + 1)).sum())
    freedom = float(squares.sum()) ** 2 / fourth if fourth > _TINY**2 else _STEADY_FREEDOM
    return variance, freedom


def opposite_variance(differences: Floats) -> float:
    """Doubles the sum of squares of the differences against their mean: noise moves both ways, a fall one way."""
    against = differences[differences * differences.sum() < 0]
    return 2 * float(against @ against)


def carriers(differences: Floats) -> float:
    """Counts the units that carry the mean: (sum)^2 / sum of squares of those moving with it; 0 where none moves."""
    moving = differences[differences * differences.sum() > 0]
    squares = float(moving @ moving)
    return float(moving.sum()) ** 2 / squares if squares > 0 else 0.0
