"""The interval that a design is expected to give: its variance, degrees of freedom, half-width, and what it can detect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from promptaudit.udfs.designs.variance_components import VarianceComponents
from promptaudit.udfs.differences.detectable import detectable_differences as found_in_comparisons
from promptaudit.udfs.resampling import TAIL

Kind = Literal["linear", "sensitivity"]
"""A mean of single answers (micro-F1, accuracy, invalid rate), or sensitivity."""

MEASURES_COMPARED = 8
"""Differences that two nights are tested for in each group of answers, where no night has been compared yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """What a model is asked of one task.

    Attributes:
        n_samples: N, at least 2.
        n_wordings: Q, at least 2.
        wordings_per_sample: q, how many of them each sample is asked under, 2 to Q; a full grid has q = Q.
        n_repetitions: R, asks of a cell.
    """

    n_samples: int
    n_wordings: int
    wordings_per_sample: int
    n_repetitions: int

    @property
    def n_requests(self) -> int:
        """Returns N q R."""
        return self.n_samples * self.wordings_per_sample * self.n_repetitions

    @property
    def is_incomplete(self) -> bool:
        """Returns whether samples are asked under some of the wordings each."""
        return self.wordings_per_sample < self.n_wordings

    @property
    def noise_of_gaps(self) -> float:
        """Returns by what share of d / (N q) gaps add to the variance of the wordings' mean effect: (Q - q) / (Q (q - 1)).

        Effects of a balanced incomplete grid are known by its efficiency factor (1 - 1 / q) / (1 - 1 / Q) less well than
        those of a full one of as many cells; 0 in a full grid.
        """
        q = self.wordings_per_sample
        return (self.n_wordings - q) / (self.n_wordings * (q - 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """The terms of V, of samples, wordings and cells, and what gaps add to that of wordings; of shape (n,)."""

    samples: NDArray[np.float64]
    wordings: NDArray[np.float64]
    cells: NDArray[np.float64]
    gaps: NDArray[np.float64]

    @property
    def of_samples(self) -> NDArray[np.float64]:
        """Returns V_samples as a run has it, noise of cells in it."""
        return self.samples + self.cells

    @property
    def of_wordings(self) -> NDArray[np.float64]:
        """Returns V_variants as a run has it, noise of cells and gaps in it."""
        return self.wordings + self.cells + self.gaps

    @property
    def total(self) -> NDArray[np.float64]:
        """Returns V, as runs have it never below its part of wordings."""
        return np.maximum(self.of_samples + self.wordings, self.of_wordings)


def half_width(components: VarianceComponents, design: Design) -> float:
    """Returns the half-width of the 95 % interval for other samples and other wordings: t_{.975, nu} sqrt(V).

    V = s_i^2 / N + s_q^2 / Q + d / (N q), with d the variance of a cell's mean. nu is Satterthwaite's,
    V^2 / [(s_i^2 / N + d / (N q))^2 / (N - 1) + (s_q^2 / Q + d / (N q))^2 / (Q - 1)], not below the smaller of N - 1 and
    Q - 1. In an incomplete grid the part of wordings, s_q^2 / Q + d / (N q), has
    the noise of gaps too, and V is not below it. Runs make their intervals likewise.

    Returns:
        >= 0; 0 where nothing varies.

    Source:
        Satterthwaite 1946.
    """
    n = np.array([design.n_samples], np.float64)
    return float(half_widths(components, n, design)[0])


def half_widths(
    components: VarianceComponents,
    n_samples: NDArray[np.float64],
    design: Design,
) -> NDArray[np.float64]:
    """Returns `half_width` at each number of samples, shape (n,); the design's own is not looked at."""
    parts = _parts(components, n_samples, design)
    nu = _degrees_of_freedom(parts, n_samples, design.n_wordings)
    return np.asarray(stdtrit(nu, 1 - TAIL) * np.sqrt(parts.total), np.float64)


def detectable_differences(
    components: VarianceComponents,
    n_samples: NDArray[np.float64],
    design: Design,
    *,
    n_comparisons: int,
    min_effect: float,
) -> NDArray[np.float64]:
    """Returns the smallest difference that two nights of a design tell apart, at each number of samples.

    Those of `promptaudit.udfs.differences.detectable`. Both nights ask the same samples under the same wordings,
    so what these add to a figure is the same in both and drops out: SE_d^2 = 2 d / (N q), with N - 1 degrees of
    freedom. Between two nights of an unchanged model the noise is less, that of repetitions alone; after a change cells answer
    anew, and d holds.

    Args:
        components: of a table.
        n_samples: shape (n,), numbers of samples.
        design: wordings and repetitions; its own number of samples is not looked at.
        n_comparisons: m, at least 1.
        min_effect: the least difference that the audit's card calls one, >= 0.

    Returns:
        Shape (n,), >= min_effect.
    """
    error = np.sqrt(2 * components.of_a_cell(design.n_repetitions) / (n_samples * design.wordings_per_sample))
    free = n_samples - 1.0
    return found_in_comparisons(error, free, n_comparisons, min_effect)


def detectable_difference(
    components: VarianceComponents, design: Design, *, n_comparisons: int, min_effect: float
) -> float:
    """Returns `detectable_differences` of a design at its own number of samples."""
    n = np.array([design.n_samples], np.float64)
    found = detectable_differences(components, n, design, n_comparisons=n_comparisons, min_effect=min_effect)
    return float(found[0])


def _parts(components: VarianceComponents, n_samples: NDArray[np.float64], design: Design) -> _Parts:
    cells = components.of_a_cell(design.n_repetitions) / (n_samples * design.wordings_per_sample)
    return _Parts(
        samples=components.samples / n_samples,
        wordings=np.broadcast_to(components.wordings / design.n_wordings, cells.shape),
        cells=cells,
        gaps=cells * design.noise_of_gaps,
    )


def _degrees_of_freedom(parts: _Parts, n_samples: NDArray[np.float64], n_wordings: int) -> NDArray[np.float64]:
    """Satterthwaite's, not fewer than the smaller of N - 1 and Q - 1."""
    fewest = np.broadcast_to(np.minimum(n_samples, n_wordings) - 1.0, parts.total.shape)
    below = parts.of_samples**2 / (n_samples - 1) + parts.of_wordings**2 / (n_wordings - 1)
    return np.maximum(fewest, np.divide(parts.total**2, below, out=fewest.copy(), where=below > 0))
