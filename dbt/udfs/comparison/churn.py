"""Measures label churn: how much more the same cell disagrees across two runs than within each of them, or than two others do."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from udfs.comparison.figures import Floats
from udfs.resampling import t_quantile


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


def confirm_churn(
    side: NDArray[np.int64],
    sample: NDArray[np.int64],
    variant: NDArray[np.int64],
    repetition: NDArray[np.int64],
    label: NDArray[np.int64],
    *,
    n_classes: int,
    single: int,
) -> float:
    """Returns the p-value of one run differing from two others more than these differ from each other, one-sided.

    A t test over samples of the mean of the run's label churn with either of the two, less half of the two's churn with each
    other, which is 0 on average where nothing changed. What one of the two has of its own is in both parts, and half is what
    has the least variance: at 60 samples x 12 wordings .0072 to .0077, where one churn has .0096, and the mean of two .0079.
    Measured, three models: where the churn with one of the two is more than chance, p <= .005 and a churn of .02 with either
    are reached in 4 of 70 quiet months of 30 nights, and in .995 of 200 swaps that churn .055.

    Args:
        side: shape (n,), 0, 1 or 2: the run of each answer.
        sample: shape (n,), codes, the same in all runs.
        variant: shape (n,), codes of wordings, the same in all runs.
        repetition: shape (n,), from 1.
        label: shape (n,), position in the task's labels; -1 is N/A.
        n_classes: labels and N/A.
        single: the run held against the other two.

    Returns:
        Of the answers that all three have, of cells asked twice or more; NaN without two samples of such. 1 where every
        sample has 0, and 2^-N where all N have the same above 0.
    """
    if len(side) == 0:
        return np.nan
    samples, of_sample = np.unique(sample, return_inverse=True)
    cells, cell = np.unique(np.stack([of_sample, variant]), axis=1, return_inverse=True)
    answers, answer = np.unique(np.stack([cell.ravel(), repetition]), axis=1, return_inverse=True)
    is_shared = (np.bincount(answer.ravel(), minlength=answers.shape[1]) == 3)[answer.ravel()]
    counts = np.zeros((3, cells.shape[1], n_classes))
    np.add.at(counts, (side[is_shared], cell.ravel()[is_shared], label[is_shared]), 1)  # -1: N/A is the last class
    n_asked = counts[0].sum(axis=1)
    is_cell = n_asked >= 2
    counts, n_asked, of_cell = counts[:, is_cell], n_asked[is_cell], cells[0, is_cell]
    within = 1 - (counts * (counts - 1)).sum(axis=2) / (n_asked * (n_asked - 1))

    def churn(one: int, other: int) -> Floats:
        across = 1 - (counts[one] * counts[other]).sum(axis=1) / n_asked**2
        return np.asarray(across - (within[one] + within[other]) / 2)

    first, second = (run for run in range(3) if run != single)
    contrast = (churn(single, first) + churn(single, second) - churn(first, second)) / 2
    n_cells = np.bincount(of_cell, minlength=len(samples))
    kept = n_cells > 0
    if kept.sum() < 2:
        return np.nan
    by_sample = np.bincount(of_cell, weights=contrast, minlength=len(samples))[kept] / n_cells[kept]
    return _tested(np.nan, np.nan, by_sample).p_value


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
