"""Sensitivity corrected for the number of variants, with a two-way jackknife interval.

Everything is a sum over cells (sample, label). Within a cell only the share p each variant gives to the label matters,
and variants with equal shares are exchangeable: leaving out up to three of them is worked out once per distinct share.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.codes import blocks_of, dense_codes
from promptaudit.udfs.measures.entropy import plug_in_terms
from promptaudit.udfs.resampling import t_quantile
from promptaudit.udfs.sql_function import sql_function
from promptaudit.udfs.sql_types import Codes, Floats, Groups, Labels
from promptaudit.udfs.two_way import two_way_variance

MANY = 12
"""Variants from which the variance over them is known well enough for the degrees of freedom of Satterthwaite."""

_TABLE_CELLS = 1_000_000  # pairs or triples of shares held at once, 8 MB an array


class SensitivityInterval(NamedTuple):
    """Mean corrected sensitivity and its bounds; NaN where undefined."""

    corrected: float
    low: float
    high: float


@dataclass(frozen=True)
class _Cells:
    """Cells (sample, label), and in each the distinct shares with how many variants have them (0 included)."""

    n_variants: NDArray[np.int64]  # per sample
    sample: NDArray[np.int64]  # per cell
    total: NDArray[np.float64]  # per cell: sum over variants of p
    share: NDArray[np.float64]  # per share, cells in order; the share 0 comes first in its cell
    n_with_share: NDArray[np.float64]
    cell: NDArray[np.int64]
    entry_share: NDArray[np.int64]  # per entry: which share it is
    asked: NDArray[np.int64]  # per entry: which (sample, variant) it belongs to
    asked_sample: NDArray[np.int64]  # per (sample, variant)
    asked_variant: NDArray[np.int64]


def _cells(
    sample: NDArray[np.int64],
    variant: NDArray[np.int64],
    label: NDArray[np.int64],
    p: NDArray[np.float64],
    n_samples: int,
) -> _Cells:
    n_codes = int(variant.max()) + 1
    asked, asked_keys = dense_codes(sample * n_codes + variant)
    n_labels = int(label.max()) + 1
    entry_cell, cell_keys = dense_codes(sample * n_labels + label)
    shares, share_code = np.unique(p, return_inverse=True)
    entry_key, keys = dense_codes(entry_cell * len(shares) + share_code)
    cell, share = keys // len(shares), shares[keys % len(shares)]
    n_with_share = np.bincount(entry_key, minlength=len(keys)).astype(np.float64)

    cell_sample = cell_keys // n_labels
    n_variants = np.bincount(asked_keys // n_codes, minlength=n_samples)
    n_cells = len(cell_keys)
    n_without = n_variants[cell_sample] - np.bincount(cell, weights=n_with_share, minlength=n_cells)
    # a share of 0 stands before each cell's own, so that a share moves up by the cells up to its own
    position = np.arange(len(cell)) + cell + 1
    zero_position = np.searchsorted(cell, np.arange(n_cells)) + np.arange(n_cells)
    n_shares = len(cell) + n_cells
    all_share, all_count, all_cell = np.zeros(n_shares), np.empty(n_shares), np.empty(n_shares, np.int64)
    all_share[position], all_count[position], all_cell[position] = share, n_with_share, cell
    all_count[zero_position], all_cell[zero_position] = n_without, np.arange(n_cells)
    return _Cells(
        n_variants=n_variants,
        sample=cell_sample,
        total=np.bincount(entry_cell, weights=p, minlength=n_cells).astype(np.float64, copy=False),
        share=all_share,
        n_with_share=all_count,
        cell=all_cell,
        entry_share=position[entry_key],
        asked=asked,
        asked_sample=asked_keys // n_codes,
        asked_variant=asked_keys % n_codes,
    )


class _LeftOut(NamedTuple):
    """The cell's entropy term, nats, after leaving out a variant with the share: it alone, and with one and two others.

    Of the last two the mean over all others that may be left out with it; 0 where there are none.
    """

    one: NDArray[np.float64]
    two: NDArray[np.float64]
    three: NDArray[np.float64]


def _orders(n_variants: NDArray[np.int64]) -> tuple[NDArray[np.float64], ...]:
    """Returns the weights of S_Q, S_{Q-1} and S_{Q-2} in the corrected sensitivity; S_1 stands as it is."""
    q = np.maximum(n_variants, 1).astype(np.float64)
    return np.where(q > 1, q**2 / 2, 1.0), -((q - 1) ** 2), np.where(q > 1, (q - 2) ** 2 / 2, 0.0)


def _corrected(cells: _Cells, left_out: _LeftOut) -> NDArray[np.float64]:
    """Returns the corrected sensitivity of each sample in nats; meaningless where Q < 2."""
    q = np.maximum(cells.n_variants, 1)
    whole = np.bincount(cells.sample, weights=plug_in_terms(cells.total / q[cells.sample]), minlength=len(q))
    share_sample = cells.sample[cells.cell]
    less_one, less_two = (
        np.bincount(share_sample, weights=cells.n_with_share * terms, minlength=len(q)) / q
        for terms in (left_out.one, left_out.two)
    )
    of_all, of_one, of_two = _orders(cells.n_variants)
    return of_all * whole + of_one * less_one + of_two * less_two


def _left_out(cells: _Cells, *, with_three: bool) -> _LeftOut:
    """Returns the terms without one, two and three variants, per share; without three only where the interval needs them."""
    q = cells.n_variants[cells.sample].astype(np.float64)
    starts = np.searchsorted(cells.cell, np.arange(len(q)))
    n_shares = np.diff(np.append(starts, len(cells.cell)))
    one, two, three = (np.zeros(len(cells.share)) for _ in range(3))
    for width in np.unique(n_shares):
        of_width = np.flatnonzero(n_shares == width)
        step = max(1, _TABLE_CELLS // int(width) ** (3 if with_three else 2))
        for chunk in range(0, len(of_width), step):
            which = of_width[chunk : chunk + step]
            index = starts[which][:, None] + np.arange(width)
            share, count, n = cells.share[index], cells.n_with_share[index], q[which]
            rest = cells.total[which][:, None] - share
            one[index] = _terms(rest, n - 1)
            rest = rest[:, :, None] - share[:, None, :]
            # a variant that is left out already is not among the others that may be left out with it
            others = count[:, None, :] - np.eye(width)
            two[index] = (others * _terms(rest, n - 2)).sum(axis=2) / np.maximum(n - 1, 1)[:, None]
            if with_three:
                further = others[:, :, None, :] - np.eye(width)
                terms = _terms(rest[:, :, :, None] - share[:, None, None, :], n - 3)
                pairs = others * (further * terms).sum(axis=3)
                three[index] = pairs.sum(axis=2) / np.maximum((n - 1) * (n - 2), 1)[:, None]
    return _LeftOut(one, two, three)


def _terms(total: NDArray[np.float64], n_left: NDArray[np.float64]) -> NDArray[np.float64]:
    """-x ln x of sums over variants, the first axis being cells, x the mean over the variants that are left.

    Sums of variants that cannot all be left out together are below 0, weigh nothing and are taken as 0.
    """
    mean = total / np.maximum(n_left, 1).reshape(-1, *[1] * (total.ndim - 1))
    return plug_in_terms(np.maximum(mean, 0.0))


def _corrected_without_one(cells: _Cells, left_out: _LeftOut) -> NDArray[np.float64]:
    """Returns the corrected sensitivity without one variant, per (sample, variant), in nats."""
    of_all, of_one, of_two = (weight[cells.sample][cells.cell] for weight in _orders(cells.n_variants - 1))
    term = of_all * left_out.one + of_one * left_out.two + of_two * left_out.three
    starts = np.searchsorted(cells.cell, np.arange(len(cells.sample)))
    of_zero = term[starts]
    base = np.bincount(cells.sample, weights=of_zero, minlength=len(cells.n_variants))
    change = term[cells.entry_share] - of_zero[cells.cell[cells.entry_share]]
    changed = np.bincount(cells.asked, weights=change, minlength=len(cells.asked_sample))
    return np.asarray(base[cells.asked_sample] + changed, np.float64)


@sql_function(at_once=True)
def corrected_sensitivity(
    sample: Groups,
    variant: Codes,
    label: Labels,
    p: Floats,
    n_classes: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Returns sensitivity of each sample without most of the downward bias of few variants.

    [Q^2 S_Q - 2 (Q - 1)^2 S_{Q-1} + (Q - 2)^2 S_{Q-2}] / 2, the jackknife of second order: S_{Q-1} and S_{Q-2} are the means
    over leaving out each variant and each pair of variants. Not clipped: single samples may fall outside [0, 1].

    Args:
        sample: shape (n,), index of the sample, below len(n_classes).
        variant: shape (n,), dense codes.
        label: shape (n,), dense codes, N/A being one of them.
        p: shape (n,), share of the variant's answers with the label; zeros may be left out, each (sample, variant,
            label) stands at most once, and a variant's shares sum to 1.
        n_classes: shape (n_samples,), C of each sample.

    Returns:
        Shape (n_samples,); NaN for fewer than two variants and for C < 2.

    Source:
        Errica et al. 2025 for S; Schucany, Gray and Owen 1971 for the second order of the jackknife.

    Example:
        One sample of two classes under three wordings, of which two agree; the entropy of so few is .918:

        >>> corrected_sensitivity(
        ...     np.zeros(3, int), np.arange(3), np.array([0, 0, 1]), np.ones(3), np.array([2])
        ... ).round(3).tolist()
        [1.466]
    """
    corrected = np.full(len(n_classes), np.nan)
    if len(p) == 0:
        return corrected
    cells = _cells(sample, variant, label, p, len(n_classes))
    is_defined = (cells.n_variants >= 2) & (n_classes >= 2)
    nats = _corrected(cells, _left_out(cells, with_three=False))
    corrected[is_defined] = nats[is_defined] / np.log(n_classes[is_defined])
    return corrected


