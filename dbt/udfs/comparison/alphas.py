"""Computes Krippendorff's alpha of exchanged and resampled runs from sums over samples."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.comparison.figures import Counts, Figures, Floats, Pair, blocks, exchanged_sums
from promptaudit.udfs.resampling import mean_defined
from promptaudit.udfs.stability.krippendorff import Level, alpha, interval_expected, ordinal_positions
from promptaudit.udfs.stability.replicates import is_large_enough, mean_of_varied

_SAMPLES_AT_ONCE = 256


class AlphaSums:
    """The sums over samples that alpha is made of, at one level of measurement."""

    def __init__(self, numbers: Floats, level: Level) -> None:
        """Takes the labels as numbers, shape (n_labels,); only interval level reads them."""
        self.level = level
        self.numbers = numbers - numbers.mean() if len(numbers) else numbers  # squares of small numbers round less
        self.pairs = list(combinations(range(len(numbers)), 2)) if level == "ordinal" else []
        self.n_columns = len(numbers) + (len(self.pairs) or 1)

    def disagreements(self, counts: Sequence[Counts], n_values: Counts) -> list[Floats]:
        """Returns the disagreement of each sample, in the counts' shape.

        Args:
            counts: per label how many values the sample has of it, of any one shape.
            n_values: their sum m; samples with fewer than two values disagree in nothing.

        Returns:
            The sum of distances over ordered pairs of values over m - 1, one array. At ordinal level, where distances
            depend on the whole table: n_c n_k / (m - 1) of each pair of labels.
        """
        # products of counts are whole and exact in four bytes, quotients are not
        others = np.maximum(n_values - 1, 1, dtype=np.float64)
        if self.level == "ordinal":
            return [counts[a] * counts[b] / others for a, b in self.pairs]
        if self.level == "interval":
            sums, squares = np.zeros((2, *n_values.shape))
            for x, count in zip(self.numbers, counts, strict=True):
                sums += x * count
                squares += x * x * count
            return [interval_expected(np.asarray(n_values, np.float64), sums, squares) / others]
        apart = n_values * n_values
        for count in counts:
            apart -= count * count
        return [apart / others]

    def columns(self, counts: Sequence[Floats]) -> Floats:
        """Returns the pairable values of each label and the disagreement of each sample: counts (N,) give (N, n_columns)."""
        n_values = sum(counts[1:], counts[0])
        pairable = [np.where(n_values >= 2, count, 0.0) for count in counts]
        return np.stack([*pairable, *self.disagreements(counts, n_values)], axis=1)

    def alphas(self, totals: Floats) -> Floats:
        """Returns alpha of each run from the columns' sums over samples: shape (n_columns, n_runs) gives (n_runs,)."""
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

    def is_degenerate(self, totals: Floats) -> NDArray[np.bool_]:
        """Returns whether only one label occurs in each run: shape (n_columns, n_runs) gives (n_runs,)."""
        return np.asarray(np.count_nonzero(totals[: len(self.numbers)], axis=0) == 1)


