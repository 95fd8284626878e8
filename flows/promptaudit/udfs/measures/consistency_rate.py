"""Measures consistency rate: how often two wordings agree on a sample, with a two-way jackknife interval."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.codes import are_one_to_one, blocks_of, dense_codes
from promptaudit.udfs.measures.wording_families import shares_of_families
from promptaudit.udfs.resampling import logit_interval, moved_on_the_logit
from promptaudit.udfs.sql_function import sql_function
from promptaudit.udfs.sql_types import Codes, Floats, Labels
from promptaudit.udfs.two_way import two_way_variance


class ConsistencyRate(NamedTuple):
    """The rate and its bounds; NaN where undefined."""

    rate: float
    low: float
    high: float


@sql_function()
def consistency_rate(
    sample: Codes,
    variant: Codes,
    family: Codes,
    label: Labels,
    p: Floats,
) -> ConsistencyRate:
    """Computes the share of pairs of wordings that agree on a sample, as the mean over samples; 1 - D_variant.

    A sample's rate is A = sum over labels of ((sum over variants of p)^2 - sum over variants of p^2) / (Q(Q - 1)): the
    chance that an answer under one wording and an answer under another have the same label. The bounds are for other
    samples and other wordings: `logit_interval` of V_samples + V_variants - V_both with Q - 1 degrees of freedom, as in
    `sensitivity_interval` below 12 variants, with the jackknife pseudo-values Q A - (Q - 1) A^(-v). Since samples that
    all have the same rate have no spread, the lower bound is never above the one of the same data with one added sample
    on which the wordings are split evenly between two labels, and the upper bound never below that with one added
    sample on which they agree. Variants of one family count as one, with their mean shares: the bounds are computed for
    the rate between families, and moved on the logit to the rate of all variants.

    Args:
        sample: shape (n,), dense codes.
        variant: shape (n,), dense codes.
        family: shape (n,), dense codes of the variant's family.
        label: shape (n,), dense codes, N/A being one of them.
        p: shape (n,), share of the variant's answers with the label; zeros may be left out, each (sample, variant,
            label) stands at most once, and a variant's shares sum to 1.

    Returns:
        In [0, 1], as are the bounds. All NaN without a sample of two variants; bounds NaN for Q < 3 or N < 2.

    Source:
        The pairwise agreement of Elazar et al. 2021 ("consistency"), as an unbiased estimate for repeated answers.

    Example:
        One sample under three wordings: of their three pairs one agrees.

        >>> found = consistency_rate(np.zeros(3, int), np.arange(3), np.arange(3), np.array([0, 0, 1]), np.ones(3))
        >>> round(found.rate, 3)
        0.333
    """
    is_one_to_one = len(p) == 0 or are_one_to_one(variant, family)
    variant = family if is_one_to_one else variant
    own = _Agreement.of(sample, variant, label, p)
    plain = own.interval()
    rate = plain.rate
    if not is_one_to_one:
        sample, variant, label, p = shares_of_families(sample, variant, family, label, p)
        own = _Agreement.of(sample, variant, label, p)
        plain = own.interval()
    if np.isnan(plain.low):
        return ConsistencyRate(rate, np.nan, np.nan)
    variants = np.arange(int(variant.max()) + 1)
    split, unanimous = (
        own.and_one_more(_Agreement.of(np.zeros_like(variants), variants, labels, np.ones(len(variants)))).interval()
        for labels in (variants % 2, np.zeros_like(variants))
    )
    bounds = min(plain.low, split.low), max(plain.high, unanimous.high)
    low, high = (moved_on_the_logit(bound, plain.rate, rate) for bound in bounds)
    return ConsistencyRate(rate, min(rate, low), max(rate, high))


class _Agreement(NamedTuple):
    # an entry for each (sample, variant), samples in order
    sample: NDArray[np.int64]
    variant: NDArray[np.int64]
    with_others: NDArray[np.float64]

    @classmethod
    def of(
        cls, sample: NDArray[np.int64], variant: NDArray[np.int64], label: NDArray[np.int64], p: NDArray[np.float64]
    ) -> _Agreement:
        if len(p) == 0:
            return cls(sample, variant, p)
        n_variants, n_labels = int(variant.max()) + 1, int(label.max()) + 1
        samples, variants, values = np.empty(len(p), np.int64), np.empty(len(p), np.int64), np.empty(len(p))
        n_asked = 0
        for _, entries in blocks_of(sample):
            own, shares = sample[entries], p[entries]
            cell, _ = dense_codes(own * n_labels + label[entries])
            with_others = (np.bincount(cell, weights=shares)[cell] - shares) * shares
            asked, keys = dense_codes(own * n_variants + variant[entries])
            place = slice(n_asked, n_asked + len(keys))
            samples[place], variants[place] = np.divmod(keys, n_variants)
            values[place] = np.bincount(asked, weights=with_others)
            n_asked = place.stop
        return cls(samples[:n_asked], variants[:n_asked], values[:n_asked])

    def and_one_more(self, other: _Agreement) -> _Agreement:
        return _Agreement(
            np.append(self.sample, other.sample + self.sample[-1] + 1),
            np.append(self.variant, other.variant),
            np.append(self.with_others, other.with_others),
        )

    def interval(self) -> ConsistencyRate:
        q = np.bincount(self.sample).astype(np.float64)
        is_defined = q >= 2
        if not is_defined.any():
            return ConsistencyRate(np.nan, np.nan, np.nan)
        # sums over ordered pairs of two variants of a sample
        pairs = np.bincount(self.sample, weights=self.with_others, minlength=len(q))
        by_sample = pairs / np.maximum(q * (q - 1), 1)
        rate, n_samples, most = float(by_sample[is_defined].mean()), int(is_defined.sum()), int(q.max())
        if n_samples < 2 or most < 3:
            return ConsistencyRate(rate, np.nan, np.nan)
        is_kept = q >= 3
        kept = slice(None) if is_kept.all() else is_kept[self.sample]
        sample = self.sample[kept]
        # of pseudo-values Q A - (Q - 1) A^(-v), A^(-v) being of the pairs without one of the variants
        left = np.maximum(q - 2, 1)
        pseudo = 2 * self.with_others[kept]
        pseudo /= left[sample]
        pseudo += (q * by_sample - pairs / left)[sample]
        rows, _ = dense_codes(sample)
        columns, _ = dense_codes(self.variant[kept])
        v_samples = float(by_sample[is_defined].var(ddof=1)) / n_samples
        variance = two_way_variance(rows, columns, pseudo).total(v_samples)
        return ConsistencyRate(rate, *logit_interval(rate, variance, most - 1))
