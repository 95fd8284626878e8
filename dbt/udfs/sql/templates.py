"""Gives SQL the measures over the templates of a task: spread, rule against judge, rankings."""

from __future__ import annotations

from udfs.codes import dense_codes
from udfs.sql.columns import Column, Entries, all_present, doubles, flattened, integers, structs, values_of
from udfs.templates import rankings, rule_against_judge, spread


def scoring_spread(sample: Column, variant: Column, value: Column, seed: Column, n_resamples: Column) -> Column:
    """Returns the spread of accuracy over the variants of each group; cells without a value are left out."""
    entries = flattened("scoring_spread", {"sample": sample, "variant": variant, "value": value})
    kept = all_present(entries.lists)
    samples, variants = (integers(array) for array in entries.lists[:2])
    values = doubles(entries.lists[2])
    rows = []
    for group, (own_seed, resamples) in _with_draws(entries, seed, n_resamples):
        own = kept[group]
        rows.append(
            spread.spread(
                dense_codes(samples[group][own])[0],
                dense_codes(variants[group][own])[0],
                values[group][own],
                own_seed,
                resamples,
            )
        )
    return structs(rows, spread.Spread._fields)


def spread_of_rule_and_judge(
    sample: Column, variant: Column, rule: Column, judge: Column, youden: Column, seed: Column, n_resamples: Column
) -> Column:
    """Returns the spreads of each group under a rule and a judge, on the cells that both have."""
    columns = {"sample": sample, "variant": variant, "rule": rule, "judge": judge}
    entries = flattened("rule_against_judge", columns)
    kept = all_present(entries.lists)
    samples, variants = (integers(array) for array in entries.lists[:2])
    by_rule, by_judge = doubles(entries.lists[2]), doubles(entries.lists[3])
    rows = []
    known = doubles(youden)
    for (group, (own_seed, resamples)), index in zip(_with_draws(entries, seed, n_resamples), known, strict=True):
        own = kept[group]
        rows.append(
            rule_against_judge.rule_against_judge(
                dense_codes(samples[group][own])[0],
                dense_codes(variants[group][own])[0],
                by_rule[group][own],
                by_judge[group][own],
                float(index),
                own_seed,
                resamples,
            )
        )
    return structs(rows, rule_against_judge.RuleAgainstJudge._fields)


def _with_draws(entries: Entries, seed: Column, n_resamples: Column) -> list[tuple[slice, tuple[int, int]]]:
    """Each group with its seed and resamples; without a seed there is nothing to draw from."""
    scalars = zip(values_of(seed), values_of(n_resamples), strict=True)
    draws = [(own or 0, 0 if own is None else resamples or 0) for own, resamples in scalars]
    return list(zip(entries.groups(), draws, strict=True))


def ranking_consistency(variant: Column, model: Column, accuracy: Column) -> Column:
    """Returns how alike each group's variants rank the models."""
    entries = flattened("ranking_consistency", {"variant": variant, "model": model, "accuracy": accuracy})
    kept = all_present(entries.lists)
    variants, models = (integers(array) for array in entries.lists[:2])
    accuracies = doubles(entries.lists[2])
    rows = [
        rankings.ranking_consistency(
            dense_codes(variants[group][kept[group]])[0],
            dense_codes(models[group][kept[group]])[0],
            accuracies[group][kept[group]],
        )
        for group in entries.groups()
    ]
    return structs(rows, rankings.RankingConsistency._fields)
