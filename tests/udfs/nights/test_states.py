"""States of a group night by night: what an alarm needs, how it stands, and its three ways out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from promptaudit.udfs.nights.states import LEAST_LOG_EFFECT, GroupState, StreamNight, next_state
from promptaudit.udfs.nights.window_test import WindowTest

ERROR = 0.005


def stream(
    difference: float, q: float | None = None, *, span: int = 1, two: float | None = None, worse: int = -1
) -> StreamNight:
    """A measure's night: by default told where it differs by .02 and more."""
    test = WindowTest(
        difference=difference,
        low=difference - 0.01,
        high=difference + 0.01,
        standard_error=ERROR,
        spread_factor=1.0,
        p_value=0.5,
        span=span,
        carried_by=20.0,
        p_value_tonight=0.5,
        difference_tonight=difference,
        difference_two=difference if two is None else two,
        error_two=ERROR,
        n_samples=60,
        n_nights=9,
    )
    return StreamNight(test=test, q_value=(1e-4 if abs(difference) >= 0.02 else 0.5) if q is None else q, worse=worse)


def lived(*differences: float, start: GroupState | None = None, worse: int = -1) -> list[GroupState]:
    """The states of nights on which one measure lies so far from normal."""
    state, states = start or GroupState(), []
    for night, difference in enumerate(differences, max(state.normal, default=-1) + 1):
        state = next_state(state, night, {"micro_f1": stream(difference, worse=worse)}, 0.02)
        states.append(state)
    return states


def words(states: list[GroupState]) -> list[str]:
    """The words of states."""
    return [state.state for state in states]


def test_the_first_nights_are_told_and_latch_nothing() -> None:
    states = lived(np.nan, -0.1, 0, 0)
    assert words(states) == ["first_night", "unconfirmed", "normal", "normal"]
    assert states[-1].normal == (0, 1, 2, 3)


def test_a_fall_stands_until_two_good_nights_in_a_row() -> None:
    states = lived(0, 0, 0, -0.1, 0, -0.1, 0, 0, 0)
    assert words(states)[3:] == ["regressed", "recovering", "regressed", "recovering", "recovered", "normal"]
    assert states[3].since == 3
    assert states[-1].normal == (0, 1, 2, 6, 7, 8)  # the bad nights never are, nor the good one between


def test_the_alarm_begins_with_the_first_night_of_its_window() -> None:
    before = lived(0, 0, 0, 0, 0)[-1]
    state = next_state(before, 5, {"micro_f1": stream(-0.05, span=2)}, 0.02)
    assert (state.since, state.normal, state.alarm_nights) == (4, (0, 1, 2, 3), (4, 5))


def test_what_is_small_or_only_likely_is_no_alarm() -> None:
    before = lived(0, 0, 0)[-1]
    assert next_state(before, 3, {"micro_f1": stream(-0.015, q=1e-9)}, 0.02).state == "normal"
    assert next_state(before, 3, {"micro_f1": stream(-0.05, q=0.03)}, 0.02).state == "suspect"
    assert next_state(before, 3, {"micro_f1": stream(-0.05, q=np.nan)}, 0.02).state == "normal"


def test_what_is_nearer_to_the_level_than_to_normal_is_no_good_night() -> None:
    states = lived(0, 0, 0, -0.1, -0.06, -0.03)
    assert words(states)[3:] == ["regressed", "regressed", "recovering"]


def test_two_nights_within_chance_of_the_level_do_not_recover() -> None:
    before = lived(0, 0, 0, -0.02)[-1]
    states = lived(-0.008, -0.008, 0.0, start=before)
    assert words(states) == ["recovering", "recovering", "recovered"]


def test_a_measure_that_joins_is_in_the_same_alarm() -> None:
    before = lived(0, 0, 0, -0.1)[-1]
    both = {"micro_f1": stream(-0.1), "sensitivity": stream(0.05, worse=1)}
    state = next_state(before, 4, both, 0.02)
    assert (state.since, set(state.alarm)) == (3, {"micro_f1", "sensitivity"})
    assert next_state(state, 5, both | {"micro_f1": stream(0.0)}, 0.02).state == "regressed"  # one of the two is bad


