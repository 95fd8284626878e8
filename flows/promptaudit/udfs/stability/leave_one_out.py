"""Computes alpha of one series, and alpha without each unit, in closed form: totals minus the unit's part of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.codes import WholeNumbers, parts_of
from promptaudit.udfs.stability.krippendorff import Level, alpha, interval_expected, ordinal_positions
from promptaudit.udfs.stability.ratings import MISSING

_CHUNK = 1 << 14  # units at once at ordinal level, where each needs a row of label pairs


class SeriesTable(Protocol):
    """The pairable values of one series."""

    @property
    def label_counts(self) -> NDArray[np.float64]:
        """Counts the pairable values of each label, a phantom label, and 0 for missing; shape (n_labels + 2,)."""

    @property
    def n_values(self) -> NDArray[np.int32]:
        """Counts the pairable values of each unit, shape (n_units,); 0 where the unit has fewer than two."""

    def alpha(self) -> float:
        """Computes Krippendorff's alpha of the whole series."""

    def leave_one_out(self) -> NDArray[np.float64]:
        """Computes alpha without each unit, shape (n_units,)."""

    def with_unit(self, extra: NDArray[np.float64]) -> SeriesTable:
        """Adds one unit to the totals, given by its label counts, shape (n_labels + 2,)."""


@dataclass(frozen=True, kw_only=True)
class NominalTable:
    """A series at nominal level, whose expected disagreement needs only the squares of the label counts."""

    codes: WholeNumbers
    n_values: NDArray[np.int32]
    squares: NDArray[np.int32]
    observed: NDArray[np.float64]
    label_counts: NDArray[np.float64]
    extra_observed: float = 0.0

    def alpha(self) -> float:
        """Computes alpha; see `SeriesTable`."""
        n = self.label_counts.sum()
        expected = n**2 - self.label_counts @ self.label_counts
        return float(alpha(self.observed.sum() + self.extra_observed, n, expected))

    def leave_one_out(self) -> NDArray[np.float64]:
        """Computes alpha without each unit; see `SeriesTable`."""
        n = self.label_counts.sum() - self.n_values
        overlap = np.zeros(len(self.n_values))
        for part in parts_of(*self.codes.shape):
            overlap += self.label_counts.take(self.codes[part]).sum(axis=0)
        squares = self.label_counts @ self.label_counts - 2 * overlap + self.squares
        return alpha(self.observed.sum() + self.extra_observed - self.observed, n, n**2 - squares)

    def with_unit(self, extra: NDArray[np.float64]) -> NominalTable:
        """Adds one unit to the totals; see `SeriesTable`."""
        n = extra.sum()
        observed = (n**2 - extra @ extra) / (n - 1)
        return replace(self, label_counts=self.label_counts + extra, extra_observed=float(observed))


@dataclass(frozen=True, kw_only=True)
class IntervalTable:
    """A series at interval level: n, sum and sum of squares, of the whole and of each unit."""

    numbers: NDArray[np.float64]
    n_values: NDArray[np.int32]
    sums: NDArray[np.float64]
    squares: NDArray[np.float64]
    observed: NDArray[np.float64]
    label_counts: NDArray[np.float64]
    extra_observed: float = 0.0

    def _moments(self) -> NDArray[np.float64]:
        return np.stack([np.ones_like(self.numbers), self.numbers, self.numbers**2]) @ self.label_counts

    def alpha(self) -> float:
        """Computes alpha; see `SeriesTable`."""
        moments = self._moments()
        return float(alpha(self.observed.sum() + self.extra_observed, moments[0], interval_expected(*moments)))

    def leave_one_out(self) -> NDArray[np.float64]:
        """Computes alpha without each unit; see `SeriesTable`."""
        n, sums, squares = self._moments()
        n = n - self.n_values
        expected = interval_expected(n, sums - self.sums, squares - self.squares)
        return alpha(self.observed.sum() + self.extra_observed - self.observed, n, expected)

    def with_unit(self, extra: NDArray[np.float64]) -> IntervalTable:
        """Adds one unit to the totals; see `SeriesTable`."""
        n = extra.sum()
        observed = interval_expected(n, extra @ self.numbers, extra @ self.numbers**2) / (n - 1)
        return replace(self, label_counts=self.label_counts + extra, extra_observed=float(observed))


