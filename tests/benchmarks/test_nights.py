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

import numpy as np
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


@dataclass(frozen=True)
class Steps:
    """A value before CHANGES_ON, another from then on, and a third from eight nights later on."""

    before: float
    after: float
    later: float | None = None

    def __call__(self, night: int) -> float:
        """Returns the value of a night."""
        if self.later is not None and night >= CHANGES_ON + 8:
            return self.later
        return self.after if night >= CHANGES_ON else self.before


SPOKEN = World(has_lengths=True)
QUIET = {
    "repeated": World(),
    "cached": World(is_cached=True),
    "answers kept, a twentieth anew each night": World(kept=0.95),
    "answers kept, a fifth anew each night": World(kept=0.8),
    "jittering": World(jitter=0.5),
    "jittering, more under load": World(jitter=0.15, load=0.4),
    "classes shifting": World(shift=0.15),
    "missing cells": World(missing=0.03),
    "a third of 180": World(n_samples=180, share_each_night=3),
    "200 samples": World(n_samples=200),
    "documents of four that move as one": World(n_of_document=4, document_shift=0.6),
    "with lengths": SPOKEN,
    "with lengths, cached": replace(SPOKEN, is_cached=True),
    "with lengths, jittering": replace(SPOKEN, jitter=0.5),
    "with lengths that wander by a fiftieth": replace(SPOKEN, wander=0.02),
    "with lengths, a third of 180": replace(SPOKEN, n_samples=180, share_each_night=3),
}
# how is answered from one night on, measure that tells it, share of months in which it does, most nights in the median until then
ANSWERED = {
    "twice as long": (replace(SPOKEN, longer=Steps(1, 2)), "answer_length", 0.95, 0),
    "more by 15 %": (replace(SPOKEN, longer=Steps(1, 1.15)), "answer_length", 0.95, 0),
    "one in twenty refused": (replace(SPOKEN, refused=Steps(0, 0.05)), "refusal_rate", 0.95, 0),
    "one in twenty cut, of 200": (replace(SPOKEN, n_samples=200, cut=Steps(0, 0.05)), "token_limit_rate", 0.95, 0),
}
# fall, share of months in which it is found, most nights in the median until then
FALLS = [
    (Fall(0.03), 0.8, 5),
    (Fall(0.05), 0.9, 3),
    (Fall(0.10), 0.95, 0),
    (Fall(0.10, "every other"), 0.95, 0),
    (Fall(0.05, "every other"), 0.8, 1),
    (Fall(0.01, "little by little"), 0.9, 6),
    (Fall(0.005, "little by little"), 0.8, 9),
    (Fall(0.10, "one"), 0.9, 0),
    (Fall(0.05, "six"), 0.8, 3),
]
LOST = {
    "4 of 60 lost, a steady model": World(jitter=0.15, lost=Steps(0, 4)),
    "9 of 60 lost, a steady model": World(jitter=0.15, lost=Steps(0, 9)),
    "4 of 60 lost": World(lost=Steps(0, 4)),
    "one wording of 12 answers one label": World(broken=Steps(0, 1)),
    "one class of four falls by .10": World(class_fall=Steps(0, 0.1)),
}


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
    assert n <= (0.25 if name == "classes shifting" else 0.1) * N_MONTHS + 1  # such nights are not exchangeable


def _found(seed: int, world: World) -> tuple[int | None, float]:
    """The nights until model 0 has an alarm in its first task, and the share of bad nights that are red."""
    month = live(world, seed)
    first = month.first_alarm(0, ("regressed", "changed"))
    falls = (world.fall, world.class_fall, world.lost, world.broken)
    bad = [night for night in range(world.n_nights) if max(fall(night) for fall in falls) > 0]
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


@pytest.mark.parametrize("name", LOST)
def test_what_falls_on_few_samples_or_one_wording(pool: ProcessPoolExecutor, name: str) -> None:
    found = list(pool.map(partial(_found, world=LOST[name]), range(N_MONTHS)))
    delays = [delay for delay, _ in found if delay is not None]
    red = sum(share for _, share in found) / N_MONTHS
    print(f"\n{name}: found in {len(delays)} of {N_MONTHS}, red on {red:.2f} of bad nights")
    assert len(delays) >= 0.95 * N_MONTHS
    assert red >= (0.8 if "class" in name else 0.9)


def _named(seed: int, world: World) -> tuple[int, int]:
    """How many nights of groups name a sample that is not lost, and how many lost ones are named three nights later."""
    month, n_false, n_found = live(world, seed), 0, 0
    for group, answers in enumerate(month.answers):
        easiest = np.argsort(-answers.logits[..., 0].mean(axis=1))
        for night in range(3, world.n_nights):
            is_lost = set(easiest[: int(world.lost(night))].tolist()) if answers.changes else set()
            named = month.lost(group, night)
            n_false += bool(named - is_lost)
            n_found += len(named & is_lost) if night == CHANGES_ON + 3 else 0
    return n_false, n_found


