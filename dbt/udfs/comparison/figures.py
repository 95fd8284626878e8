"""What the tests and intervals need of a measure: its figure of any choice of samples and of any choice of variants."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_BLOCK_CELLS = 1 << 17  # of one temporary: it stays in the processor's cache


class Figures(Protocol):
    """Measures of two runs that are worked out together.

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

    def of_rows(self, first: Floats | None, second: Floats | None) -> Floats:
        """Figures of runs put together from whole rows of samples.

        Args:
            first: shape (n_runs, N), how often each sample's row of the first run is taken; None: never.
            second: shape (n_runs, N), the same of the second run's rows.

        Returns:
            Shape (n_measures, n_runs); NaN where undefined.
        """

    def of_units(self, chosen: Floats) -> Floats:
        """Figures of runs put together from whole variants.

        Args:
            chosen: shape (n_runs, n_units), 1 for a variant that is taken, else 0.

        Returns:
            Shape (n_measures, n_runs); NaN where undefined.
        """


def weighted(first: Floats | None, second: Floats | None, of_first: Floats, of_second: Floats) -> Floats:
    """Sums over samples of both runs' columns: shape (n_runs, n_columns) from columns of shape (N, n_columns)."""
    parts = [w @ columns for w, columns in ((first, of_first), (second, of_second)) if w is not None]
    return np.asarray(sum(parts), np.float64)


def blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Rows in blocks of which a temporary of n_columns stays in the cache."""
    step = max(1, _BLOCK_CELLS // max(1, n_columns))
    for start in range(0, n_rows, step):
        yield slice(start, min(n_rows, start + step))


def mean_defined(figures: Floats) -> Floats:
    """Mean over the first axis of what is defined; NaN where nothing is."""
    n_defined = (~np.isnan(figures)).sum(axis=0)
    return np.asarray(np.where(n_defined > 0, np.nansum(figures, axis=0) / np.maximum(n_defined, 1), np.nan))
