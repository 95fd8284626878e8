"""Chooses a wording: how likely each is the best, and its gain on samples that took no part in the choice."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.differences.best_of import best_of
from promptaudit.udfs.differences.difference import sums_of
from promptaudit.udfs.measures.wording_accuracies import wording_accuracies
from promptaudit.udfs.resampling import generator, logit_interval
from promptaudit.udfs.sql_function import sql_function
from promptaudit.udfs.sql_types import Codes, Floats, SmallIntegers
from promptaudit.udfs.two_way_fit import solve_effects, two_way_fit

FEWEST_SAMPLES = 20
"""With fewer samples no wording is chosen."""
SURE = 0.95
"""Bounds hold for all wordings at once with this probability."""
N_DRAWS = 4000
_FOLDS = 10
_FOLDS_IN_PART = 2  # of grids with gaps, since each part has to compare all wordings
_PURPOSE = 61
_NORMAL = 1.959964  # the absolute value of a normal deviation is below it in 95 % of draws
_NO_DEVIATION = 1e-12
_ALIKE = 1e-6  # draws that differ by less are equal but for rounding

Table = NDArray[np.float64]
"""Shape (N, Q), values in [0, 1]; NaN where a sample was not asked under a wording."""


class WordingChoice(NamedTuple):
    """The figures by which one wording is chosen or not; NaN where undefined.

    Attributes:
        variant: its code.
        accuracy, shrunk: as in `wording_accuracies`.
        low, high: 95 % interval of its accuracy on other samples, of all wordings at once.
        chance_best: probability that it is the most accurate of all, in [0, 1].
        expected_loss: how much less accurate than the best it is expected to be, in [0, 1].
        is_chosen: whether it is the most accurate on these samples; of equal ones the original, else the first.
        gain: for the chosen one, how much more accurate than the original it is on samples that took no part in the
            choice.
        plain_gain: the same on all samples, including the ones it was chosen by.
        gain_low, gain_high, p_value: interval and p-value of `plain_gain`, for all wordings at once, by `best_of`; the
            interval includes `gain` too. Where the original is chosen, `gain_high` is the highest upper bound of any
            other wording: one may still be better by as much.
    """

    variant: int
    accuracy: float
    shrunk: float
    low: float
    high: float
    chance_best: float
    expected_loss: float
    is_chosen: bool
    gain: float
    plain_gain: float
    gain_low: float
    gain_high: float
    p_value: float


class Effects(NamedTuple):
    """How far each wording's accuracy lies from the mean, shape (Q,), and what each sample adds to it, shape (N, Q)."""

    effects: NDArray[np.float64]
    influence: NDArray[np.float64]