@sql_function()
def sensitivity_interval(
    sample: Codes,
    variant: Codes,
    label: Labels,
    p: Floats,
    n_classes: int,
) -> SensitivityInterval:
    """Returns mean `corrected_sensitivity` over samples, with the interval for other samples and other wordings.

    corrected -+ t sqrt(V_samples + V_variants - V_both). With T_i the corrected sensitivity of sample i and
    P_iv = Q T_i - (Q - 1) T_i^(-v) its jackknife pseudo-values: V_samples = Var(T_i)/N, V_variants the variance of the
    variants' means of P over Q, V_both the interaction mean square of P over N Q; the sum is at least the larger of the
    first two. Missing cells: means over what is present, Q the largest number of variants a sample has. From 12 variants up t has
    the degrees of freedom of `TwoWayVariance`, below Q - 1.

    Samples that are all answered alike have no spread, and would leave no doubt. So the upper bound is never below that of the
    same data with one added sample whose variants are split between two labels.

    Args:
        sample: shape (n,), dense codes.
        variant: shape (n,), dense codes.
        label: shape (n,), dense codes, N/A being one of them.
        p: shape (n,), as of `corrected_sensitivity`.
        n_classes: C.

    Returns:
        Not clipped to [0, 1]. All NaN without a sample of two variants or with C < 2; bounds NaN for Q < 3 or N < 2.
    """
    if len(p) == 0 or n_classes < 2:
        return SensitivityInterval(np.nan, np.nan, np.nan)
    own = pseudo_values(sample, variant, label, p, n_classes)
    is_defined = ~np.isnan(own.by_sample)
    n_samples = int(is_defined.sum())
    if n_samples == 0:
        return SensitivityInterval(np.nan, np.nan, np.nan)
    corrected, most_variants = float(own.by_sample[is_defined].mean()), int(np.bincount(own.sample).max())
    if n_samples < 2 or most_variants < 3:
        return SensitivityInterval(corrected, np.nan, np.nan)
    low, high = own.bounds(most_variants)
    variants = np.arange(int(variant.max()) + 1)
    split = pseudo_values(np.zeros_like(variants), variants, variants % 2, np.ones(len(variants)), n_classes)
    _, high_of_one_more = own.and_one_more(split).bounds(most_variants)
    return SensitivityInterval(corrected, low, max(high, high_of_one_more))


