"""Fits samples x wordings tables, some of whose cells may be missing, by least squares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from promptaudit.udfs.codes import parts_of

_NO_EIGENVALUE = 1e-10  # share of the largest eigenvalue below which one is 0 but for rounding


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoWayFit:
    """The least-squares fit of a samples x wordings table, some of whose cells may be missing.

    Attributes:
        by_sample: shape (N,), the fitted mean of each sample over all wordings.
        effects: shape (Q,), the fitted distance of each wording's mean over all samples from the mean of wordings.
        mean_square: residual mean square; 0 without degrees of freedom.
        degrees_of_freedom: of the residuals.
        n_cells: the number of cells that have a value.
        sample_inflation: how many times as much noise adds to the ddof 1 variance of `by_sample` as in a full table of
            as many cells, MS_e N / n; 1 in a full one.
        effect_inflation: the same of `effects`, to whose variance it adds MS_e Q / n in a full table.
        is_connected: whether every two wordings are compared, over samples that have both or by way of other wordings.
            Where they are not, effects sum to 0 among the wordings that are, and the rest goes to the samples.
    """

    by_sample: NDArray[np.float64]
    effects: NDArray[np.float64]
    mean_square: float
    degrees_of_freedom: int
    n_cells: int
    sample_inflation: float
    effect_inflation: float
    is_connected: bool

    @property
    def mean(self) -> float:
        """Averages over all samples and all wordings, equally weighted."""
        return float(self.by_sample.mean())

    @property
    def is_determined(self) -> bool:
        """Says whether wordings can be separated from samples, and both from noise."""
        return self.is_connected and self.degrees_of_freedom > 0

    @property
    def sample_variance(self) -> float:
        """Computes the variance of samples without the noise in their means, negative by chance; NaN below two."""
        return self._beyond_noise(self.by_sample, self.sample_inflation)

    @property
    def effect_variance(self) -> float:
        """Computes the variance of wordings without the noise in their effects, negative by chance; NaN below two."""
        return self._beyond_noise(self.effects, self.effect_inflation)

    @property
    def effect_noise(self) -> float:
        """Computes how much noise adds to the ddof 1 variance of the effects: MS_e Q / n times the inflation."""
        return len(self.effects) * self.mean_square / self.n_cells * self.effect_inflation

    def _beyond_noise(self, means: NDArray[np.float64], inflation: float) -> float:
        if len(means) < 2:
            return np.nan
        return float(means.var(ddof=1)) - self.mean_square * len(means) / self.n_cells * inflation


class Effects(NamedTuple):
    """Least-squares effects of wordings, for one table or many; the leading axes come from the normal equations.

    Attributes:
        effects: shape (..., Q).
        roots: shape (..., Q, Q): roots times its transpose is the covariance of the effects for residuals of variance
            1.
        n_parts: shape (...), parts of the table between which no wordings are compared; 1 where it is connected.
    """

    effects: NDArray[np.float64]
    roots: NDArray[np.float64]
    n_parts: NDArray[np.int64]

    @property
    def noise(self) -> NDArray[np.float64]:
        """Computes how much residuals of variance 1 add to the ddof 1 variance of two effects or more, shape (...)."""
        return np.asarray(np.square(self.roots).sum(axis=(-2, -1)) / (self.effects.shape[-1] - 1), np.float64)


def solve_effects(normal: NDArray[np.float64], deviations: NDArray[np.float64]) -> Effects:
    """Solves normal equations, from which samples have been eliminated, for the effects of wordings.

    Where wordings fall into parts that are not compared, the effects of each part sum to 0.

    Args:
        normal: shape (..., Q, Q), diag(cells of each wording) - sum over samples of m m' / n, where m marks the
            wordings of a sample of n cells.
        deviations: shape (..., Q), for each wording the sum of its values minus their samples' means.
    """
    eigenvalues, vectors = np.linalg.eigh(normal)
    is_zero = eigenvalues <= _NO_EIGENVALUE * eigenvalues[..., -1:]
    inverse = np.where(is_zero, 0.0, 1 / np.where(is_zero, 1.0, eigenvalues))
    along = np.einsum("...qk,...q->...k", vectors, deviations) * inverse
    return Effects(
        effects=np.einsum("...qk,...k->...q", vectors, along),
        roots=vectors * np.sqrt(inverse)[..., None, :],
        n_parts=np.asarray(is_zero.sum(axis=-1), np.int64),
    )


def two_way_fit(sample: NDArray[np.int64], variant: NDArray[np.int64], value: NDArray[np.float64]) -> TwoWayFit:
    """Fits a table by least squares: by plain means where it is full, else by the normal equations.

    Args:
        sample: shape (n,), dense codes, n > 0.
        variant: shape (n,), dense codes.
        value: shape (n,), one per (sample, variant).
    """
    n_samples, n_variants, n_cells = int(sample.max()) + 1, int(variant.max()) + 1, len(value)
    per_sample = np.bincount(sample, minlength=n_samples)
    by_sample = np.bincount(sample, weights=value) / per_sample
    parts, centre = parts_of(n_cells), value.mean()
    means, deviations = np.zeros(n_samples), np.zeros(n_variants)
    for own in parts:
        means += np.bincount(sample[own], weights=value[own] - centre, minlength=n_samples)
    means /= per_sample
    for own in parts:
        residual = value[own] - centre - means[sample[own]]
        deviations += np.bincount(variant[own], weights=residual, minlength=n_variants)
    if n_cells == n_samples * n_variants:
        effects, n_parts = deviations / n_samples, 1
        sample_inflation = effect_inflation = 1.0
    else:
        presence = csr_array((np.ones(n_cells), (sample, variant)), shape=(n_samples, n_variants))
        shares = csr_array((1 / per_sample[sample], (sample, variant)), shape=(n_samples, n_variants))
        normal = np.diag(np.bincount(variant).astype(np.float64)) - (shares.T @ presence).toarray()
        solved = solve_effects(normal, deviations)
        effects, n_parts = solved.effects, int(solved.n_parts)
        sample_inflation = _sample_noise(per_sample, np.asarray(shares @ solved.roots)) * n_cells / n_samples
        effect_inflation = float(solved.noise) * n_cells / n_variants
        seen = np.asarray(shares @ effects)
        by_sample, means = by_sample - seen, means - seen
    degrees_of_freedom = n_cells - n_samples - n_variants + n_parts
    squares = 0.0
    for own in parts:
        residual = value[own] - centre - means[sample[own]] - effects[variant[own]]
        squares += float(residual @ residual)
    return TwoWayFit(
        by_sample=by_sample,
        effects=effects,
        mean_square=squares / degrees_of_freedom if degrees_of_freedom > 0 else 0.0,
        degrees_of_freedom=degrees_of_freedom,
        n_cells=n_cells,
        sample_inflation=sample_inflation,
        effect_inflation=effect_inflation,
        is_connected=n_parts == 1,
    )


def _sample_noise(per_sample: NDArray[np.int64], seen: NDArray[np.float64]) -> float:
    # How much residuals of variance 1 add to the ddof 1 variance of the samples' means over all wordings. A mean over
    # all wordings is the mean of a sample's own cells minus the mean of the effects it has seen; the two are
    # uncorrelated. `seen`, of shape (N, Q), is a root of the covariance of the seen effects; N > 1.
    n = len(per_sample)
    own = float((1 / per_sample).sum()) * (1 - 1 / n)
    return float((own + np.square(seen).sum() - np.square(seen.sum(axis=0)).sum() / n) / (n - 1))
