"""Builds the tables of annotators x units of prompt stability, and the series taken from them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.codes import WholeNumbers, dense_codes, parts_of
from promptaudit.udfs.stability.krippendorff import Level

DENSE_UP_TO = 60
MISSING = -1


@dataclass(frozen=True)
class Annotations:
    """The label that each annotator gave each unit in each replicate, all in ascending order of the caller's codes.

    Attributes:
        label: shape (n_replicates, n_annotators, n_units), position among the labels, -1 where it is missing.
        has_entries: shape (n_replicates, n_annotators), whether an annotator has an entry, with or without a label.
        units: shape (n_units,), the caller's codes.
        families: shape (n_annotators,), the dense code of each annotator's family.
    """

    label: NDArray[np.int32]
    has_entries: NDArray[np.bool_]
    units: NDArray[np.int64]
    families: NDArray[np.int64]

    @property
    def is_even(self) -> bool:
        """Says whether the annotators of each replicate gave equally many labels, so that cutting removes none."""
        counts = np.count_nonzero(self.label != MISSING, axis=2)
        return bool((counts == counts[:, :1]).all())

    def numbered_as_they_come(self) -> Annotations:
        """Numbers the labels by where each stands first, so that no draw depends on their names."""
        n_replicates, n_annotators, n_units = self.label.shape
        first = np.full(int(self.label.max(initial=MISSING)) + 1, self.label.size)
        for replicate, part in itertools.product(range(n_replicates), parts_of(n_annotators, n_units)):
            own = self.label[replicate, part]
            annotator, unit = np.nonzero(own != MISSING)
            # a label's place is by units, then by annotators, then by replicates
            place = (unit * n_annotators + part.start + annotator) * n_replicates + replicate
            np.minimum.at(first, own[annotator, unit], place)
        # a missing label has the number behind the last
        number = np.append(np.argsort(np.argsort(first, kind="stable")), MISSING).astype(np.int32)
        return replace(self, label=number[self.label])


def annotations_of(
    sample: WholeNumbers,
    annotator: WholeNumbers,
    replicate: WholeNumbers,
    label: WholeNumbers,
    family: WholeNumbers | None = None,
) -> Annotations:
    """Puts entries into a table; where a (sample, annotator, replicate) stands twice, its last label and family count.

    Args:
        sample: shape (n,), any codes.
        annotator: shape (n,), any codes.
        replicate: shape (n,), any codes.
        label: shape (n,), position among the labels, -1 for a missing label.
        family: shape (n,), codes of the annotator's family; None: every annotator is its own.
    """
    unit, units = dense_codes(sample)
    row, annotators = dense_codes(annotator)
    layer, layers = dense_codes(replicate)
    labels = np.full((len(layers), len(annotators), len(units)), MISSING, np.int32)
    has_entries = np.zeros(labels.shape[:2], np.bool_)
    families = np.arange(len(annotators))
    for part in parts_of(len(label)):
        labels[layer[part], row[part], unit[part]] = label[part]
        has_entries[layer[part], row[part]] = True
        if family is not None:
            families[row[part]] = family[part]
    families = families if family is None else dense_codes(families)[0]
    return Annotations(labels, has_entries, units.astype(np.int64), families)


@dataclass(frozen=True)
class Ratings:
    """The labels of one replicate.

    Attributes:
        codes: shape (n_annotators, n_units), code of the label, -1 where it is missing.
        numbers: shape (n_labels,), the labels as numbers: ascending at ordinal and interval level, unused at nominal.
        level: measurement level.
        units: shape (n_units,), the caller's codes of the units; empty where they are not needed.
    """

    codes: WholeNumbers
    numbers: NDArray[np.float64]
    level: Level
    units: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    @property
    def n_labels(self) -> int:
        """Counts the distinct labels, labels of dropped units included."""
        return len(self.numbers)


class Series(NamedTuple):
    """Consecutive annotators whose agreement is one figure: annotators `start` to `stop` of the table."""

    name: str
    start: int
    stop: int


def cumulative_and_adjacent(n_annotators: int) -> list[Series]:
    """Lists the series: the first k annotators for k = 2..K, then annotator k against k - 1 for k = 2..K."""
    ks = range(2, n_annotators + 1)
    return [Series("cumulative", 0, k) for k in ks] + [Series("adjacent", k - 2, k) for k in ks]


def is_shown(n_annotators: int) -> NDArray[np.bool_]:
    """Marks the series of `cumulative_and_adjacent` that become rows, shape (2 (K - 1),).

    All up to 60 annotators, then every tenth and the last: a curve over 250 templates needs no more points, and the
    others would take three quarters of the time.
    """
    ks = np.arange(2, n_annotators + 1)
    return np.tile((ks <= DENSE_UP_TO) | (ks % 10 == 0) | (ks == n_annotators), 2)


def ratings_by_replicate(
    annotations: Annotations, numbers: NDArray[np.float64], level: Level, cut_rng: np.random.Generator | None
) -> list[Ratings]:
    """Builds tables of replicates, over the same annotators and units, both in the order of the annotations.

    Args:
        annotations: of one group; an annotator with only missing labels counts as an annotator too.
        numbers: shape (n_labels,).
        level: measurement level.
        cut_rng: where given, every annotator of a replicate is cut to the smallest number of labels any of them gave,
            by a draw from it; an annotator without labels leaves the replicate without any.

    Returns:
        Tables of the replicates that every annotator has an entry of, without the units that have fewer than two labels
        in each of these. None where no replicate has all annotators.
    """
    codes = annotations.label[annotations.has_entries.all(axis=1)]
    if cut_rng is not None:
        for table in codes:
            _cut_to_smallest(table, cut_rng)
    is_pairable = ((codes != MISSING).sum(axis=1) >= 2).any(axis=0)
    kept = annotations.units[is_pairable]
    if not is_pairable.all():
        codes = np.ascontiguousarray(codes[:, :, is_pairable])
    return [Ratings(table, numbers, level, kept) for table in codes]


def _cut_to_smallest(codes: NDArray[np.int32], rng: np.random.Generator) -> None:
    # in place: blanks all but a random choice of the smallest annotator's number of labels
    is_given = codes != MISSING
    smallest = int(is_given.sum(axis=1).min())
    order = np.argsort(np.where(is_given, rng.random(codes.shape), 2.0), axis=1)
    np.put_along_axis(codes, order[:, smallest:], MISSING, axis=1)


class UnitCounts(NamedTuple):
    """Values and squared label counts of each unit (column) in each series (row, as in `cumulative_and_adjacent`)."""

    n_values: NDArray[np.int32]
    squares: NDArray[np.int32]


def unit_counts(codes: WholeNumbers, counted: NDArray[np.bool_] | None = None) -> UnitCounts:
    """Counts values and sums squared label counts, in every series at once; shape (2 (K - 1), n_units) each.

    Adding a label that the unit has n times already raises the sum of squares by 2 n + 1, so one look back a label
    serves all cumulative series.

    Args:
        codes: shape (n_annotators, n_units).
        counted: same shape; only these labels are counted. None counts all that are given.
    """
    if counted is None:
        counted = codes != MISSING
    # 32 bits hold K^2, and at 130,000 units these tables take most of the memory
    n_steps = max(len(codes) - 1, 0)
    n_values, squares = np.empty((2, 2 * n_steps, codes.shape[1]), np.int32)
    values, sums = np.zeros((2, codes.shape[1]), np.int32)
    for k in range(len(codes)):
        earlier = np.count_nonzero((codes[:k] == codes[k]) & counted[:k], axis=0)
        values += counted[k]
        sums += np.where(counted[k], 2 * earlier + 1, 0).astype(np.int32)
        if k:
            n_values[k - 1], squares[k - 1] = values, sums
            both = counted[k].astype(np.int32) + counted[k - 1]
            is_same = counted[k] & counted[k - 1] & (codes[k] == codes[k - 1])
            n_values[n_steps + k - 1], squares[n_steps + k - 1] = both, both + 2 * is_same
    return UnitCounts(n_values, squares)


def unit_counts_of_all(codes: WholeNumbers) -> UnitCounts:
    """Computes the counts of `unit_counts` for all annotators alone; shape (n_units,) each."""
    is_given = codes != MISSING
    squares = np.where(is_given, _own_counts(codes), 0).sum(axis=0, dtype=np.int32)
    return UnitCounts(is_given.sum(axis=0, dtype=np.int32), squares)


def _own_counts(codes: WholeNumbers) -> NDArray[np.int32]:
    # how many annotators gave the unit the same label as this one
    return np.stack([np.count_nonzero(codes == row, axis=0).astype(np.int32) for row in codes])


def without_each_annotator(codes: WholeNumbers) -> Iterator[tuple[WholeNumbers, UnitCounts]]:
    """Yields the table without each annotator in turn, with the unit counts of the rest; shape (n_units,) each."""
    is_given, own = codes != MISSING, _own_counts(codes)
    n_values, squares = unit_counts_of_all(codes)
    for k in range(len(codes)):
        left = squares - np.where(is_given[k], 2 * own[k] - 1, 0)
        yield np.delete(codes, k, axis=0), UnitCounts(n_values - is_given[k], left)
