"""Computes the interval expected of a design (variance, degrees of freedom, half-width) and what it can detect."""

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
"""The kind of a measure: a mean of single answers (micro-F1, accuracy, invalid rate), or sensitivity."""

MEASURES_COMPARED = 8
"""Two nights are tested for so many differences in each group of answers, before any night has been compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """The requests to a model for one task: every sample under every wording.

    Attributes:
        n_samples: N, at least 2.
        n_wordings: Q, at least 2.
        n_repetitions: R, asks of a cell.
    """

    n_samples: int
    n_wordings: int
    n_repetitions: int

    @property
    def n_requests(self) -> int:
        """Counts the requests, N Q R."""
        return self.n_samples * self.n_wordings * self.n_repetitions


def half_width(components: VarianceComponents, design: Design) -> float:
    """Computes the half-width of the 95 % interval for other samples and other wordings: t_{.975, nu} sqrt(V).

    V = s_i^2 / N + s_q^2 / Q + d / (N Q), with d the variance of a cell's mean. nu is Satterthwaite's, V^2 / [(s_i^2 /
    N + d / (N Q))^2 / (N - 1) + (s_q^2 / Q + d / (N Q))^2 / (Q - 1)], not below the smaller of N - 1 and Q - 1. Runs
    compute their intervals in the same way.

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
    """Computes `half_width` at each number of samples, shape (n,); the design's own number is ignored."""
    samples, wordings = components.samples / n_samples, components.wordings / design.n_wordings
    cells = components.of_a_cell(design.n_repetitions) / (n_samples * design.n_wordings)
    total = samples + wordings + cells
    fewest = np.minimum(n_samples, design.n_wordings) - 1.0
    below = (samples + cells) ** 2 / (n_samples - 1) + (wordings + cells) ** 2 / (design.n_wordings - 1)
    nu = np.maximum(fewest, np.divide(total**2, below, out=fewest.copy(), where=below > 0))
    return np.asarray(stdtrit(nu, 1 - TAIL) * np.sqrt(total), np.float64)


def detectable_differences(
    components: VarianceComponents,
    n_samples: NDArray[np.float64],
    design: Design,
    *,
    n_comparisons: int,
    min_effect: float,
) -> NDArray[np.float64]:
    """Computes the smallest difference between two nights that a design detects, at each number of samples.

    Computed by `promptaudit.udfs.differences.detectable`. Both nights ask the same samples under the same wordings, so
    the effects of these are the same in both and cancel: SE_d^2 = 2 d / (N Q), with N - 1 degrees of freedom. Between
    two nights of an unchanged model the noise is smaller, from repetitions alone; after a change cells answer
    differently, and d applies.

    Args:
        components: of a table.
        n_samples: shape (n,), numbers of samples.
        design: wordings and repetitions; its own number of samples is ignored.
        n_comparisons: m, at least 1.
        min_effect: the least difference that the audit's card calls one, >= 0.

    Returns:
        Shape (n,), >= min_effect.
    """
    error = np.sqrt(2 * components.of_a_cell(design.n_repetitions) / (n_samples * design.n_wordings))
    free = n_samples - 1.0
    return found_in_comparisons(error, free, n_comparisons, min_effect)


def detectable_difference(
    components: VarianceComponents, design: Design, *, n_comparisons: int, min_effect: float
) -> float:
    """Computes `detectable_differences` of a design at its own number of samples."""
    n = np.array([design.n_samples], np.float64)
    found = detectable_differences(components, n, design, n_comparisons=n_comparisons, min_effect=min_effect)
    return float(found[0])
