"""Measures consistency: how alike the answers to samples of one gold class are, from sorted values instead of pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix

from promptaudit.udfs.codes import dense_codes
from promptaudit.udfs.measures.pairs import difference_products, half_distances, squared_differences
from promptaudit.udfs.resampling import (
    FEWEST_BEARING,
    UNDEFINED,
    Interval,
    bearing_samples,
    percentile_interval,
    resampled_units,
    t_quantile,
)
from promptaudit.udfs.sql_function import sql_function
from promptaudit.udfs.sql_types import Codes, Floats, Labels

MIN_SAMPLES = 20
"""A class has an interval from so many samples, and a task where its largest class has so many."""

_PURPOSE = 1


class Consistency(NamedTuple):
    """1 - mean total variation distance, with and without pairs of a sample with itself; NaN where undefined."""

    consistency: float
    consistency_distinct: float
    consistency_std: float
    low: float
    high: float


@dataclass(frozen=True)
class AnswerShares:
    """The nonzero shares p_tau of the samples, sorted by (gold class, label) column and share.

    Samples are numbered class by class: class k holds samples class_start[k] to class_start[k + 1].
    """

    sample: NDArray[np.int64]
    column: NDArray[np.int64]
    label: NDArray[np.int64]
    p: NDArray[np.float64]
    column_start: NDArray[np.int64]  # per column and one more: its first entry
    column_class: NDArray[np.int64]
    class_start: NDArray[np.int64]
    sample_code: NDArray[np.int64]  # per sample: its code as the caller numbers it

    @property
    def class_size(self) -> NDArray[np.int64]:
        """Counts the samples of each class."""
        return np.diff(self.class_start)

    @classmethod
    def from_entries(
        cls, gold: NDArray[np.int64], sample: NDArray[np.int64], label: NDArray[np.int64], p: NDArray[np.float64]
    ) -> AnswerShares:
        """Builds the table from entries of dense codes, each of shape (n,), n > 0.

        A sample is a pair of sample and gold class.
        """
        n_sample_codes, n_labels = int(sample.max()) + 1, int(label.max()) + 1
        unit, unit_keys = dense_codes(gold * n_sample_codes + sample)
        class_size = np.bincount(unit_keys // n_sample_codes)
        kept = p > 0  # samples were counted above: one whose shares are all 0 stays a sample
        unit, label, p = unit[kept], label[kept], p[kept]
        column, column_keys = dense_codes(gold[kept] * n_labels + label)
        order = np.lexsort((p, column))
        return cls(
            sample=unit[order],
            column=column[order],
            label=label[order],
            p=p[order],
            column_start=np.searchsorted(column[order], np.arange(len(column_keys) + 1)),
            column_class=column_keys // n_labels,
            class_start=np.append(0, np.cumsum(class_size)),
            sample_code=unit_keys % n_sample_codes,
        )

    def ranks(self) -> NDArray[np.int64]:
        """Ranks each share from 1 among all samples of its class; samples without the label come first."""
        n_zero = self.class_size[self.column_class] - np.diff(self.column_start)
        return np.arange(len(self.p)) - (self.column_start[:-1] - n_zero)[self.column] + 1


def mean_distance_sum(shares: AnswerShares) -> float:
    """Sums total variation distance over classes and ordered pairs: sum_c sum_k x_(k) (2 k - n - 1)."""
    n = shares.class_size[shares.column_class][shares.column]
    return float(shares.p @ (2 * shares.ranks() - n - 1))


def distance_sums(shares: AnswerShares) -> NDArray[np.float64]:
    """Sums each sample's total variation distances to the others of its class; shape (n_samples,)."""
    sizes = shares.class_size
    running = np.append(0.0, np.cumsum(shares.p))
    before = running[shares.column_start[:-1]]
    column_sum = running[shares.column_start[1:]] - before
    n = sizes[shares.column_class][shares.column]
    up_to = running[1:] - before[shares.column]
    # sum over the class of |x - x_j| is x (2 rank - n) + sum - 2 prefix; a sample without the label has the sum alone
    change = shares.p * (2 * shares.ranks() - n) - 2 * up_to
    own_class = np.repeat(np.arange(len(sizes)), sizes)
    distances = np.bincount(shares.column_class, weights=column_sum, minlength=len(sizes))[own_class]
    return np.asarray(distances + np.bincount(shares.sample, weights=change, minlength=len(own_class))) / 2


