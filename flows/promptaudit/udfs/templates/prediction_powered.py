"""Estimates accuracy, with its error, from a judge's verdicts and people's rulings on some of the answers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.codes import dense_codes
from promptaudit.udfs.resampling import (
    Interval,
    bearing_samples,
    logit_interval,
    percentile_interval_of,
    resampled_units,
)
from promptaudit.udfs.sql_function import sql_function
from promptaudit.udfs.sql_types import Floats, Integers
from promptaudit.udfs.templates.spread import PURPOSE, root, without_rounding

LEAST_RULED = 10
"""An accuracy is rectified from so many samples with a ruling."""

FEW_ERRORS = 5
"""Where fewer samples bear a judge's errors in one direction, the bound on that side allows for one added error."""

_NO_DEVIATION = 1e-24  # below it the square of a deviation is rounding
_ROUNDING = 1e-9  # of a sum of weights
_SUMS = 6  # of a resample and template


class RectifiedAccuracy(NamedTuple):
    """The accuracy that people would give, and its spread over templates; NaN where undefined."""

    accuracy: float
    accuracy_low: float
    accuracy_high: float
    power: float
    std: float
    std_low: float
    std_high: float
    n_samples_ruled: int


class Rulings(NamedTuple):
    """A judge's verdicts and people's rulings, each of shape (n_samples, n_templates), 0 where a cell has none.

    A cell is the answers to one sample under one template. `present` is how much it counts in the template's accuracy,
    `judged` the same times the share that the judge passes, `rulable` the same times the share that is not blank: a
    blank answer is always wrong, and nobody rules on it. `weight` is how many answers the answers with a ruling stand
    for, `ruled_judged` how many of these the judge passes, `ruled_right` how many people pass.
    """

    present: NDArray[np.float64]
    judged: NDArray[np.float64]
    rulable: NDArray[np.float64]
    weight: NDArray[np.float64]
    ruled_judged: NDArray[np.float64]
    ruled_right: NDArray[np.float64]

    @classmethod
    def of(cls, sample: NDArray[np.int64], variant: NDArray[np.int64], *cells: NDArray[np.float64]) -> Rulings:
        """Builds the table from a list of cells that count alike; `cells` are the other columns, each of shape (n,)."""
        rows, columns = dense_codes(sample)[0], dense_codes(variant)[0]
        tables = np.zeros((_SUMS, int(rows.max()) + 1, int(columns.max()) + 1))
        for table, values in zip(tables, (np.ones(len(rows)), *cells), strict=True):
            table[rows, columns] = values
        return cls(*tables)

    def pooled(self) -> Rulings:
        """Pools all templates into one, in which every template weighs alike; shape (n_samples, 1)."""
        share = 1 / self.present.sum(axis=0)
        return Rulings(*((table * share).sum(axis=1, keepdims=True) for table in self))

    def with_sample(self, *, is_passed: bool) -> Rulings:
        """Adds half a sample on which people and the judge disagree to a table of one template."""
        weight = 0.5 * float(self.weight.sum() / (self.weight > 0).sum())
        more = (0.0, 0.0, 0.0, weight, weight * is_passed, weight * (not is_passed))
        return Rulings(*(np.append(table, [[value]], axis=0) for table, value in zip(self, more, strict=True)))

    def n_samples_ruled(self) -> NDArray[np.int64]:
        """Counts the samples that have a ruling, shape (n_templates,)."""
        return np.asarray((self.weight > 0).sum(axis=0), np.int64)


class Estimate(NamedTuple):
    """Rectified accuracies of the templates, the same without each sample, and the weight of the verdicts in them."""

    accuracy: NDArray[np.float64]
    replicates: NDArray[np.float64]
    power: NDArray[np.float64]

    def variance(self) -> NDArray[np.float64]:
        """Computes the jackknife's variance over samples of each accuracy, shape (n_templates,)."""
        n = len(self.replicates)
        return np.asarray(
            (n - 1) / n * np.square(self.replicates - self.replicates.mean(axis=0)).sum(axis=0), np.float64
        )

    def noise(self) -> float:
        """Computes how much errors of the accuracies add to their ddof 1 variance over two templates or more."""
        n, q = self.replicates.shape
        own = self.replicates - self.replicates.mean(axis=1, keepdims=True)
        return float((n - 1) / n * np.square(own - own.mean(axis=0)).sum() / (q - 1))


