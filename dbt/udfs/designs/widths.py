"""The interval that a design is expected to give: its variance, degrees of freedom, half-width, and what it can detect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from udfs.designs.variance_components import VarianceComponents
from udfs.resampling import TAIL, generator

Kind = Literal["linear", "sensitivity"]
"""A mean of single answers (micro-F1, accuracy, invalid rate), or sensitivity."""

Rule = Literal["satterthwaite", "wordings"]
"""Degrees of freedom of an interval: Satterthwaite's, or the number of wordings less one."""

PRINTED: Rule = "wordings"
"""The rule by which `two_way_interval` and `sensitivity_interval` make the intervals that a run prints."""

LEAST_WORDINGS_OF_SENSITIVITY = 12
"""Wordings below which Satterthwaite's degrees of freedom are too many for sensitivity, and an interval too narrow."""

POWER_QUANTILE = 1.28
"""The normal quantile of a power of .9. Comparisons found .85 to .93 of such differences under 6 wordings; by exchanges of
wordings, which are blunter than a t test, .76 to .87 under 12 to 24."""

N_DRAWS = 4000
_PURPOSE = 31


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """What a model is asked of one task.

    Attributes:
        n_samples: N, at least 2.
        n_wordings: Q, at least 2.
        wordings_per_sample: q, how many of them each sample is asked under, 1 to Q; a full grid has q = Q.
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
    def is_full(self) -> bool:
        """Returns whether every sample is asked under every wording."""
        return self.wordings_per_sample == self.n_wordings


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """The terms of V, each of shape (n,): of samples, of wordings, of cells."""

    samples: NDArray[np.float64]
    wordings: NDArray[np.float64]
    cells: NDArray[np.float64]


def half_width(components: VarianceComponents, design: Design, kind: Kind, rule: Rule = "satterthwaite") -> float:
    """Returns the half-width of the 95 % interval for other samples and other wordings: t_{.975, nu} sqrt(V).

    V = s_i^2 / N + s_q^2 / Q + d / (N q), with d the variance of a cell's mean. nu is Satterthwaite's,
    V^2 / [(s_i^2 / N + d / (N q))^2 / (N - 1) + (s_q^2 / Q + d / (N q))^2 / (Q - 1)]; for sensitivity below 12 wordings, and
    by the rule `wordings`, it is Q - 1.

    Returns:
        >= 0; 0 where nothing varies.

    Source:
        Satterthwaite 1946.
    """
    n = np.array([design.n_samples], np.float64)
    return float(half_widths(components, n, design, kind, rule)[0])


def half_widths(
    components: VarianceComponents,
    n_samples: NDArray[np.float64],
    design: Design,
    kind: Kind,
    rule: Rule = "satterthwaite",
) -> NDArray[np.float64]:
    """Returns `half_width` at each number of samples, shape (n,); the design's own is not looked at."""
    parts = _parts(components, n_samples, design)
    return _half_width_of(parts, n_samples, design.n_wordings, kind, rule)


def least_half_width(components: VarianceComponents, n_wordings: int) -> float:
    """Returns t_{.975, Q - 1} sqrt(s_q^2 / Q), below which no number of samples brings the half-width."""
    return float(stdtrit(n_wordings - 1, 1 - TAIL)) * float(np.sqrt(components.wordings / n_wordings))


def chance_of_width(
    components: VarianceComponents,
    design: Design,
    width: float,
    kind: Kind,
    rule: Rule = "satterthwaite",
    seed: int = 0,
) -> float:
    """Returns the chance that the interval of a run of a design is no wider than `width`.

    The true components are not those of the table: each draw divides its mean squares by chi-square over its degrees of
    freedom (of N - 1 for samples, Q - 1 for wordings). The run's own estimates scatter around these: its mean squares are
    multiplied by chi-square over the design's degrees of freedom. 4,000 draws of both.

    Args:
        components: of a table, without assurance.
        design: of the run.
        width: of the whole interval, > 0.
        kind: of the measure.
        rule: by which the run makes its interval.
        seed: of the draws.

    Returns:
        In [0, 1], with a standard error of at most .008.
    """
    rng = generator(seed, _PURPOSE)
    of_samples, of_wordings = components.n_samples - 1, components.n_wordings - 1
    samples = components.samples * of_samples / rng.chisquare(of_samples, N_DRAWS)
    raised = components.wording_means * of_wordings / rng.chisquare(of_wordings, N_DRAWS)
    wordings = np.maximum(0, raised - components.residual / components.n_samples)
    n, q = design.n_samples, design.n_wordings
    cell = components.of_a_cell(design.n_repetitions) / (n * design.wordings_per_sample)
    by_samples = (samples / n + cell) * rng.chisquare(n - 1, N_DRAWS) / (n - 1)
    by_wordings = (wordings / q + cell) * rng.chisquare(q - 1, N_DRAWS) / (q - 1)
    parts = _Parts(
        samples=np.maximum(0, by_samples - cell),
        wordings=np.maximum(0, by_wordings - cell),
        cells=np.full(N_DRAWS, cell),
    )
    halves = _half_width_of(parts, np.full(N_DRAWS, float(n)), q, kind, rule)
    return float((2 * halves <= width).mean())