class PseudoValues(NamedTuple):
    """The jackknife's pseudo-values Q T_i - (Q - 1) T_i^(-v) of a table, and the T_i of its samples."""

    sample: NDArray[np.int64]  # per (sample, variant)
    variant: NDArray[np.int64]
    value: NDArray[np.float64]
    by_sample: NDArray[np.float64]  # per sample; NaN of fewer than two variants

    def and_one_more(self, other: PseudoValues) -> PseudoValues:
        """Returns the same with one more sample."""
        return PseudoValues(
            np.append(self.sample, other.sample + len(self.by_sample)),
            np.append(self.variant, other.variant),
            np.append(self.value, other.value),
            np.append(self.by_sample, other.by_sample),
        )

    def bounds(self, most_variants: int) -> tuple[float, float]:
        """Returns the bounds of the mean, for other samples and other wordings."""
        by_sample = self.by_sample[~np.isnan(self.by_sample)]
        rows, _ = dense_codes(self.sample)
        columns, _ = dense_codes(self.variant)
        v_samples = float(by_sample.var(ddof=1)) / len(by_sample)
        variance = two_way_variance(rows, columns, self.value)
        is_known = most_variants >= MANY
        n_free = variance.degrees_of_freedom(v_samples, len(by_sample)) if is_known else most_variants - 1
        half = t_quantile(n_free) * float(np.sqrt(variance.total(v_samples)))
        return float(by_sample.mean()) - half, float(by_sample.mean()) + half


