"""Entropy and distances of one label's p_tau in many runs at once: by counting where shares are few, else by sorting."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from udfs.comparison.figures import Floats
from udfs.entropy import plug_in_terms
from udfs.pairs import half_distances

MOST_STEPS = 4096  # finer lattices have more distinct shares than samples
_BINS_A_SAMPLE = 4  # with more bins than this many a sample, sorting is quicker


class Terms(NamedTuple):
    """Sums over samples and over ordered pairs of samples, shape (n_runs,) each."""

    nats: Floats
    distances: Floats


def lattice_of(n_parts: NDArray[np.int64], n_variants: int) -> int | None:
    """The least number whose product with every share is whole, or None when p_tau would have too many steps.

    Args:
        n_parts: shape (n,), into how many equal parts shares are cut (repetitions).
        n_variants: Q; p_tau is the mean of at most so many shares.
    """
    lattice = int(np.lcm.reduce(np.unique(n_parts))) if len(n_parts) else 1
    return lattice if 0 < lattice * n_variants <= MOST_STEPS else None


def label_terms(total: Floats, n_given: NDArray[np.int64] | int, n_samples: Floats, lattice: int | None) -> Terms:
    """What one label adds to the entropies of samples and to the distances between them.

    Args:
        total: shape (n_runs, n), sums over variants of the label's share, times the lattice if there is one.
        n_given: how many variants a sample has, shape (n_runs, n) or one number for all.
        n_samples: shape (n_runs,), samples of the class that have any variant; those not among the n never got the label.
        lattice: makes all totals whole; None where none does.

    Returns:
        The sum of -p ln p over samples with at least two variants, and the sum over ordered pairs of half |p_i - p_j|.
    """
    least, most = (n_given, n_given) if isinstance(n_given, int) else (int(n_given.min()), int(n_given.max()))
    if lattice is None or lattice * most * (most - least + 1) > _BINS_A_SAMPLE * max(total.shape[1], 16):
        return _by_sorting(total / (np.maximum(n_given, 1) * (lattice or 1)), n_given, n_samples)
    sizes = lattice * np.arange(least, most + 1) + 1
    starts = np.append(0, np.cumsum(sizes))
    n_bins = int(starts[-1])
    size_of = np.repeat(np.arange(least, most + 1), sizes)
    value = (np.arange(n_bins) - np.repeat(starts[:-1], sizes)) / (lattice * np.maximum(size_of, 1))
    # integers are exact in the four or eight bytes of the floats they come in
    bins = total.astype(np.int64)
    if not isinstance(n_given, int):
        bins += starts[n_given - least]
    bins += (np.arange(len(total)) * n_bins)[:, None]
    histogram = np.bincount(bins.ravel(), minlength=len(total) * n_bins).reshape(len(total), n_bins).astype(np.float64)
    nats = histogram @ np.where(size_of >= 2, plug_in_terms(value), 0.0)
    order = np.argsort(-value, kind="stable")
    gaps = -np.diff(np.append(value[order], 0.0))
    at_least = np.cumsum(histogram[:, order], axis=1)
    return Terms(nats, half_distances(np.minimum(at_least, n_samples[:, None]), n_samples[:, None], gaps))


def _by_sorting(p: Floats, n_given: NDArray[np.int64] | int, n_samples: Floats) -> Terms:
    nats = (plug_in_terms(p) * (np.asarray(n_given) >= 2)).sum(axis=1)
    n = p.shape[1]
    # the others of the class stand before these with a share of 0
    rank = np.arange(1, n + 1) + (n_samples[:, None] - n)
    return Terms(nats, (np.sort(p, axis=1) * (2 * rank - n_samples[:, None] - 1)).sum(axis=1))