def test_churn_alone_is_a_change_and_a_measure_makes_it_worse() -> None:
    before = lived(0, 0, 0)[-1]
    changed = next_state(before, 3, {"label_churn": stream(0.1, worse=0), "micro_f1": stream(0)}, 0.02)
    assert changed.state == "changed"
    joined = next_state(changed, 4, {"label_churn": stream(0.1, worse=0), "micro_f1": stream(-0.1)}, 0.02)
    assert joined.state == "regressed"


def test_what_seems_better_beside_a_rate_that_is_worse_has_changed() -> None:
    before = lived(0, 0, 0)[-1]
    alike = replace(stream(-0.1, worse=1), is_rate=False)
    assert next_state(before, 3, {"sensitivity": alike}, 0.02).state == "improved"
    state = next_state(before, 3, {"micro_f1": stream(-0.1), "sensitivity": alike}, 0.02)
    assert {name: own.kind for name, own in state.alarm.items()} == {"micro_f1": "regressed", "sensitivity": "changed"}
    better = {"micro_f1": stream(0.1), "sensitivity": replace(stream(0.1, worse=1), is_rate=False)}
    kinds = {name: own.kind for name, own in next_state(before, 3, better, 0.02).alarm.items()}
    assert kinds == {"micro_f1": "improved", "sensitivity": "regressed"}


def doubtful(difference: float) -> StreamNight:
    """A measure's night that is no alarm, and that chance makes one time in two hundred."""
    night = stream(difference, q=0.2)
    return replace(night, test=night.test._replace(p_value=0.005))


def test_doubtful_nights_wait_until_two_in_a_row_are_not() -> None:
    state, waiting = lived(0, 0, 0, 0)[-1], []
    for night, own in enumerate([doubtful(-0.05), stream(0), doubtful(-0.05), stream(0), stream(0)], 4):
        state = next_state(state, night, {"micro_f1": own}, 0.02)
        assert state.state == "normal"
        waiting.append(state.waiting)
    assert waiting == [(4,), (4, 5), (4, 5, 6), (4, 5, 6, 7), ()]
    assert state.normal == tuple(range(9))


def test_what_is_doubted_is_large_enough_and_raises() -> None:
    before = lived(0, 0, 0)[-1]
    for own in (doubtful(-0.015), replace(doubtful(-0.05), raises=False)):
        assert next_state(before, 3, {"micro_f1": own}, 0.02).normal == (0, 1, 2, 3)
    suspect = next_state(before, 3, {"micro_f1": stream(-0.05, q=0.03)}, 0.02)
    assert (suspect.state, suspect.normal, suspect.waiting) == ("suspect", (0, 1, 2), (3,))


def test_nights_of_a_short_window_wait_together_and_of_a_long_one_tonight_alone() -> None:
    before = lived(*[0.0] * 20)[-1]
    for span, n in ((1, 1), (4, 4), (8, 1)):
        own = doubtful(-0.05)
        own = replace(own, test=own.test._replace(span=span))
        assert next_state(before, 20, {"micro_f1": own}, 0.02).waiting == tuple(range(21 - n, 21))


def test_an_alarm_begins_with_the_first_night_that_waits() -> None:
    state = next_state(lived(0, 0, 0, 0)[-1], 4, {"micro_f1": doubtful(-0.05)}, 0.02)
    state = next_state(state, 5, {"micro_f1": stream(0)}, 0.02)
    state = next_state(state, 6, {"micro_f1": stream(-0.05)}, 0.02)
    assert (state.state, state.since, state.alarm_nights, state.normal) == ("regressed", 4, (4, 5, 6), (0, 1, 2, 3))
    assert (state.waiting, state.good) == ((), ())


def test_acceptance_makes_nights_that_wait_normal() -> None:
    state = next_state(lived(0, 0, 0, 0)[-1], 4, {"micro_f1": doubtful(-0.05)}, 0.02).accepted()
    assert (state.normal, state.waiting) == ((0, 1, 2, 3, 4), ())


