"""Krippendorff's alpha of runs put together anew, from sums over samples."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from udfs.agreement import Level, alpha, interval_expected, ordinal_positions
from udfs.comparison.figures import Floats, blocks, mean_defined, weighted

_SAMPLES_AT_ONCE = 256


class AlphaSums:
    """What a sample adds to the sums that alpha is made of, at one level of measurement."""

    def __init__(self, numbers: Floats, level: Level) -> None:
        """Take the labels as numbers, which only interval level looks at."""
        self.level = level
        self.numbers = numbers - numbers.mean() if len(numbers) else numbers  # squares of small numbers round less
        self.pairs = list(combinations(range(len(numbers)), 2)) if level == "ordinal" else []
        self.n_columns = len(numbers) + (len(self.pairs) or 1)

    def columns(self, counts: Sequence[Floats]) -> list[Floats]:
        """The columns of each sample: pairable values of each label, then what it disagrees.

        Args:
            counts: per label how many values the sample has of it, of any one shape. Samples with fewer than two
                values drop out; their counts are set to 0 in place.

        Returns:
            n_columns arrays of that shape. The last ones are the sum of distances over ordered pairs of values over
            m - 1; at ordinal level, where distances depend on the whole table, n_c n_k / (m - 1) of each pair of labels.
        """
        n_values = sum(counts[1:], counts[0])
        is_single = n_values == 1
        if is_single.any():
            n_values = np.where(is_single, 0, n_values)
            for count in counts:
                count[is_single] = 0
        share = 1 / np.maximum(n_values.astype(np.float64) - 1, 1)
        if self.level == "ordinal":
            return [*counts, *(counts[a] * counts[b] * share for a, b in self.pairs)]
        if self.level == "interval":
            sums = sum(x * count for x, count in zip(self.numbers, counts, strict=True))
            squares = sum(x * x * count for x, count in zip(self.numbers, counts, strict=True))
            return [*counts, interval_expected(n_values, sums, squares) * share]
        same = sum(count * count for count in counts)
        return [*counts, (n_values * n_values - same) * share]

    def alphas(self, totals: Floats) -> Floats:
        """Alpha from the columns' sums over samples, shape (n_columns, n_runs) -> (n_runs,)."""
        counts, rest = np.split(totals, [len(self.numbers)])
        n = counts.sum(axis=0)
        if self.level == "ordinal":
            positions = ordinal_positions(counts)
            observed = np.zeros_like(n)
            for (a, b), together in zip(self.pairs, rest, strict=False):
                observed += 2 * together * np.square(positions[a] - positions[b])
            return alpha(observed, n, 2 * n * np.einsum("cb,cb->b", counts, np.square(positions)))
        if self.level == "interval":
            return alpha(rest[0], n, interval_expected(n, self.numbers @ counts, np.square(self.numbers) @ counts))
        return alpha(rest[0], n, n * n - np.einsum("cb,cb->b", counts, counts))


class Alphas:
    """Mean over groups of the mean over replicates of alpha; `pss_inter` and `pss_intra`."""

    def __init__(
        self,
        name: str,
        groups: Sequence[Sequence[NDArray[np.int16]]],
        units: Sequence[NDArray[np.int64]],
        numbers: Floats,
        level: Level,
        n_units: int,
    ) -> None:
        """Take the labels that annotators gave.

        Args:
            name: of the measure.
            groups: per group (paraphrase temperature) its replicates (repetitions), each of shape (2, n_annotators, N):
                codes of labels, those of len(numbers) and above (N/A) and -1 being no label.
            units: per group the slot of each annotator.
            numbers: shape (n_labels,), the labels as numbers.
            level: of measurement.
            n_units: variants of both runs; 0 where they are not exchanged.
        """
        self.names = (name,)
        self.has_interval = (True,)
        self.n_units = n_units
        self._sums = AlphaSums(numbers, level)
        self._groups = groups
        self._units = units
        n_labels = len(numbers)
        is_rated = [((part >= 0) & (part < n_labels)).sum(axis=1) >= 2 for group in groups for part in group]
        self.n_samples = (int(np.logical_or.reduce([rated.all(axis=0) for rated in is_rated]).sum()),)
        self._columns = [[self._run_columns(part, n_labels) for part in group] for group in groups]

    def _run_columns(self, part: NDArray[np.int16], n_labels: int) -> tuple[Floats, Floats]:
        """Each run's columns of one replicate, shape (N, n_columns) each."""
        both = []
        for labels in part:
            counts = [np.count_nonzero(labels == c, axis=0).astype(np.float64) for c in range(n_labels)]
            both.append(np.stack(self._sums.columns(counts), axis=1))
        return both[0], both[1]

    def of_rows(self, first: Floats | None, second: Floats | None) -> Floats:
        """See Figures."""
        figures = [
            mean_defined(np.stack([self._sums.alphas(weighted(first, second, *columns).T) for columns in group]))
            for group in self._columns
        ]
        return mean_defined(np.stack(figures))[None]

    def of_units(self, chosen: Floats) -> Floats:
        """See Figures."""
        by_run = chosen.reshape(len(chosen), 2, -1)
        figures = []
        for group, slots in zip(self._groups, self._units, strict=True):
            taken = by_run[:, :, slots].reshape(len(chosen), -1).astype(np.float32)
            figures.append(mean_defined(np.stack([self._sums.alphas(self._totals(part, taken)) for part in group])))
        return mean_defined(np.stack(figures))[None]

    def _totals(self, part: NDArray[np.int16], taken: NDArray[np.float32]) -> Floats:
        """Sums of the columns over samples, shape (n_columns, n_runs), where `taken` of both runs' annotators stay."""
        labels = part.reshape(-1, part.shape[2])
        totals = np.zeros((self._sums.n_columns, len(taken)))
        for start in range(0, labels.shape[1], _SAMPLES_AT_ONCE):
            some = labels[:, start : start + _SAMPLES_AT_ONCE]
            # counts of annotators are whole and small: four bytes hold them exactly
            given = [(some == c).astype(np.float32) for c in range(len(self._sums.numbers))]
            for rows in blocks(len(taken), some.shape[1]):
                counts = [taken[rows] @ of_label for of_label in given]
                for column, total in zip(self._sums.columns(counts), totals, strict=True):
                    total[rows] += column.sum(axis=1, dtype=np.float64)
        return totals

