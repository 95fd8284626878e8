"""Computes entropy and distances of one label's p_tau in many runs at once: by counting where shares are few, else by sorting."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.comparison.figures import Counts, Floats
from promptaudit.udfs.measures.entropy import plug_in_terms
from promptaudit.udfs.measures.pairs import half_distances

MOST_STEPS = 4096  # finer lattices have more distinct shares than samples
_FEW_SAMPLES = 16
_BINS_A_SAMPLE = 4  # with more bins than this many a sample, sorting is quicker


class Terms(NamedTuple):
    """One label's sums over samples and over ordered pairs of samples, shape (n_runs,) each."""

    nats: Floats
    distances: Floats


def lattice_of(n_parts: NDArray[np.int64], n_variants: int) -> int | None:
    """Returns the least number whose product with every share is whole; None when p_tau would have too many steps.

    Args:
        n_parts: shape (n,), into how many equal parts shares are cut (repetitions).
        n_variants: Q; p_tau is the mean of at most so many shares.
    """
    lattice = int(np.lcm.reduce(np.unique(n_parts))) if len(n_parts) else 1
    return lattice if 0 < lattice * n_variants <= MOST_STEPS else None


def label_terms(total: Counts, n_given: NDArray[np.int64], n_samples: NDArray[np.int64], lattice: int | None) -> Terms:
    """Returns what one label adds to the entropies of samples and to the distances between them.

    Args:
        total: shape (n_draws, n), sums over variants of the label's share, times the lattice if there is one.
        n_given: how many variants a sample has, shape (n_draws, n), or (1, 1) for the same everywhere.
        n_samples: shape (n_draws,), samples of the class that have any variant; those not among the n never got the label.
        lattice: makes all totals whole; None where none does.

    Returns:
        The sum of -p ln p over samples with at least two variants, and the sum over ordered pairs of half |p_i - p_j|.
    """
    least, most = int(n_given.min()), int(n_given.max())
    if lattice is None or lattice * most * (most - least + 1) > _BINS_A_SAMPLE * max(total.shape[1], _FEW_SAMPLES):
        return _by_sorting(total / (np.maximum(n_given, 1) * (lattice or 1)), n_given, n_samples)
    steps = _steps(lattice, least, most)
    n_bins = len(steps.nats)
    bins = total.astype(np.int64)
    if least < most:
        bins += steps.starts[n_given - least]
    bins += (np.arange(len(total)) * n_bins)[:, None]
    histogram = np.bincount(bins.ravel(), minlength=len(total) * n_bins).reshape(len(total), n_bins).astype(np.float64)
    # the bins at 0 come last and have no gap: whoever is missing from them is not missed
    at_least = np.cumsum(histogram[:, steps.order], axis=1)
    return Terms(histogram @ steps.nats, half_distances(at_least, n_samples[:, None].astype(np.float64), steps.gaps))


class _Steps(NamedTuple):
    """The shares p_tau that variants of a lattice can make, those of one number of variants together."""

    starts: NDArray[np.int64]  # of each number of variants
    nats: Floats  # -p ln p of each, 0 below two variants
    order: NDArray[np.int64]  # from the largest share down
    gaps: Floats  # in that order, down to the next


@lru_cache(maxsize=256)
def _steps(lattice: int, least: int, most: int) -> _Steps:
    n_variants = np.arange(least, most + 1)
    sizes = lattice * n_variants + 1
    starts = np.cumsum(sizes) - sizes
    of_step = np.repeat(n_variants, sizes)
    value = (np.arange(len(of_step)) - np.repeat(starts, sizes)) / (lattice * np.maximum(of_step, 1))
    order = np.argsort(-value, kind="stable")
    gaps = -np.diff(np.append(value[order], 0.0))
    return _Steps(starts, np.where(of_step >= 2, plug_in_terms(value), 0.0), order, gaps)


def _by_sorting(p: Floats, n_given: NDArray[np.int64], n_samples: NDArray[np.int64]) -> Terms:
    nats = (plug_in_terms(p) * (n_given >= 2)).sum(axis=1)
    n = p.shape[1]
    # the others of the class stand before these with a share of 0
    rank = np.arange(1, n + 1) + (n_samples[:, None] - n)
    return Terms(nats, (np.sort(p, axis=1) * (2 * rank - n_samples[:, None] - 1)).sum(axis=1))
