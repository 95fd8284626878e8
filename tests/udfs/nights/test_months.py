"""A few months of nights in worlds whose truth is known: what is found, when, and what stays silent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.support.night_worlds import CHANGES_ON, World, live

SMALL = World(n_models=2, n_tasks=1, n_nights=24, has_classes=False)  # which make a month twice as long
SPOKEN = replace(SMALL, n_nights=16, has_lengths=True)
FALLEN, QUIET = 0, 1  # the groups of a small world


@pytest.mark.parametrize(
    "world",
    [
        replace(SMALL, has_classes=True),
        replace(SMALL, is_cached=True),
        replace(SMALL, kept=0.8),
        replace(SMALL, missing=0.03),
    ],
    ids=["repeated", "cached", "a fifth of the answers anew each night", "missing cells"],
)
def test_quiet_months_are_quiet(world: World) -> None:
    month = live(world, 1)
    assert not any(month.has_alarm(group) for group in (FALLEN, QUIET))


def from_then_on(value: float, before: float = 0.0) -> Callable[[int], float]:
    return lambda night: value if night >= CHANGES_ON else before


@pytest.mark.parametrize("n_lost", [4, 9])
def test_a_model_that_loses_samples_for_good_is_red_from_that_night_on(n_lost: int) -> None:
    """With an error over samples nine of sixty were found after ten nights, and four in no month."""
    month = live(replace(SMALL, n_nights=20, jitter=0.15, lost=from_then_on(n_lost)), 1)
    assert [state.kind for state in month.states[FALLEN]] == [None] * CHANGES_ON + ["regressed"] * 8
    assert "lost_samples" in month.states[FALLEN][-1].alarm
    assert not month.has_alarm(QUIET)


def test_one_gold_label_that_falls_is_told_by_its_own_accuracy() -> None:
    month = live(replace(SMALL, n_nights=18, has_classes=True, class_fall=from_then_on(0.1)), 2)
    found = month.first_alarm(FALLEN, ("regressed",))
    assert found is not None
    assert CHANGES_ON <= found <= CHANGES_ON + 3
    assert set(month.states[FALLEN][-1].alarm) == {"accuracy of 0"}
    assert not month.has_alarm(QUIET)


@pytest.mark.parametrize(
    ("world", "alarmed"),
    [
        (SPOKEN, set()),
        (replace(SPOKEN, is_cached=True, wander=0.02), set()),
        (replace(SPOKEN, longer=from_then_on(2, 1)), {"answer_length", "completion_tokens"}),
        (replace(SPOKEN, longer=from_then_on(1.05, 1)), set()),
        (replace(SPOKEN, refused=from_then_on(0.05)), {"refusal_rate"}),
    ],
    ids=["quiet", "cached and wandering", "twice as long", "a twentieth longer", "one in twenty refused"],
)
def test_how_is_answered_is_told_the_same_night_or_not_at_all(world: World, alarmed: set[str]) -> None:
    month = live(world, 1)
    states = month.states[FALLEN]
    assert set(states[CHANGES_ON].alarm) == alarmed
    assert {state.kind for state in states} == ({None, "changed"} if alarmed else {None})
    assert not month.has_alarm(QUIET)


def test_a_fall_that_deepens_is_worse_from_that_night_on_and_one_that_stays_is_not() -> None:
    deepens = replace(SMALL, fall=lambda night: 0.05 * (night >= CHANGES_ON) + 0.1 * (night >= CHANGES_ON + 6))
    assert [state.worse_since for state in live(deepens, 2).states[FALLEN]][-7:] == [None] + [CHANGES_ON + 6] * 6
    stays = replace(SMALL, fall=lambda night: 0.05 * (night >= CHANGES_ON))
    assert {state.worse_since for state in live(stays, 2).states[FALLEN]} == {None}


def test_an_improvement_is_the_new_normal_after_a_week() -> None:
    month = live(replace(SMALL, n_nights=20, fall=lambda night: -0.1 * (night >= CHANGES_ON)), 3)
    states = month.states[FALLEN]
    assert states[CHANGES_ON].since == CHANGES_ON
    assert [state.kind for state in states[CHANGES_ON:]] == ["improved"] * 6 + [None] * 2
    assert states[-1].normal == tuple(range(CHANGES_ON, 20))


def test_documents_that_move_as_one_raise_no_alarm_where_they_are_known() -> None:
    month = live(replace(SMALL, n_of_document=4, document_shift=0.6), 1)
    assert not any(month.has_alarm(group) for group in (FALLEN, QUIET))


def test_a_provider_that_is_bad_every_other_night_is_red_from_its_first_bad_night_on() -> None:
    month = live(replace(SMALL, fall=lambda night: 0.1 * (night >= CHANGES_ON and night % 2 == 0)), 2)
    assert [state.kind for state in month.states[FALLEN]] == [None] * CHANGES_ON + ["regressed"] * (24 - CHANGES_ON)
    assert not month.has_alarm(QUIET)


def test_a_provider_that_is_bad_by_little_every_other_night_adds_up() -> None:
    """No night of it is an alarm: its bad nights became normal, widened their own error, and it was never found."""
    month = live(replace(SMALL, fall=lambda night: 0.05 * (night >= CHANGES_ON and night % 2 == 0)), 3)
    found = month.first_alarm(FALLEN)
    assert found is not None
    assert month.states[FALLEN][found - 1].waiting == tuple(range(CHANGES_ON, found))
    assert month.states[FALLEN][found].since == CHANGES_ON
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
