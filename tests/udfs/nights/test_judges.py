"""A judge's nights: what is a change of the judge, and what is none. Of 60 months of each quiet world none had an alarm."""

from __future__ import annotations

import pytest

from tests.support.judge_worlds import JudgeWorld, live
from tests.support.night_worlds import CHANGES_ON


@pytest.mark.parametrize(
    "world",
    [JudgeWorld(wavers=0), JudgeWorld(wavers=0.1), JudgeWorld(fall=0.3), JudgeWorld(again=0.2)],
    ids=["steady", "wavering", "the model falls", "few answers come again"],
)
def test_a_judge_that_is_the_same_has_no_alarm(world: JudgeWorld) -> None:
    assert all(state.kind is None for seed in range(3) for state in live(world, seed))


def test_a_judge_that_is_harsh_on_prose_is_told_the_same_night_and_stands() -> None:
    for seed in range(3):
        states = live(JudgeWorld(harsh=1), seed)
        assert [state.kind for state in states] == [None] * CHANGES_ON + ["regressed"] * (30 - CHANGES_ON)


def test_anchors_find_a_judge_that_turned_where_no_answer_comes_again() -> None:
    found = [live(JudgeWorld(harsh=1), seed, ("judge_agreement",))[CHANGES_ON].kind for seed in range(5)]
    assert found == ["regressed"] * 5


def test_answers_that_come_again_find_one_that_is_harsh_on_half_of_the_prose_within_five_nights() -> None:
    found = [live(JudgeWorld(harsh=0.5), seed, ("judge_match_rate",))[CHANGES_ON + 4].kind for seed in range(5)]
    assert found == ["changed"] * 5
