"""Computes sensitivity and consistency of exchanged and resampled runs: both are sums over labels of terms of p_tau."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.comparison.figures import Figures, Floats, Pair, blocks, exchanged_sums
from promptaudit.udfs.comparison.lattice import label_terms
from promptaudit.udfs.measures.consistency import MIN_SAMPLES
from promptaudit.udfs.measures.entropy import plug_in_terms
from promptaudit.udfs.measures.pairs import half_distances


class _Label(NamedTuple):
    """One label in the samples of one gold class; p_tau of shape (2, n) and its distinct values above 0."""

    p_tau: Floats
    grid: Floats
    ever: NDArray[np.int64]  # the samples that were ever given it
    share: Floats  # (n_units, n_ever), times the lattice if there is one

    def reaches(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Returns whether each sample's p_tau reaches each step of the grid, of shape (n, n_steps) for each run."""
        first, second = ((p[:, None] >= self.grid).astype(np.float32) for p in self.p_tau)
        return first, second

    def gaps(self) -> Floats:
        """Returns how far each step of the grid lies above the one before."""
        return np.diff(self.grid, prepend=0.0)


class _GoldClass(NamedTuple):
    """Neighbouring samples of one gold class, or of none."""

    samples: slice
    is_known: bool
    labels: list[_Label]


