"""Measures how similarly samples of one class are treated: counts all pairs by distance, lists the pairs of a few."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.resampling import generator
from promptaudit.udfs.sql_function import sql_function
from promptaudit.udfs.sql_types import Codes, Floats, Labels

N_BINS = 20
"""The number of bins of [0, 1] between the two exact ends."""

MOST_VECTORS = 2000
"""At most so many distinct distributions of a class are compared; of more, so many samples are drawn."""

_SAME = 1e-9  # shares are sums of fractions: what differs by less is rounding
_ROWS = 256  # of distances at once
_PURPOSE = 22


@dataclass(frozen=True)
class PairBin:
    """The pairs of a class with a similarity from `similarity_low` to `similarity_high`."""

    similarity_low: float
    similarity_high: float
    n_pairs: float  # a whole number, which 32 bits may not hold
    mean_similarity: float
    n_samples: int
    n_distinct: int


class SamplePair(NamedTuple):
    """Two samples, by their codes and by their places, from 1, in an order that puts similar samples together."""

    sample: int
    other_sample: int
    place: int
    other_place: int
    similarity: float


def shares_matrix(sample: NDArray[np.int64], label: NDArray[np.int64], p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turns entries of dense codes into rows of label distributions, shape (n_samples, n_labels)."""
    matrix = np.zeros((int(sample.max(initial=-1)) + 1, int(label.max(initial=-1)) + 1))
    matrix[sample, label] = p
    return matrix


@sql_function("pair_distances")
def pair_distances_of(sample: Codes, label: Labels, p: Floats, seed: int) -> list[PairBin]:
    """Runs `pair_distances` on samples whose shares of labels are given as entries."""
    return pair_distances(shares_matrix(sample, label, p), seed)


def pair_distances(p_tau: NDArray[np.float64], seed: int) -> list[PairBin]:
    """Counts the pairs of samples of one class by their similarity: 1 - total variation distance of their p_tau.

    Equal distributions are taken as one with a weight, so that the cost depends on the pairs of distinct distributions.

    Args:
        p_tau: shape (n, C), rows sum to 1.
        seed: of the samples that stand for a class of more than MOST_VECTORS distinct distributions.

    Returns:
        Unordered pairs of two samples, counted in N_BINS equal bins of (0, 1) that hold their lower end, and in two
        bins of their own the pairs of exactly 0 and exactly 1, where both ends are that value; ascending, without empty
        bins. `n_pairs` sums to n_samples (n_samples - 1) / 2 and `mean_similarity`, so weighted, gives
        `consistency_distinct`. `n_samples` are the samples that were compared, `n_distinct` their distinct
        distributions. Empty for n < 2.

    Source:
        Errica et al. 2025, the distances that consistency is a mean of.
    """
    if len(p_tau) < 2:
        return []
    vectors, weight = _distinct(p_tau)
    if len(vectors) > MOST_VECTORS:
        drawn = generator(seed, _PURPOSE).choice(len(p_tau), MOST_VECTORS, replace=False)
        vectors, weight = _distinct(p_tau[drawn])
    n_pairs, sums = np.zeros(N_BINS + 2), np.zeros(N_BINS + 2)
    n_pairs[-1] = sums[-1] = float((weight * (weight - 1) / 2).sum())  # pairs of one distribution
    for start in range(0, len(vectors), _ROWS):
        stop = min(start + _ROWS, len(vectors))
        alike = 1 - _distances(vectors[start:stop], vectors[start:])
        is_pair = np.arange(start, len(vectors)) > np.arange(start, stop)[:, None]
        of_pair = np.clip(alike[is_pair], 0, 1)
        weights = np.multiply.outer(weight[start:stop], weight[start:])[is_pair]
        place = 1 + np.minimum((of_pair * N_BINS + _SAME).astype(np.int64), N_BINS - 1)
        place[of_pair < _SAME] = 0
        place[of_pair > 1 - _SAME] = N_BINS + 1
        n_pairs += np.bincount(place, weights=weights, minlength=N_BINS + 2)
        sums += np.bincount(place, weights=weights * of_pair, minlength=N_BINS + 2)
    return [
        PairBin(
            similarity_low=min(max(place - 1, 0) / N_BINS, 1.0),
            similarity_high=min(place / N_BINS, 1.0),
            n_pairs=float(n_pairs[place]),
            mean_similarity=float(sums[place] / n_pairs[place]),
            n_samples=round(weight.sum()),
            n_distinct=len(vectors),
        )
        for place in np.flatnonzero(n_pairs).tolist()
    ]


def _distinct(p_tau: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    _, first, counts = np.unique(np.round(p_tau, 9), axis=0, return_index=True, return_counts=True)
    return p_tau[first], counts.astype(np.float64)


@sql_function("sample_pairs", own_codes={"sample": "sample", "other_sample": "sample"})
def sample_pairs_of(sample: Codes, label: Labels, p: Floats) -> list[SamplePair]:
    """Runs `sample_pairs` on samples whose shares of labels are given as entries."""
    return sample_pairs(shares_matrix(sample, label, p))


def sample_pairs(p_tau: NDArray[np.float64]) -> list[SamplePair]:
    """Lists each pair of n samples of one class with its 1 - total variation distance; n (n - 1) / 2 rows.

    Args:
        p_tau: shape (n, C), rows sum to 1.

    Returns:
        Pairs in which `sample` has the earlier place; places by average linkage with optimal leaf order, so that
        samples that are treated alike stand together. Empty for n < 2.
    """
    n = len(p_tau)
    if n < 2:
        return []
    distances = _distances(p_tau, p_tau)
    order = _grouped(distances)
    alike = np.clip(1 - distances, 0, 1)[np.ix_(order, order)]
    return [
        SamplePair(order[place], order[other], place + 1, other + 1, float(alike[place, other]))
        for place in range(n)
        for other in range(place + 1, n)
    ]


def _grouped(distances: NDArray[np.float64]) -> list[int]:
    from scipy.cluster.hierarchy import leaves_list, linkage  # 0.1 s to import

    condensed = distances[np.triu_indices(len(distances), 1)]
    return [int(place) for place in leaves_list(linkage(condensed, "average", optimal_ordering=True))]


def _distances(some: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
    from scipy.spatial.distance import cdist  # 0.1 s to import

    return np.asarray(cdist(some, others, "cityblock") / 2)
