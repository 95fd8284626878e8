"""Measures how accurate answers are under each wording, without the luck of which samples it was asked on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.sql_function import sql_function
from promptaudit.udfs.sql_types import Codes, Floats
from promptaudit.udfs.two_way_fit import TwoWayFit, two_way_fit

SHARE = 0.05
"""Wordings on each side of the quantiles `worst_5` and `best_5`."""


FEWEST_WORDINGS = 12
"""Below it a quantile of the ends is the least or the most accurate wording itself, which lies too near to the middle."""


class WordingAccuracies(NamedTuple):
    """Each wording, its accuracy, and the same drawn towards their mean, shape (Q,) each; NaN where undefined."""

    variant: NDArray[np.int64]
    accuracy: NDArray[np.float64]
    shrunk: NDArray[np.float64]


class WordingQuantiles(NamedTuple):
    """The accuracies that 5 %, 50 % and 95 % of wordings stay below; NaN where undefined."""

    worst_5: float
    median: float
    best_5: float


@sql_function(own_codes={"variant": "variant"})
def wording_accuracies(sample: Codes, variant: Codes, value: Floats) -> WordingAccuracies:
    """Returns the accuracy that each wording would have on all samples.

    Args:
        sample: shape (n,), dense codes.
        variant: shape (n,), dense codes of the wordings.
        value: shape (n,), in [0, 1], one per (sample, variant), repetitions averaged. Cells may be missing.

    Returns:
        `accuracy`: in a full table each wording's mean; with cells missing, mu + b_v of the least-squares fit mu + a_i + b_v,
        which allows for wordings that were asked on harder samples. `shrunk`: mu + r b_v with r = s_q^2 / (s_q^2 + e), where
        s_q^2 is the variance of wordings without noise, 0 or more, and e the noise of an effect, MS_e Q / n times the
        inflation of `TwoWayFit`. It has the least square error, but varies less over wordings than their accuracies do. Both
        are clipped to [0, 1]. `shrunk` is NaN below two samples or two wordings, and where wordings cannot be told from
        samples or from noise. Empty without values.

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
    """Returns how accurate the worst 5 %, the median and the best 5 % of wordings are.

    Args:
        sample: shape (n,), dense codes.
        variant: shape (n,), dense codes of the wordings.
        value: shape (n,), in [0, 1], one per (sample, variant), repetitions averaged. Cells may be missing.

    Returns:
        Quantiles over wordings of mu + sqrt(r) b_v, which varies by s_q^2 as wordings do, clipped to [0, 1]; mu, r and b_v as
        of `wording_accuracies`. The quantile is one that lies about as often above as below the quantile of all wordings. NaN
        where `shrunk` is, and `worst_5` and `best_5` also below 12 wordings.

    Bias of the worst 5 % at 100 or 500 samples under 6 of 30 wordings each, normal or uniform effects of deviation .03 to
    .1: -.006 to +.006. Quantiles of the fit's accuracies are off by -.133 to -.005, since these vary by noise too; those of
    shrunk ones by +.023 to +.067, since their variance is r s_q^2. Where effects are exponential, with few wordings far below the
    others, the bias is +.002 to +.034, that of the best 5 % +.014 to +.034.

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


def _reliability(fit: TwoWayFit) -> float:
    """Returns the share r of the variance of effects that is of wordings; NaN where the two cannot be told apart."""
    if not fit.is_determined:
        return np.nan
    of_wordings = max(0.0, fit.effect_variance)
    return of_wordings / (of_wordings + fit.effect_noise) if of_wordings > 0 else 0.0
