"""Lets SQL call the agreement of raters."""

from __future__ import annotations

import pyarrow as pa

from udfs.codes import dense_codes
from udfs.raters import kappa, verdict_groups
from udfs.sql.columns import Column, integers, present_groups, structs


def rater_agreement(item: Column, rater: Column, rating: Column) -> Column:
    """Returns the agreement of each group's raters as structs of `Agreement`; an entry without a rating is left out."""
    groups = present_groups("rater_agreement", {"item": item, "rater": rater, "rating": rating})
    rows = [kappa.agreement(*(dense_codes(codes)[0] for codes in group)) for group in groups]
    return structs(rows, kappa.Agreement._fields)


def verdict_group(
    rule_right: Column, rule_wrong: Column, judge_right: Column, judge_wrong: Column, is_unscored: Column
) -> Column:
    """Returns the group of each answer by what rules and judges say of it; NULL is false."""
    columns = rule_right, rule_wrong, judge_right, judge_wrong, is_unscored
    flags = (integers(column.cast("int64")).astype(bool) for column in columns)
    return pa.array(verdict_groups.verdict_groups(*flags), pa.string())