def test_consistency_joins_and_raises_nothing() -> None:
    before = lived(0, 0, 0)[-1]
    silent = StreamNight(test=stream(-0.1).test, q_value=1e-9, worse=-1, raises=False)
    assert next_state(before, 3, {"consistency": silent}, 0.02).state == "normal"
    joined = next_state(before, 3, {"consistency": silent, "micro_f1": stream(-0.1)}, 0.02)
    assert set(joined.alarm) == {"consistency", "micro_f1"}


def test_acceptance_makes_the_alarms_own_nights_normal() -> None:
    alarmed = lived(0, 0, 0, -0.1, -0.1)[-1]
    assert alarmed.accepted().normal == (3, 4)
    assert next_state(alarmed.accepted(), 5, {"micro_f1": stream(0)}, 0.02).state == "normal"
    quiet = lived(0, 0, 0)[-1]
    assert quiet.accepted() == quiet


def test_an_improvement_accepts_itself_after_a_week() -> None:
    states = lived(0, 0, 0, *[0.1] * 7, 0)
    assert words(states)[3:] == [*["improved"] * 6, "normal", "normal"]
    assert states[-2].normal == tuple(range(3, 10))


def test_a_regression_that_becomes_much_worse_is_worse_from_then_on() -> None:
    state = lived(0, 0, 0, -0.1, -0.1)[-1]
    nights = []
    for night, (difference, p) in enumerate([(-0.14, 1e-9), (-0.16, 0.2), (-0.2, 1e-9), (-0.4, 1e-9)], 5):
        state = next_state(state, night, {"micro_f1": replace(stream(difference), p_value_in_alarm=p)}, 0.02)
        nights.append((state.state, state.worse_since))
    # by less than half as much again, within chance of the alarm's nights, beyond both, and once an alarm
    assert nights == [("regressed", None), ("regressed", None), ("regressed", 7), ("regressed", 7)]


def test_what_is_no_regression_becomes_no_worse() -> None:
    for worse, kind in ((0, "changed"), (1, "improved")):
        before = lived(0, 0, 0, -0.1, worse=worse)[-1]
        deeper = {"micro_f1": replace(stream(-0.3, worse=worse), p_value_in_alarm=1e-9)}
        after = next_state(before, 4, deeper, 0.02)
        assert (after.state, after.worse_since) == (kind, None)


def test_a_measure_may_have_a_least_effect_of_its_own() -> None:
    before = lived(0, 0, 0)[-1]
    length = replace(stream(0.09, worse=0), least_effect=LEAST_LOG_EFFECT)
    assert next_state(before, 3, {"answer_length": length}, 0.02).state == "normal"
    tenth = replace(stream(0.0954, worse=0), least_effect=LEAST_LOG_EFFECT)
    assert next_state(before, 3, {"answer_length": tenth}, 0.02).state == "changed"


def test_against_a_pinned_night_an_improvement_stands() -> None:
    state = lived(0, 0, 0)[-1]
    for night in range(4, 14):
        state = next_state(state, night, {"micro_f1": stream(0.1)}, 0.02, is_pinned=True)
    assert state.state == "improved"


def test_what_another_judge_scored_leaves_the_alarm() -> None:
    alarmed = lived(0, 0, 0, -0.1, -0.1)[-1]
    others = replace(stream(-0.1), is_of_other_judge=True)
    after = next_state(alarmed, 6, {"micro_f1": others}, 0.02)
    assert (after.kind, after.normal) == (None, (0, 1, 2, 3, 4, 6))
    both = next_state(lived(0, 0, 0)[-1], 3, {"micro_f1": stream(-0.1), "accuracy:judge:j": stream(-0.1)}, 0.02)
    left = next_state(both, 4, {"micro_f1": stream(-0.1), "accuracy:judge:j": others}, 0.02)
    assert (left.kind, set(left.alarm)) == ("regressed", {"micro_f1"})


def test_a_measure_that_is_missing_tonight_keeps_its_alarm() -> None:
    before = lived(0, 0, 0, -0.1)[-1]
    for night in (4, 5, 6):
        before = next_state(before, night, {}, 0.02)
    assert before.state == "regressed"


def test_at_most_four_weeks_are_normal() -> None:
    assert len(lived(*[0.0] * 40)[-1].normal) == 28
