"""Lets SQL call the measures over the templates of a task: spread, rectified accuracy, rule against judge, rankings."""

from __future__ import annotations

from udfs.codes import dense_codes
from udfs.sql.columns import Column, draws, present_groups, structs, values_of
from udfs.templates import prediction_powered, rankings, rule_against_judge, spread


def scoring_spread(
    sample: Column, variant: Column, value: Column, seed: Column, n_resamples: Column, is_incomplete: Column
) -> Column:
    """Returns the spread of accuracy over the variants of each group as structs of `Spread`; missing cells are left out."""
    groups = present_groups("scoring_spread", {"sample": sample, "variant": variant, "value": value})
    scalars = zip(draws(seed, n_resamples), values_of(is_incomplete), strict=True)
    rows = [
        spread.spread(dense_codes(samples)[0], dense_codes(variants)[0], values, *drawn, is_incomplete=bool(has_gaps))
        for (samples, variants, values), (drawn, has_gaps) in zip(groups, scalars, strict=True)
    ]
    return structs(rows, spread.Spread._fields)


def rectified_accuracy(
    sample: Column,
    variant: Column,
    judged: Column,
    rulable: Column,
    weight: Column,
    ruled_judged: Column,
    ruled_right: Column,
    seed: Column,
    n_resamples: Column,
) -> Column:
    """Returns the accuracy of each group that people would give, as structs of `RectifiedAccuracy`."""
    columns = {
        "sample": sample, "variant": variant, "judged": judged, "rulable": rulable, "weight": weight,
        "ruled_judged": ruled_judged, "ruled_right": ruled_right,
    }  # fmt: skip
    groups = present_groups("rectified_accuracy", columns)
    rows = [
        prediction_powered.rectified_accuracy(samples, variants, passed, can_be, heavy, both, by_people, *drawn)
        for (samples, variants, passed, can_be, heavy, both, by_people), drawn in zip(
            groups, draws(seed, n_resamples), strict=True
        )
    ]
    return structs(rows, prediction_powered.RectifiedAccuracy._fields)


def spread_of_rule_and_judge(
    sample: Column,
    variant: Column,
    rule: Column,
    judge: Column,
    rulable: Column,
    weight: Column,
    ruled_judged: Column,
    ruled_right: Column,
    seed: Column,
    n_resamples: Column,
) -> Column:
    """Returns the spreads of each group under a rule and a judge as structs of `RuleAgainstJudge`, on the cells both have.

    What people ruled is NaN, not NULL, where nobody ruled: an entry with a NULL in any list is left out.
    """
    columns = {
        "sample": sample, "variant": variant, "rule": rule, "judge": judge, "rulable": rulable, "weight": weight,
        "ruled_judged": ruled_judged, "ruled_right": ruled_right,
    }  # fmt: skip
    groups = present_groups("rule_against_judge", columns)
    rows = [
        rule_against_judge.rule_against_judge(
            samples, variants, by_rule, by_judge, can_be, heavy, both, by_people, *drawn
        )
        for (samples, variants, by_rule, by_judge, can_be, heavy, both, by_people), drawn in zip(
            groups, draws(seed, n_resamples), strict=True
        )
    ]
    return structs(rows, rule_against_judge.RuleAgainstJudge._fields)


def ranking_consistency(variant: Column, model: Column, accuracy: Column) -> Column:
    """Returns how alike each group's variants rank the models, as structs of `RankingConsistency`."""
    groups = present_groups("ranking_consistency", {"variant": variant, "model": model, "accuracy": accuracy})
    rows = [
        rankings.ranking_consistency(dense_codes(variants)[0], dense_codes(models)[0], accuracies)
        for variants, models, accuracies in groups
    ]
    return structs(rows, rankings.RankingConsistency._fields)


def corrected_ranking(sample: Column, variant: Column, model: Column, value: Column, seed: Column) -> Column:
    """Returns how alike each group's variants rank the models without luck, as structs of `CorrectedRanking`."""
    groups = present_groups("corrected_ranking", {"sample": sample, "variant": variant, "model": model, "value": value})
    rows = [
        rankings.corrected_ranking(
            dense_codes(samples)[0], dense_codes(variants)[0], dense_codes(models)[0], values, own_seed or 0
        )
        for (samples, variants, models, values), own_seed in zip(groups, values_of(seed), strict=True)
    ]
    return structs(rows, rankings.CorrectedRanking._fields)