@pytest.mark.parametrize(
    ("world", "share"),
    [
        (World(n_models=2, lost=Steps(0, 4), jitter=0.15), 1),
        (World(n_models=2, lost=Steps(0, 4)), 0.4),
        (World(n_models=2, kept=0.95), 0),
        (World(n_models=2, jitter=0.15, load=0.4), 0),
        (World(n_models=2, n_wordings=3, n_repetitions=1, jitter=0.15), 0),
    ],
    ids=["steady", "anew", "kept", "load", "three wordings"],
)
def test_which_samples_are_lost(pool: ProcessPoolExecutor, world: World, share: float) -> None:
    n_false, n_found = map(sum, zip(*pool.map(partial(_named, world=world), range(N_MONTHS)), strict=True))
    print(f"\n{n_false} nights name a sample that is not lost; {n_found} of {8 * N_MONTHS} lost ones are named")
    assert n_false <= 0.005 * N_MONTHS * world.n_nights * 4
    assert n_found >= share * 8 * N_MONTHS


def test_labels_are_told_as_soon_beside_lengths(pool: ProcessPoolExecutor) -> None:
    """What lengths take of the budget of false alarms is not to be noticed in that of the labels."""
    delays = {}
    for name, world in (("labels alone", World()), ("beside lengths", SPOKEN)):
        found = list(pool.map(partial(_found, world=replace(world, fall=Fall(0.03))), range(N_MONTHS)))
        delays[name] = [delay for delay, _ in found if delay is not None]
        print(f"\n{name}: found in {len(delays[name])} of {N_MONTHS}, after {median(delays[name])} nights")
    assert len(delays["beside lengths"]) >= len(delays["labels alone"]) - 0.05 * N_MONTHS
    assert median(delays["beside lengths"]) <= median(delays["labels alone"]) + 1


def _delay(seed: int, world: World, measure: str) -> int | None:
    """The nights until model 0 is told to answer otherwise in this measure."""
    states = live(world, seed).states[0]
    assert {state.kind for state in states} <= {None, "changed"}
    first = next((night for night, state in enumerate(states) if measure in state.alarm), None)
    return None if first is None or first < CHANGES_ON else first - CHANGES_ON


@pytest.mark.parametrize("name", ANSWERED)
def test_how_is_answered(pool: ProcessPoolExecutor, name: str) -> None:
    world, measure, share, nights = ANSWERED[name]
    delays = [d for d in pool.map(partial(_delay, world=world, measure=measure), range(N_MONTHS)) if d is not None]
    print(f"\n{name}: found in {len(delays)} of {N_MONTHS}, after {median(delays)} nights")
    assert len(delays) >= share * N_MONTHS
    assert median(delays) <= nights


def _worse_since(seed: int, world: World) -> int | None:
    return next((state.worse_since for state in live(world, seed).states[0] if state.worse_since is not None), None)


@pytest.mark.parametrize(
    ("fall", "share"),
    [(Steps(0, 0.05), 0), (Steps(0, 0.1), 0), (Steps(0, 0.05, 0.15), 0.9), (Steps(0, 0.1, 0.2), 0.9)],
    ids=str,
)
def test_what_becomes_worse_within_its_alarm(pool: ProcessPoolExecutor, fall: Steps, share: float) -> None:
    nights = [n for n in pool.map(partial(_worse_since, world=World(fall=fall)), range(N_MONTHS)) if n is not None]
    early = [night for night in nights if fall.later is None or night < CHANGES_ON + 8]
    print(
        f"\n{fall}: worse in {len(nights)} of {N_MONTHS}, {len(early)} of them falsely, on nights {sorted(set(nights))}"
    )
    assert len(early) <= 0.05 * N_MONTHS
    assert len(nights) - len(early) >= share * N_MONTHS


def _accepted(seed: int) -> tuple[bool, bool]:
    """Whether an improvement was told, and whether its nights were normal a week later and stayed so."""
    kinds = [state.kind for state in live(World(fall=Steps(0, -0.05)), seed).states[0]]
    is_improved = "improved" in kinds
    return is_improved, is_improved and kinds[-8:] == [None] * 8


def test_improvements_accept_themselves(pool: ProcessPoolExecutor) -> None:
    improved, accepted = map(sum, zip(*pool.map(_accepted, range(N_MONTHS)), strict=True))
    print(f"\n{improved} of {N_MONTHS} improvements told, {accepted} normal by themselves and from then on")
    assert improved >= 0.9 * N_MONTHS
    assert accepted >= 0.7 * improved


def _alarmed(seed: int, world: World) -> set[int]:
    month = live(world, seed)
    return {group for group in range(len(month.states)) if month.has_alarm(group)}


@pytest.mark.parametrize("by", [0.03, 0.05])
def test_sundays_are_told_of_the_model_that_is_worse_on_them(pool: ProcessPoolExecutor, by: float) -> None:
    world = World(fall=Fall(by, "sundays"))
    found = list(pool.map(partial(_alarmed, world=world), range(N_MONTHS)))
    own = sum(len(groups & set(range(world.n_tasks))) for groups in found)
    others = sum(len(groups) for groups in found) - own
    print(f"\nSundays worse by {by}: told in {own} of {world.n_tasks * N_MONTHS} tasks, of other models {others} times")
    assert others <= 0.1 * N_MONTHS + 1
