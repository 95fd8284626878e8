"""Compares the accuracies of two runs under one scoring method."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.codes import dense_codes
from promptaudit.udfs.differences.availability import lacking
from promptaudit.udfs.differences.matching import (
    FEWEST_CELLS,
    OTHER_SAMPLES,
    SAME_WORDING,
    match_variants,
    samples_of_both,
)
from promptaudit.udfs.differences.values import Both, Figure, Values, absent, mean_of, values_of
from promptaudit.udfs.sql_function import sql_function
from promptaudit.udfs.sql_types import Floats, Integers

OTHER_SPREAD = "a spread of other wordings"


@sql_function("paired_accuracies")
def paired_accuracies(
    side: Integers,
    sample: Integers,
    variant: Integers,
    accuracy: Floats,
    are_drawn: bool,  # noqa: FBT001 - as SQL calls it
) -> list[Values]:
    """Computes what each sample contributes to accuracy and to its spread over wordings, in each of two runs.

    Args:
        side: shape (n,), 0 base, 1 candidate.
        sample: shape (n,), codes, the same in both runs.
        variant: shape (n,), codes of wordings, the same in both runs; matched as by `paired_values`.
        accuracy: shape (n,), in [0, 1], one per side, sample and variant, the mean over repetitions.
        are_drawn: see `paired_values`.

    Returns:
        `accuracy`, and with two variants or more `accuracy_std`, the standard deviation (ddof 0) of their means, to
        which a sample contributes its pseudo-value. Empty without entries.

    Source:
        Hua et al. 2025 for the standard deviation over templates.
    """
    names = [
        {"accuracy"} | ({"accuracy_std"} if len(np.unique(variant[side == run])) > 1 else set())
        if (side == run).any()
        else set()
        for run in (0, 1)
    ]
    rows = {
        name: absent(name, lacking(name, "candidate" if name in names[0] else "base")) for name in names[0] ^ names[1]
    }
    rows |= {row.measure: row for row in _accuracies(side, sample, variant, accuracy, are_drawn=are_drawn)}
    return [rows[name] for name in ("accuracy", "accuracy_std") if name in names[0] | names[1]]


def _accuracies(
    side: NDArray[np.int64],
    sample: NDArray[np.int64],
    variant: NDArray[np.int64],
    accuracy: NDArray[np.float64],
    *,
    are_drawn: bool,
) -> Iterator[Values]:
    kept = samples_of_both(side, sample)
    slots = None if kept is None else match_variants(side[kept], variant[kept], np.zeros(int(kept.sum()), np.int64))
    if kept is None or slots is None or not len(slots.stratum):
        yield from (absent(name, OTHER_SAMPLES) for name in ("accuracy", "accuracy_std"))
        return
    unit, samples = dense_codes(sample[kept])
    value = np.full((2, len(samples), len(slots.stratum)), np.nan)
    has_slot = slots.slot >= 0
    value[side[kept][has_slot], unit[has_slot], slots.slot[has_slot]] = accuracy[kept][has_slot]
    value[:, np.isnan(value).any(axis=0)] = np.nan
    n_cells = (~np.isnan(value[0])).sum(axis=1)
    value[:, n_cells < FEWEST_CELLS * n_cells.max(initial=0)] = np.nan
    value = value[:, :, ~np.isnan(value[0]).all(axis=0)]
    is_redrawn, n_wordings = bool((slots.stratum != SAME_WORDING).any()), value.shape[2]

    def spread(run: int, wordings: NDArray[np.bool_]) -> Figure:
        return _spread(value[run][:, wordings])

    both = Both(samples, n_wordings, 1, is_redrawn, are_drawn)
    yield values_of("accuracy", mean_of(value), ~np.isnan(value[0]), both)
    if n_wordings > 1:
        row = values_of("accuracy_std", spread, ~np.isnan(value[0]), both._replace(is_redrawn=False, are_drawn=False))
        yield row._replace(is_redrawn=is_redrawn, reason=OTHER_SPREAD if is_redrawn or are_drawn else row.reason)


def _spread(value: NDArray[np.float64]) -> Figure:
    # with pseudo-values of samples that all wordings asked
    by_wording, n = np.nansum(value, axis=0), (~np.isnan(value)).sum(axis=0)
    whole = float((by_wording / n).std())
    without = ((by_wording - value) / np.maximum(n - 1, 1)).std(axis=1)
    return Figure(whole, len(value) * whole - (len(value) - 1) * without)