@sql_function(own_codes={"variant": "variant"})
def wording_choices(
    sample: Codes, cluster: Codes, variant: Codes, value: Floats, is_original: SmallIntegers, seed: int
) -> list[WordingChoice]:
    """Computes the figures by which a wording is chosen, and chooses the wording to ship.

    The gain is cross-fitted: on each of ten parts of the samples (two in grids with gaps) it is measured with the
    wording that is the most accurate on the other parts, so that no sample judges a wording which it helped to choose.

    Args:
        sample: shape (n,), dense codes.
        cluster: shape (n,), dense codes of clusters of samples (a document, a user); a sample without one has its own
            code.
        variant: shape (n,), dense codes of the wordings.
        value: shape (n,), in [0, 1], one per (sample, variant), repetitions averaged. Cells may be missing.
        is_original: shape (n,), 1 where the wording is the original and 0 elsewhere.
        seed: of `best_of`.

    Returns:
        One row a wording, in order of its code. Empty below FEWEST_SAMPLES clusters or two wordings, without an
        original, and where not all wordings are compared. `low`, `high`: `logit_interval`; they include the bounds of
        the same data with one more cluster, half right under every wording, as in `two_way_interval`, and are widened
        from one wording to all by the largest of their normal deviations. `chance_best`, `expected_loss`: of N_DRAWS
        draws from N(m, V), effects b being N(0, s^2) among wordings and N(b, S) by their samples, m = s^2 (s^2 I +
        S)^-1 b and V = s^2 (I - s^2 (s^2 I + S)^-1); equal chances and no loss where wordings vary by no more than
        noise. `gain` is NaN where a part of the samples compares not all wordings.

    In simulated settings (20 × 2 to 500 × 30, in part 4 of 12 or 8 of 30; wordings with deviations of 0, .2 and .6 on
    the logit) the gain is estimated without bias, the true one lies between `gain_low` and `gain_high` in .96 to 1.0,
    and of equal wordings one is found to gain in .00 to .04. Of 20 × 10 to 500 × 30, with means of .6, .86 and .95, all
    accuracies lie in their intervals in .92 to 1.0; where each sample is asked under 2 to 4 of 8 to 30 wordings, with a
    mean of .9, in .82 to .9.

    Source:
        Cross-fitting as in Chernozhukov et al. 2018; the largest of several deviations as in Hothorn, Bretz and
        Westfall 2008.

    Example:
        Of three wordings the last is right on 25 of 40 samples more than the others, and the original is the first:

        >>> right = np.array([[0.0, 0.0, 1.0]] * 25 + [[1.0, 1.0, 1.0]] * 10 + [[0.0, 0.0, 0.0]] * 5).ravel()
        >>> sample, variant = np.repeat(np.arange(40), 3), np.tile(np.arange(3), 40)
        >>> best = wording_choices(sample, sample, variant, right, np.tile([1, 0, 0], 40), 1)[2]
        >>> best.is_chosen, round(best.gain, 3), best.gain_low > 0
        (True, 0.625, True)
    """
    if len(value) == 0 or not is_original.any():
        return []
    # in one order: of wordings that are alike the eigenvectors, and with them all draws, change with the last digit of a sum
    order = np.lexsort((variant, sample))
    sample, cluster, variant = sample[order], cluster[order], variant[order]
    value, is_original = value[order], is_original[order]
    table = np.full((int(sample.max()) + 1, int(variant.max()) + 1), np.nan)
    table[sample, variant] = value
    unit = np.zeros(len(table), np.int64)
    unit[sample] = cluster
    enough = int(cluster.max()) + 1 >= FEWEST_SAMPLES and table.shape[1] > 1
    found = _effects(table) if enough else None
    if found is None:
        return []
    original = int(variant[is_original > 0][0])
    added = found.effects + len(table) * found.influence
    gains = best_of(added - added[:, [original]], unit, seed)
    chosen = _best(found.effects, original)
    known = wording_accuracies(sample, variant, value)
    bounds, posterior = _accuracy_bounds(table, found, unit), _posterior(sample, variant, value, found, unit)
    figures = np.column_stack((known.accuracy, known.shrunk, *bounds, *posterior)).tolist()
    gain, own = _gain(table, unit, original), gains[chosen]
    most = max(each.high for code, each in enumerate(gains) if code != original) if chosen == original else own.high
    ends = max(-1.0, float(np.fmin(own.low, gain))), min(1.0, float(np.fmax(most, gain)))
    of_chosen = gain, own.difference, *ends, own.p_value
    return [
        WordingChoice._make((code, *of_wording, code == chosen, *(of_chosen if code == chosen else (np.nan,) * 5)))
        for code, of_wording in enumerate(figures)
    ]


def _best(effects: NDArray[np.float64], original: int) -> int:
    # of equal effects the original, else the first
    return original if effects[original] >= effects.max() - _NO_DEVIATION else int(np.argmax(effects))


def _effects(table: Table) -> Effects | None:
    # least squares; None where not all wordings are compared
    known = ~np.isnan(table)
    counts = np.maximum(known.sum(axis=1, keepdims=True), 1)
    means = np.nansum(table, axis=1, keepdims=True) / counts
    residuals = table - means
    residuals[~known] = 0
    shares = known / counts
    normal = np.diag(known.sum(axis=0).astype(np.float64)) - shares.T @ known
    solved = solve_effects(normal, residuals.sum(axis=0))
    if int(solved.n_parts) != 1:
        return None
    residuals += (shares @ solved.effects)[:, None]
    residuals -= solved.effects
    residuals[~known] = 0
    return Effects(solved.effects, residuals @ (solved.roots @ solved.roots.T))


