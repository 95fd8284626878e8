"""Decides which measures the answers of one run allow, and why a measure is lacking."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MEASURES = ("sensitivity", "consistency", "micro_f1", "invalid_rate", "pss_intra", "pss_inter", "label_churn")

_LACKS = {
    "sensitivity": "has one wording",
    "pss_inter": "has one wording",
    "accuracy_std": "has one wording",
    "consistency": "has no gold labels",
    "micro_f1": "has no gold labels",
    "pss_intra": "asks the original once",
}


def available(
    variant: NDArray[np.int64],
    is_original: NDArray[np.bool_],
    repetition: NDArray[np.int64],
    gold: NDArray[np.int64],
) -> set[str]:
    """Lists the measures that the answers of one run allow."""
    if len(variant) == 0:
        return set()
    names = {"invalid_rate", "label_churn"}
    if (variant != variant[0]).any():
        names |= {"sensitivity", "pss_inter"}
    if (gold >= 0).any():
        names |= {"consistency", "micro_f1"}
    asked = repetition[is_original]
    if len(asked) and (asked != asked[0]).any():
        names.add("pss_intra")
    return names


def lacking(measure: str, run: str) -> str:
    """Says why a measure that the other run has is not compared."""
    return f"{run} {_LACKS.get(measure, 'has no answers')}"
