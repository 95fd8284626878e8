"""Gives SQL the comparison of two runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_type_hints

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from udfs import comparison
from udfs.comparison import Compared
from udfs.sql.columns import Column, all_present, doubles, flattened, integers, list_array, null_for_nan, values_of

_TYPES: dict[object, str] = {str: "VARCHAR", str | None: "VARCHAR", int: "INTEGER", float: "DOUBLE"}
_COLUMNS = {name: _TYPES[kind] for name, kind in get_type_hints(Compared).items()}
_ARROW_TYPES = {"VARCHAR": pa.string(), "INTEGER": pa.int32()}
ROW = f"STRUCT({', '.join(f'{name} {kind}' for name, kind in _COLUMNS.items())})"
"""The SQL type of one row."""


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
    entries = flattened("compare_answers", columns)
    kept = all_present(entries.lists)
    codes = [integers(array) for array in entries.lists]
    scalars = zip(*(values_of(column) for column in (labels, level, seed, n_resamples)), strict=True)
    tables = []
    for group, (own_labels, own_level, own_seed, resamples) in zip(entries.groups(), scalars, strict=True):
        sides, samples, variants, temperatures, originals, repetitions, read, golds = (
            code[group][kept[group]] for code in codes
        )
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
    return _listed(tables)


def compare_accuracies(
    side: Column, sample: Column, variant: Column, accuracy: Column, seed: Column, n_resamples: Column
) -> Column:
    """Returns accuracy and its spread over variants of each pair of groups under one scoring method, compared."""
    columns = {"side": side, "sample": sample, "variant": variant, "accuracy": accuracy}
    entries = flattened("compare_accuracies", columns)
    kept = all_present(entries.lists)
    sides, samples, variants = (integers(array) for array in entries.lists[:3])
    accuracies = doubles(entries.lists[3])
    scalars = zip(values_of(seed), values_of(n_resamples), strict=True)
    tables = [
        comparison.compare_accuracies(
            sides[group][kept[group]],
            samples[group][kept[group]],
            variants[group][kept[group]],
            accuracies[group][kept[group]],
            seed=own_seed,
            n_resamples=resamples,
        )
        for group, (own_seed, resamples) in zip(entries.groups(), scalars, strict=True)
    ]
    return _listed(tables)


def detectable_difference(standard_error: Column, n_comparisons: Column) -> Column:
    """Returns the smallest true difference that would be found nine times in ten; NULL without a standard error."""
    rows = zip(doubles(standard_error), integers(n_comparisons), strict=True)
    return null_for_nan([comparison.detectable_difference(float(error), max(1, int(n))) for error, n in rows])


def _numbers(labels: Sequence[str], level: str) -> NDArray[np.float64]:
    """The labels as numbers: themselves at interval level, else their places."""
    return np.array([float(label) for label in labels] if level == "interval" else range(len(labels)), np.float64)


def _listed(tables: Sequence[Sequence[Compared]]) -> Column:
    rows = [row for table in tables for row in table]
    arrays = [
        null_for_nan([getattr(row, name) for row in rows])
        if kind == "DOUBLE"
        else pa.array([getattr(row, name) for row in rows], _ARROW_TYPES[kind])
        for name, kind in _COLUMNS.items()
    ]
    return list_array(tables, pa.StructArray.from_arrays(arrays, list(_COLUMNS)))
