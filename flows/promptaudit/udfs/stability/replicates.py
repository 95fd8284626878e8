"""Decides which replicates of a group of annotators enter the mean of its prompt stability."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.resampling import mean_defined


def is_large_enough(n_units: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Marks the replicates that have at least half as many pairable units as the largest one.

    Args:
        n_units: shape (n_replicates, ...), pairable units of each replicate; each column is judged by itself.

    Returns:
        Same shape; False where there are no units.
    """
    return np.asarray((n_units > 0) & (2 * n_units >= n_units.max(axis=0)), np.bool_)


def counted_replicates(n_units: NDArray[np.int64], is_degenerate: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Marks the replicates that count in the mean: large enough ones whose labels vary, else all large enough ones.

    A degenerate replicate has an alpha of 1 by convention, and one with few units an alpha by chance. Neither carries
    as much information as a full replicate, so neither weighs as much.

    Args:
        n_units: shape (n_replicates, ...), pairable units of each replicate.
        is_degenerate: same shape, whether only one label occurs among their values.

    Returns:
        Same shape; False throughout where nothing is pairable.
    """
    is_large = is_large_enough(n_units)
    is_varied = is_large & ~is_degenerate
    return np.where(is_varied.any(axis=0), is_varied, is_large)


def mean_of_varied(figures: NDArray[np.float64], is_degenerate: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Averages over replicates whose labels vary, or over degenerate ones where there is no other.

    Args:
        figures: shape (n_replicates, ...), NaN where undefined.
        is_degenerate: same shape, whether only one label occurs among the values.

    Returns:
        Shape (...,); NaN where no figure is defined.
    """
    varied = mean_defined(np.where(is_degenerate, np.nan, figures))
    return np.where(np.isnan(varied), mean_defined(figures), varied)
