"""Chooses a wording: how likely each is the best, and what the best gains over the original on samples that did not choose it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from promptaudit.udfs.resampling import generator, t_quantile
from promptaudit.udfs.sql_function import sql_function
from promptaudit.udfs.sql_types import Codes, Floats, Integers
from promptaudit.udfs.two_way_fit import solve_effects, two_way_fit

FEWEST_SAMPLES = 20
"""Samples below which no wording is chosen."""

N_DRAWS = 4000
SURE = 0.95
"""Chance that bounds hold for all wordings at once."""
_FOLDS = 10
_FOLDS_IN_PART = 2  # of grids with gaps, since each fold has to compare all wordings
_PURPOSE = 61

Table = NDArray[np.float64]
"""Shape (N, Q), values in [0, 1]; NaN where a sample was not asked under a wording."""


class WordingChoice(NamedTuple):
    """What speaks for one wording; NaN where undefined.

    Attributes:
        variant: its code.
        low, high: 95 % interval of its accuracy on other samples, of all wordings at once.
        chance_best: chance that it is the most accurate of all, in [0, 1].
        expected_loss: by how much less accurate than the best it is expected to be, at least 0.
        is_chosen: whether it is the most accurate as far as these samples tell; of equal ones the original, else the first.
        gain: of the chosen one: by how much more accurate than the original it is on samples that did not choose it.
        gain_low, gain_high: two-sided 95 % interval of that.
    """

    variant: int
    low: float
    high: float
    chance_best: float
    expected_loss: float
    is_chosen: bool
    gain: float
    gain_low: float
    gain_high: float


class Effects(NamedTuple):
    """How far each wording's accuracy lies from the mean of all, shape (Q,), and what each sample adds to that, shape (N, Q)."""

    effects: NDArray[np.float64]
    influence: NDArray[np.float64]

    def against(self, wording: int, other: int) -> tuple[float, NDArray[np.float64]]:
        """Returns by how much more accurate a wording is than another, and what each sample adds to that."""
        return (
            float(self.effects[wording] - self.effects[other]),
            self.influence[:, wording] - self.influence[:, other],
        )


@sql_function(own_codes={"variant": "variant"})
def wording_choices(sample: Codes, variant: Codes, value: Floats, is_original: Integers) -> list[WordingChoice]:
    """Returns what speaks for each wording, and which one to ship.

    The gain is cross-fitted: of each of ten parts of the samples (two in grids with gaps) it is measured with the wording that is
    the most accurate on the others, so that no sample judges a wording which it helped to choose.

    Args:
        sample: shape (n,), dense codes.
        variant: shape (n,), dense codes of the wordings.
        value: shape (n,), in [0, 1], one per (sample, variant), repetitions averaged. Cells may be missing.
        is_original: shape (n,), 1 where the wording is the original and 0 elsewhere.

    Returns:
        One row a wording, in order of its code. Empty below FEWEST_SAMPLES samples or two wordings, without an original, and
        where wordings cannot be told from samples. `low`, `high`: t on the logit with one added sample that counts half, widened
        from one wording to all by the largest of their deviations in N_DRAWS draws of normal weights of samples.
        `chance_best`, `expected_loss`: of draws from N(m, V), effects b being N(0, s^2) among wordings and N(b, S) by their
        samples, m = s^2 (s^2 I + S)^-1 b, V = s^2 I - s^4 (s^2 I + S)^-1; equal chances and no loss where wordings do not vary
        beyond noise. `gain_low` has one added sample that loses all and counts half, `gain_high` one that gains all.

    Source:
        Cross-fitting as in Chernozhukov et al. 2018; simultaneous bounds by a multiplier bootstrap, Chernozhukov et al. 2013.
    """
    if len(value) == 0 or not is_original.any():
        return []
    table = np.full((int(sample.max()) + 1, int(variant.max()) + 1), np.nan)
    table[sample, variant] = value
    original = int(variant[is_original > 0][0])
    if len(table) < FEWEST_SAMPLES or table.shape[1] < 2:
        return []
    found = _effects(table)
    if found is None:
        return []
    chosen = _best(found.effects, original)
    lows, highs = _simultaneous(table, found)
    chances, losses = _posterior(table, found)
    gain = _cross_fitted(table, original), *_gain_bounds(found, chosen, original)
    return [
        WordingChoice(
            code, lows[code], highs[code], chances[code], losses[code], code == chosen,
            *(gain if code == chosen else (np.nan, np.nan, np.nan)),
        )
        for code in range(table.shape[1])
    ]  # fmt: skip


def _best(effects: NDArray[np.float64], original: int) -> int:
    """Returns the wording of the largest effect; of equal ones the original, else the first."""
    return original if effects[original] >= effects.max() - 1e-12 else int(np.argmax(effects))


