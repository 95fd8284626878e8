"""Sensitivity and consistency of runs put together anew: both are sums over labels of what the shares p_tau are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from udfs.comparison.figures import Floats, blocks
from udfs.comparison.lattice import label_terms
from udfs.consistency import MIN_SAMPLES
from udfs.entropy import plug_in_terms
from udfs.pairs import half_distances


class _Label(NamedTuple):
    """One label in the samples of one gold class; p_tau of shape (2, n) and its distinct values above 0."""

    p_tau: Floats
    grid: Floats
    ever: NDArray[np.int64]  # the samples that were ever given it
    share: Floats  # (n_units, n_ever), times the lattice if there is one


class _GoldClass(NamedTuple):
    """Neighbouring samples of one gold class, or of none."""

    samples: slice
    is_known: bool
    labels: list[_Label]


class Shares:
    """Sensitivity, and where gold classes are known consistency."""

    def __init__(self, share: Floats, is_given: NDArray[np.bool_], gold: NDArray[np.int64], lattice: int | None) -> None:
        """Take the share of each label in each cell.

        Args:
            share: shape (n_classes, 2 n_slots, N), 0 where a cell is missing.
            is_given: shape (2 n_slots, N), the same for both variants of a slot.
            gold: shape (N,), ascending, -1 where unknown.
            lattice: a number whose products with all shares are whole; None where none is small enough.
        """
        n_classes, self.n_units, _ = share.shape
        n_slots = self.n_units // 2
        self.names: tuple[str, ...] = ("sensitivity", "consistency") if (gold >= 0).any() else ("sensitivity",)
        self._scale = 1 / np.log(n_classes)
        self._lattice = lattice
        self._is_full = bool(is_given.all())
        self._is_given = is_given.astype(np.float32)
        n_variants = is_given[:n_slots].sum(axis=0)
        self.n_samples = (int((n_variants >= 2).sum()), int((gold >= 0).sum()))[: len(self.names)]
        self._is_defined = (n_variants >= 2).astype(np.float64)
        p_tau = share.reshape(n_classes, 2, n_slots, -1).sum(axis=2) / np.maximum(n_variants, 1)
        self._nats = plug_in_terms(p_tau).sum(axis=0) * self._is_defined
        starts = np.flatnonzero(np.diff(gold, prepend=gold[0] - 1))
        self._classes = [
            _GoldClass(
                slice(start, stop),
                bool(gold[start] >= 0),
                [
                    _label(share[c][:, start:stop], p_tau[c][:, start:stop], lattice)
                    for c in range(n_classes)
                    if share[c][:, start:stop].any()
                ],
            )
            for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), len(gold)], strict=True)
        ]
        sizes = np.array([part.samples.stop - part.samples.start for part in self._classes if part.is_known], np.float64)
        self.has_interval = (True, bool(len(sizes) and sizes.min() >= MIN_SAMPLES))[: len(self.names)]
        self._published = (sizes @ sizes - sizes.sum()) / (sizes @ sizes) if len(sizes) else 0.0

    def of_rows(self, first: Floats | None, second: Floats | None) -> Floats:
        """See Figures; pairs of a sample with itself are left out and put back at the published share."""
        rows = [(w, run) for run, w in enumerate((first, second)) if w is not None]
        n = sum(w @ self._is_defined for w, _ in rows)
        nats = sum(w @ self._nats[run] for w, run in rows)
        sensitivity = nats * self._scale / np.where(n > 0, n, np.nan)
        if len(self.names) == 1:
            return sensitivity[None]
        # numbers of samples are whole and small: four bytes hold them exactly
        small = [(w.astype(np.float32), run) for w, run in rows]
        distances, n_pairs = np.zeros(len(n)), np.zeros(len(n))
        for part in self._classes:
            if not part.is_known:
                continue
            drawn = sum(w[:, part.samples] for w, _ in rows)
            size = drawn.sum(axis=1, keepdims=True)
            n_pairs += size[:, 0] ** 2 - np.einsum("bi,bi->b", drawn, drawn)
            for label in part.labels:
                at_least = sum(
                    w[:, part.samples] @ (label.p_tau[run][:, None] >= label.grid).astype(np.float32) for w, run in small
                )
                gaps = np.diff(label.grid, prepend=0.0)
                distances += half_distances(at_least.astype(np.float64), size, gaps)
        return np.stack([sensitivity, self._consistency(distances, n_pairs)])

    def of_units(self, chosen: Floats) -> Floats:
        """See Figures."""
        nats, n = np.zeros(len(chosen)), np.zeros(len(chosen))
        distances, n_pairs = np.zeros(len(chosen)), np.zeros(len(chosen))
        taken = chosen.astype(np.float32)
        n_taken = taken.sum(axis=1)
        same_number = int(n_taken[0]) if self._is_full and (n_taken == n_taken[0]).all() else None
        for part in self._classes:
            width = part.samples.stop - part.samples.start
            for rows in blocks(len(chosen), width):
                n_given: NDArray[np.int64] | int
                if same_number is None:
                    n_given = (taken[rows] @ self._is_given[:, part.samples]).astype(np.int64)
                    n[rows] += (n_given >= 2).sum(axis=1)
                    size = (n_given >= 1).sum(axis=1).astype(np.float64)
                else:
                    n_given = same_number
                    n[rows] += width * (same_number >= 2)
                    size = np.full(len(taken[rows]), float(width * (same_number >= 1)))
                n_pairs[rows] += (size**2 - size) * part.is_known
                for label in part.labels:
                    total = taken[rows] @ label.share
                    given = n_given if isinstance(n_given, int) else n_given[:, label.ever]
                    terms = label_terms(total, given, size, self._lattice)
                    nats[rows] += terms.nats
                    distances[rows] += terms.distances * part.is_known
        sensitivity = nats * self._scale / np.where(n > 0, n, np.nan)
        return np.stack([sensitivity, self._consistency(distances, n_pairs)])[: len(self.names)]

    def _consistency(self, distances: Floats, n_pairs: Floats) -> Floats:
        """1 - mean distance over all ordered pairs, from those of distinct samples; 1 where there are none."""
        mean = np.divide(distances, n_pairs, out=np.zeros_like(distances), where=n_pairs > 0)
        return np.asarray(1 - self._published * mean)


def _label(share: Floats, p_tau: Floats, lattice: int | None) -> _Label:
    ever = np.flatnonzero(share.any(axis=0))
    own = share[:, ever]
    grid = np.unique(p_tau[p_tau > 0])
    # whole numbers are exact in four bytes, which are multiplied in half the time
    return _Label(p_tau, grid, ever, own if lattice is None else np.rint(own * lattice).astype(np.float32))
