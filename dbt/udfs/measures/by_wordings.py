"""Sensitivity and consistency as fewer wordings would have given them: of all subsets of the wordings, or of drawn ones."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from udfs.measures.rarefaction import rarefied_sensitivity
from udfs.resampling import generator

MOST_NUMBERS = 12
"""Numbers of wordings that become rows."""

N_SUBSETS = 20
"""Subsets of the wordings that consistency is averaged over; all of them where there are no more."""

_CELLS = 1_000_000  # shares of the subsets that are sorted at once, 8 MB
_PURPOSE = 20


@dataclass(frozen=True)
class ByWordings:
    """The measures of one number of wordings; NaN where undefined."""

    n_wordings: int
    sensitivity: float
    is_sensitivity_exact: bool
    consistency: float
    consistency_subset_std: float
    n_subsets: int
    n_samples: int


def numbers_of_wordings(n_wordings: int) -> list[int]:
    """Returns up to MOST_NUMBERS numbers from 2 to Q, both ends among them: all, or of more ever wider apart."""
    if n_wordings <= MOST_NUMBERS + 1:
        return list(range(2, n_wordings + 1))
    return sorted({round(k) for k in np.geomspace(2, n_wordings, MOST_NUMBERS)})


def measures_by_wordings(
    gold: NDArray[np.int64],
    sample: NDArray[np.int64],
    variant: NDArray[np.int64],
    label: NDArray[np.int64],
    p: NDArray[np.float64],
    n_classes: int,
    seed: int,
) -> list[ByWordings]:
    """Returns mean sensitivity and consistency over k wordings, for each k of `numbers_of_wordings`.

    Args:
        gold: shape (n,), code of the sample's gold class; below 0 for a sample without one.
        sample: shape (n,), dense codes.
        variant: shape (n,), dense codes of the Q wordings.
        label: shape (n,), dense codes, N/A being one of them.
        p: shape (n,), share of the wording's answers with the label, above 0; a (sample, variant, label) stands at most once,
            and the shares of a (sample, variant) sum to 1.
        n_classes: C.
        seed: of the subsets and orders.

    Returns:
        `sensitivity`: mean over samples of its expectation over all subsets of k of the sample's wordings; a sample that has
        fewer takes all of its own, one with fewer than two is left out, so that k = Q gives the mean of the whole.
        `is_sensitivity_exact` is false where some cell's subsets were drawn. `consistency`: mean over
        `n_subsets` subsets of k of the Q wordings, the same for all samples, pooled over classes as of `consistency`;
        `consistency_subset_std` its standard deviation over them, ddof 0. One subset, and a deviation of 0, for k = Q.
        Empty for Q < 2.

    Source:
        Errica et al. 2025 for both measures; rarefaction of Hurlbert 1971 for the expectation.
    """
    n_wordings = int(variant.max()) + 1 if len(variant) else 0
    numbers = numbers_of_wordings(n_wordings)
    if not numbers:
        return []
    rarefied = rarefied_sensitivity(sample, variant, label, p, n_classes, numbers, seed)
    shares = _Shares.of(gold, sample, variant, label, p)
    rows = []
    for number, sensitivity in zip(numbers, rarefied.sensitivity.tolist(), strict=True):
        figures = shares.consistencies(subsets(n_wordings, number, seed))
        rows.append(
            ByWordings(
                n_wordings=number,
                sensitivity=sensitivity,
                is_sensitivity_exact=rarefied.is_exact or number == n_wordings,
                consistency=float(figures.mean()),
                consistency_subset_std=float(figures.std()),
                n_subsets=len(figures),
                n_samples=rarefied.n_samples,
            )
        )
    return rows


def subsets(n_wordings: int, number: int, seed: int) -> NDArray[np.int64]:
    """Returns subsets of `number` of the wordings, shape (n_subsets, number): all where they are few, else seeded draws.

    Drawn ones are the beginnings of orders that are the same for every number, so that a curve over numbers is smooth.
    """
    if math.comb(n_wordings, number) <= N_SUBSETS:
        return np.array(list(itertools.combinations(range(n_wordings), number)), np.int64)
    places = np.tile(np.arange(n_wordings), (N_SUBSETS, 1))
    return generator(seed, _PURPOSE).permuted(places, axis=1)[:, :number]


@dataclass(frozen=True)
class _Shares:
    """Shares of labels under each wording, samples of one gold class side by side.

    Attributes:
        p: shape (Q, C n), label by label; sparse, since of many labels a sample has few.
        is_asked: shape (Q, n), 1 where the sample has an answer.
        class_start: places of the samples at which a class begins, and their number.
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
    ) -> _Shares:
        """Returns the shares of the samples that have a gold class."""
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

    def consistencies(self, chosen: NDArray[np.int64]) -> NDArray[np.float64]:
        """Returns the pooled consistency of each subset of wordings, shape (n_subsets,); NaN without a gold label."""
        weight = np.zeros((len(chosen), len(self.is_asked)))
        np.put_along_axis(weight, chosen, 1.0, axis=1)
        step = max(1, _CELLS // max(1, self.p.shape[1]))
        if not (weight @ self.is_asked).all():  # some sample has an answer under none of them
            step = 1
        return np.concatenate([self._consistencies(weight[at : at + step]) for at in range(0, len(chosen), step)])

    def _consistencies(self, weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """1 - sum of distances over ordered pairs / their number: sum over labels of sum_r x_(r) (2 r - n - 1)."""
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
