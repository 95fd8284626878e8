"""Calculates the figures of one arm of a trial, each with its interval, as the scorecard has them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.comparison.draws import resampled_samples
from promptaudit.udfs.measures.consistency import consistency
from promptaudit.udfs.measures.sensitivity import corrected_sensitivity, sensitivity_interval
from promptaudit.udfs.resampling import t_quantile
from promptaudit.udfs.two_way import two_way_interval


@dataclass(frozen=True, slots=True)
class Level:
    """A figure with its interval; None where undefined."""

    figure: float | None
    low: float | None = None
    high: float | None = None


def finite(value: float) -> float | None:
    """Returns the value; None for NaN and infinities."""
    return float(value) if np.isfinite(value) else None


def levels(counts: NDArray[np.float64], gold: NDArray[np.int64], seed: int, n_resamples: int) -> dict[str, Level]:
    """Returns every measure of one arm, with its interval for other samples and wordings; one that is undefined is left out.

    counts: shape (N, Q, C), answers of each sample under each wording with each label, N/A first; a wording without answers
    to a sample is missing there. gold: shape (N,), place of the gold label among the C, -1 unknown.
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
        mean, low, high, *corrected = (finite(value) for value in found)
        figures["sensitivity"], figures["sensitivity_corrected"] = Level(mean, low, high), Level(*corrected)
    if (gold >= 0).all():
        figures["micro_f1"] = _mean(sample, wording, p[sample, wording, gold[sample]])
        of_sample, label = np.nonzero(p_tau)
        classes = np.unique(gold, return_inverse=True)[1]
        pooled = consistency(classes[of_sample], of_sample, label, p_tau[of_sample, label], seed, n_resamples)
        figures["consistency"] = Level(finite(pooled.consistency), finite(pooled.low), finite(pooled.high))
    return figures


def corrected_difference(before: NDArray[np.float64], after: NDArray[np.float64], seed: int, n_resamples: int) -> Level:
    """Returns the mean over samples of how far each one's corrected sensitivity moved, with an interval.

    The interval is of resamples of samples, both arms together.
    before, after: shape (N, Q, C), as of `levels`; after less before.
    """
    moved = _corrected(after) - _corrected(before)
    moved = moved[~np.isnan(moved)]
    if len(moved) < 2:  # noqa: PLR2004 - one sample has no spread
        return Level(finite(moved.mean()) if len(moved) else None)
    means = np.concatenate([weight @ moved / len(moved) for weight in resampled_samples(seed, len(moved), n_resamples)])
    mean, half = float(moved.mean()), t_quantile(len(moved) - 1) * float(means.std(ddof=1))
    return Level(mean, mean - half, mean + half)


def _corrected(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    p = counts / np.maximum(counts.sum(axis=2, keepdims=True), 1)
    return corrected_sensitivity(*_entries(p), np.full(len(p), p.shape[2]))


def _entries(
    p: NDArray[np.float64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    sample, wording, label = np.nonzero(p)
    return sample, wording, label, p[sample, wording, label]


def _mean(sample: NDArray[np.int64], wording: NDArray[np.int64], value: NDArray[np.float64]) -> Level:
    mean = two_way_interval(sample, np.unique(wording, return_inverse=True)[1], value)
    return Level(finite(mean.mean), finite(mean.low), finite(mean.high))