def _parts(sums: Rulings) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    # of sums over samples: the accuracy by people's rulings, and the judge's accuracy on all answers minus the judge's
    # on the ruled ones
    with np.errstate(divide="ignore", invalid="ignore"):
        each = sums.rulable / sums.present / sums.weight
        return each * sums.ruled_right, sums.judged / sums.present - each * sums.ruled_judged


def estimate(rulings: Rulings, power: NDArray[np.float64] | None = None) -> Estimate:
    """Estimates the prediction-powered accuracy of each template: a + power b.

    a is the people's accuracy on the answers they ruled on, b the judge's accuracy on all answers minus the judge's
    accuracy on the ruled ones. Sums over ruled answers are weighted by the inverse of their probability of being ruled
    on, and divided by the sum of the weights. The power minimises the jackknife's variance over samples, clipped to [0,
    1].

    Args:
        rulings: of two samples with a ruling or more in each template.
        power: shape (n_templates,), the lambda of PPI++; None tunes it. It is 1 where the judge never differs from
            people: few rulings may all be alike, and then cannot determine it.

    Source:
        Angelopoulos, Duchi and Zrnic 2023, PPI++, equation 3 for the mean and section 6 for the power.
    """
    sums = Rulings(*(table.sum(axis=0, keepdims=True) for table in rulings))
    without = Rulings(*(total - table for total, table in zip(sums, rulings, strict=True)))
    (a,), (b,) = _parts(sums)
    replicates_a, replicates_b = _parts(without)
    if power is None:
        own_a, own_b = replicates_a - replicates_a.mean(axis=0), replicates_b - replicates_b.mean(axis=0)
        squares = np.square(own_b).sum(axis=0)
        best = np.zeros(len(squares))
        np.divide(-(own_a * own_b).sum(axis=0), squares, out=best, where=squares > _NO_DEVIATION)
        differs = (np.abs(rulings.ruled_judged - rulings.ruled_right) > _ROUNDING).any(axis=0)
        power = np.where(differs, np.clip(best, 0, 1), 1)
    return Estimate(a + power * b, replicates_a + power * replicates_b, power)


def bounds(rulings: Rulings, found: Estimate) -> Interval:
    """Computes the 95 % interval of the accuracy of one template for other samples, in [0, 1].

    A t interval on the logit scale (`logit_interval`), from the jackknife's variance over samples, which includes the
    errors of rulings and verdicts; t has as many degrees of freedom as samples of equal weight would have, minus one.
    Where fewer than FEW_ERRORS samples bear answers that the judge passes and people do not, it is widened to include
    the interval of the same data with one such sample more, which counts half. The same is done for answers that people
    pass and the judge does not. In a large stratum of a sheet few rulings stand for most of the answers, and there a
    lenient judge's errors go unseen.

    Of 200 worlds each (sheets of 20, 40 and 60 rulings on 200 x 1, 60 x 6 and 200 x 12 answers in up to 8 strata;
    accuracies of .6 to .9; judges who pass .02 to .7 of wrong answers and fail .01 to .25 of right ones) the lower
    bound lies above the truth in 0 to .05 (.006 on average), the upper one below it in 0 to .055 (.006). A t interval
    of the accuracy itself, with one whole added error and only where few of both kinds were seen, missed below in up to
    .145 (.019), at widths of .38, .23 and .18 for the three sheets; the widths of these bounds are .37, .23 and .18.

    Args:
        rulings: of one template.
        found: its estimate.
    """
    weight, rate = rulings.weight[:, 0], float(found.accuracy[0])
    free = max(1.0, float(weight.sum() ** 2 / (weight @ weight)) - 1)
    too_lenient = (rulings.ruled_judged - rulings.ruled_right)[:, 0]
    estimates = [found]
    for is_passed, errors in ((True, too_lenient), (False, -too_lenient)):
        if bearing_samples(np.maximum(errors, 0)) < FEW_ERRORS or not 0 < rate < 1:
            estimates.append(estimate(rulings.with_sample(is_passed=is_passed), found.power))
    ends = np.array([logit_interval(float(each.accuracy[0]), float(each.variance()[0]), free) for each in estimates])
    return Interval(*np.clip([ends[:, 0].min(), ends[:, 1].max()], 0, 1).tolist())