@dataclass(frozen=True)
class OrdinalTable:
    """A series at ordinal level, where leaving out a unit moves the marginals and therefore every distance."""

    n_values: NDArray[np.int32]
    counts: NDArray[np.int64]  # (n_labels, n_units)
    label_counts: NDArray[np.float64]
    coincidences: NDArray[
        np.float64
    ]  # (n_labels + 2, n_labels + 2): sum over units of n_uc n_uk / (m_u - 1), diagonal 0

    def _observed(self, positions: NDArray[np.float64]) -> NDArray[np.float64]:
        # the sum over pairs of labels of coincidences times squared distances, for columns of positions
        # as a quadratic form it costs a row a label, not a row a pair: 10 against 45
        laplacian = np.diag(self.coincidences.sum(axis=0)) - self.coincidences
        return np.asarray(2 * np.einsum("cu,cu->u", positions, laplacian @ positions), np.float64)

    def alpha(self) -> float:
        """Computes alpha; see `SeriesTable`."""
        positions = ordinal_positions(self.label_counts[:, None])
        n = self.label_counts.sum()
        return float(alpha(self._observed(positions)[0], n, 2 * n * (self.label_counts @ positions[:, 0] ** 2)))

    def leave_one_out(self) -> NDArray[np.float64]:
        """Computes alpha without each unit; see `SeriesTable`."""
        figures = np.empty(len(self.n_values))
        for start in range(0, len(figures), _CHUNK):
            units = slice(start, start + _CHUNK)
            own, m = self.counts[:, units], self.n_values[units]
            counts = np.repeat(self.label_counts[:, None], len(m), axis=1)
            counts[: len(own)] -= own
            positions = ordinal_positions(counts)
            squares = positions**2
            sums, square_sums = (own * positions[: len(own)]).sum(axis=0), (own * squares[: len(own)]).sum(axis=0)
            removed = 2 * (m * square_sums - sums**2) / np.maximum(m - 1, 1)
            n = counts.sum(axis=0)
            expected = 2 * n * np.einsum("cu,cu->u", counts, squares)
            figures[units] = alpha(self._observed(positions) - removed, n, expected)
        return figures

    def with_unit(self, extra: NDArray[np.float64]) -> OrdinalTable:
        """Adds one unit to the totals; see `SeriesTable`."""
        added = np.outer(extra, extra) / (extra.sum() - 1)
        np.fill_diagonal(added, 0.0)
        return replace(self, label_counts=self.label_counts + extra, coincidences=self.coincidences + added)


def series_table(
    codes: WholeNumbers,
    n_values: NDArray[np.int32],
    squares: NDArray[np.int32],
    numbers: NDArray[np.float64],
    level: Level,
) -> NominalTable | IntervalTable | OrdinalTable:
    """Builds the table of one series, and drops units with fewer than two values before anything else.

    Args:
        codes: shape (n_annotators of the series, n_units), -1 for missing.
        n_values: shape (n_units,), values of each unit in these codes.
        squares: shape (n_units,), sum over labels of their squared counts in the unit.
        numbers: shape (n_labels,), the labels as numbers, unused at nominal level.
        level: measurement level.
    """
    is_pairable = n_values >= 2
    if not is_pairable.all():
        codes = np.where(is_pairable, codes, MISSING)
        n_values, squares = np.where(is_pairable, n_values, 0), np.where(is_pairable, squares, 0)
    n_labels = len(numbers)
    counts = np.zeros(n_labels + 1)
    for part in parts_of(*codes.shape):
        counts += np.bincount((codes[part] + 1).ravel(), minlength=n_labels + 1)
    label_counts = np.append(counts[1:], [0.0, 0.0])
    others = np.maximum(n_values - 1, 1)
    if level == "nominal":
        observed = (n_values**2 - squares) / others
        return NominalTable(
            codes=codes, n_values=n_values, squares=squares, observed=observed, label_counts=label_counts
        )
    if level == "interval":
        # a phantom label stands at any distance: with two labels in all, alpha does not depend on it
        padded = np.append(numbers, [numbers.max(initial=0.0) + 1, 0.0])
        values = padded.take(codes)
        sums, square_sums = values.sum(axis=0), (values**2).sum(axis=0)
        observed = np.where(squares == n_values**2, 0.0, 2 * (n_values * square_sums - sums**2) / others)
        return IntervalTable(
            numbers=padded,
            n_values=n_values,
            sums=sums,
            squares=square_sums,
            observed=observed,
            label_counts=label_counts,
        )
    by_label = np.array([np.count_nonzero(codes == c, axis=0) for c in range(n_labels)]).reshape(
        n_labels, codes.shape[1]
    )
    together = np.zeros((n_labels + 2, n_labels + 2))
    together[:n_labels, :n_labels] = (by_label / others) @ by_label.T
    np.fill_diagonal(together, 0.0)
    return OrdinalTable(n_values, by_label, label_counts, together)
