"""Computes the entropy of answer distributions, normalised to the number of classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, gammaln, xlog1py, xlogy

from promptaudit.udfs.sql_function import sql_function
from promptaudit.udfs.sql_types import Floats, Offsets

# entropies outside [0, 1] by no more than this are rounding, anything further is the caller's p and stays visible
ROUNDING = 1e-12


def plug_in_terms(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Computes -p ln p in nats, elementwise; 0 at 0 and at the rounding below it."""
    return np.asarray(entr(np.maximum(p, 0.0)), np.float64)


@sql_function(at_once=True)
def normalised_entropy(p: Floats, offsets: Offsets, n_classes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Computes -sum p ln p / ln C of many distributions at once: the sensitivity of a sample where p is its p_tau.

    Args:
        p: shape (n_entries,), probabilities of all distributions one after another; zeros contribute nothing. They are
            taken as they are, without renormalising.
        offsets: shape (n + 1,), distribution i is p[offsets[i]:offsets[i + 1]].
        n_classes: shape (n,), C of each distribution, classes nobody answered included.

    Returns:
        Shape (n,), in [0, 1] for distributions over at most C classes; NaN for an empty distribution and for C < 2.

    Source:
        Errica et al. 2025, sensitivity.

    Example:
        Answers split evenly between two labels, then answers that are all alike, of two classes:

        >>> normalised_entropy(np.array([0.5, 0.5, 1.0]), np.array([0, 2, 3]), np.array([2, 2])).tolist()
        [1.0, 0.0]
    """
    lengths = np.diff(offsets)
    row = np.repeat(np.arange(len(lengths)), lengths)
    nats = np.bincount(row, weights=plug_in_terms(p), minlength=len(lengths))
    is_defined = (lengths > 0) & (n_classes >= 2)
    entropy = np.full(len(lengths), np.nan)
    entropy[is_defined] = nats[is_defined] / np.log(n_classes[is_defined])
    entropy[(entropy > 1) & (entropy <= 1 + ROUNDING)] = 1.0
    return entropy


def expected_plug_in_entropy(p: NDArray[np.float64], n_variants: int, n_classes: int) -> float:
    """Computes the mean of `normalised_entropy` when each of Q variants is answered once, at random from p.

    The plug-in entropy of few answers lies below the entropy of p, so simulated models are compared with this figure:
    sum over c and k of Binomial(k; Q, p_c) g(k/Q) / ln C, with g(x) = -x ln x.

    Args:
        p: shape (at most C,), probabilities; classes left out have none.
        n_variants: Q >= 1.
        n_classes: C >= 2.

    Returns:
        In [0, 1]; 0 for one variant.

    Raises:
        ValueError: Q < 1 or C < 2.
    """
    if n_variants < 1 or n_classes < 2:
        message = f"expected entropy needs n_variants >= 1 and n_classes >= 2, got {n_variants} and {n_classes}"
        raise ValueError(message)
    k = np.arange(n_variants + 1)[:, None]
    log_choose = gammaln(n_variants + 1) - gammaln(k + 1) - gammaln(n_variants - k + 1)
    probability = np.exp(log_choose + xlogy(k, p) + xlog1py(n_variants - k, -p))
    return float((probability * plug_in_terms(k / n_variants)).sum() / np.log(n_classes))
