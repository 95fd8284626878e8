"""Lets SQL call the comparison of two runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from udfs import comparison
from udfs.comparison import Compared
from udfs.sql.columns import Column, doubles, integers, null_for_nan, present_groups, row_lists, values_of


def compare_answers(
    side: Column,
    sample: Column,
    variant: Column,
    temperature: Column,
    is_original: Column,
    repetition: Column,
    label: Column,
    gold: Column,
    labels: Column,
    level: Column,
    seed: Column,
    n_resamples: Column,
) -> Column:
    """Returns every measure of each pair of groups of answers, compared."""
    columns = {
        "side": side, "sample": sample, "variant": variant, "temperature": temperature, "is_original": is_original,
        "repetition": repetition, "label": label, "gold": gold,
    }  # fmt: skip
    groups = present_groups("compare_answers", columns)
    scalars = zip(*(values_of(column) for column in (labels, level, seed, n_resamples)), strict=True)
    tables = []
    for group, (own_labels, own_level, own_seed, resamples) in zip(groups, scalars, strict=True):
        sides, samples, variants, temperatures, originals, repetitions, read, golds = group
        tables.append(
            comparison.compare_answers(
                sides,
                samples,
                variants,
                temperatures,
                originals.astype(np.bool_),
                repetitions,
                read,
                golds,
                n_classes=len(own_labels) + 1,
                level=own_level,
                numbers=_numbers(own_labels, own_level),
                seed=own_seed,
                n_resamples=resamples,
            )
        )
    return row_lists(tables, Compared)


def compare_accuracies(
    side: Column, sample: Column, variant: Column, accuracy: Column, seed: Column, n_resamples: Column
) -> Column:
    """Returns accuracy and its spread over variants of each pair of groups under one scoring method, compared."""
    columns = {"side": side, "sample": sample, "variant": variant, "accuracy": accuracy}
    groups = present_groups("compare_accuracies", columns)
    scalars = zip(values_of(seed), values_of(n_resamples), strict=True)
    tables = [
        comparison.compare_accuracies(*group, seed=own_seed, n_resamples=resamples)
        for group, (own_seed, resamples) in zip(groups, scalars, strict=True)
    ]
    return row_lists(tables, Compared)


def detectable_difference(
    standard_error: Column,
    degrees_of_freedom: Column,
    n_comparisons: Column,
    min_effect: Column,
    tail: Column,
) -> Column:
    """Returns the smallest true difference that would be found nine times in ten; NULL without a standard error."""
    rows = zip(
        doubles(standard_error), doubles(degrees_of_freedom), integers(n_comparisons), doubles(min_effect),
        doubles(tail), strict=True,
    )  # fmt: skip
    return null_for_nan(
        [
            comparison.detectable_difference(
                float(error), float(free), max(1, int(n)), float(effect), tail=float(own_tail)
            )
            for error, free, n, effect, own_tail in rows
        ]
    )


def _numbers(labels: Sequence[str], level: str) -> NDArray[np.float64]:
    """The labels as numbers: themselves at interval level, else their places."""
    return np.array([float(label) for label in labels] if level == "interval" else range(len(labels)), np.float64)
