"""Counts how often chance makes a difference as large as the observed one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from udfs.comparison.figures import Floats

ROUNDING = 1e-9  # differences closer than this are equal


class Exceeding:
    """The counts of draws whose difference is as large as the observed one, either way."""

    def __init__(self, difference: Floats) -> None:
        """Takes the observed differences, shape (n_measures,)."""
        self._size = np.abs(difference)
        self._n = np.zeros(len(difference), np.int64)
        self._n_draws = np.zeros(len(difference), np.int64)

    def add(self, differences: Floats, which: NDArray[np.bool_] | None = None) -> None:
        """Counts draws of shape (n_measures, n_draws), for some of the measures or all; undefined ones count as large."""
        which = np.ones(len(self._size), np.bool_) if which is None else which
        is_smaller = np.abs(differences) < (self._size - ROUNDING)[:, None]
        self._n[which] += (~is_smaller[which]).sum(axis=1)
        self._n_draws[which] += differences.shape[1]

    def p_values(self) -> Floats:
        """Returns (1 + b) / (B + 1): the observed assignment is itself one of those drawn. NaN for an undefined difference."""
        return np.asarray(np.where(np.isnan(self._size), np.nan, (1 + self._n) / (1 + self._n_draws)), np.float64)
