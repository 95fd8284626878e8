"""Krippendorff's alpha, written out plainly: what the fast paths of `udfs.stability` and `udfs.comparison` are compared with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from promptaudit.udfs.stability.krippendorff import Level, alpha, ordinal_positions


def krippendorff_alpha(units: Sequence[Sequence[object | None]], level: Level) -> float:
    """Returns Krippendorff's alpha, 1 - D_o / D_e, of units judged by several annotators.

    Written to be read and compared with; `promptaudit.udfs.stability` computes the same for many series at once.

    Args:
        units: one sequence of labels per unit; None is a missing label. Labels are numbers for ordinal (their order
            counts) and interval (their distance counts), anything hashable for nominal.
        level: which distance between labels: 0/1, ordinal from the marginals, or the squared difference.

    Returns:
        1 for perfect agreement, 0 for chance, negative below it. 1 also where no label differs from any other at all;
        NaN where no unit has two labels.

    Source:
        Krippendorff, Computing Krippendorff's Alpha-Reliability (2011); PSS of Barrie et al. 2025.
    """
    pairable = [[label for label in unit if label is not None] for unit in units]
    pairable = [unit for unit in pairable if len(unit) > 1]
    distinct = {label: None for unit in pairable for label in unit}
    labels = list(distinct) if level == "nominal" else sorted(distinct)  # type: ignore[type-var]
    position = {label: c for c, label in enumerate(labels)}
    coincidences = np.zeros((len(labels), len(labels)))
    for unit in pairable:
        for i, first in enumerate(unit):
            for j, second in enumerate(unit):
                if i != j:
                    coincidences[position[first], position[second]] += 1 / (len(unit) - 1)
    counts = coincidences.sum(axis=1)
    if level == "nominal":
        distances = 1.0 - np.eye(len(labels))
    else:
        scale = ordinal_positions(counts) if level == "ordinal" else np.array(labels, np.float64)
        distances = (scale[:, None] - scale) ** 2
    observed = float((coincidences * distances).sum())
    expected = float(counts @ distances @ counts)
    return float(alpha(np.float64(observed), np.float64(counts.sum()), np.float64(expected)))
