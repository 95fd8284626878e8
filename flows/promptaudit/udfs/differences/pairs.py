"""Judges the difference of two runs, or two models, in one measure, from each sample's contributions to it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.differences.alike_nights import (
    FEWEST_SAMPLES,
    NO_SPREAD,
    NightSpread,
    unit_values,
    variances_by_lag,
)
from promptaudit.udfs.differences.difference import (
    FULL_RULE,
    Difference,
    Sides,
    WordingsError,
    between_nights,
    between_samples,
    nights_a_sample,
)
from promptaudit.udfs.resampling import mean_defined
from promptaudit.udfs.sql_function import sql_function
from promptaudit.udfs.sql_types import Floats, FloatsOrNaN, Integers

TOO_FEW_SAMPLES = f"too few samples: {FEWEST_SAMPLES} are needed"
TOO_FAR = "answers wander further each night, and no two normal nights are this far apart"
ASKED_ONCE = "asked once, and no normal nights: noise and change cannot be told apart"
_PAIRS_NEEDED = 3  # of normal nights as far apart as the two runs
_GROWS = 0.05  # chance below which the disagreement of normal nights grows with their distance


class Compared(NamedTuple):
    """The difference of two runs in one measure; NaN where undefined.

    Attributes:
        difference: candidate minus base.
        low, high: its 95 % interval.
        p_value: two-sided; for `label_churn` one-sided.
        standard_error: widened by how much normal nights vary more than their samples explain.
        degrees_of_freedom: of the standard error.
        n_samples: samples of both runs that count.
        n_alike_nights: normal nights that show how far two nights differ; with fewer than 3 this is not known.
        spread_factor: factor by which these widen the error, at least 1.
        night_sd: standard deviation of the figure due to nights alone; 0 where nights are kept.
        reason: why there is no interval, or why nothing is confirmed; None where there is and it may be.
    """

    difference: float
    low: float = np.nan
    high: float = np.nan
    p_value: float = np.nan
    standard_error: float = np.nan
    degrees_of_freedom: float = np.nan
    n_samples: int = 0
    n_alike_nights: int = 0
    spread_factor: float = np.nan
    night_sd: float = np.nan
    reason: str | None = None


class AlikeNights(NamedTuple):
    """A measure on normal nights: entries of a night and a sample each, and how far neighbouring nights lie apart.

    Attributes:
        age: shape (n,), how many nights ago.
        sample: shape (n,), codes.
        value: shape (n,).
        spread: of these nights.
        shared: the sum of `spread` over all groups that are compared.
    """

    age: Sequence[int] = ()
    sample: Sequence[int] = ()
    value: Sequence[float] = ()
    spread: NightSpread = NO_SPREAD
    shared: NightSpread = NO_SPREAD

    def table(self, samples: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Tabulates these samples: ages, falling, and values, shape (n_nights, n_samples), NaN where missing."""
        age, sample = np.array(self.age, np.int64), np.array(self.sample, np.int64)
        ages, place = np.unique(-age, return_inverse=True)
        column = {code: number for number, code in enumerate(samples.tolist())}
        columns = np.array([column.get(code, -1) for code in sample.tolist()], np.int64)
        values = np.full((len(ages), len(samples)), np.nan)
        known = columns >= 0
        values[place[known], columns[known]] = np.array(self.value, np.float64)[known]
        return -ages, values


