"""Splits the variance of a measure of a run into samples, wordings, cells and repetitions, by a two-way fit."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from udfs.codes import dense_codes
from udfs.measures.entropy import normalised_entropy
from udfs.measures.sensitivity import corrected_sensitivity
from udfs.resampling import two_way_variance


@dataclass(frozen=True, slots=True, kw_only=True)
class VarianceComponents:
    """Components of the variance of a mean over samples and wordings, and the table that they were estimated from.

    Attributes:
        n_samples: N of the table, at least 2.
        n_wordings: Q of the table, at least 2.
        mean: of the measure; of sensitivity the corrected one.
        samples: variance of a sample's mean over all wordings, >= 0.
        wordings: variance of a wording's mean over all samples, >= 0.
        cells: what sample and wording do not explain of the mean of endless repetitions of a cell, >= 0. Where cells were
            asked once it holds the repetitions' variance too.
        repetitions: variance of single asks of the same cell, >= 0; NaN where no cell was asked twice, and for sensitivity.
        wording_means: ddof 1 variance of the wordings' means in the table, from which `residual` / N was taken.
        residual: mean square of what sample and wording do not explain of a cell's mean.
    """

    n_samples: int
    n_wordings: int
    mean: float
    samples: float
    wordings: float
    cells: float
    repetitions: float
    wording_means: float
    residual: float

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
) -> VarianceComponents:
    """Returns the components of a measure that is the mean of single answers, such as right (1) or not (0).

    With M the table of means of a cell's asks and MS_e the residual mean square of its two-way fit: samples =
    Var(mean over wordings) - MS_e / Q, wordings = Var(mean over samples) - MS_e / N, repetitions = mean of the variances
    within cells that were asked more than once, cells = MS_e - repetitions mean(1 / n_asks); each at least 0, variances
    with ddof 1.

    Args:
        sample: shape (n,), dense codes, at least two distinct.
        wording: shape (n,), dense codes, at least two distinct.
        value: shape (n,), one per (sample, wording): the mean of its asks. Some may be missing: Q is then a sample's mean
            number of wordings, N likewise, and the fit is by least squares.
        within: shape (n,), ddof 1 variance of the asks that the value is the mean of; NaN of a single ask.
        n_asks: shape (n,), >= 1, how many they are.

    Raises:
        ValueError: fewer than two samples or wordings.

    Source:
        Analysis of variance of a two-way table without replication (Searle, Casella and McCulloch 1992).
    """
    is_repeated = n_asks > 1
    repetitions = float(within[is_repeated].mean()) if is_repeated.any() else np.nan
    taken = repetitions * float((1 / n_asks).mean()) if is_repeated.any() else 0.0
    return _two_way(sample, wording, value, repetitions, taken)


def sensitivity_components(
    sample: NDArray[np.int64],
    wording: NDArray[np.int64],
    label: NDArray[np.int64],
    p: NDArray[np.float64],
    n_classes: int,
) -> VarianceComponents:
    """Returns the components of sensitivity, from the jackknife's pseudo-values Q T_i - (Q - 1) T_i^(-v).

    T_i is the corrected sensitivity of sample i, T_i^(-v) the same without wording v. `cells` is the residual mean square
    of the pseudo-values: it holds for as many repetitions as the table has.

    Args:
        sample: shape (n,), dense codes, at least two distinct.
        wording: shape (n,), dense codes, at least three distinct.
        label: shape (n,), dense codes, N/A being one of them.
        p: shape (n,), share of the wording's answers with the label, above 0.
        n_classes: C, at least 2.

    Raises:
        ValueError: fewer than two samples, three wordings or two classes.
    """
    n_samples, n_wordings = int(sample.max()) + 1, int(wording.max()) + 1
    if n_wordings < 3 or n_classes < 2:
        msg = f"components of sensitivity need 3 wordings and 2 classes, these are {n_wordings} and {n_classes}"
        raise ValueError(msg)
    classes = np.full(n_samples, n_classes)
    is_asked = np.zeros((n_samples, n_wordings), bool)
    is_asked[sample, wording] = True
    q = is_asked.sum(axis=1)
    whole = corrected_sensitivity(sample, wording, label, p, classes)
    pseudo = np.full((n_samples, n_wordings), np.nan)
    for left_out in range(n_wordings):
        kept = wording != left_out
        others, _ = dense_codes(wording[kept])
        without = corrected_sensitivity(sample[kept], others, label[kept], p[kept], classes)
        pseudo[:, left_out] = q * whole - (q - 1) * without
    pseudo[~is_asked] = np.nan
    rows, columns = np.nonzero(~np.isnan(pseudo))
    row_codes, _ = dense_codes(rows)
    column_codes, _ = dense_codes(columns)
    found = _two_way(row_codes, column_codes, pseudo[rows, columns], np.nan, 0.0)
    return replace(found, mean=float(np.nanmean(whole)))


def sensitivity_bias(
    sample: NDArray[np.int64],
    wording: NDArray[np.int64],
    label: NDArray[np.int64],
    p: NDArray[np.float64],
    n_classes: int,
    n_wordings: int,
) -> float:
    """Returns how far the plain sensitivity of so many wordings is expected to lie below that of endless wordings.

    With S_Q the plain figure of the table, S_inf is about its corrected one, and the figure of n wordings about
    S_inf - (S_inf - S_Q) Q / n.

    Args:
        sample: shape (n,), dense codes.
        wording: shape (n,), dense codes, at least two distinct.
        label: shape (n,), dense codes, N/A being one of them.
        p: shape (n,), share of the wording's answers with the label, above 0.
        n_classes: C, at least 2.
        n_wordings: for which the bias is wanted, at least 1.

    Returns:
        At most 0: the plain figure minus that of endless wordings.
    """
    q = int(wording.max()) + 1
    plain = _plain_sensitivity(sample, label, p, n_classes)
    corrected = float(
        np.nanmean(corrected_sensitivity(sample, wording, label, p, np.full(int(sample.max()) + 1, n_classes)))
    )
    return min(0.0, -(corrected - plain) * q / n_wordings)


def _plain_sensitivity(
    sample: NDArray[np.int64], label: NDArray[np.int64], p: NDArray[np.float64], n_classes: int
) -> float:
    """The mean normalised entropy of the samples' mean shares."""
    n_labels = int(label.max()) + 1
    sums = np.bincount(sample * n_labels + label, weights=p, minlength=(int(sample.max()) + 1) * n_labels)
    shares = sums.reshape(-1, n_labels)
    shares = shares / shares.sum(axis=1, keepdims=True)
    offsets = np.arange(len(shares) + 1) * n_labels
    return float(normalised_entropy(shares.ravel(), offsets, np.full(len(shares), n_classes)).mean())


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
        wordings=max(0.0, raised - components.residual / components.n_samples),
        wording_means=raised,
    )


