"""Measures label churn: how much more the same cell disagrees across two runs than within each of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from promptaudit.udfs.comparison.figures import Floats
from promptaudit.udfs.resampling import t_quantile


class Churn(NamedTuple):
    """The disagreement within runs, across them, and their difference with its bounds and test; NaN where undefined."""

    within: float
    across: float
    churn: float
    low: float
    high: float
    p_value: float
    standard_error: float
    n_samples: int


def label_churn(labels: NDArray[np.int16], n_classes: int) -> Churn:
    """Returns the disagreement of the same cell across runs less that within runs, with a one-sided t test over samples.

    A cell is one sample under one ask. Across: 1 - sum_c p_c q_c, with p and q the shares of its labels in the two runs.
    Within: the mean over runs of 1 - sum_c n_c (n_c - 1) / (R (R - 1)), unbiased at any R, for cells asked twice or
    more; those alone count where there are any. A sample's figures are means over its cells. Without a change across
    and within are equal on average, whatever the noise.

    Args:
        labels: shape (2, n_asks, n_repetitions, n_samples), codes below n_classes; -1 is missing, in both runs alike.
        n_classes: labels and N/A.

    Returns:
        `p_value` of no churn against more than none: 1 where every sample has 0, and 2^-N, that of the sign test, where
        all N samples have the same above 0. `low`, `high` are two-sided, 95 %. Where no cell is asked twice `within` is
        unknown and with it all but `across`; unless that is 0, with nothing to explain: then churn 0, p 1. Below
        two samples all that needs a deviation is NaN.
    """
    by_sample = _churn_by_sample(labels, n_classes)
    n, mean_across = len(by_sample.across), float(np.maximum(by_sample.across.mean(), 0.0))
    if np.isnan(by_sample.within).any():
        if np.abs(by_sample.across).max() < 1e-12:
            return Churn(np.nan, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, n)
        return Churn(np.nan, mean_across, *(np.nan,) * 5, n)
    return _tested(float(by_sample.within.mean()), mean_across, by_sample.across - by_sample.within)


class SampleChurn(NamedTuple):
    """The disagreement of each sample's cells across runs and within them, shape (n,) each."""

    across: Floats
    within: Floats  # NaN throughout where no cell is asked twice


def _churn_by_sample(labels: NDArray[np.int16], n_classes: int) -> SampleChurn:
    """Returns the figures of the samples whose means `label_churn` compares; samples without a cell that counts have none.

    The arguments are those of `label_churn`.
    """
    n_asked = (labels[0] >= 0).sum(axis=1)
    is_repeated = bool((n_asked >= 2).any())
    is_cell = n_asked >= (2 if is_repeated else 1)
    across = is_cell.astype(np.float64)
    within = is_cell.astype(np.float64)
    divisor = np.maximum(n_asked * (n_asked - 1), 1)
    for c in range(n_classes):
        first, second = (np.count_nonzero(run == c, axis=1).astype(np.float64) for run in labels)
        across -= np.where(is_cell, first * second / np.maximum(n_asked, 1) ** 2, 0.0)
        within -= np.where(is_cell, (first * (first - 1) + second * (second - 1)) / (2 * divisor), 0.0)
    n_cells = is_cell.sum(axis=0)
    kept = n_cells > 0
    across, within = (part.sum(axis=0)[kept] / n_cells[kept] for part in (across, within))
    return SampleChurn(across, within if is_repeated else np.full(len(within), np.nan))


def _tested(within: float, across: float, churn: Floats) -> Churn:
    n, mean = len(churn), float(churn.mean())
    error = float(churn.std(ddof=1)) / np.sqrt(n) if n > 1 else np.nan
    half = t_quantile(n - 1) * error
    if error < 1e-12:
        mean = 0.0 if abs(mean) < 1e-12 else mean
        p_value = 0.5**n if mean > 0 else 1.0
    else:
        p_value = float(stdtr(n - 1, -mean / error))
    return Churn(within, across, mean, mean - half, mean + half, p_value, float(error), n)
