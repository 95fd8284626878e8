"""Gives DuckDB what scores completions and compares scoring methods: columns in, plain functions inside, columns out."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from udfs import kappa, rankings, rule_against_judge, spread
from udfs.codes import dense_codes
from udfs.columns import (
    Column,
    Entries,
    all_present,
    doubles,
    doubles_struct,
    flattened,
    integers,
    null_for_nan,
    present,
    structs,
    values_of,
)
from udfs.scoring import option_loglikelihood, token_f1, verdict
from udfs.scoring.math.equal import MathEqual
from udfs.scoring.option_letter import OptionReading

MATHEMATICS = MathEqual()
"""One worker for all chunks of a build: it starts with the first formula, and ends with this process."""


def score_token_f1(completion: Column, references: Column) -> Column:
    """Token F1 of each completion with its best reference."""
    pairs = zip(values_of(completion), values_of(references), strict=True)
    return null_for_nan([token_f1.token_f1(text, known or []) for text, known in pairs])


def score_math_equal(completion: Column, references: Column) -> Column:
    """Whether each completion's final answer equals a reference, and why that is not known."""
    pairs = [(text, known or []) for text, known in zip(values_of(completion), values_of(references), strict=True)]
    readings = MATHEMATICS.equal_all(pairs)
    arrays: list[Column] = [
        pa.array([reading.is_equal for reading in readings], pa.bool_()),
        pa.array([reading.reason for reading in readings], pa.string()),
    ]
    return pa.StructArray.from_arrays(arrays, ["is_equal", "reason"])


def score_option_loglikelihood(
    method: Column, option_loglikelihoods: Column, token_logprobs: Column, reader: Column
) -> Column:
    """The likeliest option of each prediction, by its place; and why there is none."""
    columns = (method, option_loglikelihoods, token_logprobs, reader)
    readings = [_weighed(*row) for row in zip(*(values_of(column) for column in columns), strict=True)]
    arrays: list[Column] = [
        pa.array([reading.index for reading in readings], pa.int32()),
        pa.array([reading.reason for reading in readings], pa.string()),
    ]
    return pa.StructArray.from_arrays(arrays, ["option_index", "reason"])


def _weighed(method: str, weights: str | None, top: str | None, reader: str | None) -> OptionReading:
    """By the log-likelihoods of the options where an engine gave them, else by the first token's likeliest."""
    if weights is None:
        if method != "option_loglikelihood" or top is None:
            return OptionReading(None, "no log-likelihoods")
        return option_loglikelihood.from_top_logprobs(option_loglikelihood.first_token(top), _signs(reader))
    options = json.loads(weights)
    nats = [option["nats"] for option in options]
    unit = method.removeprefix("option_loglikelihood").removeprefix("_per_")
    units = [option[f"n_{unit}s"] for option in options] if unit else None
    return option_loglikelihood.from_loglikelihoods(nats, units)


@lru_cache(maxsize=256)
def _signs(reader: str | None) -> tuple[str, ...]:
    found = json.loads(reader) if reader else None
    return tuple(found.get("option_letter", ())) if isinstance(found, dict) else ()


def read_verdict(completion: Column) -> Column:
    """What each of a judge's replies rules, and why; neither where it cannot be read."""
    verdicts = [verdict.read_verdict(text) for text in values_of(completion)]
    arrays: list[Column] = [
        pa.array([each.is_match for each in verdicts], pa.bool_()),
        pa.array([each.reason for each in verdicts], pa.string()),
    ]
    return pa.StructArray.from_arrays(arrays, ["is_match", "reason"])


def scoring_spread(sample: Column, variant: Column, value: Column, seed: Column, n_resamples: Column) -> Column:
    """Spread of accuracy over the variants of each group; cells without a value are left out."""
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
    """Spreads of each group under a rule and a judge, on the cells that both have."""
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
    """How alike each group's variants rank the models."""
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


def rater_agreement(item: Column, rater: Column, rating: Column) -> Column:
    """Agreement of each group's raters; an entry without a rating is none."""
    entries = flattened("rater_agreement", {"item": item, "rater": rater, "rating": rating})
    kept = all_present(entries.lists)
    codes = [integers(array) for array in entries.lists]
    rows = [
        kappa.agreement(*(dense_codes(code[group][kept[group]])[0] for code in codes)) for group in entries.groups()
    ]
    return structs(rows, kappa.Agreement._fields)


def youden_index(is_match: Column, is_right: Column, weight: Column) -> Column:
    """Sensitivity + specificity - 1 of each group's rulings, each as heavy as what it stands for."""
    entries = flattened("youden_index", {"is_match": is_match, "is_right": is_right, "weight": weight})
    kept = all_present(entries.lists)
    ruled, right = (_truths(array) for array in entries.lists[:2])
    weights = doubles(entries.lists[2])
    own = [(group, kept[group]) for group in entries.groups()]
    return null_for_nan(
        [
            kappa.youden_index(ruled[group][is_own], right[group][is_own], weights[group][is_own])
            for group, is_own in own
        ]
    )


def _truths(array: Column) -> NDArray[np.bool_]:
    is_known = present(array)
    truths = np.zeros(len(is_known), np.bool_)
    truths[is_known] = np.asarray(array.drop_null().to_numpy(zero_copy_only=False), np.bool_)
    return truths


FUNCTIONS: dict[str, tuple[Callable[..., Column], Sequence[str], str]] = {
    "token_f1": (score_token_f1, ["VARCHAR", "VARCHAR[]"], "DOUBLE"),
    "math_equal": (score_math_equal, ["VARCHAR", "VARCHAR[]"], "STRUCT(is_equal BOOLEAN, reason VARCHAR)"),
    "likeliest_option": (
        score_option_loglikelihood,
        ["VARCHAR", "VARCHAR", "VARCHAR", "VARCHAR"],
        "STRUCT(option_index INTEGER, reason VARCHAR)",
    ),
    "read_verdict": (read_verdict, ["VARCHAR"], "STRUCT(is_match BOOLEAN, reason VARCHAR)"),
    "scoring_spread": (
        scoring_spread,
        ["BIGINT[]", "BIGINT[]", "DOUBLE[]", "BIGINT", "INTEGER"],
        doubles_struct(spread.Spread._fields),
    ),
    "rule_against_judge": (
        spread_of_rule_and_judge,
        ["BIGINT[]", "BIGINT[]", "DOUBLE[]", "DOUBLE[]", "DOUBLE", "BIGINT", "INTEGER"],
        doubles_struct(rule_against_judge.RuleAgainstJudge._fields),
    ),
    "ranking_consistency": (
        ranking_consistency,
        ["BIGINT[]", "BIGINT[]", "DOUBLE[]"],
        doubles_struct(rankings.RankingConsistency._fields),
    ),
    "rater_agreement": (
        rater_agreement,
        ["BIGINT[]", "BIGINT[]", "BIGINT[]"],
        doubles_struct(kappa.Agreement._fields),
    ),
    "youden_index": (youden_index, ["BOOLEAN[]", "BOOLEAN[]", "DOUBLE[]"], "DOUBLE"),
}
"""SQL name: function, parameter types, return type."""
