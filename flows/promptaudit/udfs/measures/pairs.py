"""Sums over all ordered pairs of samples without a table of pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_MATRIX_GRID = 256  # up to here the two matrix products beat cumulative sums
_HISTOGRAM_CELLS = 4_000_000  # 32 MB; beyond it a joint histogram is mostly zeros and merging is smaller


def squared_differences(x: NDArray[np.float64]) -> float:
    """Sums (x_i - x_j)^2 over ordered pairs; x of shape (n,)."""
    centred = x - x.mean()
    return float(2 * len(x) * (centred @ centred))


def half_distances(
    at_least: NDArray[np.float64], n: NDArray[np.float64], gaps: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Computes half the sum over ordered pairs of |x_i - x_j|: sum of gap a (n - a), a of n values reaching a step.

    Args:
        at_least: shape (..., n_steps), how many values reach each step, in any order of the steps.
        n: shape (..., 1) or (..., n_steps), how many values there are.
        gaps: shape (n_steps,), the height of each step above the one below it, of the lowest above 0.
    """
    return np.asarray((at_least * (n - at_least)) @ gaps, np.float64)


def difference_products(
    x: NDArray[np.int64], x_grid: NDArray[np.float64], y: NDArray[np.int64], y_grid: NDArray[np.float64]
) -> float:
    """Sums |x_i - x_j| |y_i - y_j| over ordered pairs.

    sum H * (A H B), with H the joint histogram and A, B the absolute differences of the grids: n samples cost n,
    however many pairs they make. Where the grids are too fine for a histogram pairs are merged by sorting, n log^2 n.

    Args:
        x: shape (n,), positions in x_grid.
        x_grid: ascending values.
        y: shape (n,), positions in y_grid.
        y_grid: ascending values.
    """
    size = len(x_grid) * len(y_grid)
    if size > _HISTOGRAM_CELLS:
        return _merged_products(x_grid[x], y_grid[y])
    histogram = np.bincount(x * len(y_grid) + y, minlength=size).astype(np.float64).reshape(len(x_grid), -1)
    distances = _times_differences(x_grid, histogram)
    return float((histogram * _times_differences(y_grid, distances.T).T).sum())


def _times_differences(grid: NDArray[np.float64], matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    # |grid_i - grid_j| @ matrix
    if len(grid) <= _MATRIX_GRID:
        return np.asarray(np.abs(grid[:, None] - grid) @ matrix, np.float64)
    column = grid[:, None]
    below, below_value = np.cumsum(matrix, axis=0), np.cumsum(column * matrix, axis=0)
    return np.asarray(column * (2 * below - below[-1]) - (2 * below_value - below_value[-1]), np.float64)


def _merged_products(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    # merges ever larger blocks of ascending x; within a merge the sign of y decides
    by_x = np.argsort(x, kind="stable")
    x, y = x[by_x], y[by_x]
    by_y = np.argsort(y, kind="stable")
    total, block = 0.0, 1
    while block < len(x):
        # positions grouped by pair of blocks, ascending y within: both sorts are stable
        order = by_y[np.argsort(by_y // (2 * block), kind="stable")]
        group, is_left = order // (2 * block), (order // block) % 2 == 0
        starts = np.searchsorted(group, np.arange(group[-1] + 1))
        ends = np.append(starts[1:], len(order)) - 1
        ordered_x, ordered_y = x[order], y[order]
        signed = np.zeros(len(order))
        # sum over left l of (x - x_l)(y - y_l) sign(y - y_l), expanded into four prefix sums
        for factor, of_left in (
            (ordered_x * ordered_y, np.ones(len(order))),
            (-ordered_x, ordered_y),
            (-ordered_y, ordered_x),
            (np.ones(len(order)), ordered_x * ordered_y),
        ):
            prefix = np.cumsum(np.where(is_left, of_left, 0.0))
            before = np.where(starts > 0, prefix[starts - 1], 0.0)
            signed += factor * (2 * prefix - before[group] - prefix[ends][group])
        total += float(signed[~is_left].sum())
        block *= 2
    return 2 * total
