"""Gives SQL the agreement of raters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from udfs.codes import dense_codes
from udfs.raters import kappa
from udfs.sql.columns import Column, all_present, doubles, flattened, integers, null_for_nan, present, structs


def rater_agreement(item: Column, rater: Column, rating: Column) -> Column:
    """Returns the agreement of each group's raters; an entry without a rating is none."""
    entries = flattened("rater_agreement", {"item": item, "rater": rater, "rating": rating})
    kept = all_present(entries.lists)
    codes = [integers(array) for array in entries.lists]
    rows = [
        kappa.agreement(*(dense_codes(code[group][kept[group]])[0] for code in codes)) for group in entries.groups()
    ]
    return structs(rows, kappa.Agreement._fields)


def youden_index(is_match: Column, is_right: Column, weight: Column) -> Column:
    """Returns sensitivity + specificity - 1 of each group's rulings, each as heavy as what it stands for."""
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
