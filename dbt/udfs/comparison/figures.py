"""Defines what tests and intervals need of a measure: its figures of resampled samples and of exchanged samples or variants."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.floating]
"""Whole numbers, of four or eight bytes."""
Pair = tuple[Floats, Floats]
"""Of both runs: figures of shape (n_measures, n_draws), NaN where undefined."""

AnyFloat = TypeVar("AnyFloat", np.float32, np.float64)

_BLOCK_CELLS = 1 << 17  # of one temporary: it stays in the processor's cache


class Figures(Protocol):
    """Measures of two runs that are computed together.

    Attributes:
        names: of the measures.
        n_units: variants of both runs, those of the first run first; 0 where variants cannot be exchanged.
        n_samples: samples that count, per measure.
        has_interval: whether there are samples enough for an interval, per measure.
    """

    names: tuple[str, ...]
    n_units: int
    n_samples: tuple[int, ...]
    has_interval: tuple[bool, ...]

    def resampled(self, weight: Floats) -> Pair:
        """Returns figures of both runs where samples count as often as they are drawn: weight of shape (n_draws, N)."""

    def exchanged(self, moves: Floats) -> Pair:
        """Returns figures of both runs where whole rows of samples change places: 1 in moves, of shape (n_draws, N), else 0."""

    def dealt(self, chosen: Floats) -> Pair:
        """Returns figures of the variants that are chosen, and of the others.

        Args:
            chosen: shape (n_draws, n_units), 1 or 0.
        """

    def halves(self) -> tuple[Figures, Figures]:
        """Returns the same measures of every other sample, and of the rest."""


def exchanged_sums(
    moves: NDArray[AnyFloat], of_first: NDArray[AnyFloat], of_second: NDArray[AnyFloat]
) -> tuple[NDArray[AnyFloat], NDArray[AnyFloat]]:
    """Returns sums over samples of both runs' columns where rows change places, of shape (n_draws, n_columns) each."""
    first = of_first.sum(axis=0) + moves @ (of_second - of_first)
    return first, of_first.sum(axis=0) + of_second.sum(axis=0) - first


def blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Yields blocks of rows, so small that an array of a block and n_columns stays in the processor's cache."""
    step = max(1, _BLOCK_CELLS // max(1, n_columns))
    for start in range(0, n_rows, step):
        yield slice(start, min(n_rows, start + step))
