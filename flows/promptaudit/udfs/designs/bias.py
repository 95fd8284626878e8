"""Estimates how far the plain sensitivity of a number of wordings lies below the one of endless wordings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.measures.sensitivity import pseudo_values


def sensitivity_bias(
    sample: NDArray[np.int64],
    wording: NDArray[np.int64],
    label: NDArray[np.int64],
    p: NDArray[np.float64],
    n_classes: int,
    n_wordings: int,
) -> float:
    """Estimates how far the plain sensitivity of so many wordings lies below the one of endless wordings.

    With S_Q the plain figure of the table, S_inf is about its corrected one (from the jackknife, whatever Q), and the
    figure of n wordings about S_inf - (S_inf - S_Q) Q / n.

    Args:
        sample: shape (n,), dense codes.
        wording: shape (n,), dense codes, at least two distinct.
        label: shape (n,), dense codes, N/A being one of them.
        p: shape (n,), share of the wording's answers with the label, above 0.
        n_classes: C, at least 2.
        n_wordings: the number that the bias is estimated for, at least 1.

    Returns:
        At most 0: the plain figure minus the figure of endless wordings.
    """
    found = pseudo_values(sample, wording, label, p, np.full(int(sample.max()) + 1, n_classes))
    gap = float(np.nanmean(found.means() - found.by_sample))
    return min(0.0, -gap * (int(wording.max()) + 1) / n_wordings)