def detectable_differences(
    components: VarianceComponents,
    n_samples: NDArray[np.float64],
    design: Design,
    kind: Kind,
    *,
    n_comparisons: int,
    min_effect: float,
) -> NDArray[np.float64]:
    """Returns the smallest difference that two nights of a design tell apart, at each number of samples.

    max(min_effect + 1.28 SE_d, (t + 1.28 sqrt(1 + t^2 / (2 nu))) SE_d) with t = t_{1 - .025 / m, nu}, m comparisons between
    the two nights; the root is there because SE_d is estimated too, with nu degrees of freedom. Both nights ask the same
    samples under the same wordings, so what these add to a figure is the same in both and drops out: SE_d^2 = 2 d / (N q),
    nu as of `half_width` for these parts alone. Between two nights of an unchanged model the noise is less, that of
    repetitions alone; after a change cells answer anew, and d holds.

    Args:
        components: of a table.
        n_samples: shape (n,), numbers of samples.
        design: wordings and repetitions; its own number of samples is not looked at.
        kind: of the measure.
        n_comparisons: m, at least 1.
        min_effect: the least difference that the audit's card calls one, >= 0.

    Returns:
        Shape (n,), >= min_effect.
    """
    cell = 2 * components.of_a_cell(design.n_repetitions) / (n_samples * design.wordings_per_sample)
    nothing = np.zeros_like(cell)
    parts = _Parts(samples=nothing, wordings=nothing, cells=cell)
    error = np.sqrt(cell)
    nu = _degrees_of_freedom(parts, n_samples, design.n_wordings, kind, "satterthwaite")
    quantile = stdtrit(nu, 1 - TAIL / n_comparisons)
    # the error of a difference is estimated too, with nu degrees of freedom
    of_power = POWER_QUANTILE * np.sqrt(1 + quantile**2 / (2 * nu))
    return np.asarray(np.maximum(min_effect + POWER_QUANTILE * error, (quantile + of_power) * error), np.float64)


def detectable_difference(
    components: VarianceComponents, design: Design, kind: Kind, *, n_comparisons: int, min_effect: float
) -> float:
    """Returns `detectable_differences` of a design at its own number of samples."""
    n = np.array([design.n_samples], np.float64)
    found = detectable_differences(components, n, design, kind, n_comparisons=n_comparisons, min_effect=min_effect)
    return float(found[0])


def _parts(components: VarianceComponents, n_samples: NDArray[np.float64], design: Design) -> _Parts:
    return _Parts(
        samples=components.samples / n_samples,
        wordings=np.full(len(n_samples), components.wordings / design.n_wordings),
        cells=components.of_a_cell(design.n_repetitions) / (n_samples * design.wordings_per_sample),
    )


def _half_width_of(
    parts: _Parts, n_samples: NDArray[np.float64], n_wordings: int, kind: Kind, rule: Rule
) -> NDArray[np.float64]:
    variance = parts.samples + parts.wordings + parts.cells
    nu = _degrees_of_freedom(parts, n_samples, n_wordings, kind, rule)
    return np.asarray(stdtrit(nu, 1 - TAIL) * np.sqrt(variance), np.float64)


def _degrees_of_freedom(
    parts: _Parts, n_samples: NDArray[np.float64], n_wordings: int, kind: Kind, rule: Rule
) -> NDArray[np.float64]:
    """Shape (n,), or (1,) where it is Q - 1 for all: by its rule, and of sensitivity below 12 wordings."""
    if rule == "wordings" or (kind == "sensitivity" and n_wordings < LEAST_WORDINGS_OF_SENSITIVITY):
        return np.array([n_wordings - 1.0])
    variance = parts.samples + parts.wordings + parts.cells
    below = (parts.samples + parts.cells) ** 2 / (n_samples - 1) + (parts.wordings + parts.cells) ** 2 / (
        n_wordings - 1
    )
    nu = np.full(len(n_samples), n_wordings - 1.0)
    np.divide(variance**2, below, out=nu, where=below > 0)
    return nu
