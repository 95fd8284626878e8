"""Computes what each sample adds to a measure in two runs, and the variance that other wordings add."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.codes import dense_codes
from promptaudit.udfs.differences.alike_nights import Floats
from promptaudit.udfs.differences.difference import KEPT, WordingsError
from promptaudit.udfs.resampling import mean_defined
from promptaudit.udfs.two_way import two_way_variance

FEW_ANSWERS = "too few answers in both runs"
FEWEST_DRAWN = 3  # wordings: the spread of two is known to one degree of freedom


class Values(NamedTuple):
    """What samples add to one measure in two runs, over the samples and wordings that both have.

    Attributes:
        measure: its name.
        base: figure of the base run, NaN where undefined.
        candidate: figure of the candidate run.
        wordings: the variance that other wordings would add to the difference.
        is_redrawn: whether the runs have other wordings, and not the same ones.
        are_wordings_drawn: whether the variance of other wordings is known, and so the difference is for these too.
        n_wordings: wordings a side.
        n_repetitions: the most repetitions of a wording that both runs have.
        reason: why there is no verdict; None where there may be one.
        sample: codes of the samples.
        in_base: what each adds in the base run; the mean is `base`.
        in_candidate: what each adds in the candidate run.
    """

    measure: str
    base: float
    candidate: float
    wordings: WordingsError
    is_redrawn: bool
    are_wordings_drawn: bool
    n_wordings: int
    n_repetitions: int
    reason: str | None
    sample: list[int]
    in_base: list[float]
    in_candidate: list[float]


class Figure(NamedTuple):
    """A figure of one run under some wordings, and what each sample adds to it, shape (n_samples,), NaN for nothing."""

    figure: float
    by_sample: Floats


OfWordings = Callable[[int, NDArray[np.bool_]], Figure]
"""A function that computes the figure of a run, 0 or 1, under the wordings that a mask keeps."""


def absent(measure: str, reason: str) -> Values:
    """Builds a row without figures that gives the reason."""
    return Values(measure, np.nan, np.nan, KEPT, False, False, 0, 0, reason, [], [], [])  # noqa: FBT003 - a row


class Both(NamedTuple):
    """The samples and wordings that both runs have.

    Attributes:
        samples: shape (n_samples,), their codes.
        n_wordings: wordings a side.
        n_repetitions: the most repetitions of a wording.
        is_redrawn: whether the runs have other wordings, and not the same ones.
        are_drawn: whether the difference is for other wordings though both have the same.
    """

    samples: NDArray[np.int64]
    n_wordings: int
    n_repetitions: int
    is_redrawn: bool
    are_drawn: bool


def values_of(measure: str, figure: OfWordings, is_given: NDArray[np.bool_], both: Both) -> Values:
    """Computes the row of a measure: its figure in both runs, and what samples add to it.

    What samples add is moved so that its mean is the figure. `is_given` marks the wordings that asked each sample,
    shape (n_samples, n_wordings).
    """
    everything = np.ones(is_given.shape[1], np.bool_)
    runs = [figure(run, everything) for run in (0, 1)]
    by_sample = np.stack([each.by_sample for each in runs])
    counts = ~np.isnan(by_sample).any(axis=0)
    if not counts.any():
        return absent(measure, FEW_ANSWERS)
    wordings, is_others = KEPT, both.is_redrawn or both.are_drawn
    if is_others and both.n_wordings >= FEWEST_DRAWN:
        wordings = _wordings_error(figure, by_sample, is_given, is_redrawn=both.is_redrawn)
    kept = by_sample[:, counts]
    kept += np.array([[each.figure] for each in runs]) - kept.mean(axis=1, keepdims=True)
    return Values(
        measure,
        runs[0].figure,
        runs[1].figure,
        wordings,
        both.is_redrawn,
        wordings is not KEPT,
        both.n_wordings,
        both.n_repetitions,
        None,
        both.samples[counts].tolist(),
        *(kept.round(12).tolist()),
    )


def _wordings_error(
    figure: OfWordings, by_sample: Floats, is_given: NDArray[np.bool_], *, is_redrawn: bool
) -> WordingsError:
    # of each run's own wordings where they were drawn anew in each, else of the differences. What a sample adds under a
    # wording is Q x_i - (Q - 1) x_i(without it); for a mean that is the cell itself.
    n_wordings = is_given.shape[1]
    others = ~np.eye(n_wordings, dtype=np.bool_)
    cells = np.stack(
        [
            [n_wordings * by_sample[run] - (n_wordings - 1) * figure(run, without).by_sample for without in others]
            for run in (0, 1)
        ]
    )
    cells[:, ~is_given.T] = np.nan
    return wordings_error(cells if is_redrawn else [cells[1] - cells[0]])


def wordings_error(tables: Sequence[Floats] | Floats, weights: Sequence[float] | None = None) -> WordingsError:
    """Estimates the variance that other wordings add to a sum of figures; KEPT if one has fewer than two wordings.

    Args:
        tables: one for each figure: what samples add to it under each wording, shape (n_wordings, n_samples), NaN for
            nothing.
        weights: of each figure in the sum; None weighs each once.
    """
    whole, both, freedom = 0.0, 0.0, 0.0
    for table, weight in zip(tables, weights or [1.0] * len(tables), strict=True):
        wording, sample = np.nonzero(~np.isnan(table))
        if len(np.unique(wording)) < 2:
            return KEPT
        own = two_way_variance(dense_codes(sample)[0], dense_codes(wording)[0], table[wording, sample])
        whole += weight**2 * own.variants
        both += weight**2 * own.both
        freedom += own.n_variants - 1
    return WordingsError(max(0.0, whole - both), whole, freedom)


def mean_of(value: Floats) -> OfWordings:
    """Builds the function that averages over wordings, then over samples.

    `value` has the shape (2, n_samples, n_wordings), NaN where not asked.
    """

    def mean(run: int, wordings: NDArray[np.bool_]) -> Figure:
        own = mean_defined(value[run][:, wordings].T)
        return Figure(float(mean_defined(own)), own)

    return mean
