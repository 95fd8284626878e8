"""Simulated weeks and months: how many send a message beside those there is reason for, and how many miss one.

Two processes; `CALIBRATION_WEEKS`, `CALIBRATION_MONTHS` and `CALIBRATION_SWAPS` say how many of each. A month takes half a
minute of a processor at 60 samples x 12 wordings and a minute and a half at 200 x 12.
"""

from __future__ import annotations

import multiprocessing
import os
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial

import pytest

from tests.support.simulated_weeks import (
    CHURN,
    EDIT,
    PROMPT,
    PROVIDER,
    SWAP,
    eventful_week,
    quiet_nights,
    swapped_nights,
    told_nights,
)
from tests.udfs.comparison_worlds import MODEL, Design

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(6 * 3600)]

N_WEEKS = int(os.environ.get("CALIBRATION_WEEKS", "200"))
N_MONTHS = int(os.environ.get("CALIBRATION_MONTHS", "100"))
N_SWAPS = int(os.environ.get("CALIBRATION_SWAPS", "200"))
N_NIGHTS = 30
DESIGNS = {"60x12": Design(n_samples=60, n_variants=12), "200x12": Design(n_samples=200, n_variants=12)}


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as processes:
        yield processes


def _told_in_week(seed: int) -> dict[int, set[str]]:
    return told_nights(eventful_week(seed, n_resamples=1000))


def test_weeks_with_another_alarm(pool: ProcessPoolExecutor) -> None:
    weeks = list(pool.map(_told_in_week, range(N_WEEKS), chunksize=4))
    others = [week for week in weeks if set(week) - {SWAP, EDIT}]
    right = [week for week in weeks if week.get(SWAP) == {PROVIDER} and week.get(EDIT) == {PROMPT}]
    nights = Counter(night for week in others for night in set(week) - {SWAP, EDIT})
    print(f"\n{N_WEEKS} weeks: {len(others)} with another alarm (on nights {dict(nights)}), both found in {len(right)}")
    assert len(others) <= 0.1 * N_WEEKS
    assert len(right) >= 0.95 * N_WEEKS


def _told_in_month(seed: int, *, size: str, batch_sd: float, pinned: int | None) -> tuple[int, int]:
    """How many nights of a quiet month tell something, by two nights alone and confirmed by a third."""
    month = quiet_nights(
        seed, design=DESIGNS[size], n_nights=N_NIGHTS, n_resamples=2000, batch_sd=batch_sd, pinned=pinned
    )  # fmt: skip
    return len(told_nights(replace(month, is_confirmed=False))), len(told_nights(month))


@pytest.mark.parametrize("pinned", [None, 1, 2])
@pytest.mark.parametrize("batch_sd", [0.0, 0.25])
@pytest.mark.parametrize("size", DESIGNS)
def test_quiet_months_tell_nothing(pool: ProcessPoolExecutor, size: str, batch_sd: float, pinned: int | None) -> None:
    work = partial(_told_in_month, size=size, batch_sd=batch_sd, pinned=pinned)
    months = list(pool.map(work, range(N_MONTHS)))
    before, after = (sum(told > 0 for told in column) for column in zip(*months, strict=True))
    print(
        f"\n{N_MONTHS} quiet months of {N_NIGHTS} nights, 3 models, {size}, batches sd {batch_sd}, "
        f"baseline {pinned}: {before} tell something by two nights, {after} by three"
    )
    assert after <= 0.1 * N_MONTHS


def _found(
    seed: int, *, size: str, kept: float, skill: float, is_of: Callable[[str], bool]
) -> tuple[bool, bool, float]:
    """Whether the change of the first model is found by two nights and by three, and its churn."""
    nights = swapped_nights(
        seed, design=DESIGNS[size], n_resamples=2000, kept=kept, swapped=replace(MODEL, skill=skill)
    )  # fmt: skip
    found, churn = [], 0.0
    for is_confirmed in (False, True):
        rows = [row for row in replace(nights, is_confirmed=is_confirmed).rows(2, 3) if row["model_id"] == "0"]
        found.append(any(row["verdict"] in ("regressed", "changed") and is_of(row["measure"]) for row in rows))
        churn = next(row["difference"] for row in rows if row["measure"] == CHURN)
    return found[0], found[1], churn


def _is_churn(measure: str) -> bool:
    return measure == CHURN


def _is_quality(measure: str) -> bool:
    return measure not in (CHURN, "consistency")


@pytest.mark.parametrize(
    ("size", "kept", "skill", "is_of"),
    [
        ("60x12", 0.79, MODEL.skill, _is_churn),  # moves no mean, and churns .054
        ("200x12", 0.79, MODEL.skill, _is_churn),
        ("60x12", 1.0, 2.2, _is_quality),
        ("60x12", 1.0, 2.7, _is_quality),
        ("200x12", 1.0, 2.7, _is_quality),
    ],
)
def test_changes_are_found_on_their_night(
    pool: ProcessPoolExecutor, size: str, kept: float, skill: float, is_of: Callable[[str], bool]
) -> None:
    work = partial(_found, size=size, kept=kept, skill=skill, is_of=is_of)
    before, after, churn = zip(*pool.map(work, range(N_SWAPS), chunksize=4), strict=True)
    print(
        f"\n{N_SWAPS} changes, {size}, kept {kept}, skill {skill}, churn {sum(churn) / N_SWAPS:.3f}: found in "
        f"{sum(before)} by two nights, in {sum(after)} by three"
    )
    assert sum(after) >= 0.9 * N_SWAPS
