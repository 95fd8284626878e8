"""Holds the shares of labels under each wording, and computes p_tau and consistency of any subset of the wordings."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from promptaudit.udfs.measures.consistency import AnswerShares

_CELLS = 1_000_000  # shares of the subsets that are sorted at once, 8 MB


@dataclass(frozen=True)
class WordingShares:
    """The shares of labels under each wording, samples of one gold class side by side.

    Attributes:
        p: shape (Q, C n), label by label; sparse, since a sample has few of many labels.
        is_asked: shape (Q, n), 1 where the sample has an answer.
        class_start: the place of the first sample of each class, and at the end the number of samples.
    """

    p: csr_matrix
    is_asked: NDArray[np.float64]
    class_start: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        gold: NDArray[np.int64],
        sample: NDArray[np.int64],
        variant: NDArray[np.int64],
        label: NDArray[np.int64],
        p: NDArray[np.float64],
    ) -> WordingShares:
        """Builds the table from the samples that have a gold class."""
        class_of = np.full(int(sample.max()) + 1, -1)
        class_of[sample] = gold
        order = np.argsort(class_of, kind="stable")
        order = order[class_of[order] >= 0]
        place = np.full(len(class_of), -1)
        place[order] = np.arange(len(order))
        kept = place[sample] >= 0
        row, column = variant[kept], label[kept] * len(order) + place[sample[kept]]
        shape = (int(variant.max()) + 1, (int(label.max()) + 1) * len(order))
        is_asked = np.zeros((shape[0], len(order)))
        is_asked[row, place[sample[kept]]] = 1
        sizes = np.unique(class_of[order], return_counts=True)[1]
        return cls(csr_matrix((p[kept], (row, column)), shape), is_asked, np.append(0, np.cumsum(sizes)))

    def answer_shares(self) -> AnswerShares:
        """Averages p_tau over all wordings, for measures that do not separate wordings."""
        n_asked = self.is_asked.sum(axis=0)
        p_tau = np.asarray(self.p.sum(axis=0)).reshape(-1, max(1, len(n_asked))) / np.maximum(n_asked, 1)
        label, place = np.nonzero(p_tau)
        gold = np.searchsorted(self.class_start, place, side="right") - 1
        return AnswerShares.from_entries(gold, place, label, p_tau[label, place])

    def consistencies(self, weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """Computes the pooled consistency of each subset of wordings, shape (n_subsets,); NaN without a gold label.

        Args:
            weight: shape (n_subsets, Q), 1 for a wording that is in the subset and 0 for one that is not.
        """
        step = max(1, _CELLS // max(1, self.p.shape[1]))
        if not (weight @ self.is_asked).all():  # some sample has an answer under none of them
            step = 1
        return np.concatenate([self._consistencies(weight[at : at + step]) for at in range(0, len(weight), step)])

    def _consistencies(self, weight: NDArray[np.float64]) -> NDArray[np.float64]:
        # 1 - sum of distances over ordered pairs / their number: sum over labels of sum_r x_(r) (2 r - n - 1)
        n_asked = weight @ self.is_asked
        sums = np.asarray(weight @ self.p).reshape(len(weight), -1, max(1, n_asked.shape[1]))
        p_tau = sums / np.maximum(n_asked, 1)[:, None, :]
        distances, n_pairs = np.zeros(len(weight)), 0
        for start, stop in itertools.pairwise(self.class_start.tolist()):
            own = p_tau[:, :, start:stop]
            if len(weight) == 1:
                own = own[:, :, n_asked[0, start:stop] > 0]
            n = own.shape[2]
            distances += (np.sort(own, axis=2) @ (2.0 * np.arange(1, n + 1) - n - 1)).sum(axis=1)
            n_pairs += n * n
        return np.clip(1 - distances / n_pairs, 0, 1) if n_pairs else np.full(len(weight), np.nan)
