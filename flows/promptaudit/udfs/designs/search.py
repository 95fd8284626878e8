"""Finds the least design that meets a goal, by enumerating numbers of samples, wordings and repetitions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.designs.widths import Design, Kind

Criterion = Callable[[NDArray[np.float64], Design], NDArray[np.float64]]
"""A function that gives a figure for each number of samples, shape (n,), and a design, whose own number is ignored."""

MANY = 12
"""Designs for sensitivity have at least so many wordings: with fewer, most of its error is bias."""

MOST_WORDINGS = 60
FEWEST_WORDINGS = 5
"""With fewer, the run's own estimate of the variance of wordings is too uncertain to predict its interval."""

FEWEST_SAMPLES = 20
REPETITIONS = (1, 2)
MOST_SAMPLES = 1_000_000
_N_STEPS = 16


def least_design(
    criterion: Criterion,
    limit: float,
    kind: Kind,
    *,
    most_samples: int = MOST_SAMPLES,
    repetitions: tuple[int, ...] = REPETITIONS,
) -> Design | None:
    """Finds the design of fewest requests whose figure is at most `limit`; None where no design reaches it.

    It tries all numbers of wordings Q from 5 to 60 and of `repetitions`, each with the least number of samples that is
    enough, at least 20 where there are so many. For sensitivity Q is at least 12.

    Args:
        criterion: the figure of designs, for the worst group of answers where there are several.
        limit: the most that the figure may be.
        kind: of the measure.
        most_samples: the largest number of samples that may be proposed, at least 2.
        repetitions: numbers of asks of a cell that may be proposed.
    """
    best: Design | None = None
    fewest = min(FEWEST_SAMPLES, most_samples)
    for shape in _shapes(kind, repetitions):
        a_sample = shape.n_requests // shape.n_samples
        most = most_samples if best is None else min(most_samples, (best.n_requests - 1) // a_sample)
        n = _least_samples(criterion, limit, shape, fewest, most)
        if n is not None:
            best = replace(shape, n_samples=n)
    return best


def smallest_figure(
    criterion: Criterion, kind: Kind, *, most_samples: int = MOST_SAMPLES, repetitions: tuple[int, ...] = REPETITIONS
) -> float:
    """Computes the smallest figure of any design with so many samples and at most 60 wordings."""
    counts = _counts(min(FEWEST_SAMPLES, most_samples), most_samples).astype(np.float64)
    return min(float(criterion(counts, shape).min()) for shape in _shapes(kind, repetitions))


def _shapes(kind: Kind, repetitions: Iterable[int]) -> list[Design]:
    fewest = MANY if kind == "sensitivity" else FEWEST_WORDINGS
    return [
        Design(n_samples=2, n_wordings=q, n_repetitions=r)
        for q in range(fewest, MOST_WORDINGS + 1)
        for r in repetitions
    ]


def _least_samples(criterion: Criterion, limit: float, shape: Design, fewest: int, most: int) -> int | None:
    # More samples leave fewer degrees of freedom where wordings vary, so that with few wordings the figure may rise
    # again: the first of growing numbers that is enough is taken, and the range before it is bisected.
    if most < fewest:
        return None
    counts = _counts(fewest, most)
    is_enough = criterion(counts.astype(np.float64), shape) <= limit
    if not is_enough.any():
        return None
    first = int(is_enough.argmax())
    low, high = int(counts[max(first - 1, 0)]) - (first == 0), int(counts[first])
    while high - low > 1:
        middle = (low + high) // 2
        if criterion(np.array([middle], np.float64), shape)[0] <= limit:
            high = middle
        else:
            low = middle
    return high


def _counts(fewest: int, most: int) -> NDArray[np.int64]:
    return np.unique(np.geomspace(fewest, most, _N_STEPS).round().astype(np.int64))
