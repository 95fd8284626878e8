"""Lets SQL call the agreement of raters."""

from __future__ import annotations

from udfs.codes import dense_codes
from udfs.raters import kappa
from udfs.sql.columns import Column, null_for_nan, present_groups, structs


def rater_agreement(item: Column, rater: Column, rating: Column) -> Column:
    """Returns the agreement of each group's raters as structs of `Agreement`; an entry without a rating is left out."""
    groups = present_groups("rater_agreement", {"item": item, "rater": rater, "rating": rating})
    rows = [kappa.agreement(*(dense_codes(codes)[0] for codes in group)) for group in groups]
    return structs(rows, kappa.Agreement._fields)


def youden_index(is_match: Column, is_right: Column, weight: Column) -> Column:
    """Returns sensitivity + specificity - 1 of each group's rulings, in [-1, 1], each ruling with its weight."""
    groups = present_groups("youden_index", {"is_match": is_match, "is_right": is_right, "weight": weight})
    return null_for_nan([kappa.youden_index(*group) for group in groups])
