"""Compares the accuracies of two runs of one group under one scoring method."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.codes import dense_codes
from promptaudit.udfs.comparison.availability import lacking
from promptaudit.udfs.comparison.compared import FEW_VARIANTS, OTHER_SAMPLES, Compared, compared, not_comparable
from promptaudit.udfs.comparison.differences import differences
from promptaudit.udfs.comparison.matching import MIN_REDRAWN, match_variants, samples_of_both
from promptaudit.udfs.comparison.rates import Rates
from promptaudit.udfs.sql_function import sql_function
from promptaudit.udfs.sql_types import Floats, Integers

MEASURES = ("accuracy", "accuracy_std")


class _Table(NamedTuple):
    """The accuracies that both runs have, shape (2 n_slots, N), NaN where missing."""

    value: NDArray[np.float64]
    stratum: NDArray[np.int64]
    reason: str | None
    is_exchanged: bool


@sql_function()
def compare_accuracies(
    side: Integers,
    sample: Integers,
    variant: Integers,
    accuracy: Floats,
    *,
    seed: int,
    n_resamples: int,
) -> list[Compared]:
    """Returns accuracy and its spread over variants of two runs, compared on the samples and variants that both have.

    Args:
        side: shape (n,), 0 base, 1 candidate.
        sample: shape (n,), codes, the same in both runs.
        variant: shape (n,), codes of wordings, the same in both runs; matched as by `compare_answers`.
        accuracy: shape (n,), in [0, 1], one per side, sample and variant, the mean over repetitions.
        seed: of all draws.
        n_resamples: B.

    The spread compared is the raw deviation. The one corrected for the luck of single answers is 0 in both runs in 3 of 10
    quiet pairs whose variants do not differ, and steep above: at 100 samples x 12 variants its differences reach .02 in
    20 to 29 % of quiet pairs of any spread (raw: 2 to 12 %), and a rise from .03 to .06 is found in 38 % (raw: 56 %). Luck
    is the same in both runs and drops out of the difference.

    Returns:
        `accuracy`, the mean over variants of their mean over samples, and of two variants or more `accuracy_std`, the
        standard deviation (ddof 0) of those means. Empty without entries.

    Source:
        Hua et al. 2025 for the standard deviation over templates.
    """
    n_variants = [len(np.unique(variant[side == run])) for run in (0, 1)]
    names = [{name for name, least in zip(MEASURES, (1, 2), strict=True) if n >= least} for n in n_variants]
    both = [name for name in MEASURES if name in names[0] & names[1]]
    rows: dict[str, Compared] = {
        name: not_comparable(name, lacking(name, "candidate" if name in names[0] else "base"))
        for name in names[0] ^ names[1]
    }
    if both:
        rows |= {row.measure: row for row in _rows(side, sample, variant, accuracy, both, seed, n_resamples)}
    return [rows[name] for name in MEASURES if name in rows]


def _rows(
    side: NDArray[np.int64],
    sample: NDArray[np.int64],
    variant: NDArray[np.int64],
    accuracy: NDArray[np.float64],
    names: list[str],
    seed: int,
    n_resamples: int,
) -> list[Compared]:
    table = _table(side, sample, variant, accuracy)
    if isinstance(table, str):
        return [not_comparable(name, table) for name in names]
    rates = Rates(tuple(names), np.nan_to_num(table.value), ~np.isnan(table.value))
    n_draws = n_resamples if table.reason is None else 0
    (spreads,) = differences([rates], table.stratum, table.value.shape[1], seed, n_draws)
    return [
        compared(row, n, len(table.stratum), 1, table.reason, is_exchanged=table.is_exchanged)
        for row, n in zip(spreads, rates.n_samples, strict=True)
    ]


def _table(
    side: NDArray[np.int64], sample: NDArray[np.int64], variant: NDArray[np.int64], accuracy: NDArray[np.float64]
) -> _Table | str:
    kept = samples_of_both(side, sample)
    if kept is None:
        return OTHER_SAMPLES
    side, variant, accuracy = side[kept], variant[kept], accuracy[kept]
    unit, samples = dense_codes(sample[kept])
    slots = match_variants(side, variant, np.zeros(len(side), np.int64))
    n_slots = len(slots.stratum)
    value = np.full((2, n_slots, len(samples)), np.nan)
    has_slot = slots.slot >= 0
    value[side[has_slot], slots.slot[has_slot], unit[has_slot]] = accuracy[has_slot]
    value[:, np.isnan(value).any(axis=0)] = np.nan
    is_given = ~np.isnan(value[0])
    value = value[:, is_given.any(axis=1)][:, :, is_given.any(axis=0)]
    stratum = slots.stratum[is_given.any(axis=1)]
    if value.shape[2] < 2:
        return OTHER_SAMPLES if not slots.is_redrawn else FEW_VARIANTS
    differs = value[0] != value[1]
    differs &= ~np.isnan(value[0])
    is_exchanged = bool(differs.any() and (value[0] > value[1])[differs][0])
    if is_exchanged:
        value = value[::-1]
    reason = FEW_VARIANTS if slots.is_redrawn and len(stratum) < MIN_REDRAWN else None
    return _Table(value.reshape(2 * len(stratum), -1), stratum, reason, is_exchanged)
