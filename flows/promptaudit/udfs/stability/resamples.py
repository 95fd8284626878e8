"""Computes resampled alphas of all series at once: of whole units, and of cells as the published package does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix, csr_matrix

from promptaudit.udfs.codes import WholeNumbers
from promptaudit.udfs.resampling import chunks, generator, mean_defined, resampled_units
from promptaudit.udfs.stability.krippendorff import alpha, interval_expected, ordinal_positions
from promptaudit.udfs.stability.leave_one_out import OrdinalTable, series_table
from promptaudit.udfs.stability.nominal_series import series_counts
from promptaudit.udfs.stability.ratings import (
    DENSE_UP_TO,
    MISSING,
    Ratings,
    UnitCounts,
    cumulative_and_adjacent,
    is_shown,
    unit_counts,
)
from promptaudit.udfs.stability.replicates import mean_of_varied

MAX_CELL_RESAMPLES = 200
MAX_CELLS = 300_000
"""With more labels the published package's interval is left out: drawing each 200 times would take seconds."""

_BATCHED_COUNTS = 1 << 15  # series x labels x units up to which one product with all of them beats one an annotator
_BATCHED_SUMS = 1 << 18  # series x labels x resamples of that product, 2 MB
_UNITS, _CELLS = 2, 3  # purposes of the generators


def _nominal_disagreement(counts: UnitCounts) -> NDArray[np.float64]:
    # the unlike pairs of labels of each unit in each series, over one less than its labels; 0 where it has no pair
    observed = np.zeros(counts.n_values.shape)
    for own, n_values, squares in zip(observed, counts.n_values, counts.squares, strict=True):  # a series at a time
        np.divide(n_values**2 - squares, n_values - 1, out=own, where=n_values >= 2)
    return observed