def _by_unit(influence: NDArray[np.float64], unit: NDArray[np.int64]) -> NDArray[np.float64]:
    # one row a cluster, of shape (G, Q)
    return np.stack([sums_of(own, unit) for own in influence.T], axis=1)


def _largest(influence: NDArray[np.float64]) -> NDArray[np.float64]:
    # draws of the largest normal deviation, in size, of any of these figures; shape (N_DRAWS,)
    varying = influence[:, np.square(influence).sum(axis=0) > _NO_DEVIATION]
    if not varying.size:
        return np.full(N_DRAWS, _NORMAL)
    covariance = varying.T @ varying
    deviation = np.sqrt(np.diag(covariance))
    return np.asarray(np.abs(_normal(covariance / np.outer(deviation, deviation), _PURPOSE)).max(axis=1), np.float64)


def _normal(covariance: NDArray[np.float64], purpose: int) -> NDArray[np.float64]:
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    root = vectors * np.sqrt(np.maximum(values, 0))
    return np.asarray(generator(0, purpose).standard_normal((N_DRAWS, len(covariance))) @ root.T, np.float64)


def _accuracy_bounds(
    table: Table, found: Effects, unit: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    # on other samples, for all wordings at once
    n, known = len(table), ~np.isnan(table)
    of_sample = np.nansum(table - found.effects, axis=1) / np.maximum(known.sum(axis=1), 1)
    influence = _by_unit((of_sample - of_sample.mean())[:, None] / n + found.influence, unit)
    fitted, g = np.clip(of_sample.mean() + found.effects, 0, 1), len(influence)
    squares = g**2 * np.square(influence).sum(axis=0)
    of_one_more = (g * fitted + 0.5) / (g + 1)
    more = squares + g * np.square(fitted - of_one_more) + np.square(0.5 - of_one_more)
    widened = (float(np.quantile(_largest(influence), SURE)) / _NORMAL) ** 2
    plain = [
        logit_interval(rate, widened * own / (g * (g - 1)), g - 1) for rate, own in zip(fitted, squares, strict=True)
    ]
    added = [
        logit_interval(rate, widened * own / (g * (g + 1)), g) for rate, own in zip(of_one_more, more, strict=True)
    ]
    ends = np.stack([plain, added])
    return ends[:, :, 0].min(axis=0), ends[:, :, 1].max(axis=0)


def _posterior(
    sample: NDArray[np.int64],
    variant: NDArray[np.int64],
    value: NDArray[np.float64],
    found: Effects,
    unit: NDArray[np.int64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    # each wording's probability of being the most accurate, and its expected loss against the best
    influence = _by_unit(found.influence, unit)
    g, q = influence.shape
    of_wordings = two_way_fit(sample, variant, value).effect_variance
    if not of_wordings > _NO_DEVIATION:  # equal wordings may differ by rounding, and the matrix below be singular
        return np.full(q, 1 / q), np.zeros(q)
    noise = g / (g - 1) * influence.T @ influence
    weights = of_wordings * np.linalg.inv(of_wordings * np.eye(q) + noise)
    draws = weights @ found.effects + _normal(of_wordings * (np.eye(q) - weights), _PURPOSE + 1)
    loss = draws.max(axis=1, keepdims=True) - draws
    is_best = loss < _ALIKE  # wordings of the same answers are best together, whichever stands first
    chance = (is_best / is_best.sum(axis=1, keepdims=True)).mean(axis=0)
    # accuracies differ by 1 at most, normal draws may by more
    return chance, np.minimum(loss, 1).mean(axis=0)


def _gain(table: Table, unit: NDArray[np.int64], original: int) -> float:
    # the other samples choose the wording; NaN where a part does not compare all wordings
    n_folds = _FOLDS_IN_PART if np.isnan(table).any() else _FOLDS
    fold = (generator(0, _PURPOSE + 2).permutation(int(unit.max()) + 1) % n_folds)[unit]
    total = 0.0
    for own in range(n_folds):
        choosing, judging = _effects(table[fold != own]), _effects(table[fold == own])
        if choosing is None or judging is None:
            return np.nan
        chosen = _best(choosing.effects, original)
        total += float(judging.effects[chosen] - judging.effects[original]) * len(judging.influence)
    return float(np.clip(round(total / len(table), 12), -1, 1))  # whichever order the cells came in