def squared_distance_sum(shares: AnswerShares) -> float:
    """Sums squared total variation distance over classes and ordered pairs, from joint counts of label pairs."""
    total = 0.0
    for k, size in enumerate(shares.class_size):
        columns = np.flatnonzero(shares.column_class == k)
        positions, grids = [], []
        for column in columns:
            entries = slice(shares.column_start[column], shares.column_start[column + 1])
            grid, code = np.unique(shares.p[entries], return_inverse=True)
            position = np.zeros(size, np.int64)
            position[shares.sample[entries] - shares.class_start[k]] = code + 1
            positions.append(position)
            grids.append(np.append(0.0, grid))
        for a in range(len(columns)):
            total += squared_differences(grids[a][positions[a]])
            for b in range(a):
                total += 2 * difference_products(positions[a], grids[a], positions[b], grids[b])
    return total / 4


@sql_function()
def consistency(
    gold: Codes,
    sample: Codes,
    label: Labels,
    p: Floats,
    seed: int,
    n_resamples: int,
) -> Consistency:
    """Computes 1 - mean total variation distance of p_tau over all ordered pairs of samples of one gold class.

    A call with one class gives the figure of that class; a call with several gives the pooled figure (weights n^2).

    Args:
        gold: shape (n,), dense codes of the gold classes.
        sample: shape (n,), dense codes; a sample under two gold classes counts as two samples.
        label: shape (n,), dense codes, N/A being one of them.
        p: shape (n,), p_tau of (sample, label); zeros may be left out, but a sample needs one entry to be counted.
        seed: of the bootstrap.
        n_resamples: B; 0 leaves `low` and `high` undefined.

    Returns:
        `consistency`, pairs of a sample with itself included, in [0, 1], 1 for a single sample; `consistency_distinct`
        without them, NaN when every class has one sample; `consistency_std` of 1 - TVD over all ordered pairs, ddof 0;
        `low`, `high`, for other samples of each class under these wordings: percentiles over B resamples of samples
        within each class. A resampled sample meets itself more often than a fresh one would (that alone lifts .739 to
        .794 at n = 9), so such pairs are left out and put back at the published share. Where fewer than
        FEWEST_BEARING samples bear the variance, so that few or none differ from the rest, `low` is never above the
        jackknife-t bound of the same data with one added sample that shares no label with the largest class. NaN where
        every class has fewer than MIN_SAMPLES samples. All NaN without entries.

    Source:
        Errica et al. 2025, consistency.
    """
    if len(p) == 0:
        return Consistency(np.nan, np.nan, np.nan, np.nan, np.nan)
    shares = AnswerShares.from_entries(gold, sample, label, p)
    sizes = shares.class_size.astype(np.float64)
    n_pairs = float(sizes @ sizes)
    n_distinct = n_pairs - float(sizes.sum())
    distance_sum = mean_distance_sum(shares)
    mean_distance = distance_sum / n_pairs
    variance = max(0.0, squared_distance_sum(shares) / n_pairs - mean_distance**2)
    bounds = UNDEFINED
    if n_resamples > 0 and sizes.max() >= MIN_SAMPLES:
        replicates = bootstrap_consistency(shares, seed, n_resamples)
        bounds = Interval(*percentile_interval(replicates).tolist())
        distances = distance_sums(shares)
        if SampleJackknife.of(distances, shares.class_size).n_bearing < FEWEST_BEARING:
            grown = SampleJackknife.with_stranger(distances, shares.class_size)
            low = grown.consistency - t_quantile(grown.degrees_of_freedom) * float(np.sqrt(grown.variance))
            bounds = Interval(max(0.0, min(bounds.low, low)), bounds.high)
    return Consistency(
        consistency=min(1.0, max(0.0, 1 - mean_distance)),
        consistency_distinct=1 - distance_sum / n_distinct if n_distinct else np.nan,
        consistency_std=float(np.sqrt(variance)),
        low=bounds.low,
        high=bounds.high,
    )