def chi_square_quantile(probability: float, degrees_of_freedom: int) -> float:
    """Returns the quantile of chi-square; `probability` in (0, 1) is the chance of a smaller value."""
    return float(chdtri(degrees_of_freedom, 1 - probability))


def _two_way(
    sample: NDArray[np.int64],
    wording: NDArray[np.int64],
    value: NDArray[np.float64],
    repetitions: float,
    taken: float,
) -> VarianceComponents:
    """The components of a table of cell means, `taken` of the residual mean square being that of repetitions."""
    n_samples = 0 if len(value) == 0 else int(sample.max()) + 1
    n_wordings = 0 if len(value) == 0 else int(wording.max()) + 1
    if n_samples < 2 or n_wordings < 2:
        msg = f"components need 2 samples and 2 wordings, these are {n_samples} and {n_wordings}"
        raise ValueError(msg)
    parts = two_way_variance(sample, wording, value)
    residual, wording_means = parts.both * len(value), parts.variants * n_wordings
    sample_means = np.bincount(sample, weights=value) / np.bincount(sample)
    of_samples = float(sample_means.var(ddof=1)) - residual * n_samples / len(value)
    return VarianceComponents(
        n_samples=n_samples,
        n_wordings=n_wordings,
        mean=float((np.bincount(wording, weights=value) / np.bincount(wording)).mean()),
        samples=max(0.0, of_samples),
        wordings=max(0.0, wording_means - residual * n_wordings / len(value)),
        cells=max(0.0, residual - taken),
        repetitions=repetitions,
        wording_means=wording_means,
        residual=residual,
    )
