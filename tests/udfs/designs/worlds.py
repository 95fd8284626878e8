"""Simulated answers of samples under wordings, with known components of variance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.designs.variance_components import VarianceComponents, linear_components


@dataclass(frozen=True, kw_only=True)
class World:
    """A mean accuracy, and standard deviations of what samples, wordings and cells add to it."""

    mean: float = 0.6
    samples: float = 0.2
    wordings: float = 0.06
    cells: float = 0.1

    def answers(self, rng: np.random.Generator, n: int, q: int, r: int) -> NDArray[np.float64]:
        """Right (1) and wrong (0) answers, shape (n, q, r): uniform effects, so that no probability leaves [0, 1]."""
        p = self.mean + _effect(rng, self.samples, n, 1) + _effect(rng, self.wordings, 1, q)
        p = p + _effect(rng, self.cells, n, q)
        return (rng.random((n, q, r)) < p[:, :, None]).astype(np.float64)

    def nights(
        self, rng: np.random.Generator, n: int, q: int, difference: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Two nights of one ask a cell, of the same samples and wordings, shape (n, q) each.

        In the second cells are drawn anew, and answers are right more often by a difference.
        """
        both = self.mean + _effect(rng, self.samples, n, 1) + _effect(rng, self.wordings, 1, q)
        first, second = (both + _effect(rng, self.cells, n, q) + moved for moved in (0.0, difference))
        return tuple((rng.random((n, q)) < p).astype(np.float64) for p in (first, second))

    @property
    def repetitions(self) -> float:
        """The variance of single asks of a cell: E p (1 - p)."""
        return self.mean * (1 - self.mean) - self.samples**2 - self.wordings**2 - self.cells**2


def _effect(rng: np.random.Generator, sd: float, *shape: int) -> NDArray[np.float64]:
    return rng.uniform(-np.sqrt(3) * sd, np.sqrt(3) * sd, shape)


def dealt(
    n_samples: int, n_wordings: int, wordings_per_sample: int, seed: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sample and wording of each cell where each sample is asked under some of the wordings, drawn by lot."""
    wording = np.random.default_rng(seed).random((n_samples, n_wordings)).argsort(axis=1)[:, :wordings_per_sample]
    return np.repeat(np.arange(n_samples), wordings_per_sample), wording.ravel()


def components_of(answers: NDArray[np.float64]) -> VarianceComponents:
    """The components of answers of shape (n, q, r), r alike of all cells; NaN where a cell is missing."""
    mean = answers.mean(axis=2)
    sample, wording = np.nonzero(~np.isnan(mean))
    n_asks = answers.shape[2]
    within = answers.var(axis=2, ddof=1) if n_asks > 1 else np.full(mean.shape, np.nan)
    cells = (sample, wording)
    return linear_components(sample, wording, mean[cells], within[cells], np.full(len(sample), n_asks))
