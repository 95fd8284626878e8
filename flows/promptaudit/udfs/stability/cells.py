"""Computes how far labels of single samples and annotators move alpha, which the jackknives over both share."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.codes import WholeNumbers
from promptaudit.udfs.stability.krippendorff import alpha, ordinal_positions
from promptaudit.udfs.stability.ratings import MISSING, Ratings

Sums = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""A function that sums a figure of each label over the labels of each family and unit, shape (n_families, n_units)."""


def variance_of_cells(replicates: Sequence[Ratings], families: WholeNumbers) -> float:
    """Sums, over samples and families of annotators, the square of how far mean alpha moves without their labels.

    The jackknife over samples and the one over families both include it, so that their sum counts it twice. Where each
    sample has q of Q annotators it is the larger part of either. Where any sample has labels of all annotators who gave
    any, the grid is full but for some missing labels, and the sum, which is next to nothing there, is given as 0.

    Args:
        replicates: over the same annotators and units.
        families: shape (n_annotators,), dense codes.

    Source:
        Cameron, Gelbach and Miller 2011, variance under two-way clustering.
    """
    is_given = np.logical_or.reduce([ratings.codes != MISSING for ratings in replicates])
    if is_given[is_given.any(axis=1)].all(axis=0).any():
        return 0.0
    moved = np.mean([_moved(ratings, families) for ratings in replicates], axis=0)
    return float(np.square(moved).sum())


def _moved(ratings: Ratings, families: WholeNumbers) -> NDArray[np.float64]:
    # to first order, shape (n_families, n_units); a unit that is left with fewer than two labels loses them all, as
    # where the family is left out altogether
    codes = ratings.codes
    is_counted = (codes != MISSING) & ((codes != MISSING).sum(axis=0) >= 2)
    annotator, unit = np.nonzero(is_counted)
    label = codes[is_counted]
    shape = int(families.max()) + 1, codes.shape[1]
    block = families[annotator] * shape[1] + unit

    def sums(figure: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.bincount(block, weights=figure, minlength=shape[0] * shape[1]).reshape(shape), np.float64)

    totals = np.bincount(label, minlength=ratings.n_labels).astype(np.float64)
    size = sums(np.ones(len(label)))
    left = size.sum(axis=0) - size
    if ratings.level == "nominal":
        apart, all_within, within = totals.sum() - totals[label], *_nominal_pairs(block, unit, label, size)
    else:
        # the ranks of ordinal labels are kept
        numbers = ordinal_positions(totals[:, None])[:, 0] if ratings.level == "ordinal" else ratings.numbers
        value = numbers[label]
        apart = len(label) * value**2 - 2 * value * value.sum() + (value**2).sum()
        all_within, within = _squared_pairs(value, size, sums)
    observed = all_within / np.maximum(size.sum(axis=0) - 1, 1)
    observed_left = np.where(left >= 2, within / np.maximum(left - 1, 1), 0.0)
    apart_of = sums(apart)
    is_dropped = left < 2
    removed = np.where(is_dropped, size.sum(axis=0), size)
    removed_apart = np.where(is_dropped, apart_of.sum(axis=0), apart_of)
    n, expected = np.float64(len(label)), apart.sum()
    without = alpha(observed.sum() - observed + observed_left, n - removed, expected - 2 * removed_apart)
    return np.where(size > 0, np.nan_to_num(without - alpha(observed.sum(), n, expected)), 0.0)


def _nominal_pairs(
    block: NDArray[np.int64], unit: NDArray[np.int64], label: NDArray[np.int64], size: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    # ordered pairs of unlike labels in each unit, shape (n_units,), and without each family, shape (n_families,
    # n_units)
    n_labels = int(label.max(initial=0)) + 1
    _, slot, in_unit = np.unique(unit * n_labels + label, return_inverse=True, return_counts=True)
    _, first, of_family = np.unique(block * n_labels + label, return_index=True, return_counts=True)
    together = in_unit[slot[first]]
    m = size.sum(axis=0)
    squares = np.bincount(unit, weights=in_unit[slot], minlength=len(m))
    fewer = np.bincount(block[first], weights=of_family * (2 * together - of_family), minlength=size.size)
    return m**2 - squares, (m - size) ** 2 - (squares - fewer.reshape(size.shape))


def _squared_pairs(
    value: NDArray[np.float64], size: NDArray[np.float64], sums: Sums
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    # squared differences over ordered pairs of values, in the shapes of `_nominal_pairs`
    total, powers = sums(value), sums(value**2)
    unit_total, unit_powers, m = total.sum(axis=0), powers.sum(axis=0), size.sum(axis=0)
    left = (m - size) * (unit_powers - powers) - (unit_total - total) ** 2
    return 2 * (m * unit_powers - unit_total**2), 2 * left
