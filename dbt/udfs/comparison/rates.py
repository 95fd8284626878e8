"""Computes means over variants of the variant's mean over samples, and their spread: micro-F1, invalid rate, accuracy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.comparison.figures import Figures, Floats, Pair, exchanged_sums


class Rates:
    """The mean over variants of their mean value over samples and, where asked, its standard deviation (ddof 0)."""

    def __init__(self, names: tuple[str, ...], value: Floats, is_given: NDArray[np.bool_]) -> None:
        """Takes a value per cell.

        Args:
            names: of the mean, and of the standard deviation if it is a measure too.
            value: shape (2 n_slots, N), in [0, 1], those of the first run first.
            is_given: same shape, the same for both variants of a slot; False leaves the cell out.
        """
        self.names = names
        self.has_interval = (True,) * len(names)
        self.n_units = len(value)
        self._value, self._is_given = value, is_given
        self.n_samples = (int(is_given.any(axis=0).sum()),) * len(names)
        n_slots = self.n_units // 2
        value = np.where(is_given, value, 0.0)
        n_given = is_given.sum(axis=1)
        self._unit_means = np.where(n_given > 0, value.sum(axis=1) / np.maximum(n_given, 1), 0.0)
        self._has_mean = (n_given > 0).astype(np.float64)
        self._columns = [
            np.concatenate([value[run], is_given[run]]).T for run in (slice(n_slots), slice(n_slots, None))
        ]

    def resampled(self, weight: Floats) -> Pair:
        """Returns the figures of resampled samples; see `Figures`."""
        first, second = (self._of_sums(weight @ columns) for columns in self._columns)
        return first, second

    def exchanged(self, moves: Floats) -> Pair:
        """Returns the figures of exchanged samples; see `Figures`."""
        first, second = (self._of_sums(sums) for sums in exchanged_sums(moves, *self._columns))
        return first, second

    def dealt(self, chosen: Floats) -> Pair:
        """Returns the figures of the chosen variants and of the others; see `Figures`."""
        first, second = (self._figures(self._unit_means, taken * self._has_mean) for taken in (chosen, 1 - chosen))
        return first, second

    def halves(self) -> tuple[Figures, Figures]:
        """Returns the measures of every other sample, and of the rest."""
        first, second = (Rates(self.names, self._value[:, start::2], self._is_given[:, start::2]) for start in (0, 1))
        return first, second

    def _of_sums(self, totals: Floats) -> Floats:
        sums, counts = np.split(totals, 2, axis=1)
        return self._figures(sums / np.maximum(counts, 1), (counts > 0).astype(np.float64))

    def _figures(self, means: Floats, taken: Floats) -> Floats:
        """Returns the figures of the means of variants, and of which of them are taken, shape (n_runs, n_variants)."""
        n_taken = taken.sum(axis=1)
        divisor = np.where(n_taken > 0, n_taken, np.nan)
        mean = (taken * means).sum(axis=1) / divisor
        if len(self.names) == 1:
            return np.asarray(mean[None])
        # around the mean itself: sums of squares less the square of a sum would leave 1e-8 where variants are equal
        variance = (taken * np.square(means - mean[:, None])).sum(axis=1) / divisor
        # one variant has no spread: 0 would be taken for one that is known
        return np.stack([mean, np.where(n_taken > 1, np.sqrt(variance), np.nan)])