class Clusters(NamedTuple):
    """The cluster of each sample: two lists of codes of one length."""

    sample: Sequence[int]
    cluster: Sequence[int]

    def of(self, sample: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Looks up the clusters of samples; None where each sample is its own."""
        known = dict(zip(self.sample, self.cluster, strict=True))
        own = np.array([known[code] for code in sample.tolist()], np.int64)
        return own if len(np.unique(own)) < len(own) else None


@sql_function("compare_values")
def compare_values_of(
    sample: Integers,
    base: Floats,
    candidate: Floats,
    clusters: Clusters,
    n_wordings: int,
    wordings: WordingsError,
    is_rate: bool,  # noqa: FBT001 - as SQL calls it
    are_kept: bool,  # noqa: FBT001
    are_apart: bool,  # noqa: FBT001
    base_age: int,
    candidate_age: int,
    nights: AlikeNights,
) -> Compared:
    """Runs `compare_values` on arguments as SQL passes them."""
    return compare_values(
        sample,
        clusters.of(sample),
        np.stack([base, candidate]),
        n_wordings,
        nights,
        wordings=wordings,
        is_rate=is_rate,
        are_kept=are_kept,
        are_apart=are_apart,
        ages=(base_age, candidate_age),
    )


def compare_values(
    sample: NDArray[np.int64],
    cluster: NDArray[np.int64] | None,
    values: NDArray[np.float64],
    n_wordings: int,
    nights: AlikeNights,
    *,
    wordings: WordingsError,
    is_rate: bool,
    are_kept: bool,
    are_apart: bool,
    ages: tuple[int, int],
) -> Compared:
    """Computes the difference of two runs in one measure with its interval and p-value.

    Args:
        sample: shape (n,), codes.
        cluster: shape (n,), codes of clusters of samples; None where each sample is its own.
        values: shape (2, n), what each sample adds in the base and in the candidate.
        n_wordings: Q.
        nights: normal nights of the same samples under the same wordings.
        wordings: the variance that other wordings would add.
        is_rate: whether noise alone leaves the measure where it is.
        are_kept: whether the claim is about these samples under these wordings; else about others of their kind.
        are_apart: whether the runs were asked at different times.
        ages: how many nights ago each of them was.

    Returns:
        A difference of nights where samples and wordings are kept and three normal nights are known. Elsewhere a
        difference for other samples, with the variance of wordings added, and of nights as far as it is known. Without
        three normal nights of runs that were asked apart `n_alike_nights` is below 3, and nothing is confirmed.
        Exchanging the runs only turns the signs.
    """
    ages_alike, like = nights.table(sample)
    n_like = nights_a_sample(like) if len(like) >= FULL_RULE else 0
    if are_kept and are_apart and n_like >= FULL_RULE:
        place = np.arange(len(like) + 2)  # the base and the candidate stand behind the normal nights
        sides = Sides(np.append(ages_alike, ages), place > len(like), place == len(like), place < len(like))
        found = between_nights(
            np.vstack([like, values]),
            sides,
            n_wordings,
            cluster,
            is_rate=is_rate,
            spread=nights.spread,
            shared=nights.shared,
        )
        return _compared(found, values, n_like, 0.0)
    of_nights = _of_nights(ages_alike, like, cluster, nights) if are_apart and n_like >= FULL_RULE else 0.0
    found = between_samples(
        values[1] - values[0],
        n_wordings,
        cluster,
        wordings=wordings,
        of_nights=2 * of_nights,
        n_pairs=nights.spread.n_pairs,
    )
    return _compared(found, values, n_like if are_apart else 0, of_nights)


def _of_nights(
    ages: NDArray[np.int64], like: NDArray[np.float64], cluster: NDArray[np.int64] | None, nights: AlikeNights
) -> float:
    # the variance that nights add to a figure beyond the part that its samples explain
    units = unit_values(like, cluster)
    gamma = variances_by_lag(units, ages, [np.ones(len(like), bool)], FEWEST_SAMPLES)
    n_samples = int((~np.isnan(like)).any(axis=0).sum())
    variance = float(gamma[min(1, len(gamma) - 1)]) * units.shape[1] / n_samples**2
    return float((nights.spread.factor(nights.shared) - 1) * variance)


def _compared(
    found: Difference | None,
    values: NDArray[np.float64],
    n_alike: int,
    of_nights: float,
    *,
    is_one_sided: bool = False,
) -> Compared:
    if found is None:
        mean = float((values[1] - values[0]).mean()) if values.shape[1] else np.nan
        return Compared(mean, n_samples=values.shape[1], reason=TOO_FEW_SAMPLES)
    return Compared(
        found.mean,
        found.mean - found.half_width,
        found.mean + found.half_width,
        found.p_value(is_one_sided=is_one_sided),
        found.error,
        found.degrees_of_freedom,
        found.n_samples,
        n_alike,
        math.sqrt(found.factor),
        math.sqrt(of_nights),
    )


@sql_function("compare_churn")
def compare_churn_of(
    sample: Integers,
    within: FloatsOrNaN,
    across: Floats,
    clusters: Clusters,
    n_wordings: int,
    lag: int,
    nights: AlikeNights,
    other_ages: Sequence[int],
) -> Compared:
    """Runs `compare_churn` on entries of two normal nights and a sample each.

    `nights` holds the age of one of the two nights, `other_ages` of the other.
    """
    ages = np.array(nights.age, np.int64), np.array(other_ages, np.int64)
    lags: dict[tuple[int, int], int] = {}
    place = [
        lags.setdefault((min(pair), max(pair)), len(lags))
        for pair in zip(*(each.tolist() for each in ages), strict=True)
    ]
    _, apart = nights._replace(age=[-each for each in place]).table(sample)
    return compare_churn(
        clusters.of(sample), within, across, n_wordings, lag, apart, np.array([b - a for a, b in lags], np.int64)
    )


def compare_churn(
    cluster: NDArray[np.int64] | None,
    within: NDArray[np.float64],
    across: NDArray[np.float64],
    n_wordings: int,
    lag: int,
    apart: NDArray[np.float64],
    lags: NDArray[np.int64],
) -> Compared:
    """Computes how much more often two runs answer the same cells differently than two normal nights as far apart.

    Args:
        cluster: shape (n,), codes of clusters of samples; None where each sample is its own.
        within: shape (n,), disagreement of a cell's answers within a run; NaN where it was asked once.
        across: shape (n,), disagreement across the runs.
        n_wordings: Q.
        lag: nights between the runs.
        apart: shape (n_pairs, n), disagreement of two normal nights each.
        lags: shape (n_pairs,), nights between these.

    Returns:
        See `Compared`; p is one-sided. The runs are compared with the normal pairs at the nearest lags, three at least.
        Without any, with the disagreement within the runs, which shows nothing about nights: `n_alike_nights` is 0
        then.
    """
    is_known = (~np.isnan(apart)).sum(axis=1) >= FEWEST_SAMPLES
    apart, lags = apart[is_known], lags[is_known]
    n_nights = round((1 + math.sqrt(1 + 8 * len(lags))) / 2)  # of so many pairs
    if n_nights < FULL_RULE:
        if np.isnan(within).all():
            return Compared(np.nan, n_samples=len(across), reason=ASKED_ONCE)
        beyond = np.where(np.isnan(within), np.nan, across - within)
        own = None if cluster is None else cluster[~np.isnan(beyond)]
        beyond = beyond[~np.isnan(beyond)]
        found = between_samples(beyond, n_wordings, own)
        return _compared(found, np.stack([0 * beyond, beyond]), 0, 0.0, is_one_sided=True)
    distance = np.abs(lags - lag)
    nearest = distance <= np.sort(distance)[min(_PAIRS_NEEDED, len(lags)) - 1]
    usual = mean_defined(apart[nearest])
    counts = ~np.isnan(usual)
    own = None if cluster is None else cluster[counts]
    normal = [
        between_samples(pair[known], n_wordings, None if cluster is None else cluster[known])
        for pair in (apart - usual)[nearest]
        if (known := ~np.isnan(pair)).any()
    ]
    found = between_samples((across - usual)[counts], n_wordings, own)
    errors = [each.variance for each in normal if each is not None]
    if found is None or not errors:
        return _compared(None, np.stack([usual, across])[:, counts], 0, 0.0)
    n_pairs = int(nearest.sum())
    variance = float(np.mean(errors)) * n_pairs / (n_pairs - 1)
    neighbours = (apart - usual)[lags == lags.min()]
    moved = np.array([float(mean_defined(pair)) for pair in neighbours])
    spread = NightSpread(float(np.minimum(9, moved**2 / variance).sum()), len(moved))
    found = found._replace(variance=variance * (1 + 2 / n_nights), factor=spread.factor(NO_SPREAD))
    compared = _compared(found, np.stack([usual, across])[:, counts], n_nights, 0.0, is_one_sided=True)
    reaches = int((lags >= lag).sum()) >= _PAIRS_NEEDED
    if not reaches and _grows(lags, np.array([float(mean_defined(pair)) for pair in apart])):
        return compared._replace(n_alike_nights=0, reason=TOO_FAR)
    return compared


def _grows(lags: NDArray[np.int64], means: NDArray[np.float64]) -> bool:
    # one-sided, by the slope over pairs of nights
    if np.ptp(lags) == 0 or len(lags) <= 2:
        return False
    away = lags - lags.mean()
    slope = float(away @ means / (away @ away))
    rest = means - means.mean() - slope * away
    error = math.sqrt(float(rest @ rest) / (len(lags) - 2) / float(away @ away))
    found = Difference(slope, error**2, 1.0, len(lags) - 2, 0.0, 0.0, len(lags))
    return slope > 0 if error == 0 else found.p_value(is_one_sided=True) <= _GROWS
