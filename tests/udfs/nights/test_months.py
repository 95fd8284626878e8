"""A few months of nights in worlds whose truth is known: what is found, when, and what stays silent."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.night_worlds import CHANGES_ON, World, live

SMALL = World(n_models=2, n_tasks=1, n_nights=24)
FALLEN, QUIET = 0, 1  # the groups of a small world


@pytest.mark.parametrize(
    "world",
    [SMALL, replace(SMALL, is_cached=True), replace(SMALL, jitter=0.5), replace(SMALL, missing=0.03)],
    ids=["repeated", "cached", "jittering", "missing cells"],
)
def test_quiet_months_are_quiet(world: World) -> None:
    month = live(world, 1)
    assert not any(month.has_alarm(group) for group in (FALLEN, QUIET))


def test_a_provider_that_is_bad_every_other_night_is_red_from_its_first_bad_night_on() -> None:
    month = live(replace(SMALL, fall=lambda night: 0.1 * (night >= CHANGES_ON and night % 2 == 0)), 2)
    assert [state.kind for state in month.states[FALLEN]] == [None] * CHANGES_ON + ["regressed"] * (24 - CHANGES_ON)
    assert not month.has_alarm(QUIET)


def test_a_slow_fall_is_found_by_nights_together_and_stands() -> None:
    month = live(replace(SMALL, fall=lambda night: 0.01 * max(0, night - CHANGES_ON + 1)), 2)
    found = month.first_alarm(FALLEN)
    assert found is not None
    assert CHANGES_ON < found <= CHANGES_ON + 7
    assert all(state.kind == "regressed" for state in month.states[FALLEN][found:])
    assert not month.has_alarm(QUIET)


def test_an_outage_of_a_night_is_over_on_the_second_good_one() -> None:
    month = live(replace(SMALL, fall=lambda night: 0.1 * (night == CHANGES_ON)), 2)
    words = [state.state for state in month.states[FALLEN][CHANGES_ON : CHANGES_ON + 4]]
    assert words == ["regressed", "recovering", "recovered", "normal"]


def test_a_third_of_the_samples_each_night_finds_a_fall() -> None:
    world = replace(SMALL, n_samples=180, share_each_night=3, fall=lambda night: 0.1 * (night >= CHANGES_ON))
    month = live(world, 3)
    found = month.first_alarm(FALLEN)
    assert found is not None
    assert CHANGES_ON <= found <= CHANGES_ON + 2
    assert not month.has_alarm(QUIET)


def test_against_a_pinned_night_quiet_months_are_quiet_and_a_fall_is_found() -> None:
    world = replace(SMALL, fall=lambda night: 0.05 * (night >= CHANGES_ON))
    month = live(world, 1, pinned=(2,))
    found = month.first_alarm(FALLEN)
    assert found is not None
    assert CHANGES_ON <= found <= CHANGES_ON + 3
    assert not month.has_alarm(QUIET)


def test_accepted_a_fall_is_the_new_normal() -> None:
    world = replace(SMALL, fall=lambda night: 0.1 * (night >= CHANGES_ON))
    month = live(world, 2, accept=lambda night: night == CHANGES_ON + 3)
    states = [state.kind for state in month.states[FALLEN]]
    assert states[CHANGES_ON] == "regressed"
    assert states[CHANGES_ON + 3 :] == [None] * (24 - CHANGES_ON - 3)


def test_a_second_fall_after_acceptance_is_found() -> None:
    falls = {True: 0.2, False: 0.1}
    world = replace(SMALL, fall=lambda night: falls[night >= CHANGES_ON + 8] * (night >= CHANGES_ON))
    month = live(world, 2, accept=lambda night: night == CHANGES_ON + 3)
    assert month.states[FALLEN][CHANGES_ON + 7].kind is None
    assert month.states[FALLEN][-1].kind == "regressed"
