"""Krippendorff's alpha: the plain reference, and the two formulas that the fast path shares with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

Level = Literal["nominal", "ordinal", "interval"]
LEVELS: tuple[Level, ...] = get_args(Level)

# expected disagreement below this share of the sum of squares is rounding of numbers that are all equal
_NO_VARIATION = 1e-12


def krippendorff_alpha(units: Sequence[Sequence[object | None]], level: Level) -> float:
    """Returns Krippendorff's alpha, 1 - D_o / D_e, of units judged by several annotators.

    Written to be read and compared with; `stability` computes the same for many series at once.

    Args:
        units: one sequence of labels per unit; None is a missing label. Labels are numbers for ordinal (their order
            counts) and interval (their distance counts), anything hashable for nominal.
        level: which distance between labels: 0/1, ordinal from the marginals, or the squared difference.

    Returns:
        1 for perfect agreement, 0 for chance, negative below it. 1 also where no label differs from any other at all;
        NaN where no unit has two labels.

    Source:
        Krippendorff, Computing Krippendorff's Alpha-Reliability (2011); PSS of Barrie et al. 2025.
    """
    pairable = [[label for label in unit if label is not None] for unit in units]
    pairable = [unit for unit in pairable if len(unit) > 1]
    distinct = {label: None for unit in pairable for label in unit}
    labels = list(distinct) if level == "nominal" else sorted(distinct)  # type: ignore[type-var]
    position = {label: c for c, label in enumerate(labels)}
    coincidences = np.zeros((len(labels), len(labels)))
    for unit in pairable:
        for i, first in enumerate(unit):
            for j, second in enumerate(unit):
                if i != j:
                    coincidences[position[first], position[second]] += 1 / (len(unit) - 1)
    counts = coincidences.sum(axis=1)
    if level == "nominal":
        distances = 1.0 - np.eye(len(labels))
    else:
        scale = ordinal_positions(counts) if level == "ordinal" else np.array(labels, np.float64)
        distances = (scale[:, None] - scale) ** 2
    observed = float((coincidences * distances).sum())
    expected = float(counts @ distances @ counts)
    return float(alpha(np.float64(observed), np.float64(counts.sum()), np.float64(expected)))


def ordinal_positions(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns where each label stands so that squared differences are the ordinal distances.

    The ordinal distance of c and k is (sum of counts from c to k, less half of each end)^2, which is the square of the
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
    """Returns 1 - (n - 1) observed / expected, elementwise.

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
    """Returns the sum of squared differences over ordered pairs of n values, from n, their sum and their sum of squares.

    Zero where it is not above the rounding of the squares, so that equal values count as equal.
    """
    expected = 2 * (n_values * squares - sums**2)
    return np.where(expected > _NO_VARIATION * n_values * squares, expected, 0.0)