class _Replicate:
    # per series and unit the disagreement, per annotator the labels
    def __init__(self, ratings: Ratings) -> None:
        codes, level = ratings.codes, ratings.level
        self.level, self.numbers, self.codes = level, ratings.numbers, codes
        self.is_given = codes != MISSING
        self.is_complete = bool(self.is_given.all())
        counts = unit_counts(codes)
        is_pairable = counts.n_values >= 2
        self.n_values: NDArray[np.float64] | None = None
        if not self.is_complete:
            self.n_values = np.where(is_pairable, counts.n_values, 0).astype(np.float64)
        self.private: NDArray[np.float64] | None = None
        self.rows = codes
        self.n_rows = ratings.n_labels
        self.observed: NDArray[np.float64] | None = None
        self.coincidences: list[tuple[NDArray[np.int64], csc_matrix]] = []
        self.counts: NDArray[np.int8] | None = None
        if level == "nominal":
            self.observed = _nominal_disagreement(counts)
            del counts  # it holds two numbers for each label
            self._set_private_labels_aside(is_pairable)
            if len(codes) <= DENSE_UP_TO and is_pairable.size * self.n_rows <= _BATCHED_COUNTS:
                self.counts = series_counts(self.rows, self.n_rows, is_pairable)
            return
        observed = []
        for index, series in enumerate(cumulative_and_adjacent(len(codes))):
            part = codes[series.start : series.stop]
            table = series_table(part, counts.n_values[index], counts.squares[index], ratings.numbers, level)
            if isinstance(table, OrdinalTable):
                self.coincidences.append(_unit_coincidences(table))
            else:
                observed.append(table.observed)
        if level == "interval":
            self.observed = np.stack(observed)

    def _set_private_labels_aside(self, is_pairable: NDArray[np.bool_]) -> None:
        # Labels of a single unit add w_u^2 n_uc^2 to the squares and need no row of their own. Verbatim completions may
        # all be distinct: 15,000 rows of resampled counts become one.
        last = np.full(self.n_rows + 1, -1)  # unit of each label; the last one is the missing label
        is_shared = np.zeros(self.n_rows + 1, np.bool_)
        unit = np.arange(self.codes.shape[1])
        for label, is_given in zip(self.codes, self.is_given, strict=True):  # an annotator at a time
            last[label[is_given]] = unit[is_given]
        for label, is_given in zip(self.codes, self.is_given, strict=True):
            is_shared[label[is_given & (last[label] != unit)]] = True
        is_private = self.is_given & ~is_shared[self.codes]
        if is_private.any():
            squares = unit_counts(self.codes, is_private).squares
            self.private = np.where(is_pairable, squares, 0).astype(np.float64)
            row = np.where(is_shared, np.cumsum(is_shared) - 1, MISSING).astype(self.codes.dtype)
            self.rows, self.n_rows = row[self.codes], int(is_shared.sum())

    def _sums(self, rows: WholeNumbers, weight: NDArray[np.floating]) -> NDArray[np.floating]:
        # rows of shape (n_units,), at most one label a unit
        is_given = rows != MISSING
        ends = np.append(0, np.cumsum(is_given))
        one_hot = csc_matrix((np.ones(ends[-1], weight.dtype), rows[is_given], ends), shape=(self.n_rows, len(rows)))
        return np.asarray(one_hot @ weight)

    def _label_sums(self, weight: NDArray[np.floating]) -> Iterator[tuple[int, NDArray[np.floating]]]:
        # the position of each series and the weighted counts of its labels, shape (n_rows, n_resamples)
        n_steps = len(self.codes) - 1
        running = previous = self._sums(self.rows[0], weight)
        for k in range(1, n_steps + 1):
            current = self._sums(self.rows[k], weight)
            running = running + current
            if self.is_complete:
                yield k - 1, running
                yield n_steps + k - 1, previous + current
            else:
                given, before = self.is_given[k], self.is_given[k - 1]
                yield k - 1, running - self._sums(self._only_label(k), weight)
                alone = np.where(given & ~before, self.rows[k], np.where(before & ~given, self.rows[k - 1], MISSING))
                yield n_steps + k - 1, previous + current - self._sums(alone, weight)
            previous = current

    def _only_label(self, k: int) -> WholeNumbers:
        # a unit with a single label among annotators 0..k is not pairable; all other units are missing here
        given = self.is_given[: k + 1]
        first = np.take_along_axis(self.rows, given.argmax(axis=0)[None], axis=0)[0]
        return np.where(given.sum(axis=0) == 1, first, MISSING)

    def alphas(self, weight: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        # weight has the shape (n_units, n_resamples), both results (n_series, n_resamples); the second says where only
        # one label occurs
        if self.n_values is None:  # every unit has a label of every annotator, and weights sum to the units
            sizes = [series.stop - series.start for series in cumulative_and_adjacent(len(self.codes))]
            n_values = np.outer(sizes, weight.sum(axis=0))
        else:
            n_values = self.n_values @ weight
        observed = None if self.observed is None else self.observed @ weight
        private = None if self.private is None else self.private @ weight**2
        # whole numbers below 2^24 are exact in four bytes, which are read in half the time
        is_small = weight.shape[0] * len(self.codes) < 2**24
        light: NDArray[Any] = weight.astype(np.float32) if is_small else weight
        if self.counts is not None and observed is not None:
            n_series, n_rows, n_units = self.counts.shape
            if n_series * n_rows * weight.shape[1] <= _BATCHED_SUMS:
                sums = self.counts.reshape(-1, n_units).astype(light.dtype) @ light
                counts = sums.astype(np.float64).reshape(n_series, n_rows, weight.shape[1])
                expected = n_values**2 - np.einsum("scb,scb->sb", counts, counts)
                if private is not None:
                    expected -= private
                return alpha(observed, n_values, expected), expected == 0
        figures = np.full(n_values.shape, np.nan)
        is_degenerate = np.zeros(n_values.shape, np.bool_)
        shown = is_shown(len(self.codes))
        for index, sums in self._label_sums(light):
            if not shown[index]:
                continue
            n, counts = n_values[index], sums.astype(np.float64)
            if observed is None:
                pairs, coincidences = self.coincidences[index]
                positions = ordinal_positions(counts)
                distances = (positions[pairs[:, 0]] - positions[pairs[:, 1]]) ** 2
                disagreement = 2 * np.einsum("pb,pb->b", np.asarray(coincidences @ weight), distances)
                expected = 2 * n * np.einsum("cb,cb->b", counts, positions**2)
            elif self.level == "interval":
                disagreement = observed[index]
                expected = interval_expected(n, self.numbers @ counts, self.numbers**2 @ counts)
            else:
                disagreement = observed[index]
                expected = n**2 - np.einsum("cb,cb->b", counts, counts)
                if private is not None:
                    expected -= private[index]
            figures[index] = alpha(disagreement, n, expected)
            is_degenerate[index] = expected == 0
        return figures, is_degenerate


def _unit_coincidences(table: OrdinalTable) -> tuple[NDArray[np.int64], csc_matrix]:
    # pairs of labels that any unit has together, (n_pairs, 2), and n_uc n_uk / (m_u - 1) of each pair and unit
    pairs = np.argwhere(np.triu(table.coincidences, 1) > 0)
    products = table.counts[pairs[:, 0]] * table.counts[pairs[:, 1]]
    # by column: weights are read once and in order, and the few sums stay in the cache
    return pairs, csc_matrix(products / np.maximum(table.n_values - 1, 1))


def bootstrap_alphas(
    replicates: Sequence[Ratings], seed: int, n_resamples: int, is_counted: NDArray[np.bool_] | None = None
) -> NDArray[np.float64]:
    """Computes alphas of every series over seeded resamples of units, the same units for all series and replicates.

    Args:
        replicates: tables over the same annotators and units; alphas are averaged by `replicates.mean_of_varied`.
        seed: of the draws.
        n_resamples: B.
        is_counted: shape (n_replicates, 2 (K - 1)), the replicates that count in each series; None counts all.

    Returns:
        Shape (2 (K - 1), B), series as in `cumulative_and_adjacent`; 1 where a resample has no variation, NaN where it
        has nothing pairable, and in series that are not shown.
    """
    prepared = [_Replicate(ratings) for ratings in replicates]
    n_units = replicates[0].codes.shape[1]
    n_rows = n_units + max(replicate.n_rows for replicate in prepared)
    drawn = resampled_units(seed, _UNITS, [n_units], n_resamples, n_rows)
    parts = []
    for weight in drawn:
        by_replicate = [replicate.alphas(weight) for replicate in prepared]
        figures = np.stack([of_replicate for of_replicate, _ in by_replicate])
        if is_counted is not None:
            figures[~is_counted] = np.nan
        parts.append(mean_of_varied(figures, np.stack([is_degenerate for _, is_degenerate in by_replicate])))
    return np.concatenate(parts, axis=1)


def cell_alphas(replicates: Sequence[Ratings], seed: int, n_resamples: int) -> NDArray[np.float64]:
    """Computes alphas over resamples of single labels, duplicates dropped, as the published package does.

    Drawing n of n rows (unit, annotator, label) and dropping duplicates thins the table to 63 % of its cells and keeps
    every unit: the spread comes from choosing annotators, and is 2.4 to 4.5 times too narrow for samples.

    Returns:
        Shape (min(n_resamples, 200),); empty above 300,000 labels.

    Source:
        Barrie et al. 2025, promptstability.
    """
    n_cells = max(int((ratings.codes != MISSING).sum()) for ratings in replicates)
    if n_cells > MAX_CELLS:
        return np.empty(0)
    rng = generator(seed, _CELLS)
    n_resamples = min(n_resamples, MAX_CELL_RESAMPLES)
    return mean_defined(np.stack([_thinned_alphas(ratings, rng, n_resamples) for ratings in replicates]))


def _thinned_alphas(ratings: Ratings, rng: np.random.Generator, n_resamples: int) -> NDArray[np.float64]:
    annotator, unit = np.nonzero(ratings.codes != MISSING)
    if len(unit) == 0:
        return np.full(n_resamples, np.nan)
    label = ratings.codes[annotator, unit]
    keys, slot = np.unique(unit * ratings.n_labels + label, return_inverse=True)
    slot_unit, slot_label = np.divmod(keys, ratings.n_labels)
    n_slots, n_units = len(keys), ratings.codes.shape[1]
    starts = np.searchsorted(np.sort(slot), np.arange(n_slots))
    slots_of_unit = _indicator(slot_unit, n_units)
    slots_of_label = _indicator(slot_label, ratings.n_labels)
    parts = []
    for n_chunk in chunks(n_resamples, len(slot)):
        # cells lie slot by slot, and only whether one was drawn at all matters
        kept = np.zeros((n_chunk, len(slot)), np.uint8)
        for row, drawn in zip(kept, rng.integers(0, len(slot), size=(n_chunk, len(slot))), strict=True):
            row[drawn] = 1
        counts = np.add.reduceat(kept, starts, axis=1, dtype=np.int32).T.astype(np.float64, order="C")
        n_values = slots_of_unit @ counts
        counts *= (n_values >= 2)[slot_unit]
        n_values = np.where(n_values >= 2, n_values, 0)
        by_label = slots_of_label @ counts
        n = n_values.sum(axis=0)
        if ratings.level == "nominal":
            within = n_values**2 - slots_of_unit @ counts**2
            expected = n**2 - (by_label**2).sum(axis=0)
        else:
            scale = ordinal_positions(by_label) if ratings.level == "ordinal" else ratings.numbers[:, None]
            values = scale[slot_label]
            within = 2 * (n_values * (slots_of_unit @ (counts * values**2)) - (slots_of_unit @ (counts * values)) ** 2)
            sums = (by_label * scale).sum(axis=0)
            expected = interval_expected(n, sums, (by_label * scale**2).sum(axis=0))
        parts.append(alpha((within / np.maximum(n_values - 1, 1)).sum(axis=0), n, expected))
    return np.concatenate(parts)


def _indicator(row: NDArray[np.int64], n_rows: int) -> csr_matrix:
    # sums entries by row; shape (n_rows, n_entries)
    order = np.argsort(row, kind="stable")
    ends = np.searchsorted(row[order], np.arange(n_rows + 1))
    return csr_matrix((np.ones(len(row)), order, ends), shape=(n_rows, len(row)))
