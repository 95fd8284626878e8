"""Computes Krippendorff's alpha from sums of distances, and the distances of each level of measurement.

Source:
    Krippendorff, Computing Krippendorff's Alpha-Reliability (2011).
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

Level = Literal["nominal", "ordinal", "interval"]
LEVELS: tuple[Level, ...] = get_args(Level)

# expected disagreement below this share of the sum of squares is rounding of numbers that are all equal
_NO_VARIATION = 1e-12


def ordinal_positions(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Computes positions of the labels such that squared differences of positions are the ordinal distances.

    The ordinal distance of c and k is (sum of counts from c to k, minus half of each end)^2, which is the square of the
    difference of their mid-ranks; ordinal alpha is interval alpha on mid-ranks.

    Args:
        counts: shape (n_labels, ...), pairable values of each label, in the labels' order.

    Returns:
        Same shape, centred: 0 is the mean mid-rank.
    """
    return np.asarray(np.cumsum(counts, axis=0) - counts / 2 - counts.sum(axis=0) / 2, np.float64)


def alpha(
    observed: NDArray[np.float64] | np.float64,
    n_values: NDArray[np.float64] | np.float64,
    expected: NDArray[np.float64] | np.float64,
) -> NDArray[np.float64]:
    """Computes 1 - (n - 1) observed / expected, elementwise.

    Args:
        observed: sum over units of the distances of its ordered pairs of values, over m_u - 1.
        n_values: n, the number of pairable values.
        expected: sum of the distances of all ordered pairs of the n values.

    Returns:
        1 where the values do not differ (expected 0), NaN where there are none.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        figure = 1 - (n_values - 1) * observed / expected
    return np.where(np.asarray(n_values) < 1, np.nan, np.where(np.asarray(expected) == 0, 1.0, figure))


def interval_expected(
    n_values: NDArray[np.float64], sums: NDArray[np.float64], squares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Sums squared differences over ordered pairs of n values, from n, their sum and their sum of squares.

    Zero where it is not above the rounding of the squares, so that equal values count as equal.
    """
    expected = 2 * (n_values * squares - sums**2)
    return np.where(expected > _NO_VARIATION * n_values * squares, expected, 0.0)
