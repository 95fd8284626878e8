"""Measures uncertainty: seeded bootstrap weights, jackknife variances and t intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtri, stdtrit

TAIL = 0.025
"""The probability outside each end of an interval."""

_CHUNK_CELLS = 4_000_000  # float64 cells of one chunk of weights: 32 MB, and twice that again while drawing
_COUNTED_CELLS = 1 << 15  # float64 cells of the resamples that are counted at once
_KEPT_CELLS = 1 << 19  # float64 cells of the largest weights that are kept: 4 MB
_NO_DEVIATION = 1e-24  # below it the square of a deviation is rounding


FEWEST_BEARING = 20
"""Where fewer samples bear a variance, bounds also include the bounds of the same data with one added sample."""

MIN_UNITS = 3
"""Bounds for other wordings need at least so many units of wordings."""


class Interval(NamedTuple):
    """The lower and upper bound of a figure; NaN where undefined."""

    low: float
    high: float


UNDEFINED = Interval(np.nan, np.nan)


def t_quantile(degrees_of_freedom: float, tail: float = TAIL) -> float:
    """Computes the quantile that Student's t exceeds with a probability of `tail`; NaN below one degree of freedom."""
    if degrees_of_freedom < 1:
        return np.nan
    return float(stdtrit(degrees_of_freedom, 1 - tail))


def jackknife_variance(replicates: NDArray[np.float64]) -> float:
    """Computes (n - 1)/n times the sum of squares of n leave-one-out figures around their mean; NaN below two.

    Undefined figures are left out.
    """
    figures = replicates[~np.isnan(replicates)]
    n = len(figures)
    if n < 2:
        return np.nan
    return (n - 1) / n * float(np.square(figures - figures.mean()).sum())


def bearing_samples(effects: NDArray[np.float64]) -> float:
    """Counts the samples that bear a variance: (sum of squares)^2 over the sum of fourth powers of their deviations.

    The count is k where k of many samples deviate equally and the others hardly do, n/3 for n normal deviations, and 0
    where there are none.

    Args:
        effects: shape (n,), the effect of each sample on a figure; deviations are from their mean.
    """
    squares = np.square(effects - effects.mean()) if len(effects) else effects
    if not (squares > _NO_DEVIATION).any():
        return 0.0
    return float(squares.sum() ** 2 / (squares @ squares))


def n_effective(unit_of: NDArray[np.int64]) -> float:
    """Computes the effective number of units, 1 / (sum of squares of the units' parts), which is at most their number.

    Args:
        unit_of: shape (n,), n > 0, dense codes of the unit that each variant belongs to.
    """
    part = np.bincount(unit_of) / len(unit_of)
    return float(1 / (part @ part))


def satterthwaite(
    of_samples: float, of_wordings: float, samples_free: float, wordings_free: float, total: float | None = None
) -> float:
    """Computes the degrees of freedom of a variance in two parts.

    V^2 / (V_samples^2 / f_samples + V_wordings^2 / f_wordings)

    Args:
        of_samples: V_samples, >= 0.
        of_wordings: V_wordings, >= 0.
        samples_free: degrees of freedom of V_samples; values below 1 count as 1.
        wordings_free: degrees of freedom of V_wordings; values below 1 count as 1.
        total: V where it is less than the sum of its parts; None for their sum.

    Returns:
        f_samples where nothing varies; NaN where a part is undefined.

    Source:
        Satterthwaite 1946.
    """
    total = of_samples + of_wordings if total is None else total
    if not total > 0:
        return total if np.isnan(total) else float(samples_free)
    uncertain = of_samples**2 / max(samples_free, 1) + of_wordings**2 / max(wordings_free, 1)
    return float(total**2 / uncertain)


