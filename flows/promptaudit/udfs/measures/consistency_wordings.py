"""Bounds consistency for other samples and other wordings."""

from __future__ import annotations

import numpy as np

from promptaudit.udfs.measures.consistency import MIN_SAMPLES, SampleJackknife, distance_sums
from promptaudit.udfs.measures.wording_shares import WordingShares
from promptaudit.udfs.resampling import (
    FEWEST_BEARING,
    MIN_UNITS,
    UNDEFINED,
    Interval,
    jackknife_variance,
    n_effective,
    two_part_half_width,
)
from promptaudit.udfs.sql_function import sql_function
from promptaudit.udfs.sql_types import Codes, Floats, Labels


@sql_function()
def consistency_wordings(
    gold: Codes,
    sample: Codes,
    variant: Codes,
    unit: Codes,
    label: Labels,
    p: Floats,
) -> Interval:
    """Computes bounds of `consistency` for other samples within each class and other wordings.

    consistency -+ t sqrt(V_samples + V_units), V_samples the jackknife variance over samples, V_units the one over
    units of wordings, with the degrees of freedom of Satterthwaite. The interaction of sample and wording is in both
    variances, so that the bounds err on the wide side. Where fewer than FEWEST_BEARING samples bear V_samples, the
    lower bound is never above the bound of the same data with one added sample that shares no label with the largest
    class.

    Args:
        gold: shape (n,), codes of the gold classes, one for each sample; below 0 for none.
        sample: shape (n,), dense codes.
        variant: shape (n,), dense codes of the wordings.
        unit: shape (n,), dense codes of the units of the jackknife, one for each wording: the wording itself, or a
            family of several wordings.
        label: shape (n,), dense codes, N/A being one of them.
        p: shape (n,), share of the wording's answers with the label, above 0; each (sample, variant, label) stands at
            most once, and the shares of a (sample, variant) sum to 1.

    Returns:
        In [0, 1]; NaN below MIN_UNITS units and where every class has fewer than MIN_SAMPLES samples.
    """
    if len(p) == 0:
        return UNDEFINED
    n_units = int(unit.max()) + 1
    shares = WordingShares.of(gold, sample, variant, label, p)
    sizes = np.diff(shares.class_start)
    if n_units < MIN_UNITS or len(sizes) == 0 or sizes.max() < MIN_SAMPLES:
        return UNDEFINED
    unit_of = np.empty(int(variant.max()) + 1, np.int64)
    unit_of[variant] = unit
    distances = distance_sums(shares.answer_shares())
    plain = SampleJackknife.of(distances, sizes)
    without = shares.consistencies((unit_of != np.arange(n_units)[:, None]).astype(np.float64))
    wordings, free = jackknife_variance(without), n_effective(unit_of) - 1
    half = two_part_half_width(plain.variance, wordings, plain.degrees_of_freedom, free)
    low, high = plain.consistency - half, plain.consistency + half
    if plain.n_bearing < FEWEST_BEARING:
        grown = SampleJackknife.with_stranger(distances, sizes)
        half = two_part_half_width(grown.variance, wordings, grown.degrees_of_freedom, free)
        low = min(low, grown.consistency - half)
    return Interval(max(0.0, low), min(1.0, high))
