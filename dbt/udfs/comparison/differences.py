"""Difference of each measure between two runs with its p-value, interval and standard error."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from udfs.comparison.by_variants import by_variants
from udfs.comparison.draws import exchanged_samples, resampled_samples
from udfs.comparison.exceeding import Exceeding
from udfs.comparison.figures import Figures, Floats
from udfs.comparison.matching import SAME_WORDING
from udfs.resampling import t_quantile

MOST_RESAMPLES = 2000


class Difference(NamedTuple):
    """Of one measure, second run less first; NaN where undefined."""

    measure: str
    first: float
    second: float
    low: float
    high: float
    p_value: float
    p_value_samples: float
    p_value_variants: float
    standard_error: float


def differences(
    figures: Figures, stratum: NDArray[np.int64], n_samples: int, seed: int, n_resamples: int
) -> list[Difference]:
    """Compare the two runs in each of the measures.

    Args:
        figures: of the measures.
        stratum: shape (n_slots,), as of `Slots`.
        n_samples: N, rows of samples.
        seed: of all draws.
        n_resamples: B; at most 2,000 of them are resamples for the interval.

    Returns:
        `low`, `high`: difference -+ t sqrt(V), V from resamples of samples with the same draws for both runs. Where
        wordings were drawn anew the jackknife variance over variants of either run comes on top.
    """
    everyone = np.ones((1, n_samples))
    first, second = figures.of_rows(everyone, None)[:, 0], figures.of_rows(None, everyone)[:, 0]
    difference = second - first
    p_samples = _p_samples(figures, difference, n_samples, seed, n_resamples)
    variance = _resampled_variance(figures, n_samples, seed, min(n_resamples, MOST_RESAMPLES))
    variants = by_variants(figures, stratum, difference, p_samples, seed, n_resamples)
    is_redrawn = bool(figures.n_units and (stratum != SAME_WORDING).any())
    most_free = figures.n_units // 2 if is_redrawn else n_samples
    quantile = np.array([t_quantile(min(n, most_free) - 1) for n in figures.n_samples])
    half = quantile * np.sqrt(variance + variants.variance)
    half = np.where(figures.has_interval, half, np.nan)
    columns = (
        first,
        second,
        difference - half,
        difference + half,
        np.fmax(p_samples, variants.p_value),
        p_samples,
        variants.p_value,
        np.fmax(np.sqrt(variance), variants.standard_error),
    )
    return [Difference(name, *row) for name, row in zip(figures.names, np.stack(columns, axis=1).tolist(), strict=True)]


def _p_samples(figures: Figures, difference: Floats, n_samples: int, seed: int, n_resamples: int) -> Floats:
    exceeding = Exceeding(difference)
    everything = np.ones(len(difference), np.bool_)
    for moves in exchanged_samples(seed, n_samples, n_resamples):
        stays = 1 - moves
        exceeding.add(figures.of_rows(moves, stays) - figures.of_rows(stays, moves), everything)
    return exceeding.p_values()


def _resampled_variance(figures: Figures, n_samples: int, seed: int, n_resamples: int) -> Floats:
    drawn = [
        figures.of_rows(None, weight) - figures.of_rows(weight, None)
        for weight in resampled_samples(seed, n_samples, n_resamples)
    ]
    if not drawn:
        return np.full(len(figures.names), np.nan)
    defined = [row[~np.isnan(row)] for row in np.concatenate(drawn, axis=1)]
    return np.array([row.var(ddof=1) if len(row) > 1 else np.nan for row in defined])