def two_part_half_width(of_samples: float, of_wordings: float, samples_free: float, wordings_free: float) -> float:
    """Computes t times sqrt(V_samples + V_wordings) at 95 %, t with the degrees of freedom of `satterthwaite`.

    Takes the arguments of `satterthwaite`.

    Returns:
        0 where nothing varies; NaN where a part is undefined.
    """
    total = of_samples + of_wordings
    if not total > 0:
        return total
    return t_quantile(satterthwaite(of_samples, of_wordings, samples_free, wordings_free)) * float(np.sqrt(total))


def logit_interval(rate: float, variance: float, degrees_of_freedom: float) -> Interval:
    """Computes the bounds of a rate from a t interval on its logit, ln(p / (1 - p)) -+ t se / (p (1 - p)).

    Near 0 and 1 a rate is skewed, so that rate -+ t se leaves [0, 1] on one side and ends too early on the other.

    Args:
        rate: p, in [0, 1].
        variance: of the rate, >= 0.
        degrees_of_freedom: of the variance.

    Returns:
        Strictly inside (0, 1) for a rate inside it; [0, 0] and [1, 1] for 0 and 1, whose logit is infinite: such a rate
        needs the bound of an added sample. NaN where the variance is undefined or has no degree of freedom.
    """
    half = t_quantile(degrees_of_freedom) * np.sqrt(variance)
    if np.isnan(half):
        return UNDEFINED
    if not 0 < rate < 1:
        return Interval(rate, rate)
    return Interval(*(float(expit(logit(rate) + sign * half / (rate * (1 - rate)))) for sign in (-1, 1)))


def moved_on_the_logit(bound: float, rate: float, to: float) -> float:
    """Moves a bound of one rate to another rate, at the same distance on the logit.

    Args:
        bound: in [0, 1].
        rate: the rate of the bound, in [0, 1].
        to: the other rate, in [0, 1].

    Returns:
        In [0, 1]. The bound stays as it is where a rate is 0 or 1, from which no distance on the logit scale is
        defined.
    """
    if bound in (0, 1) or not (0 < rate < 1 and 0 < to < 1):
        return bound
    return float(expit(logit(bound) + logit(to) - logit(rate)))


def widened(figure: float, low: float, high: float, n_figures: int) -> Interval:
    """Widens the 95 % interval of a figure that is shown because it is the largest, or the least, of several.

    The figure's own interval covers the truth of the largest of 18 in only about .6 of cases. Its half-widths on the
    logit scale are multiplied by z(1 - .025 / m) / z(.975), so that all m intervals cover their truths at once
    (Bonferroni).

    Args:
        figure: the one that is shown.
        low: lower end of its own 95 % interval.
        high: upper end of it.
        n_figures: m, 1 or more, the number of figures that it was picked from; 1 leaves the interval as it is.

    Returns:
        Inside [0, 1] where the three are. A figure of 0 or 1, or outside, is widened on its own scale.
    """
    wider = ndtri(1 - TAIL / n_figures) / ndtri(1 - TAIL)
    if 0 < figure < 1 and low >= 0 and high <= 1:
        return Interval(*(float(expit(logit(figure) + wider * (logit(end) - logit(figure)))) for end in (low, high)))
    least, most = (0, 1) if low >= 0 and high <= 1 else (-np.inf, np.inf)
    return Interval(*(float(np.clip(figure + wider * (end - figure), least, most)) for end in (low, high)))


def generator(seed: int, purpose: int) -> np.random.Generator:
    """Makes a generator for one purpose under one seed; draws for one purpose do not change draws for another."""
    return np.random.default_rng([seed % 2**64, purpose])


