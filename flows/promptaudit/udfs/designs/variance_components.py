"""Splits the variance of a measure of a run into samples, wordings, cells and repetitions, by a two-way fit."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.codes import dense_codes
from promptaudit.udfs.measures.sensitivity import pseudo_values
from promptaudit.udfs.two_way_fit import TwoWayFit, two_way_fit


@dataclass(frozen=True, slots=True, kw_only=True)
class VarianceComponents:
    """Components of the variance of a mean over samples and wordings, and the size of the table behind them.

    Attributes:
        n_samples: N of the table, at least 2.
        n_wordings: Q of the table, at least 2.
        mean: of the measure.
        samples: variance of a sample's mean over all wordings, >= 0.
        wordings: variance of a wording's mean over all samples, >= 0.
        cells: variance, unexplained by sample and wording, of the mean of endless repetitions of a cell, >= 0. Where
            cells were asked once it includes the repetitions' variance.
        repetitions: variance of single asks of the same cell, >= 0; NaN where no cell was asked twice, and for
            sensitivity.
    """

    n_samples: int
    n_wordings: int
    mean: float
    samples: float
    wordings: float
    cells: float
    repetitions: float

    @property
    def has_repetitions(self) -> bool:
        """Says whether it is known how far repetitions of a cell differ."""
        return not np.isnan(self.repetitions)

    def of_a_cell(self, n_repetitions: int) -> float:
        """Computes d, the variance of a cell's mean over its repetitions that sample and wording do not explain.

        Where repetitions are not known it is `cells`, whatever the number.
        """
        return self.cells + (self.repetitions / n_repetitions if self.has_repetitions else 0.0)


def linear_components(
    sample: NDArray[np.int64],
    wording: NDArray[np.int64],
    value: NDArray[np.float64],
    within: NDArray[np.float64],
    n_asks: NDArray[np.int64],
) -> VarianceComponents:
    """Estimates the components of a measure that is the mean of single answers, such as right (1) or not (0).

    With M the table of means of a cell's asks and MS_e the residual mean square of its two-way fit: samples = Var(mean
    over wordings) - MS_e / Q, wordings = Var(mean over samples) - MS_e / N, repetitions = mean of the variances within
    cells that were asked more than once, cells = MS_e - repetitions mean(1 / n_asks); each at least 0, variances with
    ddof 1.

    Args:
        sample: shape (n,), dense codes, at least two distinct.
        wording: shape (n,), dense codes, at least two distinct.
        value: shape (n,), one per (sample, wording): the mean of its asks. Some may be missing: means then come from
            the least-squares fit, and the noise that is left in them replaces MS_e / Q and MS_e / N.
        within: shape (n,), ddof 1 variance of the asks in the value's mean; NaN for a single ask.
        n_asks: shape (n,), >= 1, the number of these asks.

    Raises:
        ValueError: fewer than two samples, or two wordings, or so few cells that wordings cannot be separated from
            samples.

    Source:
        Analysis of variance of a two-way table without replication (Searle, Casella and McCulloch 1992).
    """
    is_repeated = n_asks > 1
    repetitions = float(within[is_repeated].mean()) if is_repeated.any() else np.nan
    taken = repetitions * float((1 / n_asks).mean()) if is_repeated.any() else 0.0
    return _components(_two_way(sample, wording, value), repetitions, taken)


def sensitivity_components(
    sample: NDArray[np.int64],
    wording: NDArray[np.int64],
    label: NDArray[np.int64],
    p: NDArray[np.float64],
    n_classes: int,
) -> VarianceComponents:
    """Estimates the components of sensitivity, from the jackknife's pseudo-values Q S_i - (Q - 1) S_i^(-v).

    S_i is the sensitivity of sample i, S_i^(-v) the same without wording v. `samples` is the variance of S_i minus MS_e
    / Q, and `cells` the residual mean square of the pseudo-values, for as many repetitions as the table has.

    Args:
        sample: shape (n,), dense codes, at least two distinct.
        wording: shape (n,), dense codes, at least three distinct.
        label: shape (n,), dense codes, N/A being one of them.
        p: shape (n,), share of the wording's answers with the label, above 0.
        n_classes: C, at least 2.

    Raises:
        ValueError: fewer than two samples, three wordings, or two classes; or so few cells that wordings
            cannot be separated from samples.
    """
    n_wordings = int(wording.max()) + 1 if len(wording) else 0
    if n_wordings < 3 or n_classes < 2:
        msg = f"components of sensitivity need 3 wordings and 2 classes, these are {n_wordings} and {n_classes}"
        raise ValueError(msg)
    found = pseudo_values(sample, wording, label, p, np.full(int(sample.max()) + 1, n_classes))
    of_samples = found.by_sample[~np.isnan(found.by_sample)]
    fit = _two_way(found.sample, found.unit, found.value)
    return replace(_components(fit, np.nan, 0.0, of_samples), mean=float(of_samples.mean()))


def _two_way(sample: NDArray[np.int64], wording: NDArray[np.int64], value: NDArray[np.float64]) -> TwoWayFit:
    # codes need not be dense
    sample, wording = (dense_codes(each)[0] for each in (sample, wording))
    n_samples = 0 if len(value) == 0 else int(sample.max()) + 1
    n_wordings = 0 if len(value) == 0 else int(wording.max()) + 1
    if n_samples < 2 or n_wordings < 2:
        msg = f"components need 2 samples and 2 wordings, these are {n_samples} and {n_wordings}"
        raise ValueError(msg)
    fit = two_way_fit(sample, wording, value)
    if not fit.is_determined:
        msg = (
            f"wordings cannot be told from samples in {len(value)} cells of {n_samples} samples x {n_wordings} wordings"
        )
        raise ValueError(msg)
    return fit


def _components(
    fit: TwoWayFit, repetitions: float, taken: float, by_sample: NDArray[np.float64] | None = None
) -> VarianceComponents:
    # `taken` is the part of the residual mean square due to repetitions; the measure varies over samples by the figures
    # of `by_sample`, by default those in the fit
    own = fit.by_sample if by_sample is None else by_sample
    of_samples = fit.by_sample.var(ddof=1) - fit.sample_variance
    return VarianceComponents(
        n_samples=len(fit.by_sample),
        n_wordings=len(fit.effects),
        mean=fit.mean,
        samples=max(0.0, float(own.var(ddof=1) - of_samples)),
        wordings=max(0.0, float(fit.effects.var(ddof=1) - fit.effect_noise)),
        cells=max(0.0, fit.mean_square - taken),
        repetitions=repetitions,
    )
