"""Measures sensitivity to the wording, plain and corrected for few wordings, with two-way jackknife intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from promptaudit.udfs.codes import are_one_to_one, blocks_of, dense_codes
from promptaudit.udfs.measures.entropy import ROUNDING
from promptaudit.udfs.resampling import MIN_UNITS, UNDEFINED, Interval, logit_interval
from promptaudit.udfs.sql_function import sql_function
from promptaudit.udfs.sql_types import Codes, Floats, Groups, Labels
from promptaudit.udfs.two_way import TwoWayVariance, two_way_variance

FEWEST_CORRECTED = 8
"""Sensitivity is corrected from so many wordings: with fewer, more than half of the bias may be left."""


class SensitivityInterval(NamedTuple):
    """Mean sensitivity with its bounds, and the corrected figure with its bounds; NaN where undefined."""

    mean: float
    low: float
    high: float
    corrected: float
    corrected_low: float
    corrected_high: float


class PseudoValues(NamedTuple):
    """The jackknife's pseudo-values [Q S_i - (Q - n) S_i^(-u)] / n of a table, and the S_i of its samples.

    A unit u is a wording (n = 1), or a family of n of the Q wordings that the sample was asked under.
    """

    sample: NDArray[np.int64]  # per (sample, unit)
    unit: NDArray[np.int64]
    value: NDArray[np.float64]
    by_sample: NDArray[np.float64]  # per sample; NaN of fewer than two units
    n_wordings: NDArray[np.int64]  # per sample

    def means(self) -> NDArray[np.float64]:
        """Averages each sample's pseudo-values into its corrected sensitivity; NaN with fewer than two units."""
        n_units = np.bincount(self.sample, minlength=len(self.by_sample))
        sums = np.bincount(self.sample, weights=self.value, minlength=len(self.by_sample))
        return np.where(n_units > 0, sums / np.maximum(n_units, 1), np.nan)


