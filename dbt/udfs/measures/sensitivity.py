"""Sensitivity corrected for the number of variants, with a two-way jackknife interval.

Everything is a sum over cells (sample, label). Within a cell only the share p each variant gives to the label matters,
and variants with equal shares are exchangeable: leaving out one variant or two is worked out once per distinct share.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from udfs.codes import dense_codes
from udfs.measures.entropy import plug_in_terms
from udfs.resampling import t_quantile, two_way_variance

_PAIR_CELLS = 1_000_000  # pairs of shares held at once, 8 MB an array


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


def _corrected(cells: _Cells, without_one: NDArray[np.float64]) -> NDArray[np.float64]:
    """Q S_Q - (Q - 1) S_{Q-1} per sample in nats; meaningless where Q < 2."""
    q = np.maximum(cells.n_variants, 1)
    whole = np.bincount(cells.sample, weights=plug_in_terms(cells.total / q[cells.sample]), minlength=len(q))
    share_sample = cells.sample[cells.cell]
    left_out = np.bincount(share_sample, weights=cells.n_with_share * without_one, minlength=len(q))
    return q * whole - (q - 1) / q * left_out


def _without_one(cells: _Cells) -> NDArray[np.float64]:
    """The cell's entropy term after leaving out one variant with the share, per share."""
    q = cells.n_variants[cells.sample][cells.cell]
    return plug_in_terms((cells.total[cells.cell] - cells.share) / np.maximum(q - 1, 1))


def _corrected_without_one(cells: _Cells, without_one: NDArray[np.float64]) -> NDArray[np.float64]:
    """The corrected sensitivity without one variant, per (sample, variant), in nats."""
    q = cells.n_variants[cells.sample].astype(np.float64)
    starts = np.searchsorted(cells.cell, np.arange(len(q)))
    n_shares = np.diff(np.append(starts, len(cells.cell)))
    without_two = np.empty(len(cells.share))
    for width in np.unique(n_shares):
        of_width = np.flatnonzero(n_shares == width)
        step = max(1, _PAIR_CELLS // int(width) ** 2)
        for chunk in range(0, len(of_width), step):
            which = of_width[chunk : chunk + step]
            index = starts[which][:, None] + np.arange(width)
            share = cells.share[index]
            rest = cells.total[which][:, None, None] - share[:, :, None] - share[:, None, :]
            terms = plug_in_terms(rest / np.maximum(q[which] - 2, 1)[:, None, None])
            # the variant itself is not among the others that may be left out with it
            others = cells.n_with_share[index][:, None, :] - np.eye(width)
            without_two[index] = (others * terms).sum(axis=2)
    q_share = q[cells.cell]
    term = (q_share - 1) * without_one - np.maximum(q_share - 2, 0) / np.maximum(q_share - 1, 1) * without_two
    of_zero = term[starts]
    base = np.bincount(cells.sample, weights=of_zero, minlength=len(cells.n_variants))
    change = term[cells.entry_share] - of_zero[cells.cell[cells.entry_share]]
    changed = np.bincount(cells.asked, weights=change, minlength=len(cells.asked_sample))
    return np.asarray(base[cells.asked_sample] + changed, np.float64)


def corrected_sensitivity(
    sample: NDArray[np.int64],
    variant: NDArray[np.int64],
    label: NDArray[np.int64],
    p: NDArray[np.float64],
    n_classes: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Returns sensitivity of each sample without the downward bias of few variants: Q S_Q - (Q - 1) S_{Q-1}.

    S_{Q-1} is the mean over leaving out each variant (jackknife). Not clipped: single samples may fall outside [0, 1].

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
        Errica et al. 2025 for S, the jackknife of Quenouille for the correction.
    """
    corrected = np.full(len(n_classes), np.nan)
    if len(p) == 0:
        return corrected
    cells = _cells(sample, variant, label, p, len(n_classes))
    is_defined = (cells.n_variants >= 2) & (n_classes >= 2)
    nats = _corrected(cells, _without_one(cells))
    corrected[is_defined] = nats[is_defined] / np.log(n_classes[is_defined])
    return corrected


def sensitivity_interval(
    sample: NDArray[np.int64],
    variant: NDArray[np.int64],
    label: NDArray[np.int64],
    p: NDArray[np.float64],
    n_classes: int,
) -> SensitivityInterval:
    """Returns mean `corrected_sensitivity` over samples, with the interval for other samples and other wordings.

    corrected -+ t_{Q-1} sqrt(V_samples + V_variants - V_both). With T_i the corrected sensitivity of sample i and
    P_iv = Q T_i - (Q - 1) T_i^(-v) its jackknife pseudo-values: V_samples = Var(T_i)/N, V_variants the variance of the
    variants' means of P over Q, V_both the interaction mean square of P over N Q; the sum is at least the larger of the
    first two. Missing cells: means over what is present, Q the largest number of variants a sample has.

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
    cells = _cells(sample, variant, label, p, int(sample.max()) + 1)
    q = cells.n_variants
    is_defined = q >= 2
    n_samples = int(is_defined.sum())
    if n_samples == 0:
        return SensitivityInterval(np.nan, np.nan, np.nan)
    without_one = _without_one(cells)
    by_sample = _corrected(cells, without_one) / np.log(n_classes)
    corrected = float(by_sample[is_defined].mean())
    most_variants = int(q.max())
    if n_samples < 2 or most_variants < 3:
        return SensitivityInterval(corrected, np.nan, np.nan)

    less_one = _corrected_without_one(cells, without_one) / np.log(n_classes)
    q_asked = q[cells.asked_sample]
    pseudo = q_asked * by_sample[cells.asked_sample] - (q_asked - 1) * less_one
    kept = is_defined[cells.asked_sample]
    rows, _ = dense_codes(cells.asked_sample[kept])
    columns, _ = dense_codes(cells.asked_variant[kept])
    v_samples = float(by_sample[is_defined].var(ddof=1)) / n_samples
    variance = two_way_variance(rows, columns, pseudo[kept]).total(v_samples)
    half = t_quantile(most_variants - 1) * float(np.sqrt(variance))
    return SensitivityInterval(corrected, corrected - half, corrected + half)
