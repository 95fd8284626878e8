"""alpha of one series, and alpha without each unit, in closed form: totals less what the unit adds to them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from udfs.agreement import Level, alpha, interval_expected, ordinal_positions
from udfs.ratings import MISSING

_CHUNK = 1 << 14  # units at once at ordinal level, where each needs a row of label pairs


class SeriesTable(Protocol):
    """Pairable values of one series."""

    @property
    def label_counts(self) -> NDArray[np.float64]:
        """Pairable values of each label, shape (n_labels + 2,): then a phantom label, then nothing (missing)."""

    @property
    def n_values(self) -> NDArray[np.int64]:
        """Pairable values of each unit, shape (n_units,); 0 where the unit has fewer than two."""

    def alpha(self) -> float:
        """alpha of the whole series."""

    def leave_one_out(self) -> NDArray[np.float64]:
        """alpha without each unit, shape (n_units,)."""

    def with_unit(self, extra: NDArray[np.float64]) -> SeriesTable:
        """The series with one unit more in the totals, given by its label counts, shape (n_labels + 2,)."""


@dataclass(frozen=True)
class NominalTable:
    """Nominal level: expected disagreement needs the squares of the label counts alone."""

    codes: NDArray[np.int64]
    n_values: NDArray[np.int64]
    squares: NDArray[np.int64]
    observed: NDArray[np.float64]
    label_counts: NDArray[np.float64]
    extra_observed: float = 0.0

    def alpha(self) -> float:
        n = self.label_counts.sum()
        expected = n**2 - self.label_counts @ self.label_counts
        return float(alpha(self.observed.sum() + self.extra_observed, n, expected))

    def leave_one_out(self) -> NDArray[np.float64]:
        n = self.label_counts.sum() - self.n_values
        overlap = self.label_counts.take(self.codes).sum(axis=0)
        squares = self.label_counts @ self.label_counts - 2 * overlap + self.squares
        return alpha(self.observed.sum() + self.extra_observed - self.observed, n, n**2 - squares)

    def with_unit(self, extra: NDArray[np.float64]) -> NominalTable:
        n = extra.sum()
        observed = (n**2 - extra @ extra) / (n - 1)
        return replace(self, label_counts=self.label_counts + extra, extra_observed=float(observed))


@dataclass(frozen=True)
class IntervalTable:
    """Interval level: n, sum and sum of squares, of the whole and of each unit."""

    numbers: NDArray[np.float64]
    n_values: NDArray[np.int64]
    sums: NDArray[np.float64]
    squares: NDArray[np.float64]
    observed: NDArray[np.float64]
    label_counts: NDArray[np.float64]
    extra_observed: float = 0.0

    def _moments(self) -> NDArray[np.float64]:
        return np.stack([np.ones_like(self.numbers), self.numbers, self.numbers**2]) @ self.label_counts

    def alpha(self) -> float:
        moments = self._moments()
        return float(alpha(self.observed.sum() + self.extra_observed, moments[0], interval_expected(*moments)))

    def leave_one_out(self) -> NDArray[np.float64]:
        n, sums, squares = self._moments()
        n = n - self.n_values
        expected = interval_expected(n, sums - self.sums, squares - self.squares)
        return alpha(self.observed.sum() + self.extra_observed - self.observed, n, expected)

    def with_unit(self, extra: NDArray[np.float64]) -> IntervalTable:
        n = extra.sum()
        observed = interval_expected(n, extra @ self.numbers, extra @ self.numbers**2) / (n - 1)
        return replace(self, label_counts=self.label_counts + extra, extra_observed=float(observed))


@dataclass(frozen=True)
class OrdinalTable:
    """Ordinal level: leaving out a unit moves the marginals and so every distance; coincidences carry the rest."""

    n_values: NDArray[np.int64]
    counts: NDArray[np.int64]  # (n_labels, n_units)
    pairs: NDArray[np.int64]  # (n_pairs, 2): the pairs of labels that occur together, the lower first
    label_counts: NDArray[np.float64]
    coincidences: NDArray[np.float64]  # (n_pairs,), of the whole
    extra_pair: tuple[int, int, float] = (0, 0, 0.0)

    def unit_coincidences(self, units: slice) -> NDArray[np.float64]:
        """n_uc n_uk / (m_u - 1) of each pair and unit, shape (n_pairs, n_units in the slice)."""
        counts = self.counts[:, units]
        return counts[self.pairs[:, 0]] * counts[self.pairs[:, 1]] / np.maximum(self.n_values[units] - 1, 1)

    def _alpha(self, counts: NDArray[np.float64], coincidences: NDArray[np.float64]) -> NDArray[np.float64]:
        positions = ordinal_positions(counts)
        lower, upper, extra = self.extra_pair
        distances = (positions[self.pairs[:, 0]] - positions[self.pairs[:, 1]]) ** 2
        observed = 2 * (coincidences * distances).sum(axis=0) + 2 * extra * (positions[lower] - positions[upper]) ** 2
        n = counts.sum(axis=0)
        return alpha(observed, n, 2 * n * (counts * positions**2).sum(axis=0))

    def alpha(self) -> float:
        return float(self._alpha(self.label_counts[:, None], self.coincidences[:, None])[0])

    def leave_one_out(self) -> NDArray[np.float64]:
        figures = np.empty(len(self.n_values))
        for start in range(0, len(figures), _CHUNK):
            units = slice(start, start + _CHUNK)
            counts = np.repeat(self.label_counts[:, None], len(self.n_values[units]), axis=1)
            counts[: len(self.counts)] -= self.counts[:, units]
            figures[units] = self._alpha(counts, self.coincidences[:, None] - self.unit_coincidences(units))
        return figures

    def with_unit(self, extra: NDArray[np.float64]) -> OrdinalTable:
        lower, upper = np.flatnonzero(extra)
        coincidence = extra[lower] * extra[upper] / (extra.sum() - 1)
        pair = (int(lower), int(upper), float(coincidence))
        return replace(self, label_counts=self.label_counts + extra, extra_pair=pair)


def series_table(
    codes: NDArray[np.int64],
    n_values: NDArray[np.int64],
    squares: NDArray[np.int64],
    numbers: NDArray[np.float64],
    level: Level,
) -> NominalTable | IntervalTable | OrdinalTable:
    """The values of one series, units with fewer than two dropped before anything else.

    Args:
        codes: shape (n_annotators of the series, n_units), -1 for missing.
        n_values, squares: shape (n_units,), of these codes: values, and squared counts of labels summed.
        numbers: shape (n_labels,), the labels as numbers, unused at nominal level.
        level: measurement level.
    """
    is_pairable = n_values >= 2
    if not is_pairable.all():
        codes = np.where(is_pairable, codes, MISSING)
        n_values, squares = np.where(is_pairable, n_values, 0), np.where(is_pairable, squares, 0)
    n_labels = len(numbers)
    counts = np.bincount((codes + 1).ravel(), minlength=n_labels + 1)[1:].astype(np.float64)
    label_counts = np.append(counts, [0.0, 0.0])
    others = np.maximum(n_values - 1, 1)
    if level == "nominal":
        observed = (n_values**2 - squares) / others
        return NominalTable(codes, n_values, squares, observed, label_counts)
    if level == "interval":
        # a phantom label stands at any distance: with two labels in all, alpha does not depend on it
        padded = np.append(numbers, [numbers.max(initial=0.0) + 1, 0.0])
        values = padded.take(codes)
        sums, square_sums = values.sum(axis=0), (values**2).sum(axis=0)
        observed = np.where(squares == n_values**2, 0.0, 2 * (n_values * square_sums - sums**2) / others)
        return IntervalTable(padded, n_values, sums, square_sums, observed, label_counts)
    by_label = np.stack([np.count_nonzero(codes == c, axis=0) for c in range(n_labels)] or [n_values])
    together = np.triu((by_label / others) @ by_label.T, 1)
    pairs = np.argwhere(together > 0)
    return OrdinalTable(n_values, by_label, pairs, label_counts, together[pairs[:, 0], pairs[:, 1]])