def weights(rng: np.random.Generator, n_units: int, n_resamples: int) -> NDArray[np.float64]:
    """Draws how often each unit occurs in each bootstrap resample of n_units from n_units.

    Returns:
        Shape (n_units, n_resamples), whole numbers; each column sums to n_units.
    """
    counts = np.empty((n_resamples, n_units))
    step = max(1, _COUNTED_CELLS // max(1, n_units))  # few enough to be counted in the cache
    for start in range(0, n_resamples, step):
        part = counts[start : start + step]
        drawn = rng.integers(0, n_units, size=part.shape, dtype=np.int32)
        drawn += np.arange(len(part), dtype=np.int32)[:, None] * n_units
        part[:] = np.bincount(drawn.ravel(), minlength=part.size).reshape(part.shape)
    return np.ascontiguousarray(counts.T)


def resampled_units(
    seed: int, purpose: int, sizes: Sequence[int], n_resamples: int, n_rows: int
) -> Iterator[NDArray[np.float64]]:
    """Yields the weights of seeded resamples within strata, in chunks; equal arguments give equal draws.

    Small tables are kept, since the next task often has as many samples and would draw the same again. At most 16
    tables of 4 MB stay in memory.

    Args:
        seed: of the draws.
        purpose: as in `generator`.
        sizes: units of each stratum.
        n_resamples: B.
        n_rows: floats that a resample takes in the caller's computation.

    Yields:
        Shape (sum of sizes, n_chunk), not to be written to.
    """
    key = tuple(int(size) for size in sizes)
    parts = list(chunks(n_resamples, n_rows))
    if len(parts) == 1 and sum(key) * n_resamples <= _KEPT_CELLS:
        yield _kept_weights(seed, purpose, key, n_resamples)
        return
    rng = generator(seed, purpose)
    for n_chunk in parts:
        yield np.concatenate([weights(rng, size, n_chunk) for size in key])


@lru_cache(maxsize=16)
def _kept_weights(seed: int, purpose: int, sizes: tuple[int, ...], n_resamples: int) -> NDArray[np.float64]:
    rng = generator(seed, purpose)
    weight = np.concatenate([weights(rng, size, n_resamples) for size in sizes])
    weight.setflags(write=False)
    return weight


def chunks(n_resamples: int, n_rows: int) -> Iterator[int]:
    """Yields the sizes of chunks of resamples, such that n_rows floats of each resample fit in memory."""
    size = max(1, min(n_resamples, _CHUNK_CELLS // max(1, n_rows)))
    for start in range(0, n_resamples, size):
        yield min(size, n_resamples - start)


def percentile_interval(replicates: NDArray[np.float64]) -> NDArray[np.float64]:
    """Computes the 2.5th and 97.5th percentile over the last axis, undefined replicates left out.

    Args:
        replicates: shape (n_resamples,) or (n_figures, n_resamples).

    Returns:
        Shape (2,) or (n_figures, 2); NaN where no replicate is defined.
    """
    percents = [100 * TAIL, 100 * (1 - TAIL)]
    rows = np.atleast_2d(replicates)
    bounds = np.full((len(rows), 2), np.nan)
    is_defined = ~np.isnan(rows)
    is_complete = is_defined.all(axis=1) & (rows.shape[1] > 0)
    if is_complete.any():
        bounds[is_complete] = np.percentile(rows[is_complete], percents, axis=1).T
    for row in np.flatnonzero(~is_complete & is_defined.any(axis=1)):
        bounds[row] = np.percentile(rows[row, is_defined[row]], percents)
    return bounds if replicates.ndim > 1 else bounds[0]


def percentile_interval_of(figure: float, replicates: NDArray[np.float64]) -> Interval:
    """Widens the `percentile_interval` of replicates, shape (n_resamples,), to include the figure; NaN if either is."""
    low, high = percentile_interval(replicates).tolist()
    return Interval(float(np.minimum(low, figure)), float(np.maximum(high, figure)))


def mean_defined(figures: NDArray[np.float64]) -> NDArray[np.float64]:
    """Averages the defined values over the first axis; NaN where there are none."""
    is_defined = ~np.isnan(figures)
    n_defined = is_defined.sum(axis=0)
    sums = np.where(is_defined, figures, 0.0).sum(axis=0)
    return np.where(n_defined > 0, sums / np.maximum(n_defined, 1), np.nan)
