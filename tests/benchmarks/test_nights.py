"""Months of nights at full size: how many have a false alarm, how many changes are found and after how many nights.

`CALIBRATION_MONTHS` says how many months of each world; a month takes about a second of a processor.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from statistics import median

import pytest

from tests.support.night_worlds import CHANGES_ON, World, live

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(6 * 3600)]

N_MONTHS = int(os.environ.get("CALIBRATION_MONTHS", "60"))


@dataclass(frozen=True)
class Fall:
    """By how much a model is worse on a night: at once or little by little, on all nights or some."""

    by: float
    is_on: str = "all"

    def __call__(self, night: int) -> float:
        """Returns the fall of a night."""
        after = night - CHANGES_ON
        return {
            "all": self.by * (after >= 0),
            "every other": self.by * (after >= 0 and after % 2 == 0),
            "little by little": self.by * max(0, after + 1),
            "one": self.by * (after == 0),
            "six": self.by * (0 <= after < 6),
            "sundays": self.by * (night % 7 == 6),
        }[self.is_on]


QUIET = {
    "repeated": World(),
    "cached": World(is_cached=True),
    "jittering": World(jitter=0.5),
    "classes shifting": World(shift=0.15),
    "missing cells": World(missing=0.03),
    "a third of 180": World(n_samples=180, share_each_night=3),
    "200 samples": World(n_samples=200),
}
# fall, share of months in which it is found, most nights in the median until then
FALLS = [
    (Fall(0.03), 0.8, 5),
    (Fall(0.05), 0.9, 3),
    (Fall(0.10), 0.95, 0),
    (Fall(0.10, "every other"), 0.95, 0),
    (Fall(0.01, "little by little"), 0.9, 6),
    (Fall(0.005, "little by little"), 0.8, 9),
    (Fall(0.10, "one"), 0.9, 0),
    (Fall(0.05, "six"), 0.8, 3),
]


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as processes:
        yield processes


def _has_alarm(seed: int, world: World) -> bool:
    month = live(world, seed)
    return any(month.has_alarm(group) for group in range(len(month.states)))


@pytest.mark.parametrize("name", QUIET)
def test_quiet_months(pool: ProcessPoolExecutor, name: str) -> None:
    n = sum(pool.map(partial(_has_alarm, world=QUIET[name]), range(N_MONTHS)))
    print(f"\n{name}: {n} of {N_MONTHS} quiet months have an alarm")
    assert n <= 0.1 * N_MONTHS + 1


def _found(seed: int, world: World) -> tuple[int | None, float]:
    """The nights until model 0 has an alarm in its first task, and the share of bad nights that are red."""
    month = live(world, seed)
    first = month.first_alarm(0, ("regressed", "changed"))
    bad = [night for night in range(world.n_nights) if world.fall(night) > 0]
    red = sum(month.states[0][night].kind == "regressed" for night in bad) / len(bad)
    return None if first is None or first < CHANGES_ON else first - CHANGES_ON, red


@pytest.mark.parametrize(("fall", "share", "nights"), FALLS, ids=str)
def test_falls(pool: ProcessPoolExecutor, fall: Callable[[int], float], share: float, nights: int) -> None:
    found = list(pool.map(partial(_found, world=replace(World(), fall=fall)), range(N_MONTHS)))
    delays = [delay for delay, _ in found if delay is not None]
    red = sum(share for _, share in found) / N_MONTHS
    print(
        f"\n{fall}: found in {len(delays)} of {N_MONTHS}, after {median(delays)} nights, red on {red:.2f} of bad nights"
    )
    assert len(delays) >= share * N_MONTHS
    assert median(delays) <= nights
