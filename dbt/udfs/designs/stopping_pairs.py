"""Decides at the looks of a night, compared with another night, whether it is certain enough to ask no further samples."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtr

from udfs.comparison.answers_table import answers_table
from udfs.comparison.detectable import detectable_difference
from udfs.comparison.figures import Floats
from udfs.comparison.matching import SAME_WORDING
from udfs.comparison.measured import MeanDifference, mean_differences
from udfs.comparison.p_values import ROUNDING
from udfs.designs import N_LOOKS
from udfs.designs.stopping import critical_value
from udfs.resampling import TAIL, jackknife_variance

WATCHED = ("sensitivity", "micro_f1", "invalid_rate", "label_churn")
"""The measures that are means over samples, and so can be watched while samples are added."""

ONE_SIDED = frozenset({"label_churn"})
"""Measures of which more alone is a change."""

Decision = Literal["moved", "quiet"]

_EFFICACY = 1.04  # 2.040 / 1.96
_SURE = 1.28  # .9 of a normal lie below it
_FUTILE = 0.1


class PairLook(NamedTuple):
    """What a look says of the difference of one measure, candidate less base.

    Attributes:
        decision: `moved` where the difference is certain, `quiet` where the whole night would hardly show one, None where
            more samples have to tell.
        difference: mean of the samples so far.
        low: the difference less what chance may make of it at this look: a measure has moved for certain only where 0 lies
            outside the bounds.
        high: the difference and as much.
        standard_error: of the mean.
        z: the normal quantile that is as far out as the difference is by a t test, with the difference's sign.
        need: the least difference of the whole night that would count.
        power: the chance that the whole night shows it, if the samples to come differ by as much as the night can find.
        n_samples: how many there are so far.
    """

    decision: Decision | None
    difference: float
    low: float
    high: float
    standard_error: float
    z: float
    need: float
    power: float
    n_samples: int


def watched_differences(
    side: NDArray[np.int64],
    sample: NDArray[np.int64],
    variant: NDArray[np.int64],
    temperature: NDArray[np.int64],
    is_original: NDArray[np.bool_],
    repetition: NDArray[np.int64],
    label: NDArray[np.int64],
    gold: NDArray[np.int64],
    *,
    n_classes: int,
) -> dict[str, MeanDifference]:
    """Returns by how much the answers differ between two runs of one group, measure by measure.

    The arguments are those of `udfs.comparison.compare_answers`.

    Returns:
        Of `WATCHED` those that both runs have: the differences that `compare_answers` gives. Empty where there is nothing to
        compare, and where wordings differ between the runs: what these add is no matter of more samples.
    """
    table = answers_table(side, sample, variant, temperature, is_original, repetition, label, gold, n_classes)
    if isinstance(table, str) or (table.stratum != SAME_WORDING).any():
        return {}
    return mean_differences(table)


def pair_at(
    look: int, difference: MeanDifference, *, min_effect: float, n_comparisons: int, is_one_sided: bool = False
) -> PairLook:
    """Returns what look k of K says of one measure. t = k/K is the share of the night that has been asked.

    Moved: |z| >= 1.04 z_{1-.025/m} / sqrt(t), with z the normal quantile of the t test's p-value;
    |d| >= min_effect + 1.28 SE_k sqrt(1 - t), so that the whole night differs by min_effect in 90 %; and p <= .05/m by the
    jackknife over wordings, as the runs are compared. Quiet, from the second look on: the chance that the whole night shows
    what counts, need = max(z_{1-.025/m} SE, min_effect), is below .1 even if the samples to come differ by D, the smallest
    difference that the whole night would find in 90 %: 1 - Phi((need - t |d| - (1 - t) D) / (SE sqrt(1 - t))). SE is that of
    the whole night.

    Args:
        look: 1 to N_LOOKS.
        difference: of the samples so far.
        min_effect: the smallest difference that counts, >= 0.
        n_comparisons: m, measures times groups of answers watched, >= 1.
        is_one_sided: whether only more is a change, as of label churn.

    Returns:
        `decision` is None at the last look, where the runs are compared as any two, and below two samples.

    Raises:
        ValueError: a look that is not one of 1 to N_LOOKS, or fewer than one comparison.
    """
    critical_value(look)
    by_sample, tail = difference.by_sample, 2 * TAIL if is_one_sided else TAIL
    n, share = len(by_sample), look / N_LOOKS
    mean = float(by_sample.mean()) if n else np.nan
    if n < 2:
        return PairLook(None, mean, *(np.nan,) * 6, n)
    error = float(by_sample.std(ddof=1)) / np.sqrt(n)
    found = detectable_difference(error * np.sqrt(share), n / share - 1, n_comparisons, min_effect, tail=tail)
    moved, z = mean if is_one_sided else abs(mean), _normal_quantile(mean, error, n)
    critical = float(ndtri(1 - tail / n_comparisons))
    critical_here = _EFFICACY * critical / np.sqrt(share)
    need = max(critical * error * np.sqrt(share), min_effect)
    missing, scatter = need - share * moved - (1 - share) * found, error * np.sqrt(share * (1 - share))
    power = float(ndtr(-missing / scatter)) if scatter > 0 else float(moved > 0 and missing <= 0)
    decision: Decision | None = None
    if look < N_LOOKS:
        is_sure = moved >= min_effect + _SURE * error * np.sqrt(1 - share)
        is_beyond_chance = (z if is_one_sided else abs(z)) >= critical_here
        if is_sure and is_beyond_chance and _is_of_all_wordings(mean, difference.without_wording, tail / n_comparisons):
            decision = "moved"
        elif look > 1 and power < _FUTILE:
            decision = "quiet"
    bounds = mean - critical_here * error, mean + critical_here * error
    return PairLook(decision, mean, *bounds, error, z, need, power, n)


def _normal_quantile(mean: float, error: float, n: int) -> float:
    """How far out a mean is by a t test, or by a sign test where all samples differ alike, as a quantile of the normal."""
    if error < ROUNDING:
        return float(np.sign(mean) * -ndtri(0.5**n)) if abs(mean) > ROUNDING else 0.0
    t = mean / error
    return float(np.sign(t) * min(abs(t), -ndtri(stdtr(n - 1, -abs(t)))))


def _is_of_all_wordings(mean: float, without_wording: Floats, tail: float) -> bool:
    """Whether a difference is beyond what wordings make of it, by a t test of their jackknife; it is where none are exchanged."""
    if not len(without_wording):
        return True
    if np.isnan(without_wording).any():
        return False
    error = np.sqrt(jackknife_variance(without_wording))
    return bool(error < ROUNDING or stdtr(len(without_wording) - 1, -abs(mean) / error) <= tail)


def night_at(looks: Collection[PairLook]) -> Decision | None:
    """Returns what a look says of a whole night: moved where any measure has, quiet where all are; None without measures."""
    decisions = [look.decision for look in looks]
    if "moved" in decisions:
        return "moved"
    return "quiet" if decisions and all(decision == "quiet" for decision in decisions) else None