def rectified_variances(
    rulings: Rulings, found: Estimate, seed: int, n_resamples: int
) -> tuple[float, NDArray[np.float64]]:
    """Computes the variance over templates of rectified accuracies minus the part due to errors, and its resamples.

    Args:
        rulings: of two templates or more.
        found: its estimate.
        seed: of the bootstrap of samples; `spread.bootstrap_variances` makes the same draws for as many samples.
        n_resamples: B.

    Returns:
        Var_ddof1 - noise, not floored, and shape (n_resamples,) with twice the noise subtracted, as a resample varies
        once around the table, which varies once around the truth; NaN where a template of a resample has no ruling.
    """
    n, q = rulings.present.shape
    noise = found.noise()
    resampled = [np.empty(0)]
    for drawn in resampled_units(seed, PURPOSE, [n], n_resamples, n + _SUMS * q):
        a, b = _parts(Rulings(*(drawn.T @ table for table in rulings)))
        resampled.append((a + found.power * b).var(axis=1, ddof=1) - 2 * noise)
    table = without_rounding(found.accuracy.var(ddof=1, keepdims=True) - noise)
    return float(table[0]), without_rounding(np.concatenate(resampled))


@sql_function()
def rectified_accuracy(
    sample: Integers,
    variant: Integers,
    judged: Floats,
    rulable: Floats,
    weight: Floats,
    ruled_judged: Floats,
    ruled_right: Floats,
    seed: int,
    n_resamples: int,
) -> RectifiedAccuracy:
    """Estimates the accuracy that people would give all answers, from a judge's verdicts and their rulings on some.

    Prediction-powered inference: however the judge errs, the people's rulings remove its mean error; the fewer its
    errors, the narrower the interval.

    Args:
        sample: shape (n,), codes.
        variant: shape (n,), codes of the templates.
        judged: shape (n,), in [0, 1], one per (sample, variant), the share of the cell's answers that the judge passes.
        rulable: shape (n,), in [0, 1], the share that is not blank; a blank answer is always wrong.
        weight: shape (n,), >= 0, the sum over answers of the cell that people ruled on of 1 / (their chance of being
            ruled on), over the number of all answers of the cell; 0 without any.
        ruled_judged: shape (n,), the same sum over the ruled answers that the judge passes.
        ruled_right: shape (n,), the same sum over the ruled answers that people pass.
        seed: of the bootstrap.
        n_resamples: B; 0 leaves the bounds of the spread undefined.

    Returns:
        `accuracy`: the mean over templates, equally weighted, in [0, 1]; `accuracy_low`, `_high`: by `bounds`, for
        other samples, these templates; `power`: the weight of the verdicts, 0 where they carry no information, 1 where
        the judge hardly errs.
        `std`: the standard deviation over templates of their accuracies, each rectified by its own rulings, without the
        part due to errors of rulings and of samples, 0 where that is negative; `std_low`, `_high`: percentiles over
        resamples of samples.
        `n_samples_ruled`: samples with a ruling on any answer. NaN below LEAST_RULED samples with a ruling; the spread
        also below two templates, and where a template has fewer.

    Coverage of nominal 95 %, at 200 samples x 12 templates with 10 to 83 rulings a template and errors that go with
    format, length or template: see `tests/benchmarks/test_rectified.py`.

    Source:
        Angelopoulos, Duchi and Zrnic 2023, PPI++.
    """
    if len(sample) == 0:
        return RectifiedAccuracy(*(np.nan,) * 7, n_samples_ruled=0)
    rulings = Rulings.of(sample, variant, judged, rulable, weight, ruled_judged, ruled_right)
    pooled = rulings.pooled()
    n_ruled = int(pooled.n_samples_ruled()[0])
    if n_ruled < LEAST_RULED:
        return RectifiedAccuracy(*(np.nan,) * 7, n_samples_ruled=n_ruled)
    found = estimate(pooled)
    low, high = bounds(pooled, found)
    std, std_bounds = np.nan, [np.nan, np.nan]
    if has_spread(rulings):
        corrected, resampled = rectified_variances(rulings, estimate(rulings), seed, n_resamples)
        std, *std_bounds = root(np.array([corrected, *percentile_interval_of(corrected, resampled)])).tolist()
    return RectifiedAccuracy(
        accuracy=float(np.clip(found.accuracy[0], 0, 1)),
        accuracy_low=low,
        accuracy_high=high,
        power=float(found.power[0]),
        std=std,
        std_low=std_bounds[0],
        std_high=std_bounds[1],
        n_samples_ruled=n_ruled,
    )


def has_spread(rulings: Rulings) -> bool:
    """Tests whether there are two templates or more, each with rulings on LEAST_RULED samples."""
    n_ruled = rulings.n_samples_ruled()
    return len(n_ruled) > 1 and int(n_ruled.min()) >= LEAST_RULED
