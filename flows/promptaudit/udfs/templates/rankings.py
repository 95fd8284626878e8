"""Measures whether prompt templates rank models alike, over all pairs of templates in one pass."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.resampling import generator, jackknife_variance, t_quantile
from promptaudit.udfs.sql_function import sql_function
from promptaudit.udfs.sql_types import Codes, Floats

MIN_MODELS = 3
"""With fewer models a ranking would be a single comparison."""

_PURPOSE = 6
_SPLITS = 50  # random halvings of the questions
_GROUPS = 20  # of questions, left out one at a time
_FEWEST_QUESTIONS = 20
_DECIMALS = 12  # 7/10 and the mean of seven ones and three zeros, or 1 - .3, may differ in the last bit


class RankingConsistency(NamedTuple):
    """The mean rank correlation of models over pairs of templates; NaN where undefined."""

    mean_spearman: float
    mean_spearman_textbook: float
    n_pairs: int
    n_undefined_pairs: int
    n_models: int
    n_variants: int


@sql_function()
def ranking_consistency(variant: Codes, model: Codes, accuracy: Floats) -> RankingConsistency:
    """Computes the mean Spearman correlation of the models' accuracies over all pairs of templates.

    With z_v the centred ranks of template v scaled to length 1, the correlation of a pair is z_v . z_u, and the sum
    over pairs (|sum_v z_v|^2 - n) / 2: work grows with templates x models, and no pair is computed.

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
        it; an undefined pair counts with the value of this formula.
        NaN below 3 models or 2 templates, where there are no pairs; `mean_spearman` also where every pair is undefined.

    Source:
        Hua et al. 2025, rank correlations of models over templates.

    Example:
        Two templates that rank three models alike:

        >>> found = ranking_consistency(
        ...     np.array([0, 0, 0, 1, 1, 1]), np.array([0, 1, 2] * 2), np.array([0.9, 0.5, 0.1, 0.8, 0.6, 0.3])
        ... )
        >>> round(found.mean_spearman, 6)
        1.0
    """
    n_models = int(model.max()) + 1 if len(model) else 0
    table = np.full((int(variant.max()) + 1 if len(variant) else 0, n_models), np.nan)
    table[variant, model] = np.round(accuracy, _DECIMALS)
    table = table[~np.isnan(table).any(axis=1)]
    n_variants = len(table)
    if n_models < MIN_MODELS or n_variants < 2:
        return RankingConsistency(np.nan, np.nan, 0, 0, n_models, n_variants)

    rank = _centred_ranks(table)
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


class CorrectedRanking(NamedTuple):
    """The mean rank correlation without luck of the questions, and its bounds; NaN where undefined."""

    corrected: float
    low: float
    high: float


@sql_function()
def corrected_ranking(
    sample: Codes,
    variant: Codes,
    model: Codes,
    value: Floats,
    seed: int,
) -> CorrectedRanking:
    """Estimates how alike templates would rank the models if luck of the questions had no part in their accuracies.

    Models rank differently under two templates by luck alone where their accuracies are near each other: of templates
    without any effect on six models the mean Spearman is .22, .60 and .88 at 50, 200 and 1,000 questions. In random
    halves of the questions the luck of one half is independent of the other: the mean correlation of two templates over
    opposite halves, divided by the one of a template with itself, is free of luck (Spearman's correction for
    attenuation).

    Args:
        sample: shape (n,), dense codes of the questions.
        variant: shape (n,), dense codes of the templates.
        model: shape (n,), dense codes.
        value: shape (n,), in [0, 1], one per (sample, variant, model), repetitions averaged. Missing cells are left
            out.
        seed: of the 50 halvings.

    Returns:
        `corrected`: the ratio of the means over halvings, clipped to [-1, 1], of the templates that have a value of
        each model;
        `low`, `high`: the ratio -+ t standard errors, clipped as well, by the jackknife over 20 groups of questions:
        for other questions, these templates and these models. All NaN below three models, two templates or 20
        questions, and where the correlation of a template with itself is not distinguishable from 0: then the models
        cannot be separated, and there is no ranking to agree on.

    A ranking in which one model is far from the others counts that distance in full: where the others' order is not
    known within a template either, the corrected figure is too high (.77 and .66 for a truth of .49 at 50 and 200
    questions).

    Source:
        Spearman 1904 for the correction; Quenouille 1956 for the jackknife by groups.
    """
    found = _without_luck(sample, variant, model, value, seed)
    return CorrectedRanking(np.nan, np.nan, np.nan) if found is None else CorrectedRanking(*_within(*found, 1.0))


class RankingDifference(NamedTuple):
    """How much more alike models rank under one way of scoring than under another, with bounds; NaN where undefined."""

    difference: float
    low: float
    high: float


@sql_function()
def ranking_difference(
    sample: Codes, variant: Codes, model: Codes, value: Floats, other: Floats, seed: int
) -> RankingDifference:
    """Compares how alike templates rank models under two ways of scoring the same answers, without the questions' luck.

    Args:
        sample: shape (n,), dense codes of the questions.
        variant: shape (n,), dense codes of the templates.
        model: shape (n,), dense codes.
        value: shape (n,), in [0, 1], the score of each (sample, variant, model), by a judge for example.
        other: shape (n,), the score of the same cells by the other way, by a rule for example.
        seed: of the halvings and groups, which are the same for both.

    Returns:
        `difference`, in [-2, 2]: `corrected` of `corrected_ranking` for `value` minus the same for `other`, neither
        clipped.
        `low` and `high`: -+ t standard errors by the jackknife over the same 20 groups of questions, so that common
        parts cancel. All NaN where either of the two is.
    """
    of_value, of_other = (_without_luck(sample, variant, model, each, seed) for each in (value, other))
    if of_value is None or of_other is None:
        return RankingDifference(np.nan, np.nan, np.nan)
    (ratio, without), (other_ratio, other_without) = of_value, of_other
    return RankingDifference(*_within(ratio - other_ratio, without - other_without, 2.0))


def _within(figure: float, without: NDArray[np.float64], most: float) -> list[float]:
    # the figure and its jackknife bounds, clipped to its range
    half = t_quantile(_GROUPS - 1) * float(np.sqrt(jackknife_variance(without)))
    return [float(each) for each in np.clip([figure, figure - half, figure + half], -most, most)]


def _without_luck(
    sample: Codes, variant: Codes, model: Codes, value: Floats, seed: int
) -> tuple[float, NDArray[np.float64]] | None:
    # the correlation of two templates over the one of a template with itself, for all questions and without each group
    # of them
    if len(value) == 0:
        return None
    n, n_variants, n_models = (int(codes.max()) + 1 for codes in (sample, variant, model))
    has = np.zeros((n_variants, n_models), np.bool_)
    has[variant, model] = True
    whole = np.flatnonzero(has.all(axis=1))
    if n < _FEWEST_QUESTIONS or n_models < MIN_MODELS or len(whole) < 2:
        return None
    values, counts = np.zeros((2, n, n_variants, n_models))
    values[sample, variant, model] = value
    counts[sample, variant, model] = 1
    cells = np.stack([values[:, whole], counts[:, whole]], axis=1).reshape(n, -1)
    drawn = generator(seed, _PURPOSE)
    is_first = drawn.permuted(np.tile(np.arange(n) < n // 2, (_SPLITS, 1)), axis=1).astype(np.float64)
    group = drawn.permutation(n) % _GROUPS
    # sums of each half within each group of questions, so that leaving a group out is a subtraction
    sums = np.stack([is_first[:, group == each] @ cells[group == each] for each in range(_GROUPS)])
    every = np.stack([cells[group == each].sum(axis=0) for each in range(_GROUPS)])
    shape = _SPLITS, 2, len(whole), n_models
    first, all_first, both = sums, sums.sum(axis=0), every.sum(axis=0)
    between, within = _opposite_halves(all_first.reshape(shape), (both - all_first).reshape(shape))
    without = np.array(
        [
            _opposite_halves(own.reshape(shape), (both - every[each] - own).reshape(shape))
            for each in range(_GROUPS)
            for own in [all_first - first[each]]
        ]
    )
    if not within - t_quantile(_GROUPS - 1) * np.sqrt(jackknife_variance(without[:, 1])) > 0:
        return None
    return between / within, without[:, 0] / without[:, 1]


def _opposite_halves(first: NDArray[np.float64], second: NDArray[np.float64]) -> tuple[float, float]:
    # Gives the mean correlation over opposite halves of two templates, and of a template with itself; NaN where there
    # is none. first and second hold the sums of values of each half and their counts, in the shape (n_splits, 2,
    # n_variants, n_models).
    scaled, is_ranked = [], []
    for half in (first, second):
        total, count = half[:, 0], half[:, 1]  # the total of no values is 0 but for rounding
        accuracy = np.round(np.divide(total, count, out=np.full(count.shape, np.nan), where=count > 0), _DECIMALS)
        rank = _centred_ranks(np.nan_to_num(accuracy))
        length = np.sqrt(np.square(rank).sum(axis=2, keepdims=True))
        own = ~np.isnan(accuracy).any(axis=2) & (length[:, :, 0] > 0)
        scaled.append(np.where(own[:, :, None], rank / np.where(length > 0, length, 1), 0.0))
        is_ranked.append(own)
    n_within = (is_ranked[0] & is_ranked[1]).sum()
    n_between = (is_ranked[0].sum(axis=1) * is_ranked[1].sum(axis=1)).sum() - n_within
    within = (scaled[0] * scaled[1]).sum()
    between = (scaled[0].sum(axis=1) * scaled[1].sum(axis=1)).sum() - within
    return between / n_between if n_between else np.nan, within / n_within if n_within else np.nan


def _centred_ranks(accuracy: NDArray[np.float64]) -> NDArray[np.float64]:
    # over the last axis, ties by their average: half of (how many are smaller minus how many are larger)
    return np.asarray(np.sign(accuracy[..., :, None] - accuracy[..., None, :]).sum(axis=-1) / 2, np.float64)
