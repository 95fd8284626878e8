"""Splits the variance of a measure of a run into samples, wordings, cells and repetitions, by a two-way fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from udfs.codes import dense_codes
from udfs.designs.families import one_wording_a_family
from udfs.measures.sensitivity import pseudo_values
from udfs.two_way_fit import two_way_fit


@dataclass(frozen=True, slots=True, kw_only=True)
class VarianceComponents:
    """Components of the variance of a mean over samples and wordings, and the table that they were estimated from.

    Attributes:
        n_samples: N of the table, at least 2.
        n_wordings: Q of the table, at least 2; wordings of one family count once.
        mean: of the measure; of sensitivity the corrected one.
        samples: variance of a sample's mean over all wordings, >= 0.
        wordings: variance of a wording's mean over all samples, >= 0.
        cells: what sample and wording do not explain of the mean of endless repetitions of a cell, >= 0. Where cells were
            asked once it holds the repetitions' variance too.
        repetitions: variance of single asks of the same cell, >= 0; NaN where no cell was asked twice, and for sensitivity.
        wording_means: ddof 1 variance of the wordings' means in the table.
        wording_noise: what was taken from it for the noise of cells; in a full table the residual mean square over N.
    """

    n_samples: int
    n_wordings: int
    mean: float
    samples: float
    wordings: float
    cells: float
    repetitions: float
    wording_means: float
    wording_noise: float

    @property
    def has_repetitions(self) -> bool:
        """Returns whether it is known how far repetitions of a cell differ."""
        return not np.isnan(self.repetitions)

    def of_a_cell(self, n_repetitions: int) -> float:
        """Returns d, the variance of a cell's mean around what its sample and wording explain, of so many repetitions.

        Where repetitions are not known it is `cells`, whatever the number.
        """
        return self.cells + (self.repetitions / n_repetitions if self.has_repetitions else 0.0)


def linear_components(
    sample: NDArray[np.int64],
    wording: NDArray[np.int64],
    value: NDArray[np.float64],
    within: NDArray[np.float64],
    n_asks: NDArray[np.int64],
    family: NDArray[np.int64] | None = None,
) -> VarianceComponents:
    """Returns the components of a measure that is the mean of single answers, such as right (1) or not (0).

    With M the table of means of a cell's asks and MS_e the residual mean square of its two-way fit: samples =
    Var(mean over wordings) - MS_e / Q, wordings = Var(mean over samples) - MS_e / N, repetitions = mean of the variances
    within cells that were asked more than once, cells = MS_e - repetitions mean(1 / n_asks); each at least 0, variances
    with ddof 1. With families, of the tables of `one_wording_a_family`.

    Args:
        sample: shape (n,), dense codes, at least two distinct.
        wording: shape (n,), dense codes, at least two distinct.
        value: shape (n,), one per (sample, wording): the mean of its asks. Some may be missing: means are then those of the
            least-squares fit, and MS_e / Q and MS_e / N the noise that is left in them.
        within: shape (n,), ddof 1 variance of the asks that the value is the mean of; NaN of a single ask.
        n_asks: shape (n,), >= 1, how many they are.
        family: shape (n,), code of the wording's family; at least two distinct. None: each wording is one of its own.

    Raises:
        ValueError: fewer than two samples, or two wordings that are no family, or so few cells that wordings cannot be told from
            samples.

    Source:
        Analysis of variance of a two-way table without replication (Searle, Casella and McCulloch 1992).
    """
    is_repeated = n_asks > 1
    repetitions = float(within[is_repeated].mean()) if is_repeated.any() else np.nan
    taken = repetitions * float((1 / n_asks).mean()) if is_repeated.any() else 0.0
    tables = [
        _two_way(sample[kept], wording[kept], value[kept]) for kept in one_wording_a_family(wording, family)
    ]  # fmt: skip
    return _components(tables, repetitions, taken)


def sensitivity_components(
    sample: NDArray[np.int64],
    wording: NDArray[np.int64],
    label: NDArray[np.int64],
    p: NDArray[np.float64],
    n_classes: int,
    family: NDArray[np.int64] | None = None,
) -> VarianceComponents:
    """Returns the components of sensitivity, from the jackknife's pseudo-values Q T_i - (Q - 1) T_i^(-v).

    T_i is the corrected sensitivity of sample i, T_i^(-v) the same without wording v. `cells` is the residual mean square
    of the pseudo-values: it holds for as many repetitions as the table has. With families, of the tables of
    `one_wording_a_family`.

    Args:
        sample: shape (n,), dense codes, at least two distinct.
        wording: shape (n,), dense codes, at least three distinct.
        label: shape (n,), dense codes, N/A being one of them.
        p: shape (n,), share of the wording's answers with the label, above 0.
        n_classes: C, at least 2.
        family: shape (n,), code of the wording's family; at least three distinct. None: each wording is one of its own.

    Raises:
        ValueError: fewer than two samples, three wordings that are no family, or two classes; or so few cells that wordings
            cannot be told from samples.
    """
    tables, means = [], []
    for kept in one_wording_a_family(wording, family):
        samples, wordings, labels = (dense_codes(each[kept])[0] for each in (sample, wording, label))
        n_wordings = int(wordings.max()) + 1 if len(wordings) else 0
        if n_wordings < 3 or n_classes < 2:
            msg = f"components of sensitivity need 3 wordings and 2 classes, these are {n_wordings} and {n_classes}"
            raise ValueError(msg)
        found = pseudo_values(samples, wordings, labels, p[kept], n_classes)
        tables.append(_two_way(found.sample, found.variant, found.value))
        means.append(float(np.nanmean(found.by_sample)))
    return replace(_components(tables, np.nan, 0.0), mean=float(np.mean(means)))


def with_assurance(components: VarianceComponents, assurance: float) -> VarianceComponents:
    """Returns components that the true ones stay below with probability `assurance`, one at a time.

    The variance of samples is multiplied by (N - 1) / chi2_{1 - assurance, N - 1}, that of the wordings' means by
    (Q - 1) / chi2_{1 - assurance, Q - 1} before the residual is taken from it; chi2_{p, n} is the p quantile of chi-square
    with n degrees of freedom.

    Args:
        components: of a table of N samples and Q wordings.
        assurance: in (0, 1); .8 is usual.
    """
    of_samples = (components.n_samples - 1) / chi_square_quantile(1 - assurance, components.n_samples - 1)
    of_wordings = (components.n_wordings - 1) / chi_square_quantile(1 - assurance, components.n_wordings - 1)
    raised = components.wording_means * of_wordings
    return replace(
        components,
        samples=components.samples * of_samples,
        wordings=max(0.0, raised - components.wording_noise),
        wording_means=raised,
    )


def chi_square_quantile(probability: float, degrees_of_freedom: int) -> float:
    """Returns the quantile of chi-square; `probability` in (0, 1) is the chance of a smaller value."""
    return float(chdtri(degrees_of_freedom, 1 - probability))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """What a two-way fit says of one table of cell means; variances may be below 0."""

    n_samples: int
    n_wordings: int
    mean: float
    samples: float
    wordings: float
    wording_means: float
    wording_noise: float
    residual: float


def _two_way(sample: NDArray[np.int64], wording: NDArray[np.int64], value: NDArray[np.float64]) -> _Table:
    """The fit of a table of cell means; codes need not be dense."""
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
    return _Table(
        n_samples=n_samples,
        n_wordings=n_wordings,
        mean=fit.mean,
        samples=fit.sample_variance,
        wordings=fit.effect_variance,
        wording_means=fit.effect_variance + fit.effect_noise,
        wording_noise=fit.effect_noise,
        residual=fit.mean_square,
    )


def _components(tables: Sequence[_Table], repetitions: float, taken: float) -> VarianceComponents:
    """The means over tables, `taken` of the residual mean square being that of repetitions."""

    def mean(name: str) -> float:
        return float(np.mean([getattr(each, name) for each in tables]))

    return VarianceComponents(
        n_samples=max(each.n_samples for each in tables),
        n_wordings=max(each.n_wordings for each in tables),
        mean=mean("mean"),
        samples=max(0.0, mean("samples")),
        wordings=max(0.0, mean("wordings")),
        cells=max(0.0, mean("residual") - taken),
        repetitions=repetitions,
        wording_means=mean("wording_means"),
        wording_noise=mean("wording_noise"),
    )