def pseudo_values(
    sample: NDArray[np.int64],
    variant: NDArray[np.int64],
    label: NDArray[np.int64],
    p: NDArray[np.float64],
    n_classes: int,
) -> PseudoValues:
    """Returns the pseudo-values from which `sensitivity_interval` takes the variance over variants.

    Args:
        sample: shape (n,), dense codes, n > 0.
        variant: shape (n,), dense codes.
        label: shape (n,), dense codes, N/A being one of them.
        p: shape (n,), as of `corrected_sensitivity`.
        n_classes: C, at least 2.

    Returns:
        One value per (sample, variant) of each sample with two variants or more, in dense codes of the samples given.
    """
    by_sample = np.full(int(sample.max()) + 1, np.nan)
    samples, variants, values = np.empty(len(p), np.int64), np.empty(len(p), np.int64), np.empty(len(p))
    n_kept = 0
    for of_block, entries in blocks_of(sample):
        own = sample[entries] - of_block.start, variant[entries], label[entries], p[entries]
        cells = _cells(*own, of_block.stop - of_block.start)
        left_out = _left_out(cells, with_three=bool(cells.n_variants.max() > 2))
        corrected = _corrected(cells, left_out) / np.log(n_classes)
        by_sample[of_block] = np.where(cells.n_variants > 1, corrected, np.nan)
        kept = cells.n_variants[cells.asked_sample] > 1
        place = slice(n_kept, n_kept + int(kept.sum()))
        samples[place], variants[place] = cells.asked_sample[kept] + of_block.start, cells.asked_variant[kept]
        values[place] = _pseudo_values(cells, left_out, corrected, n_classes)[kept]
        n_kept = place.stop
    return PseudoValues(samples[:n_kept], variants[:n_kept], values[:n_kept], by_sample)


def _pseudo_values(
    cells: _Cells, left_out: _LeftOut, by_sample: NDArray[np.float64], n_classes: int
) -> NDArray[np.float64]:
    """Returns the pseudo-values Q T_i - (Q - 1) T_i^(-v), per (sample, variant); meaningless below two variants."""
    q = cells.n_variants[cells.asked_sample]
    less_one = _corrected_without_one(cells, left_out) / np.log(n_classes)
    return np.asarray(q * by_sample[cells.asked_sample] - (q - 1) * less_one, np.float64)
