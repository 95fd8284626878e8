"""Counts how often chance makes a difference as large as the observed one, and goes by t where no exchange does."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from promptaudit.udfs.comparison.figures import Floats

ROUNDING = 1e-9  # differences closer than this are equal
NEAR_FLOOR = 0.002
"""From this p-value down t may say more than draws: 12 wordings that all move one way have 2^-11, ten samples 2^-9."""


class Exceeding:
    """The counts of draws whose difference is as large as the observed one, either way."""

    def __init__(self, difference: Floats) -> None:
        """Takes the observed differences, shape (n_measures,)."""
        self._size = np.abs(difference)
        self._n = np.zeros(len(difference), np.int64)
        self._n_larger = np.zeros(len(difference), np.int64)
        self._n_draws = np.zeros(len(difference), np.int64)

    def add(self, differences: Floats, which: NDArray[np.bool_] | None = None) -> None:
        """Counts draws of shape (n_measures, n_draws), for some of the measures or all; undefined ones count as large."""
        which = np.ones(len(self._size), np.bool_) if which is None else which
        drawn, size = np.abs(differences[which]), self._size[which, None]
        self._n[which] += (~(drawn < size - ROUNDING)).sum(axis=1)
        self._n_larger[which] += (~(drawn <= size + ROUNDING)).sum(axis=1)
        self._n_draws[which] += differences.shape[1]

    def p_values(self) -> Floats:
        """Returns (1 + b) / (B + 1): the observed assignment is itself one of those drawn. NaN for an undefined difference."""
        return np.asarray(np.where(np.isnan(self._size), np.nan, (1 + self._n) / (1 + self._n_draws)), np.float64)

    def p_values_with_tail(self, by_t: Floats) -> Floats:
        """Returns the p-values, and where no draw made a larger difference the smaller one of t, shape (n_measures,).

        However large a difference is, B draws of N samples or Q wordings show no less than 1 / (B + 1) and 2^(1 - Q): among
        200 groups the collapse of one would be found by no measure. An undefined p-value of t (NaN) changes nothing.
        """
        p_values = self.p_values()
        is_at_floor = (self._n_larger == 0) & (p_values <= np.maximum(NEAR_FLOOR, 1 / (1 + self._n_draws)))
        return np.where(is_at_floor & (self._n_draws > 0), np.fmin(p_values, by_t), p_values)


def t_p_values(difference: Floats, error: Floats, degrees_of_freedom: Floats | float) -> Floats:
    """Returns two-sided p-values of differences, shape (n_measures,): 1 for no difference, 0 for no error; NaN for NaN."""
    size = np.abs(difference)
    with np.errstate(divide="ignore", invalid="ignore"):
        p_values = 2 * stdtr(degrees_of_freedom, -size / error)
    return np.asarray(np.where(size < ROUNDING, 1.0, np.where(error > 0, p_values, 0 * (size + error))), np.float64)
