"""Puts the comparison of two runs in one measure into a row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from promptaudit.udfs.comparison.differences import Difference

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


def not_comparable(measure: str, reason: str) -> Compared:
    """Returns a row without figures that says why."""
    return Compared(measure, *(np.nan,) * 10, 0, 0, 0, reason)


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
    most = 2 if difference.measure.startswith("pss") else 1  # alpha may lie below 0, the other figures are shares
    low, high = np.clip([low, high], -most, most).tolist()
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
