"""Estimates how far the effect of a kind would differ with other variants of it, and computes bounds from that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from promptaudit.udfs.codes import dense_codes
from promptaudit.udfs.resampling import satterthwaite, t_quantile
from promptaudit.udfs.two_way import TwoWayVariance, two_way_variance

FEWEST = 2
"""An interval needs at least so many variants of a kind, or families of wordings, besides the original."""

MOST_FREE = 2
"""An interval has at most this multiple of the variants' degrees of freedom.

A variance over two or three variants is often small by chance, and would then weigh nothing in the degrees of freedom
of Satterthwaite.
"""


class Spread(NamedTuple):
    """How unequal the units' distances are, from the original and from each other; None where there are too few."""

    from_original: TwoWayVariance | None
    apart: TwoWayVariance | None

    def at(self, n_units: int) -> TwoWayVariance | None:
        """Computes the variance over units of the effect of so many units; None for a single unit.

        Each mean of distances varies by the variance of the distances over the number of units.
        """
        if self.from_original is None:
            return None
        near, far = weights(n_units)
        n = round(self.from_original.n_variants)
        of_pairs = [(near**2, self.from_original)]
        if self.apart is not None:  # its variance is over the number of pairs, n (n - 1) / 2
            of_pairs.append((far**2 * (n - 1) / 2, self.apart))
        variants, both = (
            sum(factor * getattr(part, name) for factor, part in of_pairs) for name in ("variants", "both")
        )
        return TwoWayVariance(variants, both, n)


def weights(n_units: int) -> tuple[float, float]:
    """Computes which parts of all pairs of so many units are pairs with the original, and pairs of two units."""
    return 2 / (n_units + 1), (n_units - 1) / (n_units + 1)


def bounds_of(effects: NDArray[np.float64], variance: TwoWayVariance, tail: float) -> tuple[float, float]:
    """Computes mean -+ t standard errors; the upper bound puts the variants' part beyond noise on a logarithmic scale.

    The effect of few variants is skewed as a variance is: where it is small, so is its standard error. The part added
    on the logarithmic scale ends at 1.
    """
    of_samples, effect = float(effects.var(ddof=1)) / len(effects), float(effects.mean())
    free = variance.degrees_of_freedom(of_samples, len(effects))
    quantile = t_quantile(min(free, MOST_FREE * (variance.n_variants - 1)), tail)
    total = variance.total(of_samples)
    up = half = quantile * float(np.sqrt(total))
    if effect > 0:
        own = min(max(0.0, variance.variants - variance.both), total)
        # at most the uncertainty of the variance of so many normal values
        most = np.log(variance.n_variants / chdtri(variance.n_variants, 1 - tail))
        added = effect * np.expm1(min(quantile * np.sqrt(own) / effect, most))
        up = max(half, min(1 - effect, float(np.hypot(quantile * np.sqrt(total - own), added))))
    return effect - half, effect + up


def bounds_of_difference(
    difference: NDArray[np.float64], variances: Sequence[TwoWayVariance], tail: float
) -> tuple[float, float]:
    """Computes mean -+ t standard errors of the samples' differences of two effects, with both kinds' variances."""
    of_samples = float(difference.var(ddof=1)) / len(difference)
    of_variants = sum(part.variants for part in variances)
    total = max(of_samples + of_variants - sum(part.both for part in variances), of_samples, of_variants)
    samples_free, variants_free = len(difference) - 1, _free(variances)
    free = max(
        min(samples_free, variants_free),
        satterthwaite(of_samples, of_variants, samples_free, variants_free, total),
    )
    half = t_quantile(min(free, MOST_FREE * variants_free), tail) * float(np.sqrt(total))
    return float(difference.mean()) - half, float(difference.mean()) + half


def variance_over(
    sample: NDArray[np.int64], unit: NDArray[np.int64], value: NDArray[np.float64]
) -> TwoWayVariance | None:
    """Computes `two_way_variance` of a table's entries, whose codes need not be dense; None below FEWEST units."""
    if len(np.unique(unit)) < FEWEST:
        return None
    return two_way_variance(dense_codes(sample)[0], dense_codes(unit)[0], value)


def variance_of_table(table: NDArray[np.float64]) -> TwoWayVariance | None:
    """Computes the same for a table of samples by units, NaN where empty; a full table by its plain means."""
    rows = table[np.isfinite(table).any(axis=1)]
    n, n_units = rows.shape
    if n > 1 and n_units >= FEWEST and np.isfinite(rows).all():
        left = rows - rows.mean(axis=0)
        left -= left.mean(axis=1, keepdims=True)
        both = float(np.square(left).sum()) / ((n - 1) * (n_units - 1) * left.size)
        return TwoWayVariance(float(rows.mean(axis=0).var(ddof=1)) / n_units, both, n_units)
    sample, column = np.nonzero(np.isfinite(table))
    return variance_over(sample, column, table[sample, column])


def larger(one: TwoWayVariance | None, other: TwoWayVariance | None) -> TwoWayVariance | None:
    """Picks the variance that is larger beyond noise.

    Pseudo-values may be equal by chance where distances are not, and the reverse.
    """
    if one is None or other is None:
        return one
    return other if other.variants - other.both > one.variants - one.both else one


def _free(parts: Sequence[TwoWayVariance]) -> float:
    total = sum(part.variants for part in parts)
    uncertain = sum(part.variants**2 / max(1.0, part.n_variants - 1) for part in parts)
    return total**2 / uncertain if uncertain > 0 else np.inf
