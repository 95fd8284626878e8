"""Computes the smallest difference between two runs that a comparison finds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import nctdtrinc, ndtri, stdtrit

from promptaudit.udfs.resampling import TAIL
from promptaudit.udfs.sql_function import sql_function

_POWER = 0.9


def detectable_differences(
    standard_error: NDArray[np.float64],
    degrees_of_freedom: NDArray[np.float64],
    n_comparisons: int,
    min_effect: float,
    *,
    tail: float = TAIL,
) -> NDArray[np.float64]:
    """Computes the smallest true differences, not below min_effect, that n_comparisons find in 90 % of cases.

    It is max(min_effect + z SE, delta SE). delta is the noncentrality at which a t test over nu degrees of freedom at
    level tail / m rejects in 90 %, which is t_{1-tail/m} + 1.28 for many; z is 1.28.

    Args:
        standard_error: shape (n,), SE of each difference, >= 0.
        degrees_of_freedom: shape (n,), nu of each standard error, >= 1.
        n_comparisons: m, how many comparisons are made together, >= 1.
        min_effect: smallest difference that counts, >= 0.
        tail: probability beyond the critical value where nothing differs, of one comparison: half the level of a
            two-sided test, the level of a one-sided one, such as the test of label_churn.

    Returns:
        Shape (n,), on the measure's scale; NaN for an undefined standard error.

    Raises:
        ValueError: fewer than one comparison.

    Measured: of differences of this size 3 wordings find .87 to .92, where t_{1-.025/m} + 1.28 for delta finds .65 to
    .80 and normal quantiles find .08 to .43 (100 samples, m = 1 and 8).
    """
    if n_comparisons < 1:
        message = f"n_comparisons must be at least 1, got {n_comparisons}"
        raise ValueError(message)
    critical = stdtrit(degrees_of_freedom, 1 - tail / n_comparisons)
    noncentrality = nctdtrinc(degrees_of_freedom, 1 - _POWER, critical)
    return np.asarray(
        np.maximum(min_effect + ndtri(_POWER) * standard_error, noncentrality * standard_error), np.float64
    )


@sql_function("detectable_difference")
def detectable_difference_of(
    standard_error: float, degrees_of_freedom: float, n_comparisons: int, min_effect: float, tail: float
) -> float:
    """Computes `detectable_difference`; n_comparisons of 0 counts as 1, and the result is NaN without a standard error.

    Example:
        >>> round(detectable_difference_of(0.01, 1e9, 1, 0.0, 0.05), 4)
        0.0293
    """
    return detectable_difference(standard_error, degrees_of_freedom, max(1, n_comparisons), min_effect, tail=tail)


def detectable_difference(
    standard_error: float,
    degrees_of_freedom: float,
    n_comparisons: int,
    min_effect: float,
    *,
    tail: float = TAIL,
) -> float:
    """Computes `detectable_differences` for a single standard error."""
    errors, free = np.array([standard_error], np.float64), np.array([degrees_of_freedom], np.float64)
    found = detectable_differences(errors, free, n_comparisons, min_effect, tail=tail)
    return float(found[0])
