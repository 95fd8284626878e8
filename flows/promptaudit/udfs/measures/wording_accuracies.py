"""Measures how accurate answers are under each wording, corrected for which samples it was asked on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from promptaudit.udfs.resampling import TAIL
from promptaudit.udfs.sql_function import sql_function
from promptaudit.udfs.sql_types import Codes, Floats
from promptaudit.udfs.two_way_fit import TwoWayFit, two_way_fit

SHARE = 0.05
"""The part of the wordings on each side of the quantiles `worst_5` and `best_5`."""


FEWEST_WORDINGS = 12
"""With fewer, an outer quantile would be the least or most accurate wording itself, too near to the middle."""


class WordingAccuracies(NamedTuple):
    """Each wording, its accuracy, and the same shrunk towards the mean; shape (Q,) each, NaN where undefined."""

    variant: NDArray[np.int64]
    accuracy: NDArray[np.float64]
    shrunk: NDArray[np.float64]


class WordingQuantiles(NamedTuple):
    """The accuracies below which 5 %, 50 % and 95 % of wordings lie; NaN where undefined."""

    worst_5: float
    median: float
    best_5: float


class GapToOthers(NamedTuple):
    """How far a wording's accuracy is below the mean of the others, and the 95 % interval for all wordings at once."""

    gap: float
    low: float
    high: float


@sql_function(own_codes={"variant": "variant"})
def wording_accuracies(sample: Codes, variant: Codes, value: Floats) -> WordingAccuracies:
    """Estimates the accuracy that each wording would have on all samples.

    Args:
        sample: shape (n,), dense codes.
        variant: shape (n,), dense codes of the wordings.
        value: shape (n,), in [0, 1], one per (sample, variant), repetitions averaged. Cells may be missing.

    Returns:
        `accuracy`: in a full table each wording's mean; with cells missing, mu + b_v of the least-squares fit mu + a_i
        + b_v, which allows for wordings that were asked on harder samples. `shrunk`: mu + r b_v with r = s_q^2 / (s_q^2
        + e), where s_q^2 is the variance of wordings without noise, 0 or more, and e the noise of an effect, MS_e Q / n
        times the inflation of `TwoWayFit`. It has the least square error, but varies less over wordings than their
        accuracies do. Both are clipped to [0, 1]. `shrunk` is NaN below two samples or two wordings, and where wordings
        cannot be separated from samples or from noise. Empty without values.

    Source:
        Best linear unbiased prediction (Robinson 1991).
    """
    if len(value) == 0:
        return WordingAccuracies(np.empty(0, np.int64), np.empty(0), np.empty(0))
    fit = two_way_fit(sample, variant, value)
    accuracy = fit.mean + fit.effects
    if fit.n_cells == len(fit.by_sample) * len(fit.effects):
        accuracy = np.bincount(variant, weights=value) / np.bincount(variant)
    shrunk = fit.mean + _reliability(fit) * fit.effects
    return WordingAccuracies(np.arange(len(shrunk)), np.clip(accuracy, 0, 1), np.clip(shrunk, 0, 1))


@sql_function()
def wording_quantiles(sample: Codes, variant: Codes, value: Floats) -> WordingQuantiles:
    """Estimates how accurate the worst 5 %, the median and the best 5 % of wordings are.

    Args:
        sample: shape (n,), dense codes.
        variant: shape (n,), dense codes of the wordings.
        value: shape (n,), in [0, 1], one per (sample, variant), repetitions averaged. Cells may be missing.

    Returns:
        Quantiles over wordings of mu + sqrt(r) b_v, which varies by s_q^2 as wordings do, clipped to [0, 1]; mu, r and
        b_v as in `wording_accuracies`. The quantile is one that lies about as often above as below the quantile of all
        wordings. NaN where `shrunk` is, and `worst_5` and `best_5` also below 12 wordings.

    Bias of the worst 5 % at 100 or 500 samples under 6 of 30 wordings each, normal or uniform effects of deviation .03
    to .1: -.006 to +.006. Quantiles of the fit's accuracies are off by -.133 to -.005, since these vary by noise too;
    quantiles of the shrunk accuracies by +.023 to +.067, since their variance is r s_q^2. Where effects are
    exponential, with few wordings far below the others, the bias is +.002 to +.034, and for the best 5 % +.014 to
    +.034.

    Source:
        Hyndman and Fan 1996, definition 8, for the quantile.
    """
    if len(value) == 0:
        return WordingQuantiles(np.nan, np.nan, np.nan)
    fit = two_way_fit(sample, variant, value)
    dispersed = fit.mean + np.sqrt(_reliability(fit)) * fit.effects
    quantiles = np.quantile(dispersed, [SHARE, 0.5, 1 - SHARE], method="median_unbiased")
    if len(dispersed) < FEWEST_WORDINGS:
        quantiles[[0, 2]] = np.nan
    return WordingQuantiles(*np.clip(quantiles, 0, 1).tolist())


def gap_to_others(fitted: Sequence[float], shrunk: Sequence[float], n_samples: float) -> GapToOthers:
    """Computes how far the least accurate wording is below the others, from the columns of `wording_accuracies`.

    The part of a gap that is due to chance follows from the two columns: r is the ratio of their deviations, and e = (1
    - r) Var(fitted). The variance of a gap is e Q / (Q - 1), and at least g (1 - g) / N, that of a gap g where no
    sample is better under the wording.

    Args:
        fitted: shape (Q,), Q > 1, `accuracy` of `wording_accuracies`.
        shrunk: shape (Q,), not NaN.
        n_samples: N, samples that were asked under a wording.

    Returns:
        `gap`: of the shrunk accuracies, the best guess for other samples. `low`, `high`: of the fitted ones, with
        quantile z(1 - .025 / Q), one added sample that counts half and prefers either side as in `wording_choices`, and
        the gap inside.

    Of 300 worlds each of 24 x 6 to 500 x 30 with equal wordings (accuracies of .2 to .995, some in parts of 3 of 12 or
    6 of 30), `low` is above 0 in 0 to .023. Where wordings have deviations of .3 and .6 on the logit scale, the
    interval covers .986 or more, and `low` is above 0 in .07 and .47 at 60 x 12, in .73 and 1.0 at 300 x 12. One
    wording of 12 that turns three in ten answers either way is said to be less accurate in .1 of worlds of 300 samples.
    """
    q, table = len(fitted), np.array([fitted, shrunk])
    gap, of_shrunk = (q / (q - 1) * (table.mean(axis=1) - table[:, table[0].argmin()])).tolist()
    of_fitted, deviation = table.std(axis=1, ddof=1)
    by_chance = of_fitted * max(0.0, of_fitted - deviation)  # (1 - r) Var
    variance = max(by_chance * q / (q - 1), gap * (1 - gap) / n_samples)
    ends = [of_shrunk]
    for sign in (-1, 1):
        centre = (n_samples * gap + 0.5 * sign) / (n_samples + 0.5)
        error = np.sqrt(variance + 0.5 * ((sign - centre) / n_samples) ** 2)
        ends.append(float(centre + sign * ndtri(1 - TAIL / q) * error))
    return GapToOthers(of_shrunk, max(-1.0, min(ends)), min(1.0, max(ends)))


def _reliability(fit: TwoWayFit) -> float:
    # the part r of the variance of effects that is due to wordings; NaN where the two cannot be separated
    if not fit.is_determined:
        return np.nan
    of_wordings = max(0.0, fit.effect_variance)
    return of_wordings / (of_wordings + fit.effect_noise) if of_wordings > 0 else 0.0
