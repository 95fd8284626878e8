"""Measures the spread of accuracy over prompt templates, without the part due to luck of the questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.resampling import percentile_interval, percentile_interval_of, resampled_units
from promptaudit.udfs.sql_function import sql_function
from promptaudit.udfs.sql_types import Codes, Floats

PURPOSE = 5
"""The purpose of the generator of resamples of samples, which all figures over templates share."""

_ROUNDING = 1e-15  # of a variance of shares; a true one of this size is a spread of 3e-8


class Spread(NamedTuple):
    """The mean and the spread over templates of one model's accuracy under one scoring method; NaN where undefined."""

    mean: float
    std: float
    std_sample: float
    range: float
    std_corrected: float
    std_corrected_low: float
    std_corrected_high: float
    variance_corrected_low: float
    n_variants: int
    n_samples: int
    n_samples_complete: int


def variant_means(variant: NDArray[np.int64], value: NDArray[np.float64]) -> NDArray[np.float64]:
    """Averages the values of each template over the samples it has, shape (n_variants,), for dense codes."""
    return np.asarray(np.bincount(variant, weights=value) / np.bincount(variant), np.float64)


def complete_table(
    sample: NDArray[np.int64], variant: NDArray[np.int64], value: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Builds a table of samples x templates from the samples that have a value under every template.

    Args:
        sample: shape (n,), dense codes, n > 0.
        variant: shape (n,), dense codes.
        value: shape (n,), one per (sample, variant).

    Returns:
        Shape (n_samples_complete, n_variants).
    """
    table = np.full((int(sample.max()) + 1, int(variant.max()) + 1), np.nan)
    table[sample, variant] = value
    return np.asarray(table[~np.isnan(table).any(axis=1)], np.float64)


def corrected_variances(
    table: NDArray[np.float64], weight: NDArray[np.float64], n_corrections: int
) -> NDArray[np.float64]:
    """Computes the variance over templates of their means, minus the part due to luck, in each resample of the samples.

    Var_ddof1(template means) - n_corrections MS_res / n, both of the resample. With d_iv a value minus its sample's
    mean, MS_res (n - 1) = sum_i w_i sum_v d_iv^2 / (Q - 1) - n Var_ddof1: no resampled table is ever made.

    Args:
        table: shape (n, Q), n > 1, Q > 1, complete.
        weight: shape (n, n_resamples), how often each sample is drawn; each column sums to n.
        n_corrections: 1 for the table itself. 2 for a resample, whose template means vary once around the table's,
            which vary once around the truth.

    Returns:
        Shape (n_resamples,), not floored: negative where templates differ by less than luck explains.
    """
    n, q = table.shape
    own = table - table.mean(axis=1, keepdims=True)
    means = weight.T @ own / n
    variance = np.einsum("bv,bv->b", means, means) / (q - 1)  # own sums to 0 over templates, so do the means
    mean_square = (np.einsum("iv,iv->i", own, own) @ weight / (q - 1) - n * variance) / (n - 1)
    return without_rounding(variance - n_corrections * mean_square / n)


def without_rounding(variance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Replaces variances of shares that are only rounding by 0."""
    return np.where(np.abs(variance) <= _ROUNDING, 0.0, variance)


def corrected_variance(table: NDArray[np.float64]) -> float:
    """Computes Var_ddof1(template means) - MS_res / n of a complete table, shape (n, Q), n > 1, Q > 1; not floored."""
    return float(corrected_variances(table, np.ones((len(table), 1)), 1)[0])


def bootstrap_variances(
    tables: Sequence[NDArray[np.float64]], seed: int, n_resamples: int
) -> list[NDArray[np.float64]]:
    """Computes corrected variances of seeded resamples of samples, the same draws for every table.

    Args:
        tables: each of shape (n, Q), n > 1, Q > 1, complete.
        seed: of the bootstrap.
        n_resamples: B.

    Returns:
        For each table shape (n_resamples,), not floored.
    """
    n, q = tables[0].shape
    drawn = [
        np.array([corrected_variances(table, weight, 2) for table in tables])
        for weight in resampled_units(seed, PURPOSE, [n], n_resamples, n + q)
    ]
    return list(np.concatenate([np.empty((len(tables), 0)), *drawn], axis=1))


def root(variance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Takes the standard deviation of a corrected variance, 0 where the variance is negative; NaN stays NaN."""
    return np.sqrt(np.maximum(variance, 0.0))


@sql_function("scoring_spread")
def spread(
    sample: Codes,
    variant: Codes,
    value: Floats,
    seed: int,
    n_resamples: int,
) -> Spread:
    """Measures how far accuracy varies over prompt templates.

    Templates without any effect still differ in accuracy by the luck of single answers: .027 of raw standard deviation
    at 100 questions in a simulation. The corrected deviation removes luck: it estimates the deviation that these very
    templates would show with endless questions of the same kind.

    Args:
        sample: shape (n,), dense codes.
        variant: shape (n,), dense codes of the templates.
        value: shape (n,), in [0, 1], one per (sample, variant), the mean over repetitions. Missing cells are left out.
        seed: of the bootstrap.
        n_resamples: B; 0 leaves the bounds undefined.

    Returns:
        `mean`, `std` (ddof 0), `std_sample` (ddof 1, NaN for one template), `range` (largest minus smallest): of the
        templates' accuracies, each the mean over the samples it has.
        `std_corrected`: sqrt(Var_ddof1 - MS_res / n), 0 where that is negative, from the `n_samples_complete` samples
        that have a value under every template; MS_res is the residual mean square of samples x templates.
        `std_corrected_low`, `_high`: percentiles over B resamples of samples, each with 2 MS_res / n subtracted, then
        floored at 0, and wider where they do not include the figure.
        `variance_corrected_low`: the lower percentile before root and floor; 0 or less means that no effect of
        templates is shown. Corrected figures are NaN below two templates or two complete samples. A table in which no
        sample differs between templates gives 0 with bounds [0, 0].
        All NaN without values.

    Coverage of the bounds, nominal 95 %: .93 to 1.0 at 100 samples x 12 templates and true deviations of 0 to .1, too
    wide rather than too narrow near 0; .90 to 1.0 from 10 samples up with 2 to 60 templates; down to .68 at 5 with 2.

    Source:
        Hua et al. 2025 for the standard deviation over templates; two-way analysis of variance for the correction.
    """
    if len(value) == 0:
        return Spread(*(np.nan,) * 8, n_variants=0, n_samples=0, n_samples_complete=0)
    accuracy, table = variant_means(variant, value), complete_table(sample, variant, value)
    corrected, resampled = np.nan, np.empty(0)
    if len(accuracy) > 1 and len(table) > 1:
        corrected, resampled = corrected_variance(table), bootstrap_variances([table], seed, n_resamples)[0]
    std_corrected, low, high = root(np.array([corrected, *percentile_interval_of(corrected, resampled)])).tolist()
    return Spread(
        mean=float(accuracy.mean()),
        std=float(accuracy.std()),
        std_sample=float(accuracy.std(ddof=1)) if len(accuracy) > 1 else np.nan,
        range=float(np.ptp(accuracy)),
        std_corrected=std_corrected,
        std_corrected_low=low,
        std_corrected_high=high,
        variance_corrected_low=float(percentile_interval(resampled)[0]),
        n_variants=len(accuracy),
        n_samples=int(sample.max()) + 1,
        n_samples_complete=len(table),
    )