def pseudo_values(
    sample: NDArray[np.int64],
    unit: NDArray[np.int64],
    label: NDArray[np.int64],
    p: NDArray[np.float64],
    n_classes: NDArray[np.int64],
) -> PseudoValues:
    """Computes the sensitivity of each sample and the jackknife's pseudo-values over wordings or families of them.

    Args:
        sample: shape (n,), dense codes, n > 0.
        unit: shape (n,), dense codes of the wording or its family.
        label: shape (n,), dense codes, N/A being one of them.
        p: shape (n,), share of a wording's answers with the label, summed over the family; zeros may be left out. Each
            (sample, unit, label) stands at most once, and the sum over labels is the number of wordings.
        n_classes: shape (n_samples,), C of each sample.

    Returns:
        One value per (sample, unit) of each sample with two units or more and C >= 2.

    Source:
        Errica et al. 2025 for S; Quenouille 1956 for the jackknife.
    """
    by_sample, n_wordings = np.full(len(n_classes), np.nan), np.zeros(len(n_classes), np.int64)
    samples, units, values = np.empty(len(p), np.int64), np.empty(len(p), np.int64), np.empty(len(p))
    n_kept, n_units, n_labels = 0, int(unit.max()) + 1, int(label.max()) + 1
    for of_block, entries in blocks_of(sample):
        n_samples = of_block.stop - of_block.start
        own, p_own, classes = sample[entries] - of_block.start, p[entries], n_classes[of_block]
        asked, keys = dense_codes(own * n_units + unit[entries])
        of_asked = keys // n_units
        cell, cells = dense_codes(own * n_labels + label[entries])
        total = np.bincount(cell, weights=p_own)
        # -sum q ln q of q = x / m is ln m - sum x ln x / m, so that leaving out a unit changes its own labels alone
        whole = np.bincount(cells // n_labels, weights=xlogy(total, total), minlength=n_samples)
        left = np.maximum(total[cell] - p_own, 0.0)
        change = np.bincount(asked, weights=xlogy(left, left) - xlogy(total, total)[cell])
        n_of_unit = np.rint(np.bincount(asked, weights=p_own))
        q = np.bincount(of_asked, weights=n_of_unit, minlength=n_samples)
        is_whole = (np.bincount(of_asked, minlength=n_samples) > 1) & (classes >= 2)
        scale = np.log(np.where(is_whole, classes, 2))
        sensitivity = _within((np.log(np.maximum(q, 1)) - whole / np.maximum(q, 1)) / scale)
        is_kept = is_whole[of_asked]
        rows = of_asked[is_kept]
        n, rest = n_of_unit[is_kept], q[rows] - n_of_unit[is_kept]
        without = _within((np.log(rest) - (whole[rows] + change[is_kept]) / rest) / scale[rows])
        place = slice(n_kept, n_kept + len(rows))
        samples[place], units[place] = rows + of_block.start, keys[is_kept] % n_units
        values[place] = (q[rows] * sensitivity[rows] - rest * without) / n
        by_sample[of_block] = np.where(is_whole, sensitivity, np.nan)
        n_wordings[of_block] = q
        n_kept = place.stop
    return PseudoValues(samples[:n_kept], units[:n_kept], values[:n_kept], by_sample, n_wordings)


def _within(sensitivity: NDArray[np.float64]) -> NDArray[np.float64]:
    # rounding may leave figures just off 0 or 1
    return np.where(sensitivity < ROUNDING, 0.0, np.where(sensitivity > 1 - ROUNDING, 1.0, sensitivity))


@sql_function(at_once=True)
def corrected_sensitivity(
    sample: Groups,
    variant: Codes,
    label: Labels,
    p: Floats,
    n_classes: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Computes the sensitivity of each sample without most of the downward bias of few wordings.

    Q S_Q - (Q - 1) S_{Q-1}, the jackknife of first order: S_{Q-1} is the mean over leaving out each wording. It is
    never below S_Q, and kept at most 1.

    Args:
        sample: shape (n,), index of the sample, below len(n_classes).
        variant: shape (n,), dense codes of the wordings.
        label: shape (n,), dense codes, N/A being one of them.
        p: shape (n,), share of the wording's answers with the label; zeros may be left out, each (sample, wording,
            label) stands at most once, and a wording's shares sum to 1.
        n_classes: shape (n_samples,), C of each sample.

    Returns:
        Shape (n_samples,); NaN for fewer than FEWEST_CORRECTED wordings and for C < 2.

    Source:
        Errica et al. 2025 for S; Quenouille 1956 for the jackknife.

    Example:
        One sample of three classes under ten wordings, of which six agree and four others do; its plain sensitivity is
        .613:

        >>> corrected_sensitivity(
        ...     np.zeros(10, int), np.arange(10), np.repeat([0, 1], [6, 4]), np.ones(10), np.array([3])
        ... ).round(3).tolist()
        [0.664]
    """
    if len(p) == 0:
        return np.full(len(n_classes), np.nan)
    found = pseudo_values(sample, variant, label, p, n_classes)
    kept = np.clip(found.means(), found.by_sample, 1.0)
    return np.where(found.n_wordings >= FEWEST_CORRECTED, kept, np.nan)


@sql_function()
def sensitivity_interval(
    sample: Codes,
    variant: Codes,
    family: Codes | None,
    label: Labels,
    p: Floats,
    n_classes: int,
) -> SensitivityInterval:
    """Computes mean sensitivity over samples, plain and corrected, each with its interval.

    The interval of `mean` is for as many other wordings on other samples, the interval of `corrected` for endless
    wordings. With S_i the sensitivity of a sample and P_iv = Q S_i - (Q - 1) S_i^(-v) its pseudo-values, the variance
    is V_samples + V_variants - V_both: Var(S_i) / N, or that of the means of P over wordings for `corrected`, and the
    two parts of `two_way_variance` of P. Bounds are t intervals on the logit. t has the degrees of freedom of
    `TwoWayVariance`, for `corrected` Q - 1. Families of wordings move neither figure: they may widen the intervals,
    which then hold those with families as units, too.

    Samples that are all answered alike have no spread, and the interval would have no width. So the bounds are widened
    to include the bounds of the same data with one added sample whose answers are split between two labels (of S = .5
    where that is more).

    Args:
        sample: shape (n,), dense codes.
        variant: shape (n,), dense codes of the wordings.
        family: shape (n,), dense codes of the wording's family; None: each wording is one of its own.
        label: shape (n,), dense codes, N/A being one of them.
        p: shape (n,), as of `corrected_sensitivity`.
        n_classes: C.

    Returns:
        0 <= low <= mean <= high <= 1, mean <= corrected <= 1 and 0 <= corrected_low <= corrected <= corrected_high <=
        1. All NaN without a sample of two wordings or with C < 2. Bounds are NaN below MIN_UNITS wordings or families
        and below two samples; the corrected figure is where no sample has FEWEST_CORRECTED wordings.
    """
    if len(p) == 0 or n_classes < 2:
        return SensitivityInterval(*[np.nan] * 6)
    classes = np.full(int(sample.max()) + 1, n_classes)
    found = pseudo_values(sample, variant, label, p, classes)
    is_whole = ~np.isnan(found.by_sample)
    if not is_whole.any():
        return SensitivityInterval(*[np.nan] * 6)
    tables = [_Table.of(found, np.ones(int(variant.max()) + 1, np.int64))]
    if family is not None and not are_one_to_one(variant, family):
        family_of = np.zeros(int(variant.max()) + 1, np.int64)
        family_of[variant] = family
        tables.append(_Table.of(pseudo_values(*_summed(sample, family, label, p), classes), np.bincount(family_of)))
    split = min(float(np.log(2) / np.log(n_classes)), 0.5)
    plain, of_endless = found.by_sample[is_whole], found.means()[is_whole]
    parts = _parts(tables, split) if len(plain) > 1 else None
    mean, bounds = float(plain.mean()), _bounds(plain, split, parts)
    if found.n_wordings.max() < FEWEST_CORRECTED:
        return SensitivityInterval(mean, *bounds, np.nan, *UNDEFINED)
    corrected = min(max(mean, float(of_endless.mean())), 1.0)
    of_corrected = _bounds(of_endless, split, parts, is_cautious=True)
    if corrected == 1:  # where the logit is infinite; endless wordings show at least as much as these
        of_corrected = Interval(bounds.low, bounds.high if np.isnan(bounds.high) else 1.0)
    return SensitivityInterval(mean, *bounds, corrected, *of_corrected)


class _Table(NamedTuple):
    # weight: each unit's part of the wordings
    sample: NDArray[np.int64]
    unit: NDArray[np.int64]
    value: NDArray[np.float64]
    weight: NDArray[np.float64]

    @classmethod
    def of(cls, found: PseudoValues, n_wordings: NDArray[np.int64]) -> _Table:
        unit, units = dense_codes(found.unit)
        own = n_wordings[units].astype(np.float64)
        return cls(dense_codes(found.sample)[0], unit, found.value, own / own.sum())

    def and_one_more(self, value: float) -> _Table:
        units = np.arange(len(self.weight))
        return _Table(
            np.append(self.sample, np.full_like(units, self.sample.max() + 1)),
            np.append(self.unit, units),
            np.append(self.value, np.full(len(units), value)),
            self.weight,
        )

    def variance(self) -> TwoWayVariance:
        return two_way_variance(self.sample, self.unit, self.value, self.weight)


def _parts(tables: Sequence[_Table], split: float) -> list[list[TwoWayVariance]] | None:
    # the variances over units of the data, and of the data with one more sample; None below MIN_UNITS units
    if any(np.bincount(each.sample, minlength=1).max() < MIN_UNITS for each in tables):
        return None
    return [[each.variance() for each in tables], [each.and_one_more(split).variance() for each in tables]]


def _bounds(
    by_sample: NDArray[np.float64],
    split: float,
    parts: Sequence[Sequence[TwoWayVariance]] | None,
    *,
    is_cautious: bool = False,
) -> Interval:
    if parts is None:
        return UNDEFINED
    ends = []
    for figures, variances in zip((by_sample, np.append(by_sample, split)), parts, strict=True):
        of_samples = float(figures.var(ddof=1)) / len(figures)
        figure = min(float(figures.mean()), 1.0)
        for each in variances:
            free = each.n_variants - 1 if is_cautious else each.degrees_of_freedom(of_samples, len(figures))
            ends.append(logit_interval(figure, each.total(of_samples), max(free, 1.0)))
    figure = min(float(by_sample.mean()), 1.0)
    return Interval(min(figure, *(each.low for each in ends)), max(figure, *(each.high for each in ends)))


def _summed(
    sample: NDArray[np.int64], family: NDArray[np.int64], label: NDArray[np.int64], p: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    n_families, n_labels = int(family.max()) + 1, int(label.max()) + 1
    cell, cells = dense_codes((sample * n_families + family) * n_labels + label)
    units, labels = np.divmod(cells, n_labels)
    samples, families = np.divmod(units, n_families)
    return samples, families, labels, np.bincount(cell, weights=p).astype(np.float64, copy=False)