class Shares:
    """The measure sensitivity and, where gold classes are known, consistency."""

    def __init__(
        self, share: Floats, is_given: NDArray[np.bool_], gold: NDArray[np.int64], lattice: int | None
    ) -> None:
        """Takes the share of each label in each cell.

        Args:
            share: shape (n_classes, 2 n_slots, N), 0 where a cell is missing.
            is_given: shape (2 n_slots, N), the same for both variants of a slot.
            gold: shape (N,), ascending, -1 where unknown.
            lattice: a number whose products with all shares are whole; None where none is small enough.
        """
        n_classes, self.n_units, _ = share.shape
        n_slots = self.n_units // 2
        self.names: tuple[str, ...] = ("sensitivity", "consistency") if (gold >= 0).any() else ("sensitivity",)
        self._parts = (share, is_given, gold)
        self._scale = 1 / np.log(n_classes)
        self._lattice = lattice
        self._is_full = bool(is_given.all())
        self._is_given = is_given.astype(np.float32)
        n_variants = is_given[:n_slots].sum(axis=0)
        self.n_samples = (int((n_variants >= 2).sum()), int((gold >= 0).sum()))[: len(self.names)]
        self._is_defined = (n_variants >= 2).astype(np.float64)
        p_tau = share.reshape(n_classes, 2, n_slots, -1).sum(axis=2)
        if lattice is not None:  # equal shares are to be equal to the digit: each distinct one is a step
            p_tau = np.rint(p_tau * lattice) / lattice
        p_tau /= np.maximum(n_variants, 1)
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
        sizes = np.array(
            [part.samples.stop - part.samples.start for part in self._classes if part.is_known], np.float64
        )
        self._known = [part for part in self._classes if part.is_known]
        self.has_interval = (True, bool(len(sizes) and sizes.min() >= MIN_SAMPLES))[: len(self.names)]
        self._published = (sizes @ sizes - sizes.sum()) / (sizes @ sizes) if len(sizes) else 0.0

    def resampled(self, weight: Floats) -> Pair:
        """Returns the figures of resampled samples; see `Figures`.

        Pairs of a sample with itself are left out and put back at the published share.
        """
        n = weight @ self._is_defined
        small = weight.astype(np.float32)  # numbers of samples are whole and small: four bytes hold them exactly
        distances, n_pairs = np.zeros((2, len(n))), np.zeros(len(n))
        for part in self._known:
            drawn = small[:, part.samples]
            size = drawn.sum(axis=1, keepdims=True, dtype=np.float64)
            n_pairs += size[:, 0] ** 2 - np.einsum("bi,bi->b", weight[:, part.samples], weight[:, part.samples])
            for label in part.labels:
                for run, reaches in enumerate(label.reaches()):
                    distances[run] += half_distances((drawn @ reaches).astype(np.float64), size, label.gaps())
        first, second = (self._figures(weight @ self._nats[run], n, distances[run], n_pairs) for run in (0, 1))
        return first, second

    def exchanged(self, moves: Floats) -> Pair:
        """Returns the figures of exchanged samples; see `Figures`."""
        n = np.full(len(moves), self._is_defined.sum())
        small = moves.astype(np.float32)
        distances, n_pairs = np.zeros((2, len(n))), np.zeros(len(n))
        for part in self._known:
            size = np.array([float(part.samples.stop - part.samples.start)])
            n_pairs += size**2 - size
            for label in part.labels:
                first_reaches, second_reaches = label.reaches()
                at_least = exchanged_sums(small[:, part.samples], first_reaches, second_reaches)
                for run, reaching in enumerate(at_least):
                    distances[run] += half_distances(reaching.astype(np.float64), size, label.gaps())
        nats = exchanged_sums(moves, *self._nats[:, :, None])
        first, second = (self._figures(nats[run][:, 0], n, distances[run], n_pairs) for run in (0, 1))
        return first, second

    def dealt(self, chosen: Floats) -> Pair:
        """Returns the figures of the chosen variants and of the others; see `Figures`."""
        runs = [taken.astype(np.float32) for taken in (chosen, 1 - chosen)]
        nats, n, distances, n_pairs = np.zeros((4, 2, len(chosen)))
        # a full table dealt into equal numbers has the same number of variants everywhere
        numbers = [int(run[0].sum()) if self._is_full and np.ptp(run.sum(axis=1)) == 0 else None for run in runs]
        for part in self._classes:
            width = part.samples.stop - part.samples.start
            for rows in blocks(len(chosen), width):
                given = [
                    self._given(run[rows], part.samples, number) for run, number in zip(runs, numbers, strict=True)
                ]
                n[:, rows] += [np.broadcast_to(g >= 2, (len(runs[0][rows]), width)).sum(axis=1) for g in given]
                sizes = np.array([np.broadcast_to(g >= 1, (len(runs[0][rows]), width)).sum(axis=1) for g in given])
                n_pairs[:, rows] += (sizes * sizes - sizes) * part.is_known
                for label in part.labels:
                    first = runs[0][rows] @ label.share
                    for run, total in enumerate((first, label.share.sum(axis=0) - first)):
                        ever = given[run] if given[run].size == 1 else given[run][:, label.ever]
                        terms = label_terms(total, ever, sizes[run], self._lattice)
                        nats[run, rows] += terms.nats
                        distances[run, rows] += terms.distances * part.is_known
        first, second = (self._figures(nats[run], n[run], distances[run], n_pairs[run]) for run in (0, 1))
        return first, second

    def _given(self, taken: NDArray[np.float32], samples: slice, number: int | None) -> NDArray[np.int64]:
        """Returns how many of the variants taken each sample has, shape (n_draws, n), or (1, 1) where it is one number."""
        if number is not None:
            return np.array([[number]])
        return np.asarray((taken @ self._is_given[:, samples]).astype(np.int64))

    def halves(self) -> tuple[Figures, Figures]:
        """Returns the measures of every other sample, and of the rest: neighbours share a gold class, so classes are halved."""
        share, is_given, gold = self._parts
        first, second = (
            Shares(share[:, :, start::2], is_given[:, start::2], gold[start::2], self._lattice) for start in (0, 1)
        )
        return first, second

    def _figures(self, nats: Floats, n: Floats, distances: Floats, n_pairs: Floats) -> Floats:
        """Sensitivity over n samples; consistency 1 - mean distance over all ordered pairs, 1 where there are none."""
        sensitivity = nats * self._scale / np.where(n > 0, n, np.nan)
        mean = np.divide(distances, n_pairs, out=np.zeros_like(distances), where=n_pairs > 0)
        return np.stack([sensitivity, 1 - self._published * mean])[: len(self.names)]


def _label(share: Floats, p_tau: Floats, lattice: int | None) -> _Label:
    ever = np.flatnonzero(share.any(axis=0))
    own = share[:, ever]
    grid = np.unique(p_tau[p_tau > 0])
    # whole numbers are exact in four bytes, which are multiplied in half the time
    return _Label(p_tau, grid, ever, own if lattice is None else np.rint(own * lattice).astype(np.float32))
