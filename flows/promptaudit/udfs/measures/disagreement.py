"""Splits the disagreement between answers into parts of wordings, repetitions and samples, with jackknife intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.codes import dense_codes
from promptaudit.udfs.resampling import (
    FEWEST_BEARING,
    MIN_UNITS,
    bearing_samples,
    jackknife_variance,
    n_effective,
    two_part_half_width,
)
from promptaudit.udfs.sql_function import sql_function
from promptaudit.udfs.sql_types import Codes, Floats, Labels

_NO_DISAGREEMENT = 1e-12  # a share of pairs below it is rounding
_NOTHING = 1e-9  # a divisor is a number of cells or pairs


class DisagreementShares(NamedTuple):
    """The shares of wording, noise and item, each with bounds for other samples, and for other wordings too."""

    wording_share: float = np.nan
    wording_share_low: float = np.nan
    wording_share_high: float = np.nan
    wording_share_wordings_low: float = np.nan
    wording_share_wordings_high: float = np.nan
    noise_share: float = np.nan
    noise_share_low: float = np.nan
    noise_share_high: float = np.nan
    noise_share_wordings_low: float = np.nan
    noise_share_wordings_high: float = np.nan
    item_share: float = np.nan
    item_share_low: float = np.nan
    item_share_high: float = np.nan
    item_share_wordings_low: float = np.nan
    item_share_wordings_high: float = np.nan


@sql_function()
def disagreement_shares(
    sample: Codes,
    variant: Codes,
    unit: Codes,
    label: Labels,
    n_answers: Floats,
    stands_for: Floats | None = None,
) -> DisagreementShares:
    """Splits all disagreement into parts due to the wording, repetition noise and differences between samples.

    D_repeat is the share of disagreeing pairs of asks of one (sample, variant), as the mean over those asked at least
    twice, where each weighs as many samples as it stands for; D_variant is the share of disagreeing pairs of variants
    of one sample, as the mean over samples; D_sample is the share of disagreeing pairs of samples. wording = (D_variant
    - D_repeat) / D_sample, noise = D_repeat / D_sample, item = (D_sample - D_variant) / D_sample.

    `low`, `high` are for other samples under these wordings: share -+ t_{N-1} sqrt(V_samples), V_samples the jackknife
    variance over samples. `wordings_low`, `wordings_high` are for other samples and other wordings: share -+ t
    sqrt(V_samples + V_units), V_units the jackknife variance over units of wordings, with the degrees of freedom of
    Satterthwaite. The interaction of sample and wording is in both variances, so that these bounds err on the wide
    side.

    Where fewer than FEWEST_BEARING samples bear V_samples, the bounds are widened to include the bounds of the same
    data with one added sample, whose asks, or wordings, are split between the two commonest labels, or which gives a
    label of its own throughout. So unanimous samples do not make the shares look certain.

    Args:
        sample: shape (n,), dense codes.
        variant: shape (n,), dense codes.
        unit: shape (n,), dense codes of the units of the jackknife over wordings, one for each variant: the variant
            itself, or a family of several variants.
        label: shape (n,), dense codes, N/A being one of them.
        n_answers: shape (n,), how often the variant gave the sample the label, above 0; each (sample, variant, label)
            stands at most once.
        stands_for: shape (n,), how many samples each sample stands for where a variant is asked twice for a random part
            of its samples: at least 1, and the same for all samples of a variant. With None every cell stands for
            itself.

    Returns:
        The three shares, which sum to 1 where none is clipped: each may lie below 0 by chance, as may its bounds, and
        all are clipped to [-1, 1]. Of two variants that never agree, the wording share would be 2. All NaN where no
        sample has two variants that were asked twice, where no two samples disagree and without answers; bounds NaN
        where fewer than two shares without a sample are defined, bounds for other wordings below MIN_UNITS units and
        where a share is undefined without one.
    """
    if len(n_answers) == 0 or not _is_repeated(sample, variant, n_answers):
        return DisagreementShares()
    answers = _Answers.of(sample, variant, label, n_answers, stands_for)
    every = answers.summed(np.ones(len(answers.sample), np.bool_))
    plain = answers.samples(every)
    shares = plain.shares()
    most_repeated = np.bincount(answers.sample, weights=~np.isnan(answers.repeat)).max()
    if most_repeated < 2 or np.isnan(shares).all():
        return DisagreementShares()
    of_units, units_free = np.full(len(shares), np.nan), np.nan
    n_units = int(unit.max()) + 1
    if n_units >= MIN_UNITS:
        unit_of = np.empty(int(variant.max()) + 1, np.int64)
        unit_of[variant] = unit
        own_unit = unit_of[answers.variant]
        without = [answers.samples(every.less(answers.summed(own_unit == each))).shares() for each in range(n_units)]
        units_free = n_effective(unit_of) - 1
        # a share that rests on one unit alone has no bounds for others
        of_units = np.array(
            [np.nan if np.isnan(each).any() else jackknife_variance(each) for each in np.stack(without, 1)]
        )
    tables = (plain, *plain.with_one_added())
    bounds = np.stack([table.bounds(of_units, units_free) for table in tables])
    bounds[1:, plain.n_bearing() >= FEWEST_BEARING] = np.nan
    low, high = np.fmin.reduce(bounds[:, :, ::2]), np.fmax.reduce(bounds[:, :, 1::2])
    ends = np.stack([low, high], axis=2).reshape(len(shares), -1)
    ends[np.isnan(bounds[0])] = np.nan
    return DisagreementShares(*np.clip(np.column_stack([shares, ends]), -1, 1).ravel().tolist())


def _is_repeated(sample: NDArray[np.int64], variant: NDArray[np.int64], n_answers: NDArray[np.float64]) -> bool:
    cell, _ = dense_codes(sample * (int(variant.max()) + 1) + variant)
    return bool(np.bincount(cell, weights=n_answers).max() > 1)


class _Sums(NamedTuple):
    # over variants: of shares for each (sample, label), of the rest for each sample
    p: NDArray[np.float64]
    p_squares: NDArray[np.float64]
    n_variants: NDArray[np.float64]
    repeat: NDArray[np.float64]
    n_repeated: NDArray[np.float64]

    def less(self, other: _Sums) -> _Sums:
        return _Sums(*(own - others for own, others in zip(self, other, strict=True)))


@dataclass(frozen=True)
class _Answers:
    # per cell (sample, variant): sample, variant, repeat (share of disagreeing pairs of asks; NaN for one ask) and
    # stands_for (the number of samples that a cell asked twice stands for). Per entry (sample, variant, label): cell,
    # slot (its (sample, label)) and p (share of the cell's answers with the label). Per (sample, label): slot_sample,
    # slot_label.
    sample: NDArray[np.int64]
    variant: NDArray[np.int64]
    repeat: NDArray[np.float64]
    stands_for: NDArray[np.float64]
    cell: NDArray[np.int64]
    slot: NDArray[np.int64]
    p: NDArray[np.float64]
    slot_sample: NDArray[np.int64]
    slot_label: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        sample: NDArray[np.int64],
        variant: NDArray[np.int64],
        label: NDArray[np.int64],
        n_answers: NDArray[np.float64],
        stands_for: NDArray[np.float64] | None,
    ) -> _Answers:
        n_variants, n_labels = int(variant.max()) + 1, int(label.max()) + 1
        cell, cell_keys = dense_codes(sample * n_variants + variant)
        slot, slot_keys = dense_codes(sample * n_labels + label)
        n_asks = np.bincount(cell, weights=n_answers)
        agreeing = np.bincount(cell, weights=n_answers * (n_answers - 1))
        weight = np.ones(len(cell_keys))
        if stands_for is not None:
            weight[cell] = stands_for
        return cls(
            sample=cell_keys // n_variants,
            variant=cell_keys % n_variants,
            repeat=1 - agreeing / np.where(n_asks > 1, n_asks * (n_asks - 1), np.nan),
            stands_for=weight,
            cell=cell,
            slot=slot,
            p=n_answers / n_asks[cell],
            slot_sample=slot_keys // n_labels,
            slot_label=slot_keys % n_labels,
        )

    def summed(self, is_in: NDArray[np.bool_]) -> _Sums:
        n_samples = int(self.sample[-1]) + 1
        of_entry = is_in[self.cell]
        slot, p = self.slot[of_entry], self.p[of_entry]
        is_repeated = is_in & ~np.isnan(self.repeat)
        repeated, weight = self.sample[is_repeated], self.stands_for[is_repeated]
        return _Sums(
            p=_summed(slot, p, len(self.slot_sample)),
            p_squares=_summed(self.slot_sample[slot], p * p, n_samples),
            n_variants=np.bincount(self.sample[is_in], minlength=n_samples).astype(np.float64),
            repeat=_summed(repeated, weight * self.repeat[is_repeated], n_samples),
            n_repeated=_summed(repeated, weight, n_samples),
        )

    def samples(self, sums: _Sums) -> _Samples:
        # only samples that have an answer
        is_asked = sums.n_variants > 0
        number = np.cumsum(is_asked) - 1
        kept = is_asked[self.slot_sample]
        slot_sample = self.slot_sample[kept]
        n_pairs = np.where(sums.n_variants > 1, sums.n_variants * (sums.n_variants - 1), np.nan)
        agreeing = np.bincount(self.slot_sample, weights=sums.p * sums.p) - sums.p_squares
        return _Samples(
            repeat=sums.repeat[is_asked],
            n_repeated=sums.n_repeated[is_asked],
            variant=(1 - agreeing / n_pairs)[is_asked],
            sample=number[slot_sample],
            label=self.slot_label[kept],
            p=sums.p[kept] / sums.n_variants[slot_sample],
        )


@dataclass(frozen=True)
class _Samples:
    # per sample: repeat (weighted sum over variants of the share of disagreeing pairs of asks), n_repeated (the weights
    # of variants asked at least twice), variant (share of disagreeing pairs of variants; NaN for one variant). Per
    # entry (sample, label): sample, label and p (mean over variants of the label's share).
    repeat: NDArray[np.float64]
    n_repeated: NDArray[np.float64]
    variant: NDArray[np.float64]
    sample: NDArray[np.int64]
    label: NDArray[np.int64]
    p: NDArray[np.float64]

    def shares(self) -> NDArray[np.float64]:
        nothing = np.zeros(1)
        return self._shares_less(nothing, nothing, nothing, nothing, nothing, len(self.repeat))[:, 0]

    def shares_without_each(self) -> NDArray[np.float64]:
        is_paired = ~np.isnan(self.variant)
        total = np.bincount(self.label, weights=self.p)
        # a sample agrees with the others in p_ic (P_c - p_ic) pairs a label, each of them in both orders
        agreeing = _summed(self.sample, 2 * self.p * (total[self.label] - self.p), len(self.repeat))
        return self._shares_less(
            self.repeat,
            self.n_repeated,
            np.where(is_paired, self.variant, 0.0),
            is_paired.astype(np.float64),
            agreeing,
            len(self.repeat) - 1,
        )

    def _shares_less(
        self,
        repeat: NDArray[np.float64],
        n_repeated: NDArray[np.float64],
        variant: NDArray[np.float64],
        n_paired: NDArray[np.float64],
        agreeing: NDArray[np.float64],
        n_samples: int,
    ) -> NDArray[np.float64]:
        total = np.bincount(self.label, weights=self.p)
        n_pairs = n_samples * (n_samples - 1)
        d_repeat = _quotient(self.repeat.sum() - repeat, self.n_repeated.sum() - n_repeated)
        d_variant = _quotient(np.nansum(self.variant) - variant, (~np.isnan(self.variant)).sum() - n_paired)
        d_sample = 1 - _quotient(total @ total - self.p @ self.p - agreeing, np.full(agreeing.shape, float(n_pairs)))
        d_sample = np.where(d_sample > _NO_DISAGREEMENT, d_sample, np.nan)
        return np.stack([d_variant - d_repeat, d_repeat, d_sample - d_variant]) / d_sample

    def n_bearing(self) -> NDArray[np.float64]:
        return np.array([bearing_samples(each[~np.isnan(each)]) for each in self.shares_without_each()])

    def bounds(self, of_units: NDArray[np.float64], units_free: float) -> NDArray[np.float64]:
        rows = []
        for share, without, units in zip(self.shares(), self.shares_without_each(), of_units, strict=True):
            variance, free = jackknife_variance(without), int((~np.isnan(without)).sum()) - 1
            own = two_part_half_width(variance, 0.0, free, 1)
            wide = two_part_half_width(variance, float(units), free, units_free)
            rows.append([share - own, share + own, share - wide, share + wide])
        return np.array(rows)

    def with_one_added(self) -> list[_Samples]:
        # the added sample has noise, or disagreeing wordings, or a label of its own
        n_labels = int(self.label.max()) + 1
        by_share = np.argsort(-np.bincount(self.label, weights=self.p, minlength=n_labels), kind="stable")
        pair = np.append(by_share, n_labels)[:2]
        return [self._with(0.5, 0.5, pair), self._with(0.0, 0.5, pair), self._with(0.0, 0.0, np.array([n_labels + 1]))]

    def _with(self, repeat: float, variant: float, labels: NDArray[np.int64]) -> _Samples:
        n_repeated = float(np.median(self.n_repeated))
        return _Samples(
            repeat=np.append(self.repeat, n_repeated * repeat),
            n_repeated=np.append(self.n_repeated, n_repeated),
            variant=np.append(self.variant, variant),
            sample=np.append(self.sample, np.full(len(labels), len(self.repeat))),
            label=np.append(self.label, labels),
            p=np.append(self.p, np.full(len(labels), 1 / len(labels))),
        )


def _summed(code: NDArray[np.int64], values: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    return np.bincount(code, weights=values, minlength=n).astype(np.float64, copy=False)


def _quotient(dividend: NDArray[np.float64], divisor: NDArray[np.float64]) -> NDArray[np.float64]:
    # NaN for a divisor of 0, which the rounding of weights may miss by a little
    return np.asarray(np.divide(dividend, divisor, out=np.full(dividend.shape, np.nan), where=divisor > _NOTHING))