class Alphas:
    """The measures `pss_inter` and `pss_intra`: the mean over groups of the mean over replicates of alpha.

    As in `prompt_stability`, a replicate counts where it is large enough, by the samples that are pairable in both runs,
    and where its labels vary. The latter is decided in each run and draw, so that the measure stays one function of a
    run's labels, which the exchange of runs needs.
    """

    def __init__(
        self,
        name: str,
        groups: Sequence[Sequence[NDArray[np.int16]]],
        units: Sequence[NDArray[np.int64]],
        numbers: Floats,
        level: Level,
        n_units: int,
    ) -> None:
        """Takes the labels that annotators gave.

        Args:
            name: of the measure.
            groups: per group (paraphrase temperature) its replicates (repetitions), each of shape (2, n_annotators, N):
                codes of labels, those of len(numbers) and above (N/A) and -1 being no label.
            units: per group the slot of each annotator.
            numbers: shape (n_labels,), the labels as numbers.
            level: of measurement.
            n_units: variants of both runs; 0 where they are not exchanged.
        """
        self.names: tuple[str, ...] = (name,)
        self.has_interval: tuple[bool, ...] = (True,)
        self.n_units = n_units
        self._numbers, self._level = numbers, level
        self._sums = AlphaSums(numbers, level)
        n_labels = len(numbers)
        self._groups = [_large_replicates(group, n_labels) for group in groups]
        self._units = units
        is_rated = [_is_pairable(part, n_labels) for group in self._groups for part in group]
        self.n_samples: tuple[int, ...] = (int(np.logical_or.reduce(is_rated).sum()),)
        self._columns = [[self._run_columns(part, n_labels) for part in group] for group in self._groups]

    def _run_columns(self, part: NDArray[np.int16], n_labels: int) -> tuple[Floats, Floats]:
        """Returns each run's columns of one replicate, shape (N, n_columns) each."""
        both = []
        for labels in part:
            counts = [np.count_nonzero(labels == c, axis=0).astype(np.float64) for c in range(n_labels)]
            both.append(self._sums.columns(counts))
        return both[0], both[1]

    def resampled(self, weight: Floats) -> Pair:
        """Returns the figures of resampled samples; see `Figures`."""
        return self._means([[(weight @ first, weight @ second) for first, second in group] for group in self._columns])

    def exchanged(self, moves: Floats) -> Pair:
        """Returns the figures of exchanged samples; see `Figures`."""
        return self._means([[exchanged_sums(moves, *columns) for columns in group] for group in self._columns])

    def dealt(self, chosen: Floats) -> Pair:
        """Returns the figures of the chosen variants and of the others; see `Figures`."""
        by_run = chosen.reshape(len(chosen), 2, -1)
        return self._means(
            [
                [self._dealt_sums(part, by_run[:, :, slots].reshape(len(chosen), -1)) for part in group]
                for group, slots in zip(self._groups, self._units, strict=True)
            ]
        )

    def halves(self) -> tuple[Figures, Figures]:
        """Returns the measure of every other sample, and of the rest."""
        first, second = (
            Alphas(
                self.names[0],
                [[part[:, :, start::2] for part in group] for group in self._groups],
                self._units,
                self._numbers,
                self._level,
                self.n_units,
            )
            for start in (0, 1)
        )
        return first, second

    def _means(self, totals: Sequence[Sequence[Pair]]) -> Pair:
        """Mean over groups of the mean over replicates of alpha, from the sums of each, shape (n_draws, n_columns)."""
        first, second = (
            mean_defined(np.stack([self._mean_of_group([pair[run].T for pair in group]) for group in totals]))[None]
            for run in (0, 1)
        )
        return first, second

    def _mean_of_group(self, totals: Sequence[Floats]) -> Floats:
        """Mean over replicates of alpha, from the sums of each, shape (n_columns, n_draws)."""
        figures = np.stack([self._sums.alphas(of_replicate) for of_replicate in totals])
        return mean_of_varied(figures, np.stack([self._sums.is_degenerate(of_replicate) for of_replicate in totals]))

    def _dealt_sums(self, part: NDArray[np.int16], chosen: Floats) -> Pair:
        """Sums of the columns over samples: of the annotators chosen, and of the others."""
        labels = part.reshape(-1, part.shape[2])
        n_labels = len(self._sums.numbers)
        # counts of annotators are whole and small: four bytes hold them exactly
        taken = chosen.astype(np.float32)
        by_annotator = np.stack([np.count_nonzero(labels == c, axis=1) for c in range(n_labels)], axis=1)
        both = np.zeros((2, len(taken), self._sums.n_columns))
        both[:, :, :n_labels] = chosen @ by_annotator, (1 - chosen) @ by_annotator
        for start in range(0, labels.shape[1], _SAMPLES_AT_ONCE):
            some = labels[:, start : start + _SAMPLES_AT_ONCE]
            given = [(some == c).astype(np.float32) for c in range(n_labels)]
            everyone = [of_label.sum(axis=0) for of_label in given]
            for rows in blocks(len(taken), some.shape[1]):
                counts = [taken[rows] @ of_label for of_label in given]
                self._add(both[0, rows], counts)
                self._add(both[1, rows], [whole - count for whole, count in zip(everyone, counts, strict=True)])
        return both[0], both[1]

    def _add(self, totals: Floats, counts: Sequence[Counts]) -> None:
        """Add what samples disagree, and take off the labels of samples that have a single one."""
        n_labels = len(counts)
        n_values = counts[0].copy()
        for count in counts[1:]:
            n_values += count
        for k, column in enumerate(self._sums.disagreements(counts, n_values)):
            totals[:, n_labels + k] += column.sum(axis=1)
        if n_values.min() < 2:
            is_single = n_values == 1
            for c, count in enumerate(counts):
                totals[:, c] -= (count * is_single).sum(axis=1)


def _is_pairable(part: NDArray[np.int16], n_labels: int) -> NDArray[np.bool_]:
    """Returns whether each sample has two labels in both runs, shape (N,), from the labels of one replicate."""
    return np.asarray((((part >= 0) & (part < n_labels)).sum(axis=1) >= 2).all(axis=0))


def _large_replicates(group: Sequence[NDArray[np.int16]], n_labels: int) -> list[NDArray[np.int16]]:
    """Returns the replicates that are large enough; all of them where nothing is pairable in both runs."""
    is_large = is_large_enough(np.array([_is_pairable(part, n_labels).sum() for part in group]))
    if not is_large.any():
        return list(group)
    return [part for part, is_one in zip(group, is_large, strict=True) if is_one]
