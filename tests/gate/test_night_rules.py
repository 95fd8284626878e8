"""A night against rules on verdicts: what fails, what cannot be told, what passes with a note."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from promptaudit.gate.check import check_run
from promptaudit.gate.outcome import RuleResult
from promptaudit.warehouse import Warehouse
from tests.support.handmade_warehouse import TABLES, Gated

MARTS = (*TABLES, "rpt_night_states", "rpt_night_verdicts", "rpt_alarms")
NORMAL = {"n_samples": 60, "n_samples_counted": 60, "n_samples_shared": 60, "n_nights_normal": 9}


def checked(
    folder: Path, *told: dict[str, Any], rule: str = "no regressed", state: str = "normal", **of_state: Any
) -> RuleResult:
    """What a rule says of a night in this state, of which this is told; an alarm may have been accepted."""
    made = Gated(folder, MARTS)
    before, run = made.run("b", hours=25), made.run("a", gate=[rule])
    made.row("rpt_audit", run)
    accepted = of_state.pop("accepted", None)
    for row in of_state.pop("night_before", ()):
        made.row("rpt_night_verdicts", before, **row)
    made.row("rpt_night_states", run, audit_id="nightly", state=state, **(NORMAL | of_state))
    for row in told:
        figures = {"measure": "micro_f1", "normal_run_id": before, "n_nights_normal": 9, "difference": -0.1}
        made.row("rpt_night_verdicts", run, **(figures | row))
    if accepted is not None:
        made.row("rpt_alarms", run, last_run_id=run, ended_by="accepted", reason=accepted)
    (result,) = check_run(Warehouse(made.published()), run).rules
    return result


def test_an_alarm_fails_as_long_as_it_stands(tmp_path: Path) -> None:
    result = checked(tmp_path, {"verdict": "regressed"}, {"verdict": "none_shown", "measure": "sensitivity"})
    assert (result.outcome, result.reason) == ("failed", "1 of 2 figures is regressed, against 9 normal nights")
    assert result.look_closer[0].startswith("promptaudit compare ")


def test_what_is_not_beyond_chance_passes_and_is_noted(tmp_path: Path) -> None:
    result = checked(tmp_path, {"verdict": "suspect"}, {"verdict": "none_shown", "measure": "sensitivity"})
    assert result.outcome == "passed"
    assert result.reason == "none of 2 figures is regressed, against 9 normal nights; 1 not yet beyond chance"


def test_the_first_night_of_a_plan_passes(tmp_path: Path) -> None:
    result = checked(tmp_path, {"verdict": "not_comparable"}, state="first_night", n_nights_normal=0)
    assert result.outcome == "first_night"


def test_one_night_to_compare_with_passes_and_says_so(tmp_path: Path) -> None:
    figure = {"verdict": "none_shown", "n_nights_normal": 1}
    result = checked(tmp_path, figure, n_nights_normal=1)
    assert result.outcome == "passed"
    assert result.reason.endswith("against 1 normal night; 1 night to compare with")


def test_one_odd_night_of_two_cannot_be_told(tmp_path: Path) -> None:
    result = checked(tmp_path, {"verdict": "unconfirmed", "n_nights_normal": 1}, state="unconfirmed", n_nights_normal=1)
    assert result.outcome == "unmeasured"


@pytest.mark.parametrize(
    ("verdict", "outcome"), [("not_comparable", "unmeasured"), ("regressed", "failed")], ids=["quiet", "in an alarm"]
)
def test_a_night_of_which_too_little_was_answered(tmp_path: Path, verdict: str, outcome: str) -> None:
    result = checked(tmp_path, {"verdict": verdict}, state="cannot_tell", n_samples_counted=40)
    assert result.outcome == outcome
    if outcome == "unmeasured":
        assert result.rows[0].reason == "40 of 60 samples were answered"


NINE = tuple({"verdict": "none_shown", "measure": f"accuracy:{place}"} for place in range(9))
UNTESTED = {"verdict": "not_comparable", "measure": "pss_inter", "reason": "fewer than ten samples"}


def test_a_tenth_may_be_untested_and_no_more(tmp_path: Path) -> None:
    assert checked(tmp_path, *NINE, UNTESTED).outcome == "passed"
    (tmp_path / "more").mkdir()
    result = checked(tmp_path / "more", *NINE[1:], UNTESTED)
    assert (result.outcome, result.reason) == ("unmeasured", "1 of 9 figures could not be tested: pss_inter")
    assert [row.reason for row in result.rows] == ["fewer than ten samples"]


@pytest.mark.parametrize(
    ("figure", "of_state"),
    [
        ({**UNTESTED, "measure": "lost_samples"}, {}),  # samples that were asked on one normal night alone
        (UNTESTED, {"n_nights_normal": 2}),
        ({**UNTESTED, "verdict": "regressed"}, {"rule": "no changed"}),
    ],
    ids=["lost samples", "the first nights", "another rule"],
)
def test_what_may_be_untested(tmp_path: Path, figure: dict[str, Any], of_state: dict[str, Any]) -> None:
    assert checked(
        tmp_path, figure, {"verdict": "none_shown", "measure": "label_churn"}, *NINE[:2], **of_state
    ).outcome == ("passed")


def test_a_figure_that_was_tested_the_night_before_and_is_not_tonight(tmp_path: Path) -> None:
    before = [{"verdict": "suspect", "measure": name} for name in ("invalid_rate", "accuracy of a", "latency_ms")]
    result = checked(tmp_path, *NINE, night_before=before)
    assert (result.outcome, result.reason) == (
        "unmeasured",
        "invalid_rate: tested the night before, and could not be tonight",
    )
    (tmp_path / "new plan").mkdir()
    assert checked(tmp_path / "new plan", *NINE, night_before=before, n_nights_normal=1).outcome == "passed"


def test_an_alarm_that_a_person_accepted_passes(tmp_path: Path) -> None:
    result = checked(tmp_path, {"verdict": "regressed"}, state="regressed", accepted="the new model stays")
    assert result.outcome == "passed"
    assert "1 accepted: the new model stays" in result.reason


def test_a_rule_on_a_measure_looks_at_it_alone(tmp_path: Path) -> None:
    figures = ({"verdict": "regressed", "measure": "sensitivity"}, {"verdict": "none_shown"})
    assert checked(tmp_path, *figures, rule="no regressed on micro_f1").outcome == "passed"
    (tmp_path / "other").mkdir()
    assert checked(tmp_path / "other", *figures, rule="no regressed on sensitivity").outcome == "failed"


def test_what_is_answered_otherwise_fails_no_changed_and_no_other_rule(tmp_path: Path) -> None:
    refused = {
        "verdict": "changed",
        "measure": "refusal_rate",
        "base": 0.0,
        "candidate": 0.08,
        "difference": 0.08,
        "difference_low": 0.05,
        "difference_high": 0.11,
    }
    figures = (refused, {"verdict": "none_shown"}, {"verdict": "none_shown", "measure": "answer_length"})
    passed = checked(tmp_path, *figures, state="changed")
    assert (passed.outcome, passed.reason) == ("passed", "none of 1 figures is regressed, against 9 normal nights")
    (tmp_path / "other").mkdir()
    failed = checked(tmp_path / "other", *figures, rule="no changed", state="changed")
    assert (failed.outcome, failed.reason) == ("failed", "1 of 2 figures is changed, against 9 normal nights")
    assert failed.rows[0].moved == f"8 of 100 answers of {failed.rows[0].task_id} were refused, 0 of 100 before"
    line = failed.rows[0].figures
    assert "refusal_rate 0 % -> 8 %; difference +8 % [+5 %, +11 %]" in line.replace(".0", "")
