"""Puts the comparison of two runs in one measure into a row, and computes the smallest difference it could have found."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import nctdtrinc, ndtri, stdtrit

from udfs.comparison.differences import Difference
from udfs.resampling import TAIL

_POWER = 0.9
_PARTS_OF_LEVEL = 5  # a third night confirms a difference at .01 where the level is .05
_POWER_OF_TWO = 0.944  # at which two statistics that correlate by .5 are both large enough in .9

OTHER_SAMPLES = "other samples"
OTHER_VARIANTS = "other variants"
FEW_VARIANTS = "other variants: fewer than 10 a side"
FEW_ANSWERS = "too few answers in both runs"
ASKED_ONCE = "asked once: noise and change cannot be told apart"


class Compared(NamedTuple):
    """The comparison of two runs in one measure, on what both have; NaN where undefined.

    Attributes:
        measure: its name.
        base: figure of the base run.
        candidate: figure of the candidate run.
        difference: candidate - base.
        low: lower bound of the difference, 95 %.
        high: upper bound.
        p_value: the larger of the two below, NaN where the runs cannot be compared.
        p_value_samples: whole rows of samples exchanged between the runs.
        p_value_variants: whole variants exchanged; NaN where the measure has one variant or none of its own.
        standard_error: of the difference: the larger of what other samples and what other variants would make of it.
        degrees_of_freedom: of the standard error.
        n_samples: samples that both runs have.
        n_variants: variants a side.
        n_repetitions: the most repetitions of a variant that both runs have, the original's for `pss_intra` alone.
        reason: why the runs cannot be compared; None where they can.
    """

    measure: str
    base: float
    candidate: float
    difference: float
    low: float
    high: float
    p_value: float
    p_value_samples: float
    p_value_variants: float
    standard_error: float
    degrees_of_freedom: float
    n_samples: int
    n_variants: int
    n_repetitions: int
    reason: str | None


def not_comparable(
    measure: str, reason: str, n_samples: int = 0, n_variants: int = 0, n_repetitions: int = 0
) -> Compared:
    """Returns a row without figures that says why."""
    return Compared(measure, *(np.nan,) * 10, n_samples, n_variants, n_repetitions, reason)


def compared(
    difference: Difference,
    n_samples: int,
    n_variants: int,
    n_repetitions: int,
    reason: str | None,
    *,
    is_exchanged: bool,
) -> Compared:
    """Returns the row of a difference, which was taken the other way round where the candidate run stood first."""
    base, candidate, low, high = difference.first, difference.second, difference.low, difference.high
    if is_exchanged:
        base, candidate, low, high = candidate, base, -high, -low
    p_values = (difference.p_value, difference.p_value_samples, difference.p_value_variants)
    if reason is not None:
        p_values = (np.nan,) * 3
    return Compared(
        difference.measure,
        base,
        candidate,
        candidate - base,
        low,
        high,
        *p_values,
        difference.standard_error,
        difference.degrees_of_freedom,
        n_samples,
        n_variants,
        n_repetitions,
        reason,
    )


def detectable_difference(
    standard_error: float,
    degrees_of_freedom: float,
    n_comparisons: int,
    min_effect: float,
    *,
    tail: float = TAIL,
    is_confirmed: bool = False,
) -> float:
    """Returns the smallest true difference that is found in 90 % among n_comparisons, and beyond the smallest that counts.

    It is max(min_effect + z SE, delta SE). delta is the noncentrality at which a t test over nu degrees of freedom at level
    tail / m rejects in 90 %, which is t_{1-tail/m} + 1.28 for many; z is 1.28. Where a third night has to confirm the
    difference, at a fifth of the level of one comparison, each of the two tests, whose statistics correlate by .5, is to
    reject in 94.4 %, and z is 1.59.

    Args:
        standard_error: SE, of the difference, >= 0.
        degrees_of_freedom: nu, of the standard error, >= 1.
        n_comparisons: m, how many comparisons are made together, >= 1.
        min_effect: smallest difference that counts, >= 0.
        tail: probability beyond the critical value where nothing differs, of one comparison: half the level of a two-sided
            test, the level of a one-sided one, as that of label_churn is.
        is_confirmed: whether the difference has to hold with a third night too.

    Returns:
        On the measure's scale; NaN for an undefined standard error.

    Raises:
        ValueError: fewer than one comparison.

    Measured: of differences of this size 3 wordings find .87 to .92, where t_{1-.025/m} + 1.28 for delta finds .65 to .80 and
    normal quantiles find .08 to .43 (100 samples, m = 1 and 8).
    """
    if n_comparisons < 1:
        message = f"n_comparisons must be at least 1, got {n_comparisons}"
        raise ValueError(message)
    power = _POWER_OF_TWO if is_confirmed else _POWER
    at_most = tail / max(n_comparisons, _PARTS_OF_LEVEL if is_confirmed else 1)
    noncentrality = nctdtrinc(degrees_of_freedom, 1 - power, stdtrit(degrees_of_freedom, 1 - at_most))
    return float(max(min_effect + ndtri(power) * standard_error, noncentrality * standard_error))
