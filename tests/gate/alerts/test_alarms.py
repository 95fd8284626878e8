"""Alarms: raised on a change of state, standing while it lasts, over once; and the message of a night."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from datetime import datetime, timedelta
from math import log
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from promptaudit.gate.alerts.alarms import (
    Alarm,
    Changes,
    Place,
    Problem,
    Recovery,
    StandingAlarm,
    Waiver,
    changes,
    open_alarms,
    settle,
)
from promptaudit.gate.alerts.message import Night, compose, safe
from promptaudit.gate.alerts.problems import problems_of, problems_of_night
from promptaudit.system.display.compared import NightFigure, RunsCompared
from promptaudit.warehouse import Warehouse
from tests.support.compared_figures import figure

FIRST = datetime(2026, 11, 1, 2, 0)
RUNS = [f"{night:032x}" for night in range(1, 9)]  # the run of night 1, 2, ...


def run(night: int) -> str:
    return RUNS[night - 1]


def drop(measure: str = "micro_f1", base: int = 3, **parts: object) -> Problem:
    given_parts = {
        "kind": "regressed",
        "summary": "0.900 → 0.800, -0.100 [-0.140, -0.060], by chance 1 time in 1,000",
        "reason": "served model m-1 → m-2",
        "cause": "provider_changed_the_model",
        "model_id": "gpt",
        "task_id": "question_type",
        "strategy": "simple",
        "measure": measure,
        "base_run_id": run(base),
        "compare_with": run(2),
    }
    return Problem(**given_parts | parts)


def gate(rule: str = "sensitivity_high <= 0.2", **parts: object) -> Problem:
    return Problem(kind="gate", measure=rule, summary="sensitivity_high 0.31 > 0.2", **{"model_id": "gpt"} | parts)


def opened(finding: Problem, night: int = 4, *, is_unsent: bool = False) -> Alarm:
    at = FIRST + timedelta(days=night - 1)
    name = f"alarm {finding.key} {night}"
    return Alarm(
        alarm_id=name,
        audit_run_id=run(night),
        key=finding.key,
        summary=finding.summary,
        reason=finding.reason,
        since=at,
        run_index=night,
        is_unsent=is_unsent,
    )


def verdicts(finding: Problem, verdict: str) -> dict[Place, str]:
    return {finding.key.place: verdict}


# ------------------------------------------------------------ the states
def test_a_drop_since_last_night_is_raised_once_and_then_stands() -> None:
    first = changes([], [drop()], verdicts(drop(), "regressed"))
    assert first.raised == first.news == (drop(),)
    # a night later nothing changed since last night, and everything since night 3
    same = {drop(base=4).key.place: "none_shown", drop(base=3).key.place: "regressed"}
    second = changes([opened(drop())], [], same)
    assert second == Changes(standing=(StandingAlarm(alarm=opened(drop())),))


@pytest.mark.parametrize(("verdict", "reason"), [("none_shown", "none shown"), ("improved", "improved")])
def test_an_alarm_is_over_when_its_own_base_is_reached_again(verdict: str, reason: str) -> None:
    found = changes([opened(drop())], [], verdicts(drop(), verdict))
    assert found == Changes(recovered=(Recovery(alarm=opened(drop()), reason=reason, is_news=True),))


def test_what_another_base_says_is_no_recovery() -> None:
    found = changes([opened(drop(base=3))], [], {drop(base=2).key.place: "improved"})
    assert found.standing == (StandingAlarm(alarm=opened(drop()), note="not compared tonight"),)


def test_what_cannot_be_compared_stands_and_is_marked() -> None:
    found = changes([opened(drop())], [], verdicts(drop(), "not_comparable"))
    assert found.standing == (StandingAlarm(alarm=opened(drop()), note="not comparable tonight"),)
    assert not found.recovered


def test_changed_is_over_only_when_the_churn_is_gone() -> None:
    swap = drop("label_churn", kind="changed")
    assert changes([opened(swap)], [], verdicts(swap, "changed")).standing
    assert changes([opened(swap)], [], verdicts(swap, "none_shown")).recovered


def test_a_new_drop_is_news_beside_an_older_one() -> None:
    older, newer = drop(base=3), drop(base=5, cause="we_changed_the_prompt")
    found = changes([opened(older)], [newer], verdicts(older, "regressed") | verdicts(newer, "regressed"))
    assert found.news == (newer,)
    assert [item.alarm.key for item in found.standing] == [older.key]


def test_a_drop_against_last_night_and_the_baseline_is_one_alarm_with_both_keys() -> None:
    since, below = drop(base=3), drop(base=1, against="baseline")
    found = changes([], [since, below], {})
    assert found.raised == (since, below)
    assert found.news == (since,)
    # the next night one of the two is back: nothing is told until both are
    both = [opened(since), opened(below)]
    half = changes(both, [], verdicts(since, "none_shown") | verdicts(below, "regressed"))
    assert [(item.alarm.key, item.is_news) for item in half.recovered] == [(since.key, False)]
    whole = changes(both[1:], [], verdicts(below, "none_shown"))
    assert [item.is_news for item in whole.recovered] == [True]


def test_a_further_measure_below_the_baseline_is_the_same_drop() -> None:
    below = drop("sensitivity", base=1, against="baseline")
    with_open = changes([opened(drop())], [below], verdicts(drop(), "regressed"))
    assert (with_open.raised, with_open.news) == ((below,), ())
    alone = changes([], [below], {})
    assert alone.news == (below,)
    other_model = drop("sensitivity", base=1, against="baseline", model_id="llama")
    assert changes([opened(drop())], [other_model], verdicts(drop(), "regressed")).news == (other_model,)


def test_gate_and_unmeasured_are_open_as_long_as_found() -> None:
    found = changes([], [gate()], {})
    assert found.news == (gate(),)
    assert changes([opened(gate())], [gate()], {}).standing == (StandingAlarm(alarm=opened(gate())),)
    (over,) = changes([opened(gate())], [], {}).recovered
    assert (over.reason, over.is_news) == ("the rule holds again", True)
    blind = Problem(kind="unmeasured", summary="no answer could be read")
    (over,) = changes([opened(blind)], [], {}).recovered
    assert (over.reason, over.is_news) == ("measured again", True)


@pytest.mark.parametrize(
    ("blind", "stands"),
    [
        ({}, True),  # the whole night
        ({"model_id": "gpt"}, True),
        ({"measure": "sensitivity_high <= 0.2", "model_id": "gpt"}, True),
        ({"measure": "pss_inter_low >= 0.8"}, False),
        ({"model_id": "llama"}, False),
    ],
)
def test_a_rule_that_could_not_be_judged_has_not_recovered(blind: dict[str, str], stands: bool) -> None:
    found = changes([opened(gate())], [Problem(kind="unmeasured", summary="no figure", **blind)], {})
    assert bool(found.standing) is stands
    assert bool(found.recovered) is not stands


def test_a_rule_on_comparisons_is_told_with_its_comparison_and_ends_with_it() -> None:
    rule = gate("no regressed on micro_f1", task_id="question_type", strategy="simple")
    found = changes([], [drop(), rule], {})
    assert found.raised == (drop(), rule)
    assert found.news == (drop(),)
    # last night is as bad, so the rule holds again: no news while the drop stands
    later = changes([opened(drop()), opened(rule)], [], verdicts(drop(), "regressed"))
    assert [(item.alarm.key.kind, item.is_news) for item in later.recovered] == [("gate", False)]
    assert changes([], [rule], {}).news == (rule,)


def test_a_waiver_silences_what_it_was_given_for_and_nothing_later() -> None:
    waiver = Waiver(
        rule="no regressed on micro_f1",
        model_id="gpt",
        task_id="question_type",
        strategy="simple",
        measure="micro_f1",
        after_run_index=6,
    )
    still = verdicts(drop(), "regressed")
    found = changes([opened(drop(), 4)], [], still, [waiver])
    assert (found.waived, found.standing) == ((opened(drop(), 4),), ())
    assert changes([opened(drop(), 8)], [], still, [waiver]).standing  # raised after the waiver
    assert changes([opened(drop("sensitivity"), 4)], [], verdicts(drop("sensitivity"), "regressed"), [waiver]).standing
    (over,) = changes([opened(drop(), 4)], [], verdicts(drop(), "none_shown"), [waiver]).recovered
    assert over.is_news
    # check reports no waived rule: its alarm is not over for that
    of_gate = Waiver(
        rule="sensitivity_high <= 0.2",
        model_id="gpt",
        task_id=None,
        strategy=None,
        measure="sensitivity_high",
        after_run_index=6,
    )
    assert changes([opened(gate())], [], {}, [of_gate]).recovered == ()
    assert changes([opened(gate())], [], {}, [of_gate]).waived == (opened(gate()),)


places = st.tuples(
    st.sampled_from(["gpt", "llama"]), st.sampled_from(["micro_f1", "sensitivity"]), st.integers(1, 3), st.booleans()
)


@given(
    nights=st.lists(
        st.tuples(st.lists(places, max_size=4), st.lists(st.sampled_from(["regressed", "none_shown"]), min_size=12)),
        max_size=6,
    )
)
def test_every_alarm_is_raised_before_it_stands_and_ends_once(nights: list[tuple[list[tuple], list[str]]]) -> None:
    everywhere = [
        (model, measure, base)
        for model in ("gpt", "llama")
        for measure in ("micro_f1", "sensitivity")
        for base in (1, 2, 3)
    ]
    alarms: list[Alarm] = []
    for night, (found, said) in enumerate(nights, start=1):
        findings = [
            drop(measure, base, model_id=model, against="baseline" if is_baseline else "normal_nights")
            for model, measure, base, is_baseline in found
        ]
        recheck = {
            drop(measure, base, model_id=model).key.place: verdict
            for (model, measure, base), verdict in zip(everywhere, said, strict=False)
        }
        recheck |= {finding.key.place: "regressed" for finding in findings}
        result = changes(alarms, findings, recheck)
        stands = [item.alarm for item in result.standing]
        over = [item.alarm for item in result.recovered]
        assert sorted(stands + over, key=str) == sorted(alarms, key=str)  # each open one is one or the other
        raised = [finding.key for finding in result.raised]
        assert len(set(raised)) == len(raised)
        assert not set(raised) & {alarm.key for alarm in alarms}
        assert {finding.key for finding in findings} == set(raised) | {
            a.key for a in stands if a.key in {f.key for f in findings}
        }
        assert set(result.news) <= set(result.raised)
        own = [finding for finding in result.raised if finding.against == "normal_nights"]
        assert bool(result.news) or all(any(finding.key.joins(alarm.key) for alarm in stands) for finding in own)
        alarms = stands + [opened(finding, night) for finding in result.raised]


# ------------------------------------------------------------ the comparisons
COLUMNS = {
    "base_run_id": run(3),
    "model_id": "gpt",
    "task_id": "question_type",
    "strategy": "simple",
    "measure": "micro_f1",
    "base": 0.9,
    "candidate": 0.8,
    "difference": -0.1,
    "difference_low": -0.14,
    "difference_high": -0.06,
    "p_value": 0.0002,
    "q_value": 0.001,
    "verdict": "regressed",
    "reason": "served model m-1 → m-2",
    "cause": "provider_changed_the_model",
}


def row(**columns: object) -> RunsCompared:
    return figure(RunsCompared, **COLUMNS | columns)


def in_alarm(since: int | None = 3, **columns: object) -> NightFigure:
    """A figure of a night, whose alarm began so."""
    began = {"since_run_id": None if since is None else run(since), "normal_run_id": run(2)}
    return figure(NightFigure, **COLUMNS | began | columns)


def test_what_is_below_a_baseline_is_a_problem() -> None:
    rows = [row(), row(measure="sensitivity", verdict="improved"), row(measure="pss_inter", verdict="not_comparable")]
    findings, recheck = problems_of(rows)
    assert findings == [drop(base=3, against="baseline", compare_with=run(3))]
    assert recheck["gpt", "question_type", "simple", "sensitivity", run(3)] == "improved"


def test_what_is_worse_than_on_normal_nights_is_known_by_the_first_night_of_its_alarm() -> None:
    rows = [
        in_alarm(),
        in_alarm(None, measure="sensitivity", verdict="suspect"),
        in_alarm(measure="pss_inter", verdict="none_shown"),
    ]
    findings, recheck = problems_of_night(rows, [])
    assert findings == [drop(base=3)]
    assert recheck == {
        ("gpt", "question_type", "simple", "micro_f1", run(3)): "regressed",
        ("gpt", "question_type", "simple", "pss_inter", run(3)): "none_shown",
    }


def test_an_alarm_that_became_much_worse_is_told_anew_and_is_over_once() -> None:
    before = opened(drop(base=3))
    findings, recheck = problems_of_night([in_alarm(worse_since_run_id=run(7))], [before])
    settled = changes([before], findings, recheck)
    assert [(found.base_run_id, found in settled.news) for found in settled.raised] == [(run(7), True)]
    assert [(item.alarm, item.reason, item.is_news) for item in settled.recovered] == [(before, "worse since", False)]
    worse = opened(drop(base=7), 7)
    later, recheck = problems_of_night([in_alarm(worse_since_run_id=run(7))], [worse])
    assert not changes([worse], later, recheck).raised
    over, recheck = problems_of_night([in_alarm(worse_since_run_id=run(7), verdict="none_shown")], [worse])
    assert [item.is_news for item in changes([worse], over, recheck).recovered] == [True]


def test_an_alarm_whose_measure_is_in_none_any_more_was_accepted() -> None:
    old, other = opened(drop(base=3)), opened(drop(base=3, model_id="llama"))
    _, recheck = problems_of_night([in_alarm(None, verdict="none_shown")], [old, other])
    assert recheck == {old.key.place: "accepted"}  # of the other model nothing is known tonight


def test_a_measure_that_joins_an_alarm_is_no_news() -> None:
    found = changes([opened(drop())], [drop(), drop("sensitivity")], verdicts(drop(), "regressed"))
    assert (found.raised, found.news) == ((drop("sensitivity"),), ())
    churned = opened(drop("label_churn", kind="changed"))
    graver = changes([churned], [drop("label_churn", kind="changed"), drop()], {})
    assert graver.news == (drop(),)


def test_a_night_that_is_mended_is_no_regression() -> None:
    rows = [
        row(verdict="improved"),
        row(measure="sensitivity", verdict="improved"),
        row(measure="consistency"),
        row(measure="label_churn", verdict="none_shown"),
    ]
    findings, _ = problems_of(rows)
    assert not findings


def test_a_message_says_first_what_the_graver_of_two_measures_is() -> None:
    longer = in_alarm(measure="answer_length", verdict="changed", base=log(27), candidate=log(42), reason="tonight")
    worse = in_alarm(
        reason="worse than since 12 Nov: tonight",
        moved_gold_label="a",
        moved_label="b",
        n_moved=14,
        n_moved_before=1,
        n_moved_samples=20,
    )
    findings, _ = problems_of_night([longer, worse], [])
    night = Night(audit_id="nightly", audit_run_id=run(3), started_at=FIRST, exit_code=1)
    both, alone = compose(night, changes([], findings, {})), compose(night, changes([], findings[:1], {}))
    assert both is not None
    assert alone is not None
    assert "gpt regressed" in both.title
    assert "Why: the provider changed the model – worse than since 12 Nov: tonight" in both.body
    assert "Samples called b that are a: 14 of 20, 1 of 20 before" in both.body
    assert "- question_type / simple / answer_length: 26 characters → 41 characters" in both.body
    assert "gpt changed" in alone.title
    assert "Answers of question_type are 1.6 times as long as on normal nights (41 characters, 26 before)" in alone.body


def test_consistency_is_told_beside_another_measure_that_regressed() -> None:
    findings, _ = problems_of([row(measure="consistency"), row()])
    assert [finding.measure for finding in findings] == ["consistency", "micro_f1"]
    alone, _ = problems_of([row(measure="consistency"), row(model_id="other")])
    assert [finding.measure for finding in alone] == ["micro_f1"]


@pytest.mark.parametrize(
    ("columns", "summary"),
    [
        ({}, "0.900 → 0.800, -0.100 [-0.140, -0.060], by chance 1 time in 1,000"),
        (
            {
                "measure": "label_churn",
                "base": 0.021,
                "candidate": 0.187,
                "difference": 0.166,
                "difference_low": None,
                "difference_high": None,
                "q_value": None,
                "p_value": 0.00052,
            },
            "0.021 → 0.187, +0.166, by chance 1 time in 1,900",
        ),
        (
            {
                "measure": "cost_usd",
                "base": 1.2,
                "candidate": 1.8,
                "difference": 0.6,
                "difference_low": None,
                "difference_high": None,
                "q_value": None,
                "p_value": None,
            },
            "$1.20 → $1.80, +$0.6000",
        ),
        (
            {
                "measure": "latency_ms",
                "base": 812.3,
                "candidate": 1250.0,
                "difference": 437.7,
                "difference_low": float("nan"),
                "difference_high": None,
                "q_value": float("nan"),
                "p_value": None,
            },
            "812 ms → 1,250 ms, +438 ms",
        ),
        (
            {
                "measure": "answer_length",
                "verdict": "changed",
                "base": log(27),
                "candidate": log(42),
                "difference": log(42 / 27),
                "difference_low": log(1.41),
                "difference_high": log(1.72),
            },
            "26 characters → 41 characters, × 1.56 [× 1.41, × 1.72], by chance 1 time in 1,000",
        ),
    ],
)
def test_a_comparison_in_one_line(columns: dict[str, object], summary: str) -> None:
    ((found,), _) = problems_of([row(**columns)])
    assert found.summary == summary


# ------------------------------------------------------------ in the warehouse
@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    path = tmp_path / "audit.duckdb"
    Warehouse(path).apply_schema()
    with Warehouse(path).write() as con:
        for night in range(1, 9):
            con.execute(
                "insert into raw.audit_runs select ?, 'nightly', 'run', 'complete', ?, null, '', '', '', '', 0, 0, '', "
                "null, null, '', null, null, null, ?",
                [run(night), FIRST + timedelta(days=night - 1), night],
            )
    return path


def events(warehouse: Path) -> list[tuple[str, str, str]]:
    rows = Warehouse(warehouse).read(
        "select audit_run_id, event, measure from raw.alarms order by recorded_at, event, measure"
    )
    return [(row["audit_run_id"], row["event"], row["measure"]) for row in rows]


def test_seven_nights_land_each_event_once_however_often_a_night_resumes(warehouse: Path) -> None:
    since = drop(base=3)
    nights = {
        4: ([since], verdicts(since, "regressed")),
        5: ([], verdicts(since, "regressed")),
        6: ([], verdicts(since, "none_shown")),
        7: ([], {}),
    }
    for night, (findings, recheck) in nights.items():
        first = settle(Warehouse(warehouse), "nightly", run(night), findings, recheck)
        assert settle(Warehouse(warehouse), "nightly", run(night), findings, recheck) == first  # resumed
    assert events(warehouse) == [(run(4), "raised", "micro_f1"), (run(6), "recovered", "micro_f1")]
    assert open_alarms(Warehouse(warehouse), "nightly", run(8)) == []
    (alarm,) = open_alarms(Warehouse(warehouse), "nightly", run(6))  # as night 6 found them
    assert (alarm.key, alarm.since, alarm.summary) == (since.key, FIRST + timedelta(days=3), since.summary)
    assert open_alarms(Warehouse(warehouse), "another", run(6)) == []
    # the same place and base may be raised again: another alarm
    settle(Warehouse(warehouse), "nightly", run(7), [since], {})
    assert len(events(warehouse)) == 3
    (again,) = open_alarms(Warehouse(warehouse), "nightly", run(8))
    assert again.alarm_id != alarm.alarm_id


def test_a_night_that_failed_and_then_went_on_has_recovered(warehouse: Path) -> None:
    blind = Problem(kind="unmeasured", summary="EngineError: nobody answers")
    assert settle(Warehouse(warehouse), "nightly", run(4), [blind], {}).news == (blind,)
    assert settle(Warehouse(warehouse), "nightly", run(4), [blind], {}).news == (blind,)  # still nobody
    for _ in range(2):
        (back,) = settle(Warehouse(warehouse), "nightly", run(4), [], {}).recovered
        assert (back.reason, back.is_news) == ("measured again", True)
    assert [event for _, event, _ in events(warehouse)] == ["raised", "recovered"]
    assert settle(Warehouse(warehouse), "nightly", run(5), [], {}) == Changes()


def test_nights_without_a_run_are_one_alarm(warehouse: Path) -> None:
    blind = Problem(kind="unmeasured", summary="CardError: no such model")
    assert settle(Warehouse(warehouse), "nightly", "1" * 32, [blind], {}).news == (blind,)
    with Warehouse(warehouse).write() as con:
        con.execute(
            "insert into raw.notifications values (?, 'n', 'unmeasured', 'intended', 1, null, now()::timestamp)",
            ["1" * 32],
        )
        con.execute(
            "insert into raw.notifications values (?, 'n', 'unmeasured', 'sent', 1, null, now()::timestamp)", ["1" * 32]
        )
    second = settle(Warehouse(warehouse), "nightly", "2" * 32, [blind], {})
    assert (second.news, [item.alarm.is_unsent for item in second.standing]) == ((), [False])
    assert [item.is_news for item in settle(Warehouse(warehouse), "nightly", run(5), [], {}).recovered] == [True]


def test_a_later_baseline_ends_the_alarms_before_it_without_telling(warehouse: Path) -> None:
    settle(Warehouse(warehouse), "nightly", run(4), [drop(base=3), gate()], {})
    with Warehouse(warehouse).write() as con:
        con.execute(
            "insert into raw.baselines values (?, 'nightly', 'prod', 'new prompt', ?, 5)",
            [run(5), FIRST],  # the clock was ahead when the alarm was raised
        )
    found = settle(Warehouse(warehouse), "nightly", run(6), [gate()], verdicts(drop(base=3), "regressed"))
    assert [(item.alarm.key.kind, item.reason, item.is_news) for item in found.recovered] == [
        ("regressed", "run pinned as baseline prod", False)
    ]
    assert [item.alarm.key.kind for item in found.standing] == ["gate"]


def test_an_earlier_run_pinned_ends_nothing(warehouse: Path) -> None:
    settle(Warehouse(warehouse), "nightly", run(4), [drop(base=3)], {})
    with Warehouse(warehouse).write() as con:
        con.execute(
            "insert into raw.baselines values (?, 'nightly', 'prod', null, ?, 5)", [run(3), datetime(2999, 1, 1)]
        )
    assert settle(Warehouse(warehouse), "nightly", run(5), [], verdicts(drop(base=3), "regressed")).recovered == ()


def test_a_waiver_of_the_warehouse_counts_until_it_ends(warehouse: Path) -> None:
    settle(Warehouse(warehouse), "nightly", run(4), [drop(base=3)], {})
    still = verdicts(drop(base=3), "regressed")
    values = [run(4), "w", "nightly", "no regressed", "gpt", "question_type", "simple", "micro_f1", "known"]
    with Warehouse(warehouse).write() as con:  # the clock was ahead when the alarm was raised
        con.execute("insert into raw.waivers values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 4)", [*values, FIRST, FIRST])
    assert settle(Warehouse(warehouse), "nightly", run(5), [], still).waived == ()  # it ended
    with Warehouse(warehouse).write() as con:
        con.execute("update raw.waivers set valid_until = ?", [datetime(2999, 1, 1)])
    assert len(settle(Warehouse(warehouse), "nightly", run(5), [], still).waived) == 1
    with Warehouse(warehouse).write() as con:  # on an earlier run, but after the alarm
        con.execute("update raw.waivers set audit_run_id = ?", [run(3)])
    assert len(settle(Warehouse(warehouse), "nightly", run(5), [], still).waived) == 1
    with Warehouse(warehouse).write() as con:  # before the alarm, with a clock that was ahead
        con.execute("update raw.waivers set after_run_index = 3, accepted_at = ?", [datetime(2998, 1, 1)])
    assert settle(Warehouse(warehouse), "nightly", run(5), [], still).waived == ()


def test_an_alarm_whose_message_reached_nobody_is_told_the_next_night(warehouse: Path) -> None:
    settle(Warehouse(warehouse), "nightly", run(4), [drop(base=3)], {})
    still = verdicts(drop(base=3), "regressed")
    (quiet,) = settle(Warehouse(warehouse), "nightly", run(5), [], still).standing
    assert not quiet.alarm.is_unsent  # nobody was to be told
    with Warehouse(warehouse).write() as con:
        con.execute(
            "insert into raw.notifications values (?, 'n', 'regression', 'intended', 1, null, now()::timestamp)",
            [run(4)],
        )
        con.execute(
            "insert into raw.notifications values (?, 'n', 'regression', 'failed', 1, 'down', now()::timestamp)",
            [run(4)],
        )
        con.execute(  # the message of an earlier night, on which the clock was ahead
            "insert into raw.notifications values (?, 'm', 'regression', 'sent', 1, null, '2999-01-01')", [run(3)]
        )
    found = settle(Warehouse(warehouse), "nightly", run(5), [], still)
    message = compose(night(5), found)
    assert message is not None
    assert (message.kind, message.title) == ("regression", "nightly: gpt regressed since 2026-11-04")
    assert "Not told yet, the message of its night reached nobody:\n- regressed since 2026-11-04: gpt" in message.body
    with Warehouse(warehouse).write() as con:
        con.execute(
            "insert into raw.notifications values (?, 'm', 'regression', 'sent', 1, null, now()::timestamp)", [run(5)]
        )
    assert compose(night(6), settle(Warehouse(warehouse), "nightly", run(6), [], still)) is None


# ------------------------------------------------------------ the message
def night(number: int, exit_code: int = 1) -> Night:
    at = FIRST + timedelta(days=number - 1)
    return Night(
        audit_id="nightly",
        audit_run_id=run(number),
        started_at=at,
        exit_code=exit_code,
        report=f"https://audits.example.org/reports/{run(number)}.html",
    )


def test_the_second_line_says_what_could_not_be_tested() -> None:
    lacking = "2 of 40 figures could not be tested: sensitivity, accuracy of <!channel>"
    message = compose(replace(night(4), untested=lacking), changes([], [drop()], {}))
    assert message is not None
    first, second, *_ = message.body.split("\n")
    assert first.startswith("Audit nightly")
    assert second == r"2 of 40 figures could not be tested: sensitivity, accuracy of \x3c!channel\x3e"


def test_a_wording_that_breaks_stands_before_the_whole_and_gold_labels_behind_it() -> None:
    measures = ("accuracy of red", "invalid_rate", "invalid_rate of wording 4", "micro_f1")
    message = compose(night(4), changes([], [drop(measure) for measure in measures], {}))
    assert message is not None
    rows = [line.split(":")[0].split(" / ")[-1] for line in message.body.split("\n") if line.startswith("- ")]
    assert rows == ["invalid_rate of wording 4", "invalid_rate", "micro_f1", "accuracy of red"]


def test_the_message_of_a_regression() -> None:
    measures = ["micro_f1", "sensitivity", *(f"accuracy:{n}" for n in range(12))]
    found = changes(
        [opened(drop("pss_inter", 1), 2)],
        [*(drop(measure) for measure in measures), gate("no regressed", task_id="question_type", strategy="simple")],
        verdicts(drop("pss_inter", 1), "not_comparable"),
    )
    message = compose(night(4), found)
    assert message is not None
    assert message.kind == "regression"
    assert message.title == "nightly: gpt regressed: the provider changed the model"
    figures = "0.900 → 0.800, -0.100 [-0.140, -0.060], by chance 1 time in 1,000"
    assert message.body == "\n".join(
        [
            "Audit nightly, night of 2026-11-04, run 000000000000",
            "",
            "gpt regressed against normal nights: 14 figures",
            "Why: the provider changed the model – served model m-1 → m-2",
            *(f"- question_type / simple / {measure}: {figures}" for measure in measures[:8]),
            "- and 6 more",
            "",
            "The gate failed:",
            "- gpt / question_type / simple / no regressed: sensitivity_high 0.31 > 0.2",
            "",
            "Still standing:",
            "- regressed since 2026-11-02: gpt / question_type / simple / pss_inter (not comparable tonight)",
            "",
            f"Look: https://audits.example.org/reports/{run(4)}.html",
            "      promptaudit compare 000000000000 000000000000",
            "      promptaudit check 000000000000",
            "Runbook: gate_failed",
            "Runbook: alarm_is_false",
        ]
    )


def test_what_we_changed_is_one_alarm_of_all_models() -> None:
    edit = {"cause": "we_changed_the_prompt", "reason": "instruction of question_type"}
    found = changes([], [drop(model_id=model, **edit) for model in ("gpt", "llama", "mistral")], {})
    message = compose(night(6), found)
    assert message is not None
    assert message.title == "nightly: gpt and 2 more regressed: we changed the prompt"
    assert "- llama / question_type / simple / micro_f1: 0.900" in message.body
    apart = compose(night(6), changes([], [drop(model_id=model) for model in ("gpt", "llama")], {}))
    assert apart is not None
    assert apart.title == "nightly: gpt regressed: the provider changed the model (and 1 more)"


@pytest.mark.parametrize(
    ("before", "findings", "kind", "title"),
    [
        (
            [],
            [gate(), gate("pss_inter_low >= 0.8")],
            "gate_failed",
            "nightly: the gate failed: sensitivity_high <= 0.2 (and 1 more)",
        ),
        (
            [],
            [Problem(kind="unmeasured", summary="one model is silent")],
            "unmeasured",
            "nightly: could not be measured",
        ),
        ([opened(drop())], [], "recovered", "nightly: recovered: gpt"),
        ([opened(gate())], [gate()], None, None),
        ([], [], None, None),
    ],
)
def test_the_other_kinds(before: list[Alarm], findings: list[Problem], kind: str | None, title: str | None) -> None:
    message = compose(night(5), changes(before, findings, verdicts(drop(), "none_shown")))
    assert (message and message.kind, message and message.title) == (kind, title)


def test_the_message_of_a_recovery_folds_what_was_one_alarm() -> None:
    before = [opened(drop(measure, base)) for measure in ("micro_f1", "sensitivity") for base in (3, 1)]
    back = {alarm.key.place: "none_shown" for alarm in before}
    message = compose(night(7, 0), changes(before, [], back))
    assert message is not None
    assert message.body == "\n".join(
        [
            "Audit nightly, night of 2026-11-07, run 000000000000",
            "",
            "Recovered:",
            "- regressed since 2026-11-04: gpt / question_type / simple / micro_f1 and 1 more (none shown)",
            "",
            f"Look: https://audits.example.org/reports/{run(7)}.html",
        ]
    )


def test_a_night_of_everything_fits_one_screen() -> None:
    findings = [
        drop(f"m{n}", model_id=f"model {n % 9}" + "y" * 300, cause=f"c{n % 2}", reason="r" * 999) for n in range(99)
    ]
    findings += [gate(f"rule {n} <= 0", model_id=None) for n in range(40)]
    findings += [Problem(kind="unmeasured", measure=f"rule {n}", summary="s" * 999) for n in range(40)]
    stands = [opened(drop(base=2, model_id=f"old {n}"), is_unsent=n % 2 == 0) for n in range(30)]
    still = {alarm.key.place: "regressed" for alarm in stands}
    message = compose(night(4), changes(stands, findings, still))
    assert message is not None
    lines = message.body.split("\n")
    assert len(lines) <= 30
    assert max(len(line) for line in lines) <= 220
    assert len(message.title) <= 80
    assert lines[-5:] == [
        f"Look: https://audits.example.org/reports/{run(4)}.html",
        "      promptaudit compare 000000000000 000000000000",
        "      promptaudit check 000000000000",
        "Runbook: gate_failed",
        "Runbook: alarm_is_false",
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("gpt-4o_mini.v2", "gpt-4o_mini.v2"),
        ("claude@20250101", "claude\\x4020250101"),
        ("a > 1 and b >= 2", "a > 1 and b >= 2"),
        ("sensitivity_high <= 0.2 and x < 3", "sensitivity_high <= 0.2 and x < 3"),
        ("+0.1 [0.0, 0.2]", "+0.1 [0.0, 0.2]"),
        ("@here", "\\x40here"),
        ("a@everyone", "a\\x40everyone"),
        ("<!channel>", "\\x3c!channel\\x3e"),
        ("<script>", "\\x3cscript\\x3e"),
        ("https://evil.example", "https:\\x2f/evil.example"),
        ("WWW.evil.example", "WWW\\x2eevil.example"),
        ("[all well](x)", "[all well]\\x28x)"),
        ("**all well** `x` ~~y~~", "\\x2a\\x2aall well\\x2a\\x2a \\x60x\\x60 \\x7e\\x7ey\\x7e\\x7e"),
        ("a\nb\r\x1b[31mred\u202e", "a\\nb\\r\\x1b[31mred\\u202e"),
    ],
)
def test_other_peoples_words_are_inert(text: str, shown: str) -> None:
    assert safe(text) == shown


hostile = st.text(st.sampled_from("<>@!#[](){}*`~_|:/w.W\\ \n\r\x1b\u202e\u200bab1"), max_size=30)


@given(text=st.one_of(st.text(max_size=40), hostile), more=hostile)
@example(text="0000000000000<<<<<\x1f\r\r\r\n00", more="11111111111<<<<\r<1")  # the title is cut behind the last <
def test_no_text_can_mention_link_or_break_a_line(text: str, more: str) -> None:
    finding = drop(text or "m", model_id=more or "m", reason=text, summary=more, task_id=text, strategy=more)
    message = compose(
        Night(audit_id=text, audit_run_id=run(4), started_at=FIRST, exit_code=0), changes([], [finding], {})
    )
    assert message is not None
    said = f"{message.title}\n{message.body}"
    assert not re.search(r"<[^\s=\d.-]|\S>|[@|`*~]|\]\(|://|www\.", said, re.IGNORECASE)
    steering = [c for c in said if unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"}]
    assert set(steering) <= {"\n", "\u200c", "\u200d"}
    assert len(message.body.split("\n")) == 9  # the header, what, why, the row, where to look, what to do
