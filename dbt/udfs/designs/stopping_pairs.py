"""Decides at the looks of a night, compared with another night, whether it is certain enough to ask no further samples."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from udfs.comparison.answers_table import answers_table
from udfs.comparison.detectable import detectable_difference
from udfs.comparison.figures import Floats
from udfs.comparison.matching import SAME_WORDING
from udfs.comparison.measured import differences_by_sample
from udfs.designs.stopping import N_LOOKS, critical_value
from udfs.resampling import TAIL

WATCHED = ("sensitivity", "micro_f1", "invalid_rate", "label_churn")
"""The measures that are means over samples, and so can be watched while samples are added."""

ONE_SIDED = frozenset({"label_churn"})
"""Measures of which more alone is a change."""

Decision = Literal["moved", "quiet"]


class PairLook(NamedTuple):
    """What a look says of the difference of one measure, candidate less base.

    Attributes:
        decision: `moved` where the difference is certain, `quiet` where the whole night would hardly show one, None where
            more samples have to tell.
        difference: mean of the samples so far.
        standard_error: of the mean.
        z: their ratio.
        need: the least difference of the whole night that would count.
        power: the chance that the whole night shows it, if the samples to come differ by as much as the night can find.
        n_samples: how many there are so far.
    """

    decision: Decision | None
    difference: float
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
) -> dict[str, Floats]:
    """Returns by how much each sample's answers differ between two runs of one group, measure by measure.

    The arguments are those of `udfs.comparison.compare_answers`.

    Returns:
        Of `WATCHED` those that both runs have, each of shape (n_samples of the measure,), candidate less base; their means are
        the differences that `compare_answers` gives. Empty where there is nothing to compare, and where wordings differ
        between the runs: what these add is no matter of more samples.
    """
    table = answers_table(side, sample, variant, temperature, is_original, repetition, label, gold, n_classes)
    if isinstance(table, str) or (table.stratum != SAME_WORDING).any():
        return {}
    return differences_by_sample(table)


def pair_at(
    look: int, difference: Floats, *, min_effect: float, n_comparisons: int, is_one_sided: bool = False
) -> PairLook:
    """Returns what look k of K says of one measure; with t = k/K the share of the night that has been asked.

    Moved: |z| >= 1.04 z_{1-.025/m} / sqrt(t) and |d| >= min_effect. Quiet: the samples to come would have to differ by more
    than D for the whole night to show what counts, need = max(z_{1-.025/m} SE, min_effect), with
    1 - Phi((need - t |d| - (1 - t) D) / (SE sqrt(1 - t))) < .1. SE is that of the whole night, and D the smallest difference
    that it would find in 90 %.

    Args:
        look: 1 to N_LOOKS.
        difference: shape (n,), of each sample so far, candidate less base.
        min_effect: the smallest difference that counts, >= 0.
        n_comparisons: m, measures times groups of answers watched, >= 1.
        is_one_sided: whether only more is a change, as of label churn.

    Returns:
        `decision` is None at the last look, where the runs are compared as any two, and below two samples.

    Raises:
        ValueError: a look that is not one of 1 to N_LOOKS, or fewer than one comparison.
    """
    critical_value(look)
    n, tail = len(difference), (2 * TAIL if is_one_sided else TAIL) / n_comparisons
    if n < 2:
        return PairLook(None, float(difference.mean()) if n else np.nan, *(np.nan,) * 4, n)
    share, mean = look / N_LOOKS, float(difference.mean())
    error = float(difference.std(ddof=1)) / np.sqrt(n)
    moved = mean if is_one_sided else abs(mean)
    z = mean / error if error > 0 else np.inf * mean if mean else 0.0
    critical, of_whole = float(ndtri(1 - tail)), error * np.sqrt(share)
    need = max(critical * of_whole, min_effect)
    found = detectable_difference(of_whole, n - 1, n_comparisons, min_effect)
    missing = need - share * moved - (1 - share) * found
    scatter = of_whole * np.sqrt(1 - share)
    power = float(ndtr(-missing / scatter)) if scatter > 0 else float(missing <= 0)
    decision: Decision | None = None
    if look < N_LOOKS:
        if (z if is_one_sided else abs(z)) >= 1.04 * critical / np.sqrt(share) and moved >= min_effect:
            decision = "moved"
        elif power < 0.1:
            decision = "quiet"
    return PairLook(decision, mean, error, float(z), need, power, n)


def night_at(looks: Collection[PairLook]) -> Decision | None:
    """Returns what a look says of a whole night: moved where any measure has, quiet where all are; None without measures."""
    decisions = [look.decision for look in looks]
    if "moved" in decisions:
        return "moved"
    return "quiet" if decisions and all(decision == "quiet" for decision in decisions) else None
