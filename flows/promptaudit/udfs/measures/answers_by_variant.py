"""Holds answers by sample and prompt variant, and yields them in blocks of samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_CELLS = 1_000_000  # shares of labels held at once: 8 MB


class Block(NamedTuple):
    """The answers of some samples under some variants.

    Attributes:
        samples: the samples of the block.
        is_asked: shape (n, V), 1 or 0.
        shares: shape (n, V, C), of each label.
        repeat: shape (n, V), share of disagreeing pairs of asks; NaN for fewer than two.
        stands_for: shape (n, V), the number of samples that a sample asked twice stands for.
    """

    samples: slice
    is_asked: NDArray[np.float64]
    shares: NDArray[np.float64]
    repeat: NDArray[np.float64]
    stands_for: NDArray[np.float64]


@dataclass(frozen=True)
class AnswersByVariant:
    """The answers of a group, samples in order, by sample, variant and label, with number and `stands_for`."""

    sample: NDArray[np.int64]
    variant: NDArray[np.int64]
    label: NDArray[np.int64]
    n_answers: NDArray[np.float64]
    stands_for: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        sample: NDArray[np.int64],
        variant: NDArray[np.int64],
        label: NDArray[np.int64],
        n_answers: NDArray[np.float64],
        stands_for: NDArray[np.float64],
    ) -> AnswersByVariant:
        """Builds the table from the arguments of `variation_effects`."""
        order = np.argsort(sample, kind="stable")
        return cls(sample[order], variant[order], label[order], n_answers[order], stands_for[order])

    @property
    def n_samples(self) -> int:
        """Counts the samples, N."""
        return int(self.sample.max(initial=-1)) + 1

    def blocks(self, members: NDArray[np.int64]) -> Iterator[Block]:
        """Yields the answers under these variants, in blocks of samples that are small enough for memory."""
        place = np.full(int(self.variant.max(initial=-1)) + 1, -1)
        place[members] = np.arange(len(members))
        n_labels = int(self.label.max(initial=-1)) + 1
        step = max(1, _CELLS // max(1, len(members) * n_labels))
        for start in range(0, self.n_samples, step):
            stop = min(start + step, self.n_samples)
            own = slice(*np.searchsorted(self.sample, [start, stop]).tolist())
            is_member = place[self.variant[own]] >= 0
            at, member = self.sample[own][is_member] - start, place[self.variant[own][is_member]]
            n_answers = self.n_answers[own][is_member]
            n_asks, agreeing = (np.zeros((stop - start, len(members))) for _ in range(2))
            np.add.at(n_asks, (at, member), n_answers)
            np.add.at(agreeing, (at, member), n_answers * (n_answers - 1))
            weight = np.ones_like(n_asks)
            weight[at, member] = self.stands_for[own][is_member]
            shares = np.zeros((stop - start, len(members), n_labels))
            shares[at, member, self.label[own][is_member]] = n_answers / n_asks[at, member]
            repeat = 1 - agreeing / np.where(n_asks > 1, n_asks * (n_asks - 1), np.nan)
            yield Block(slice(start, stop), (n_asks > 0).astype(np.float64), shares, repeat, weight)