def _effects(table: Table) -> Effects | None:
    """Returns the effects of wordings by least squares; None where not all of them are compared."""
    known = ~np.isnan(table)
    counts = known.sum(axis=1, keepdims=True)
    table, known, counts = table[counts[:, 0] > 0], known[counts[:, 0] > 0], counts[counts[:, 0] > 0]
    means = np.where(known, table, 0).sum(axis=1, keepdims=True) / counts
    deviations = np.where(known, table - means, 0)
    shares = known / counts
    normal = np.diag(known.sum(axis=0).astype(float)) - shares.T @ known
    solved = solve_effects(normal, deviations.sum(axis=0))
    if int(solved.n_parts) != 1:
        return None
    fitted = known * (solved.effects - shares @ solved.effects[:, None])
    return Effects(solved.effects, (deviations - fitted) @ (solved.roots @ solved.roots.T))


def _simultaneous(table: Table, found: Effects) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns the bounds of each wording's accuracy on other samples, for all wordings at once."""
    n = len(table)
    known = ~np.isnan(table)
    own = np.where(known, table - found.effects, 0).sum(axis=1) / known.sum(axis=1)  # each sample's mean over all wordings
    accuracy = own.mean() + found.effects
    influence = (own - own.mean())[:, None] / n + found.influence
    centre = (n * np.clip(accuracy, 0, 1) + 0.25) / (n + 0.5)
    # an added sample of half a weight whose answer is as often right as wrong
    variance = n / (n - 1) * np.square(influence).sum(axis=0) + 0.5 * np.maximum(centre, 1 - centre) ** 2 / n**2
    half = _largest(influence) / 1.96 * t_quantile(n - 1) * np.sqrt(variance) / (centre * (1 - centre))
    return expit(logit(centre) - half), expit(logit(centre) + half)


def _posterior(table: Table, found: Effects) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns the chance of each wording to be the most accurate, and its expected loss against that one."""
    q = table.shape[1]
    sample, variant = np.nonzero(~np.isnan(table))
    of_wordings = two_way_fit(sample, variant, table[sample, variant]).effect_variance
    if not of_wordings > 0:
        return np.full(q, 1 / q), np.zeros(q)
    n = len(found.influence)
    noise = n / (n - 1) * found.influence.T @ found.influence
    weights = of_wordings * np.linalg.inv(of_wordings * np.eye(q) + noise)
    covariance = of_wordings * (np.eye(q) - weights)
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    root = vectors * np.sqrt(np.maximum(values, 0))
    draws = weights @ found.effects + generator(0, _PURPOSE + 1).standard_normal((N_DRAWS, q)) @ root.T
    best = draws.max(axis=1)
    chances = np.bincount(draws.argmax(axis=1), minlength=q) / N_DRAWS
    return chances, (best[:, None] - draws).mean(axis=0)


def _cross_fitted(table: Table, original: int) -> float:
    """Returns the gain over the original of the wording that the other samples choose; NaN where a part compares not all."""
    n_folds = _FOLDS_IN_PART if np.isnan(table).any() else _FOLDS
    fold = generator(0, _PURPOSE + 2).permutation(len(table)) % n_folds
    total = 0.0
    for own in range(n_folds):
        choosing, judging = _effects(table[fold != own]), _effects(table[fold == own])
        if choosing is None or judging is None:
            return np.nan
        chosen = _best(choosing.effects, original)
        total += float(judging.effects[chosen] - judging.effects[original]) * len(judging.influence)
    return total / len(table)


def _gain_bounds(found: Effects, chosen: int, original: int) -> tuple[float, float]:
    """Returns the bounds of the chosen one's gain, which hold for all wordings at once, so that to choose does not harm them.

    With one added sample that loses all, or gains all, and counts half.
    """
    n = len(found.influence)
    influence = np.delete(found.influence - found.influence[:, [original]], original, axis=1)
    gain, own = found.effects[chosen] - found.effects[original], found.influence[:, chosen] - found.influence[:, original]
    widest = _largest(influence) / 1.96 * t_quantile(n - 1)
    bounds = []
    for sign in (-1, 1):
        centre = (n * gain + 0.5 * sign) / (n + 0.5)
        variance = n / (n - 1) * float(own @ own) + 0.5 * (sign - centre) ** 2 / n**2
        bounds.append(float(np.clip(centre + sign * widest * np.sqrt(variance), -1, 1)))
    return bounds[0], bounds[1]


def _largest(influence: NDArray[np.float64]) -> float:
    """Returns what the largest deviation of any of these figures stays below in 95 % of draws; 1.96 where none varies."""
    deviation = np.sqrt(np.square(influence).sum(axis=0))
    varying = influence[:, deviation > 1e-12] / deviation[deviation > 1e-12]
    if not varying.size:
        return 1.96
    draws = generator(0, _PURPOSE).standard_normal((N_DRAWS, len(influence))) @ varying
    return float(np.quantile(np.abs(draws).max(axis=1), SURE))
