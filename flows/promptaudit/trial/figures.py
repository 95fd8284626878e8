"""Computes the figures of one arm of a trial, each with its interval, as the scorecard has them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from promptaudit.system.display.figures import finite, ranged
from promptaudit.udfs.measures.consistency import consistency
from promptaudit.udfs.measures.sensitivity import sensitivity_interval
from promptaudit.udfs.two_way import two_way_interval


@dataclass(frozen=True, slots=True)
class Level:
    """A figure with its interval; None where undefined."""

    figure: float | None
    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        """Writes it with three digits."""
        return ranged(self.figure, self.low, self.high)


def levels(counts: NDArray[np.float64], gold: NDArray[np.int64], seed: int, n_resamples: int) -> dict[str, Level]:
    """Computes every measure of one arm, with its interval for other samples and wordings. Undefined ones are left out.

    counts: shape (N, Q, C), answers of each sample under each wording with each label, N/A first; a wording without
    answers to a sample is missing there. gold: shape (N,), place of the gold label among the C, -1 unknown.
    """
    has_answers = counts.sum(axis=2) > 0
    p = counts / np.maximum(counts.sum(axis=2, keepdims=True), 1)
    sample, wording = np.nonzero(has_answers)
    figures = {"invalid_rate": _mean(sample, wording, p[sample, wording, 0])}
    n_wordings = has_answers.sum(axis=1)
    p_tau = p.sum(axis=1) / np.maximum(n_wordings, 1)[:, None]
    if n_wordings.min() >= 2:  # noqa: PLR2004 - one wording has no spread
        of_sample, of_wording, label, share = _entries(p)
        found = sensitivity_interval(of_sample, of_wording, None, label, share, p.shape[2])
        figures["sensitivity"] = Level(*map(finite, found[:3]))
    if (gold >= 0).all():
        figures["micro_f1"] = _mean(sample, wording, p[sample, wording, gold[sample]])
        of_sample, label = np.nonzero(p_tau)
        classes = np.unique(gold, return_inverse=True)[1]
        pooled = consistency(classes[of_sample], of_sample, label, p_tau[of_sample, label], seed, n_resamples)
        figures["consistency"] = Level(finite(pooled.consistency), finite(pooled.low), finite(pooled.high))
    return figures


def _entries(
    p: NDArray[np.float64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    sample, wording, label = np.nonzero(p)
    return sample, wording, label, p[sample, wording, label]


def _mean(sample: NDArray[np.int64], wording: NDArray[np.int64], value: NDArray[np.float64]) -> Level:
    mean = two_way_interval(sample, np.unique(wording, return_inverse=True)[1], value)
    return Level(finite(mean.mean), finite(mean.low), finite(mean.high))
