"""Answers of a model some of whose wordings break."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from promptaudit.udfs.measures.breaking_wordings import BrokenWording, breaking_wordings


def of_table(value: NDArray[np.float64]) -> list[BrokenWording]:
    """Returns the figures of samples x wordings, NaN a missing cell."""
    sample, wording = np.nonzero(~np.isnan(value))
    return breaking_wordings(sample, wording, value[sample, wording])


def broken(value: NDArray[np.float64]) -> list[int]:
    """Returns which wordings of such a table break."""
    return [row.variant for row in of_table(value) if row.is_breaking]


def right_and_wrong(
    seed: int, *, n: int = 100, q: int = 12, n_broken: int = 0, wordings: float = 0.3
) -> NDArray[np.float64]:
    """Returns right and wrong of a model right in some .75 of cells; the first wordings break .7 of theirs."""
    rng = np.random.default_rng(seed)
    logits = 1.5 + 1.5 * rng.normal(size=(n, 1)) + wordings * rng.normal(size=(1, q)) + 0.7 * rng.normal(size=(n, q))
    value = (rng.random((n, q)) < expit(logits)).astype(np.float64)
    value[:, :n_broken] *= rng.random((n, n_broken)) > 0.7
    return value
