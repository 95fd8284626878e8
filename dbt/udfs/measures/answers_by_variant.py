"""Holds answers by sample and prompt variant, and gives how often two variants disagree on each sample."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_CELLS = 1_000_000  # pairs of variants, or shares of labels, held at once: 8 MB an array


@dataclass(frozen=True)
class AnswersByVariant:
    """The answers of a group by cell (sample, variant).

    Attributes:
        entries: sample, variant, label and share p of each entry, samples in order.
        is_asked: shape (N, V).
        repeat: shape (N, V), share of disagreeing pairs of asks; NaN for fewer than two.
        stands_for: shape (N, V), how many samples one of those asked twice stands for.
        n_labels: C.
    """

    entries: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
    is_asked: NDArray[np.bool_]
    repeat: NDArray[np.float64]
    stands_for: NDArray[np.float64]
    n_labels: int

    @classmethod
    def of(
        cls,
        sample: NDArray[np.int64],
        variant: NDArray[np.int64],
        label: NDArray[np.int64],
        n_answers: NDArray[np.float64],
        stands_for: NDArray[np.float64],
    ) -> AnswersByVariant:
        """Returns the table of the arguments of `variation_effects`."""
        shape = int(sample.max(initial=-1)) + 1, int(variant.max(initial=-1)) + 1
        n_asks, agreeing, weight = np.zeros(shape), np.zeros(shape), np.ones(shape)
        np.add.at(n_asks, (sample, variant), n_answers)
        np.add.at(agreeing, (sample, variant), n_answers * (n_answers - 1))
        weight[sample, variant] = stands_for
        order = np.argsort(sample, kind="stable")
        p = n_answers / n_asks[sample, variant]
        return cls(
            entries=(sample[order], variant[order], label[order], p[order]),
            is_asked=n_asks > 0,
            repeat=1 - agreeing / np.where(n_asks > 1, n_asks * (n_asks - 1), np.nan),
            stands_for=weight,
            n_labels=int(label.max(initial=-1)) + 1,
        )

    def disagreements(self, members: NDArray[np.int64]) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        """Yields chunks of samples, and of each the disagreement of every two of these variants, 0 where one has no answer."""
        place = np.full(self.is_asked.shape[1], -1)
        place[members] = np.arange(len(members))
        samples, variants, labels, p = self.entries
        step = max(1, _CELLS // max(1, len(members) * max(len(members), self.n_labels)))
        for start in range(0, len(self.is_asked), step):
            stop = min(start + step, len(self.is_asked))
            own = slice(*np.searchsorted(samples, [start, stop]).tolist())
            is_member = place[variants[own]] >= 0
            shares = np.zeros((stop - start, len(members), self.n_labels))
            entry = (part[own][is_member] for part in (samples, variants, labels, p))
            at, member, label, share = entry
            shares[at - start, place[member], label] = share
            asked = self.is_asked[start:stop, members].astype(np.float64)
            yield (
                slice(start, stop),
                asked[:, :, None] * asked[:, None, :] - shares @ shares.transpose(0, 2, 1),
            )
