"""Measures how much of a rule's spread over templates disappears when a judge scores the same answers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.codes import dense_codes
from promptaudit.udfs.resampling import percentile_interval, percentile_interval_of
from promptaudit.udfs.sql_function import sql_function
from promptaudit.udfs.sql_types import Floats, Integers
from promptaudit.udfs.templates.prediction_powered import Rulings, estimate, has_spread, rectified_variances
from promptaudit.udfs.templates.spread import (
    bootstrap_variances,
    complete_table,
    corrected_variance,
    root,
    variant_means,
)


class RuleAgainstJudge(NamedTuple):
    """The corrected spreads under a rule and a judge, their difference, and the share removed; NaN where undefined."""

    spread_rule: float
    spread_judge: float
    difference: float
    difference_low: float
    difference_high: float
    share_removed: float
    share_removed_low: float
    share_removed_high: float
    std_rule: float
    std_judge: float
    spread_judge_rectified: float
    spread_judge_rectified_low: float
    spread_judge_rectified_high: float
    difference_rectified: float
    difference_rectified_low: float
    difference_rectified_high: float
    share_removed_rectified: float
    share_removed_rectified_low: float
    share_removed_rectified_high: float
    n_variants: int
    n_samples: int


class _Comparison(NamedTuple):
    # the difference rule - judge and the share 1 - judge / rule, each with its bounds
    difference: float
    difference_low: float
    difference_high: float
    share_removed: float
    share_removed_low: float
    share_removed_high: float


def _compare(rule: NDArray[np.float64], judge: NDArray[np.float64], *, has_share: bool) -> _Comparison:
    # two spreads of shape (1 + n_resamples,): the table's first, then its resamples'
    difference = rule - judge
    share = np.full(len(rule), np.nan)
    np.divide(judge, rule, out=share, where=has_share & (rule > 0))
    share = 1 - share
    return _Comparison(
        *(end for own in (difference, share) for end in (float(own[0]), *percentile_interval_of(own[0], own[1:])))
    )


@sql_function()
def rule_against_judge(
    sample: Integers,
    variant: Integers,
    rule: Floats,
    judge: Floats,
    rulable: Floats,
    weight: Floats,
    ruled_judged: Floats,
    ruled_right: Floats,
    seed: int,
    n_resamples: int,
) -> RuleAgainstJudge:
    """Computes the spread over templates under a rule, under a judge, and the share of it that the judge removes.

    A judge that errs at random removes spread too, 20 % of any when it is wrong in 10 % of cases, and a judge whose
    errors go with format, length or template adds spread. Where people ruled on answers under every template, the
    rectified figures are the spread of people's accuracies (`prediction_powered`).

    Args:
        sample: shape (n,), codes.
        variant: shape (n,), codes of the templates.
        rule: shape (n,), in [0, 1], one per (sample, variant), the mean over repetitions; NaN is missing.
        judge: shape (n,), the same for the judge. Cells that either lacks are left out.
        rulable: shape (n,), as in `prediction_powered.rectified_accuracy`; NaN where nobody ruled on the task.
        weight: shape (n,), as `rulable`.
        ruled_judged: shape (n,), as `rulable`.
        ruled_right: shape (n,), as `rulable`.
        seed: of the bootstrap.
        n_resamples: B; 0 leaves bounds and shares undefined.

    Returns:
        `spread_rule`, `spread_judge`: corrected standard deviations as in `spread.spread`, over the `n_samples` samples
        for which every one of the `n_variants` templates has both values; `difference`: rule - judge;
        `share_removed`: 1 - judge / rule, at most 1 and negative where the judge sees more spread. `_low`, `_high`:
        percentiles over B resamples of samples, the same draws for both, and wider where they do not include the
        figure. A share is NaN unless the lower bound of the rule's corrected variance is above 0, so that there is a
        spread to remove; resamples without one (2.5 % at most) are left out of its bounds. `std_rule`, `std_judge`:
        raw, ddof 1, over all cells that both have.
        `spread_judge_rectified`: standard deviation over templates of their rectified accuracies, without the part due
        to errors of rulings and samples, with the same draws; difference and share with it in the judge's place. Its
        bounds include the error of the rulings. NaN unless people ruled on LEAST_RULED samples under each template. All
        but the raw figures are NaN below two templates or two such samples, and these below two templates. A judge
        whose verdict on no sample differs between templates has a spread of 0 in every resample, and the share is 1
        with bounds [1, 1].

    Coverage of the bounds, nominal 95 %, at 50 to 400 samples x 12 templates: difference .90 to .996, shares of 0, .2,
    .5 and 1 .905 to 1.0, the wide ones where the rule's spread is barely shown.
    """
    both = ~(np.isnan(rule) | np.isnan(judge))
    sample, variant = dense_codes(sample[both])[0], dense_codes(variant[both])[0]
    cells = [column[both] for column in (rule, judge, rulable, weight, ruled_judged, ruled_right)]
    n_variants = int(variant.max()) + 1 if len(variant) else 0
    std_rule = std_judge = np.nan
    n_samples = 0
    by_rule = by_judge = by_people = np.full(1, np.nan)
    has_share = False
    if n_variants > 1:
        std_rule, std_judge = (float(variant_means(variant, value).std(ddof=1)) for value in cells[:2])
        tables = [complete_table(sample, variant, value) for value in cells[:2]]
        n_samples = len(tables[0])
    if n_samples > 1:
        drawn = bootstrap_variances(tables, seed, n_resamples)
        has_share = bool(percentile_interval(drawn[0])[0] > 0)
        by_rule, by_judge = (
            root(np.append(corrected_variance(table), resampled))
            for table, resampled in zip(tables, drawn, strict=True)
        )
    if n_samples > 1 and not np.isnan(cells[2]).any():
        ruled = [complete_table(sample, variant, value) for value in cells[2:]]
        rulings = Rulings(np.ones(tables[1].shape), tables[1], *ruled)
        if has_spread(rulings):
            corrected, resampled = rectified_variances(rulings, estimate(rulings), seed, n_resamples)
            by_people = root(np.append(corrected, resampled))
    plain = _compare(by_rule, by_judge, has_share=has_share)
    beside = _compare(by_rule, by_people, has_share=has_share)
    rectified_low, rectified_high = percentile_interval_of(by_people[0], by_people[1:])
    return RuleAgainstJudge(
        spread_rule=float(by_rule[0]),
        spread_judge=float(by_judge[0]),
        **plain._asdict(),
        std_rule=std_rule,
        std_judge=std_judge,
        spread_judge_rectified=float(by_people[0]),
        spread_judge_rectified_low=rectified_low,
        spread_judge_rectified_high=rectified_high,
        difference_rectified=beside.difference,
        difference_rectified_low=beside.difference_low,
        difference_rectified_high=beside.difference_high,
        share_removed_rectified=beside.share_removed,
        share_removed_rectified_low=beside.share_removed_low,
        share_removed_rectified_high=beside.share_removed_high,
        n_variants=n_variants,
        n_samples=n_samples,
    )
