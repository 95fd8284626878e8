"""Computes the sensitivity expected under fewer of the same wordings (rarefaction), without listing their subsets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.measures.entropy import ROUNDING, plug_in_terms
from promptaudit.udfs.resampling import generator

MOST_COMPOSITIONS = 4096
"""Sensitivity is exact where a cell's shares can be chosen in at most so many ways: a share of m wordings 0 to m times.

Single answers, whose shares are 0 and 1, are always exact.
"""

MOST_EXACT = 500
"""With more wordings than this nothing is exact: there are soon more subsets than a float holds."""

N_ORDERS = 200
"""The number of drawn orders of a cell's wordings where there are more ways; the cells' errors are independent."""

_PURPOSE = 21


class Rarefied(NamedTuple):
    """The sensitivity at each number of wordings.

    Attributes:
        sensitivity: shape (n_numbers,).
        is_exact: false where some cell's subsets were drawn, so that all but the largest number are means over draws.
        n_samples: the number of samples in the mean.
    """

    sensitivity: NDArray[np.float64]
    is_exact: bool
    n_samples: int


def expected_terms(shares: NDArray[np.float64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Averages -x ln x over all subsets of k of Q wordings, where x is the mean share of a label over the subset.

    With single answers every share is 0 or 1, and this is sum_j Hypergeom(j; Q, n, k) g(j / k), g(x) = -x ln x.

    Args:
        shares: shape (d,), the distinct shares of the label.
        counts: shape (d,), how many wordings have each; Q is their sum.

    Returns:
        Shape (Q + 1,), nats, for k = 0 to Q; 0 at k = 0. Takes as many floats as there are ways to choose, prod(counts
        + 1).
    """
    n_wordings = int(counts.sum())
    chosen, total, ways = np.zeros(1), np.zeros(1), np.ones(1)
    for share, count in zip(shares.tolist(), counts.tolist(), strict=True):
        taken = np.arange(count + 1)
        chosen = np.add.outer(chosen, taken).ravel()
        total = np.add.outer(total, taken * share).ravel()
        ways = np.multiply.outer(ways, _ways(count)).ravel()
    number = chosen.astype(np.int64)
    terms = ways / _ways(n_wordings)[number] * plug_in_terms(total / np.maximum(chosen, 1))
    return np.bincount(number, weights=terms, minlength=n_wordings + 1).astype(np.float64, copy=False)


@lru_cache(maxsize=256)
def _ways(n: int) -> NDArray[np.float64]:
    return np.array([math.comb(n, k) for k in range(n + 1)], np.float64)


def rarefied_sensitivity(
    sample: NDArray[np.int64],
    variant: NDArray[np.int64],
    label: NDArray[np.int64],
    p: NDArray[np.float64],
    n_classes: int,
    numbers: Sequence[int],
    seed: int,
) -> Rarefied:
    """Computes mean sensitivity over samples at each number of wordings, in expectation over all subsets of that many.

    Args:
        sample: shape (n,), n > 0, dense codes.
        variant: shape (n,), dense codes of the wordings.
        label: shape (n,), dense codes, N/A being one of them.
        p: shape (n,), share of the wording's answers with the label, above 0.
        n_classes: C.
        numbers: of wordings; a sample that has fewer takes all of its own.
        seed: of the drawn orders.

    Returns:
        In [0, 1], of the samples that have two wordings; NaN without one and for C < 2.

    Source:
        Errica et al. 2025 for sensitivity; rarefaction of Hurlbert 1971.
    """
    n_wordings = int(variant.max()) + 1
    n_asked = np.bincount(np.unique(sample * n_wordings + variant) // n_wordings, minlength=int(sample.max()) + 1)
    is_kept = n_asked >= 2
    n_samples = int(is_kept.sum())
    if n_classes < 2 or n_samples == 0:
        return Rarefied(np.full(len(numbers), np.nan), is_exact=True, n_samples=n_samples)
    kept = is_kept[sample]
    sums, is_exact, rng = np.zeros(len(numbers)), True, generator(seed, _PURPOSE)
    for (size, held), count in _alike_cells(sample[kept], label[kept], p[kept], n_asked).items():
        own = np.append(np.zeros(size - len(held) // 8), np.frombuffer(held))
        values, counts = np.unique(own, return_counts=True)
        is_few = len(values) <= 2 or math.prod((counts + 1).tolist()) <= MOST_COMPOSITIONS
        is_few &= size <= MOST_EXACT
        terms = expected_terms(values, counts) if is_few else _drawn_terms(own, rng)
        is_exact &= is_few
        sums += count * terms[np.minimum(numbers, size)]
    means = sums / n_samples / np.log(n_classes)
    means[(means > 1) & (means <= 1 + ROUNDING)] = 1.0
    return Rarefied(means, is_exact, n_samples)


def _alike_cells(
    sample: NDArray[np.int64], label: NDArray[np.int64], p: NDArray[np.float64], n_asked: NDArray[np.int64]
) -> dict[tuple[int, bytes], int]:
    # counts cells (sample, label) with the same shares, by the sample's number of wordings and the shares above 0:
    # there are far fewer of them than cells
    n_labels = int(label.max()) + 1
    cell = sample * n_labels + label
    order = np.lexsort((p, cell))
    cell, shares = cell[order], np.round(p[order], 14)
    starts = np.flatnonzero(np.append(True, np.diff(cell) > 0))
    alike: dict[tuple[int, bytes], int] = {}
    for size, own in zip(n_asked[cell[starts] // n_labels].tolist(), np.split(shares, starts[1:]), strict=True):
        key = (size, own.tobytes())
        alike[key] = alike.get(key, 0) + 1
    return alike


def _drawn_terms(shares: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    # `expected_terms` over the beginnings of drawn orders; exact at k = Q
    k = np.arange(1, len(shares) + 1)
    sums = np.cumsum(rng.permuted(np.tile(shares, (N_ORDERS, 1)), axis=1), axis=1)
    return np.append(0.0, plug_in_terms(sums / k).mean(axis=0))
