"""Computes the corrected variance over templates of tables with missing cells, in every resample of the samples at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from promptaudit.udfs.two_way_fit import solve_effects


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleParts:
    """What each sample adds to the normal equations of the two-way fit; those of a resample are sums of them.

    Attributes:
        normal: shape (Q^2, N), of each sample diag(m) - m m' / n, m being which templates the sample of n cells has.
        deviations: shape (N, Q), its values less their mean; 0 where it has none.
        n_cells: shape (N,).
    """

    normal: csr_array
    deviations: NDArray[np.float64]
    n_cells: NDArray[np.int64]

    @classmethod
    def of(cls, sample: NDArray[np.int64], variant: NDArray[np.int64], value: NDArray[np.float64]) -> SampleParts:
        """Returns the parts of a table.

        Args:
            sample: shape (n,), dense codes, n > 0.
            variant: shape (n,), dense codes, at least two distinct.
            value: shape (n,), one per (sample, variant).
        """
        order = np.argsort(sample, kind="stable")
        sample, variant, value = sample[order], variant[order], value[order]
        n_cells, q = np.bincount(sample), int(variant.max()) + 1
        deviations = np.zeros((len(n_cells), q))
        deviations[sample, variant] = value - (np.bincount(sample, weights=value) / n_cells)[sample]
        # each cell beside each cell of its sample
        n_beside = n_cells[sample]
        first = np.repeat(np.arange(len(sample)), n_beside)
        start = np.cumsum(n_cells) - n_cells
        second = start[sample[first]] + np.arange(len(first)) - np.repeat(np.cumsum(n_beside) - n_beside, n_beside)
        entries = np.where(first == second, 1.0, 0.0) - 1 / n_beside[first]
        pairs = variant[first] * q + variant[second]
        normal = csr_array((entries, (pairs, sample[first])), shape=(q * q, len(n_cells)))
        return cls(normal=normal, deviations=deviations, n_cells=n_cells)

    def corrected_variances(self, weight: NDArray[np.float64], n_corrections: int) -> NDArray[np.float64]:
        """Returns the ddof 1 variance of the fit's effects less n_corrections times what noise adds to it, in each resample.

        Args:
            weight: shape (N, n_resamples), how often each sample is drawn; each column sums to N.
            n_corrections: 1 for the table itself, 2 for a resample.

        Returns:
            Shape (n_resamples,), not floored; NaN in resamples that leave templates uncompared, or no degrees of freedom.
        """
        n, q = self.deviations.shape
        normal = (self.normal @ weight).T.reshape(-1, q, q)
        deviations = weight.T @ self.deviations
        solved = solve_effects(normal, deviations)
        squares = np.square(self.deviations).sum(axis=1) @ weight
        free = self.n_cells @ weight - n - q + 1
        residual = np.maximum(squares - np.einsum("bv,bv->b", solved.effects, deviations), 0.0)
        noise = residual / np.where(free > 0, free, np.nan) * solved.noise
        variances = solved.effects.var(axis=1, ddof=1) - n_corrections * noise
        return np.where(solved.n_parts == 1, variances, np.nan)
