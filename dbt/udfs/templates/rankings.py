"""Measures whether prompt templates rank models alike, over all pairs of templates in one pass."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MIN_MODELS = 3
"""Fewest models whose ranking is more than one comparison."""

_DECIMALS = 12  # 7/10 and the mean of seven ones and three zeros, or 1 - .3, may differ in the last bit


class RankingConsistency(NamedTuple):
    """The mean rank correlation of models over pairs of templates; NaN where undefined."""

    mean_spearman: float
    mean_spearman_textbook: float
    n_pairs: int
    n_undefined_pairs: int
    n_models: int
    n_variants: int


def ranking_consistency(
    variant: NDArray[np.int64], model: NDArray[np.int64], accuracy: NDArray[np.float64]
) -> RankingConsistency:
    """Returns the mean Spearman correlation of the models' accuracies over all pairs of templates.

    With z_v the centred ranks of template v scaled to length 1, the correlation of a pair is z_v . z_u, and the sum
    over pairs (|sum_v z_v|^2 - n) / 2: work grows with templates x models, no pair is ever looked at.

    Args:
        variant: shape (n,), dense codes of the templates.
        model: shape (n,), dense codes.
        accuracy: shape (n,), one per (variant, model). Accuracies equal to 12 decimals are ties: one fraction, worked
            out in two ways, may differ in its last bits.

    Returns:
        Of the `n_variants` templates that have an accuracy for each of the `n_models` models, ties by average rank:
        `mean_spearman`, in [-1, 1], the mean over the `n_pairs` pairs that have a correlation; the
        `n_undefined_pairs` in which a template gives all models one accuracy have none. `mean_spearman_textbook`: mean
        over all pairs of 1 - 6 sum d^2 / (m (m^2 - 1)), m models, the formula for ranks without ties, as papers print
        it; an undefined pair counts with what it gives.
        NaN below 3 models or 2 templates, where there are no pairs; `mean_spearman` also where every pair is undefined.

    Source:
        Hua et al. 2025, rank correlations of models over templates.
    """
    n_models = int(model.max()) + 1 if len(model) else 0
    table = np.full((int(variant.max()) + 1 if len(variant) else 0, n_models), np.nan)
    table[variant, model] = np.round(accuracy, _DECIMALS)
    table = table[~np.isnan(table).any(axis=1)]
    n_variants = len(table)
    if n_models < MIN_MODELS or n_variants < 2:
        return RankingConsistency(np.nan, np.nan, 0, 0, n_models, n_variants)

    from scipy.stats import rankdata  # a second to import, and every build would

    rank = rankdata(table, axis=1) - (n_models + 1) / 2
    length = np.sqrt(np.square(rank).sum(axis=1))
    scaled = rank[length > 0] / length[length > 0, None]  # half ranks are exact: a constant template has length 0
    n_all, n_pairs = n_variants * (n_variants - 1) // 2, len(scaled) * (len(scaled) - 1) // 2
    correlations = (np.square(scaled.sum(axis=0)).sum() - len(scaled)) / 2
    # sum over pairs of (a - b)^2 is n sum a^2 - (sum a)^2
    squared_differences = n_variants * np.square(rank).sum() - np.square(rank.sum(axis=0)).sum()
    return RankingConsistency(
        mean_spearman=float(np.clip(correlations / n_pairs, -1, 1)) if n_pairs else np.nan,
        mean_spearman_textbook=float(1 - 6 * squared_differences / (n_models * (n_models**2 - 1) * n_all)),
        n_pairs=n_pairs,
        n_undefined_pairs=n_all - n_pairs,
        n_models=n_models,
        n_variants=n_variants,
    )
