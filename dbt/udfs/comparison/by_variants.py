"""Tests whether a difference is larger than other wordings would make it, by exchanging whole variants between the runs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.comparison.draws import exchanged_variants
from promptaudit.udfs.comparison.figures import Figures, Floats
from promptaudit.udfs.comparison.matching import SAME_WORDING
from promptaudit.udfs.comparison.p_values import Exceeding, t_p_values

MIN_EXCHANGED = 12
"""Fewest shared variants whose exchanges are counted: 12 can show a p of 2^-11, which 50 comparisons leave at .025."""

FIRST_EXCHANGES = 999
CLEARLY_NOISE = 0.2
"""A p-value above this is not made more exact: it says the same at any level that a verdict may ask for."""


class ByVariants(NamedTuple):
    """The p-values, standard errors and added variances of the measures, shape (n_measures,) each."""

    p_value: Floats
    standard_error: Floats
    degrees_of_freedom: float  # of the standard errors
    variance: Floats  # what wordings drawn anew add to the interval's; 0 where the runs share them


def by_variants(
    figures: Figures, stratum: NDArray[np.int64], difference: Floats, p_samples: Floats, seed: int, n_resamples: int
) -> ByVariants:
    """Returns p-values of differences by what exchanging whole variants between the runs makes of them.

    Under fewer than 12 shared variants exchanges are too few to reach a small p, whatever happened: there the
    jackknife over variants gives a t test with Q - 1 degrees of freedom, and exchanges stand in only where it is
    undefined (sensitivity and PSS of two variants), so that nothing is found there. Measured with a shock common to each
    wording, 100 samples: p <= .05 in 0 to 4 % at 3 and at 8 variants, where exchanging samples alone gives 12 to 19 %.

    Where no exchange makes a larger difference than the observed one the same t test says how small the p is (2 Q - 2
    degrees where wordings differ).

    The first 999 exchanges decide whether more are worth it. Where they, or the samples, show p > .2 no more are made.
    The larger p of a measure is then above .2 whatever further draws would have said, and is what all draws give
    elsewhere: at levels up to .2 the test errs as often as with all of them.

    Args:
        figures: of the measures.
        stratum: shape (n_slots,), as of `Slots`.
        difference: shape (n_measures,), second run less first.
        p_samples: shape (n_measures,), from exchanging samples.
        seed: of the draws.
        n_resamples: B.

    Returns:
        NaN and a variance of 0 where the measures have fewer than two variants to exchange, and for B = 0.
    """
    n_measures, n_slots = len(difference), figures.n_units // 2
    undefined, none = np.full(n_measures, np.nan), np.zeros(n_measures)
    if n_slots < 2 or n_resamples == 0:
        return ByVariants(undefined, undefined, np.nan, none)
    exceeding, error = _exchanged(figures, stratum, difference, p_samples, seed, n_resamples)
    is_shared = bool((stratum == SAME_WORDING).all())
    free = n_slots - 1 if is_shared else 2 * (n_slots - 1)
    without = _without_each(figures, n_slots)
    of_jackknife = _jackknife_errors(without, is_shared=is_shared)
    by_t = t_p_values(difference, of_jackknife, free)
    if is_shared and n_slots < MIN_EXCHANGED:
        is_defined = ~np.isnan(of_jackknife)
        p_value = np.where(is_defined, by_t, exceeding.p_values())
        return ByVariants(p_value, np.where(is_defined, of_jackknife, error), free, none)
    added = none
    if not is_shared:
        first, second = (_without_each(half, n_slots) for half in figures.halves())
        shared_by_halves = [_jackknife_covariance(*rows) for rows in zip(first, second, strict=True)]
        added = np.maximum(shared_by_halves, 0.0)
    return ByVariants(exceeding.p_values_with_tail(by_t), error, free, added)


def _without_each(figures: Figures, n_slots: int) -> Floats:
    """Returns the figures of either run without each of its variants, of shape (n_measures, 2, n_slots)."""
    without = 1 - np.eye(n_slots)
    nothing = np.zeros_like(without)
    runs = (np.hstack([without, nothing]), np.hstack([nothing, without]))
    return np.stack([figures.dealt(run)[0] for run in runs], axis=1)


def _jackknife_errors(without: Floats, *, is_shared: bool) -> Floats:
    """Standard errors of the differences over variants, shape (n_measures,): of pairs of them, or of either run's own."""
    first, second = without[:, 0], without[:, 1]
    parts = [second - first] if is_shared else [first, second]
    n = first.shape[1]
    return np.asarray(np.sqrt(sum((n - 1) * part.var(axis=1) for part in parts)), np.float64)


def _jackknife_covariance(first: Floats, second: Floats) -> float:
    """Covariance of two jackknives over the same variants, added up over runs; shape (2, n_slots) each.

    What variants do to one half of the samples and to the other alike is theirs alone: what they do to single samples
    is in the variance over samples already and drops out here.
    """
    n = first.shape[1]
    product = (first - first.mean(axis=1, keepdims=True)) * (second - second.mean(axis=1, keepdims=True))
    return float((n - 1) / n * product.sum())


def _exchanged(
    figures: Figures, stratum: NDArray[np.int64], difference: Floats, p_samples: Floats, seed: int, n_resamples: int
) -> tuple[Exceeding, Floats]:
    """Counts of exchanges, and the standard deviation of the differences that the first of them make."""
    first = exchanged_variants(seed, stratum, n_resamples)
    exceeding = Exceeding(difference)
    few = first[:FIRST_EXCHANGES]
    drawn = np.subtract(*figures.dealt(few))
    exceeding.add(drawn)
    is_open = (p_samples <= CLEARLY_NOISE) & (exceeding.p_values() <= CLEARLY_NOISE)
    rest = first[FIRST_EXCHANGES:]
    if is_open.any() and len(rest):
        exceeding.add(np.subtract(*figures.dealt(rest)), is_open)
    squares = np.where(np.isnan(drawn), 0.0, np.square(drawn))
    square = squares.sum(axis=1) / np.maximum((~np.isnan(drawn)).sum(axis=1), 1)
    return exceeding, _without_effect(square, difference, figures.n_units // 2, stratum)


def _without_effect(square: Floats, difference: Floats, n_slots: int, stratum: NDArray[np.int64]) -> Floats:
    """Standard error of a difference from the mean square of exchanged ones, which a true difference makes larger.

    Of Q shared variants that differ by d_v, exchanges have the mean square sum d_v^2 / Q^2, the error of their mean the
    square sum (d_v - d)^2 / (Q (Q - 1)). Of 2 Q variants dealt anew the pooled sum of squares holds Q d^2 / 2 too much.
    """
    if (stratum != SAME_WORDING).any():
        own = (square * (2 * n_slots - 1) - np.square(difference)) / (2 * (n_slots - 1))
    else:
        own = (square - np.square(difference) / n_slots) * n_slots / (n_slots - 1)
    return np.sqrt(np.maximum(own, 0.0))
