"""Computes alphas and jackknives of all series of a small nominal table at once, in a few calls of numpy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.codes import WholeNumbers
from promptaudit.udfs.resampling import mean_defined
from promptaudit.udfs.stability.krippendorff import alpha
from promptaudit.udfs.stability.ratings import DENSE_UP_TO, Ratings, UnitCounts
from promptaudit.udfs.stability.replicates import counted_replicates

_BATCHED_CELLS = 1 << 20  # series x labels x units: beyond it a series at a time takes less memory and no more time


def series_counts(codes: WholeNumbers, n_labels: int, is_pairable: NDArray[np.bool_]) -> NDArray[np.int8]:
    """Counts the pairable values of each label that each unit has, in each series of `cumulative_and_adjacent`.

    Args:
        codes: shape (n_annotators, n_units), at most 60 annotators, -1 for labels that are not counted.
        n_labels: of the codes.
        is_pairable: shape (2 (K - 1), n_units), where a unit has two values in the series.

    Returns:
        Shape (2 (K - 1), n_labels, n_units).
    """
    given = (codes[:, None, :] == np.arange(n_labels)[:, None]).astype(np.int8)
    counts = np.concatenate([np.cumsum(given, axis=0, dtype=np.int8)[1:], given[1:] + given[:-1]])
    return np.asarray(counts * is_pairable[:, None, :], np.int8)


@dataclass(frozen=True)
class SeriesAlphas:
    """The alphas of every series and the figures for their intervals; arrays over series, NaN where undefined.

    Attributes:
        alpha: mean over the replicates that count.
        variance: of the jackknife over units.
        grown_alpha: alpha with one unit more, split between the two commonest labels.
        grown_variance: the jackknife variance of `grown_alpha`.
        n_units: units that are pairable in any replicate that counts.
        n_annotations: their values over these replicates.
        is_degenerate: whether only one label occurs in each of these replicates.
        n_disagreeing: units with more than one label in any of them.
        is_counted: shape (n_series, n_replicates), the replicates that count, by `replicates.counted_replicates`.
    """

    alpha: NDArray[np.float64]
    variance: NDArray[np.float64]
    grown_alpha: NDArray[np.float64]
    grown_variance: NDArray[np.float64]
    n_units: NDArray[np.int64]
    n_annotations: NDArray[np.int64]
    is_degenerate: NDArray[np.bool_]
    n_disagreeing: NDArray[np.int64]
    is_counted: NDArray[np.bool_]


def series_alphas(replicates: Sequence[Ratings], unit_counts: Sequence[UnitCounts]) -> SeriesAlphas | None:
    """Computes alphas and jackknife variances of every series of nominal tables; None where the tables are too large.

    The figures equal the ones of `leave_one_out.NominalTable`, series by series.
    """
    first = replicates[0]
    if not 0 < 2 * first.codes.size * first.n_labels <= _BATCHED_CELLS or len(first.codes) > DENSE_UP_TO:
        return None
    prepared = [_Replicate.of(ratings, n) for ratings, n in zip(replicates, unit_counts, strict=True)]
    grown = [each.grown() for each in prepared]
    is_unit = np.stack([each.n_values > 0 for each in prepared])
    is_degenerate = np.stack([np.count_nonzero(each.totals, axis=1) == 1 for each in prepared])
    is_counted = counted_replicates(is_unit.sum(axis=2), is_degenerate)
    is_unit &= is_counted[:, :, None]
    whole = _mean_counted([each.alphas() for each in prepared], is_counted)
    left_out = _mean_counted([each.leave_one_out() for each in prepared], is_counted)
    without = _mean_counted([each.leave_one_out() for each in grown], is_counted)
    is_unit_of_any = np.logical_or.reduce(is_unit)
    n_values = np.stack([each.n_values for each in prepared])
    is_disagreeing = np.stack([each.squares < each.n_values**2 for each in prepared])
    return SeriesAlphas(
        alpha=whole,
        variance=_jackknife_variances(left_out, is_unit_of_any),
        grown_alpha=_mean_counted([each.alphas() for each in grown], is_counted),
        grown_variance=_jackknife_variances(
            np.append(without, whole[:, None], axis=1),
            np.append(is_unit_of_any, np.ones((len(whole), 1), np.bool_), axis=1),
        ),
        n_units=is_unit_of_any.sum(axis=1),
        n_annotations=np.where(is_unit, n_values, 0).sum(axis=(0, 2)),
        is_degenerate=np.logical_and.reduce(is_degenerate | ~is_counted),
        n_disagreeing=np.logical_or.reduce(is_disagreeing & is_unit).sum(axis=1),
        is_counted=is_counted.T,
    )


def _mean_counted(figures: Sequence[NDArray[np.float64]], is_counted: NDArray[np.bool_]) -> NDArray[np.float64]:
    # of figures of shape (n_series, ...) each
    by_replicate = np.stack(figures)
    by_replicate[~is_counted] = np.nan
    return mean_defined(by_replicate)


def _jackknife_variances(left_out: NDArray[np.float64], is_unit: NDArray[np.bool_]) -> NDArray[np.float64]:
    # (n - 1)/n times the sum of squared deviations of each row's n leave-one-out figures; NaN without any
    variances = np.full(len(left_out), np.nan)
    is_full = is_unit.all(axis=1) & (left_out.shape[1] > 0)
    variances[is_full] = (left_out.shape[1] - 1) * left_out[is_full].var(axis=1)
    for row in np.flatnonzero(~is_full & is_unit.any(axis=1)):
        own = left_out[row, is_unit[row]]
        variances[row] = (len(own) - 1) * own.var()
    return variances


@dataclass(frozen=True)
class _Replicate:
    # rows are series
    counts: NDArray[np.float64]
    n_values: NDArray[np.int32]
    squares: NDArray[np.int32]
    observed: NDArray[np.float64]
    totals: NDArray[np.float64]  # of each label, and last of a label that was never given
    extra_observed: NDArray[np.float64]

    @classmethod
    def of(cls, ratings: Ratings, n: UnitCounts) -> _Replicate:
        is_pairable = n.n_values >= 2
        counts = series_counts(ratings.codes, ratings.n_labels, is_pairable)
        n_values, squares = np.where(is_pairable, n.n_values, 0), np.where(is_pairable, n.squares, 0)
        totals = counts.sum(axis=2, dtype=np.float64)
        return cls(
            counts=counts.astype(np.float64),
            n_values=n_values,
            squares=squares,
            observed=(n_values**2 - squares) / np.maximum(n_values - 1, 1),
            totals=np.append(totals, np.zeros((len(totals), 1)), axis=1),
            extra_observed=np.zeros(len(totals)),
        )

    def _sums(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        # observed disagreement, values and their squared label counts
        squares = np.einsum("sc,sc->s", self.totals, self.totals)
        return self.observed.sum(axis=1) + self.extra_observed, self.totals.sum(axis=1), squares

    def alphas(self) -> NDArray[np.float64]:
        observed, n, squares = self._sums()
        return alpha(observed, n, n**2 - squares)

    def leave_one_out(self) -> NDArray[np.float64]:
        observed, n, squares = (each[:, None] for each in self._sums())
        n = n - self.n_values
        overlap = (self.totals[:, None, :-1] @ self.counts)[:, 0]
        squares = squares - 2 * overlap + self.squares
        return alpha(observed - self.observed, n, n**2 - squares)

    def grown(self) -> _Replicate:
        # adds a unit of median size, split evenly between the two commonest labels
        rows = np.arange(len(self.totals))
        is_unit = self.n_values > 0
        ranked = np.sort(np.where(is_unit, self.n_values, np.iinfo(np.int32).max), axis=1)
        n_units = np.maximum(is_unit.sum(axis=1), 1)
        median = (ranked[rows, (n_units - 1) // 2].astype(np.int64) + ranked[rows, n_units // 2]) // 2
        size = np.where(is_unit.any(axis=1), np.maximum(2, median), 2)
        first = self.totals.argmax(axis=1)
        others = self.totals.copy()
        others[rows, first] = 0
        second = np.where(others.any(axis=1), others.argmax(axis=1), self.totals.shape[1] - 1)
        extra = np.zeros_like(self.totals)
        extra[rows, first] += size - size // 2
        extra[rows, second] += size // 2
        extra_observed = (size**2 - np.einsum("sc,sc->s", extra, extra)) / (size - 1)
        return replace(self, totals=self.totals + extra, extra_observed=extra_observed)


def alphas_without_each(ratings: Ratings) -> NDArray[np.float64] | None:
    """Computes alpha of a nominal table without each annotator, shape (n_annotators,); None for too large a table."""
    codes, n_labels = ratings.codes, ratings.n_labels
    if codes.size * n_labels > _BATCHED_CELLS:
        return None
    given = codes[:, None, :] == np.arange(n_labels)[:, None]
    counts = given.sum(axis=0) - given
    n_values = counts.sum(axis=1)
    is_pairable = n_values >= 2
    counts = counts * is_pairable[:, None, :]
    within = np.where(is_pairable, n_values**2 - (counts**2).sum(axis=1), 0) / np.maximum(n_values - 1, 1)
    totals = counts.sum(axis=2).astype(np.float64)
    n = totals.sum(axis=1)
    return alpha(within.sum(axis=1), n, n**2 - (totals**2).sum(axis=1))
