"""Lets SQL call the curves of width against requests of each group of answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from udfs.codes import dense_codes
from udfs.designs.curve import CurvePoint, OwnRun
from udfs.designs.run_curve import linear_curve, sensitivity_curve
from udfs.designs.widths import MEASURES_COMPARED
from udfs.sql.columns import Column, integers, present_groups, row_lists, values_of, whole

RUN_TYPE = (
    "STRUCT(n_wordings BIGINT, n_repetitions BIGINT, n_requests BIGINT, is_incomplete BOOLEAN, n_groups BIGINT, "
    "min_effect DOUBLE)"
)
"""What a curve is told of its run: of the group of answers, how many groups the run has, and its card's `min_effect`."""


def width_curve(sample: Column, wording: Column, family: Column, value: Column, n_asks: Column, run: Column) -> Column:
    """Returns each group's designs for a mean of right and wrong answers; entries with a NULL are left out."""
    columns = {"sample": sample, "wording": wording, "family": family, "value": value, "n_asks": n_asks}

    def curve(group: list[NDArray[Any]], own: dict[str, Any]) -> list[CurvePoint]:
        samples, wordings, families = (dense_codes(each)[0] for each in group[:3])
        return linear_curve(samples, wordings, families, group[3], group[4], _run(samples, own))

    return _curves("width_curve", columns, run, curve)


def width_curve_of_sensitivity(
    sample: Column, wording: Column, family: Column, label: Column, p: Column, n_classes: Column, run: Column
) -> Column:
    """Returns each group's designs for sensitivity; entries with a NULL are left out, so that N/A has a code of its own."""
    columns = {"sample": sample, "wording": wording, "family": family, "label": label, "p": p}
    classes = iter(integers(whole(n_classes)).tolist())

    def curve(group: list[NDArray[Any]], own: dict[str, Any]) -> list[CurvePoint]:
        samples, wordings, families, labels = (dense_codes(each)[0] for each in group[:4])
        return sensitivity_curve(samples, wordings, families, labels, group[4], next(classes), _run(samples, own))

    return _curves("width_curve_of_sensitivity", columns, run, curve)


def _curves(
    function: str,
    columns: dict[str, Column],
    run: Column,
    curve: Callable[[list[NDArray[Any]], dict[str, Any]], list[CurvePoint]],
) -> Column:
    groups = present_groups(function, columns)
    return row_lists([curve(group, own) for group, own in zip(groups, values_of(run), strict=True)], CurvePoint)


def _run(sample: NDArray[np.int64], own: dict[str, Any]) -> OwnRun:
    return OwnRun(
        n_samples=int(sample.max()) + 1 if len(sample) else 0,
        n_wordings=own["n_wordings"],
        n_repetitions=own["n_repetitions"],
        n_requests=own["n_requests"],
        is_incomplete=own["is_incomplete"],
        n_comparisons=MEASURES_COMPARED * own["n_groups"],
        min_effect=own["min_effect"],
    )
