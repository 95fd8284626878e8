"""Estimates how far the plain sensitivity of a number of wordings lies below that of endless wordings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.measures.entropy import normalised_entropy
from promptaudit.udfs.measures.sensitivity import corrected_sensitivity


def sensitivity_bias(
    sample: NDArray[np.int64],
    wording: NDArray[np.int64],
    label: NDArray[np.int64],
    p: NDArray[np.float64],
    n_classes: int,
    n_wordings: int,
) -> float:
    """Returns how far the plain sensitivity of so many wordings is expected to lie below that of endless wordings.

    With S_Q the plain figure of the table, S_inf is about its corrected one, and the figure of n wordings about
    S_inf - (S_inf - S_Q) Q / n.

    Args:
        sample: shape (n,), dense codes.
        wording: shape (n,), dense codes, at least two distinct.
        label: shape (n,), dense codes, N/A being one of them.
        p: shape (n,), share of the wording's answers with the label, above 0.
        n_classes: C, at least 2.
        n_wordings: for which the bias is wanted, at least 1.

    Returns:
        At most 0: the plain figure minus that of endless wordings.
    """
    q = int(wording.max()) + 1
    plain = _plain_sensitivity(sample, label, p, n_classes)
    corrected = float(
        np.nanmean(corrected_sensitivity(sample, wording, label, p, np.full(int(sample.max()) + 1, n_classes)))
    )
    return min(0.0, -(corrected - plain) * q / n_wordings)


def _plain_sensitivity(
    sample: NDArray[np.int64], label: NDArray[np.int64], p: NDArray[np.float64], n_classes: int
) -> float:
    """Returns the mean normalised entropy of the samples' mean shares."""
    n_labels = int(label.max()) + 1
    sums = np.bincount(sample * n_labels + label, weights=p, minlength=(int(sample.max()) + 1) * n_labels)
    shares = sums.reshape(-1, n_labels)
    shares = shares / shares.sum(axis=1, keepdims=True)
    offsets = np.arange(len(shares) + 1) * n_labels
    return float(normalised_entropy(shares.ravel(), offsets, np.full(len(shares), n_classes)).mean())