class SampleJackknife(NamedTuple):
    """The published consistency, which counts all pairs, with its jackknife variance over samples of each class.

    Attributes:
        consistency: in [0, 1].
        variance: 4 / (sum of n^2)^2 sum over classes of n (n - 1) / (n - 2)^2 times the sum of squares of the samples'
            distance sums around their mean; classes below three samples add nothing.
        n_bearing: `bearing_samples` of the variance.
        degrees_of_freedom: samples less classes.
    """

    consistency: float
    variance: float
    n_bearing: float
    degrees_of_freedom: int

    @classmethod
    def of(cls, distances: NDArray[np.float64], sizes: NDArray[np.int64]) -> SampleJackknife:
        """Computes it from `distance_sums`, class by class, and the sizes of the classes."""
        own_class = np.repeat(np.arange(len(sizes)), sizes)
        n_pairs = float(sizes @ sizes)
        mean = np.bincount(own_class, weights=distances) / sizes
        factor = np.where(sizes > 2, 2 * np.sqrt(sizes * (sizes - 1)) / np.maximum(sizes - 2, 1), 0) / n_pairs
        effects = factor[own_class] * (distances - mean[own_class])
        return cls(
            consistency=1 - float(distances.sum()) / n_pairs,
            variance=float(effects @ effects),
            n_bearing=bearing_samples(effects),
            degrees_of_freedom=len(distances) - len(sizes),
        )

    @classmethod
    def with_stranger(cls, distances: NDArray[np.float64], sizes: NDArray[np.int64]) -> SampleJackknife:
        """Computes it with one more sample in the largest class that shares no label with the others of the class.

        The largest class has the most pairs, so such a sample in any other class would lower the pooled figure less. A
        share of such samples so small that likely none was drawn lowers it no further, wherever they are.
        """
        largest = int(sizes.argmax())
        start, stop = int(sizes[:largest].sum()), int(sizes[: largest + 1].sum())
        grown = distances.copy()
        grown[start:stop] += 1
        return cls.of(np.insert(grown, stop, float(sizes[largest])), sizes + (np.arange(len(sizes)) == largest))


def bootstrap_consistency(shares: AnswerShares, seed: int, n_resamples: int) -> NDArray[np.float64]:
    """Computes the consistency, as published, of resamples of samples within each class; shape (n_resamples,)."""
    sizes = shares.class_size
    is_step = np.append(True, (np.diff(shares.p) > 0) | (np.diff(shares.column) > 0))[: len(shares.p)]
    step = np.cumsum(is_step) - 1  # each distinct share of a column is one row of the indicator matrix
    first = np.flatnonzero(is_step)
    step_column = shares.column[first]
    share = shares.p[first]
    gap = share - np.where(np.append(-1, step_column[:-1]) == step_column, np.append(0.0, share[:-1]), 0.0)
    step_end = np.searchsorted(step_column, step_column, side="right")
    n = sizes[shares.column_class[step_column]].astype(np.float64)
    # by column: weights are read once and in order
    indicator = csc_matrix((np.ones(len(step)), (step, shares.sample)), shape=(len(first), int(sizes.sum())))
    published_self_pairs = sizes.sum() / (sizes**2).sum()

    replicates = []
    for weight in resampled_units(seed, _PURPOSE, sizes.tolist(), n_resamples, int(sizes.sum()) + len(first)):
        counts = np.asarray(indicator @ weight)
        running = np.append(np.zeros((1, counts.shape[1])), np.cumsum(counts, axis=0), axis=0)
        at_least = running[step_end] - running[:-1]  # weighted samples of the class with this share or more
        distances = half_distances(at_least.T, n, gap)
        n_pairs = (sizes**2).sum() - np.einsum("ub,ub->b", weight, weight)
        replicates.append(1 - (1 - published_self_pairs) * distances / n_pairs)
    return np.concatenate(replicates)


class MeanConsistency(NamedTuple):
    """The mean consistency of each sample with the others of its class."""

    sample: NDArray[np.int64]
    mean_consistency: NDArray[np.float64]


@sql_function(own_codes={"sample": "sample"})
def mean_consistency(gold: Codes, sample: Codes, label: Labels, p: Floats) -> MeanConsistency:
    """Computes 1 - mean total variation distance of each sample to the other samples of its gold class.

    Args:
        gold: shape (n,), as in `consistency`.
        sample: shape (n,).
        label: shape (n,).
        p: shape (n,).

    Returns:
        The codes of the samples, class by class, and for each its figure in [0, 1]; NaN for one alone in its class.

    Example:
        Three samples of one class, of which two are answered alike:

        >>> found = mean_consistency(np.zeros(3, int), np.arange(3), np.array([0, 0, 1]), np.ones(3))
        >>> found.mean_consistency.tolist()
        [0.5, 0.5, 0.0]
    """
    if len(p) == 0:
        return MeanConsistency(np.empty(0, np.int64), np.empty(0))
    shares = AnswerShares.from_entries(gold, sample, label, p)
    distances = distance_sums(shares)
    n_others = np.repeat(shares.class_size, shares.class_size) - 1
    figure = np.full(len(distances), np.nan)
    has_others = n_others > 0
    figure[has_others] = 1 - distances[has_others] / n_others[has_others]
    return MeanConsistency(shares.sample_code, np.clip(figure, 0.0, 1.0))
