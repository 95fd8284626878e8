"""Samples that were always right and are wrong in all their asks: named, and the gate fails as long as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from promptaudit.gate.check import check_run
from promptaudit.gate.outcome import RuleResult
from promptaudit.warehouse import Warehouse
from tests.support.handmade_warehouse import TABLES, Gated

MARTS = (*TABLES, "rpt_night_states", "rpt_night_verdicts", "fct_samples_lost", "dim_samples")


def checked(
    folder: Path, *lost: dict[str, Any], critical: tuple[str, ...] = (), rule: str = "no sample lost", **of_state: Any
) -> RuleResult:
    """What the rule says of a night of three samples, of which these are lost."""
    made = Gated(folder, MARTS)
    before, run = made.run("b", hours=25), made.run("a", gate=[rule])
    made.row("rpt_audit", run)
    state = {"state": "normal", "n_samples": 3, "n_samples_counted": 3, "n_nights_normal": 9} | of_state
    made.row("rpt_night_states", run, audit_id="nightly", **state)
    made.row("rpt_night_verdicts", run, measure="micro_f1", verdict="none_shown", normal_run_id=before)
    for place, sample in enumerate(("s1", "s2", "s3")):
        made.row("dim_samples", run, sample_id=sample, sample_index=place, is_critical=sample in critical)
    for row in lost:
        own = {"measure": "micro_f1", "n_nights_right": 9, "n_nights_wrong": 2, "since_run_id": before}
        made.row("fct_samples_lost", run, **(own | {"is_critical": row["sample_id"] in critical} | row))
    (result,) = check_run(Warehouse(made.published()), run).rules
    return result


def test_a_lost_sample_is_named(tmp_path: Path) -> None:
    result = checked(tmp_path, {"sample_id": "s2"})
    assert (result.outcome, result.reason) == ("failed", "1 of 3 samples is lost: s2")
    text = "\n".join(result.lines())
    assert "sample_id s2" in text
    assert "right in all its asks on 9 nights, wrong in all on 2 nights since" in text
    assert "promptaudit compare " in text


def test_what_chance_may_have_lost_cannot_be_told_yet(tmp_path: Path) -> None:
    one = {"sample_id": "s2", "is_lost": False}
    result = checked(tmp_path, one)
    assert (result.outcome, result.reason) == (
        "unmeasured",
        "of 1 of 3 samples it cannot be told yet whether they are lost: s2",
    )
    (tmp_path / "other").mkdir()
    result = checked(tmp_path / "other", one, {"sample_id": "s3", "is_lost": True, "n_wordings": 6})
    assert (result.outcome, result.reason) == ("failed", "1 of 3 samples is lost: s3")
    assert result.rows[0].reason == "right in all its asks on 9 nights, wrong in all on 2 nights since under 6 wordings"


def test_of_critical_samples_alone_where_there_are_any(tmp_path: Path) -> None:
    result = checked(tmp_path, {"sample_id": "s2"}, critical=("s1",))
    assert (result.outcome, result.reason) == ("passed", "none of 1 critical samples is lost")
    (tmp_path / "other").mkdir()
    assert checked(tmp_path / "other", {"sample_id": "s2"}, critical=("s2",)).outcome == "failed"


def test_a_condition_says_whose(tmp_path: Path) -> None:
    assert checked(tmp_path, {"sample_id": "s2"}, rule="no sample lost at model_id = other").outcome == "unmeasured"


def test_too_little_was_answered_and_a_first_night(tmp_path: Path) -> None:
    result = checked(tmp_path, n_samples_counted=2, state="cannot_tell")
    assert (result.outcome, result.rows[0].reason) == ("unmeasured", "2 of 3 samples were answered")
    (tmp_path / "other").mkdir()
    assert checked(tmp_path / "other", state="first_night", n_nights_normal=0).outcome == "first_night"
