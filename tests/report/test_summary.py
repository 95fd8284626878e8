"""What the first minute needs of a run: outcome, causes, worst group, example, next command."""

from __future__ import annotations

import shlex

import pytest

from promptaudit.marts.comparison.result import run_comparison
from promptaudit.report.comparison_page.gather import gather as gather_comparison
from promptaudit.report.summary import Summary, _next_command, _outcome, summary_of
from promptaudit.report.summary_causes import last_comparable
from promptaudit.report.terminal.closing import closing_lines
from promptaudit.warehouse import Warehouse
from tests.report.conftest import Reported
from tests.support.imported_nights import AUDIT, Verdict, change, fresh, land_verdicts


def _of(reported: Reported, **options: object) -> Summary:
    return summary_of(Warehouse(reported.warehouse), reported.audit_run_id, **options)  # type: ignore[arg-type]


def test_the_worst_group_is_the_one_that_depends_most_on_the_wording_with_its_wording_and_an_example(
    ordinary: Reported,
) -> None:
    summary = _of(ordinary)
    rows = Warehouse(ordinary.warehouse).published.read(
        "select * from marts.rpt_audit where audit_run_id = $run and sensitivity is not null", run=ordinary.audit_run_id
    )
    highest = max(rows, key=lambda row: row["sensitivity"])
    worst, example = summary.worst, summary.example
    assert worst is not None
    assert all(getattr(worst, name) == highest[name] for name in ("model_id", "task_id", "strategy"))
    assert worst.figure == pytest.approx(highest["sensitivity"])
    # its interval holds for the largest of all, so it is wider than the scorecard's, which is of this group alone
    assert worst.of_many == f"the largest of {len(rows)}"
    assert (worst.low or 1) < highest["sensitivity_low"] < highest["sensitivity_high"] < (worst.high or 0)
    assert worst.wording is not None
    assert worst.wording.said
    assert example is not None
    assert example.lines
    first, second = example.answers
    assert first.wording.prompt_variant_id != second.wording.prompt_variant_id
    assert first.label != second.label
    assert {first.is_correct, second.is_correct} == {True, False}
    assert (summary.outcome.state, summary.causes) == ("no gate", ())
    assert shlex.split(summary.next_command)[:3] == ["promptaudit", "diagnose", ordinary.audit_run_id[:12]]


def test_texts_that_are_left_out_are_none_and_labels_stay(ordinary: Reported) -> None:
    example = _of(ordinary, text="none").example
    assert example is not None
    assert example.is_left_out
    assert example.lines is None
    assert [answer.completion for answer in example.answers] == [None, None]
    assert [answer.wording.instruction for answer in example.answers] == [None, None]
    assert all(answer.label for answer in example.answers)


REASON = "the provider changed the model (served_model x-1 → x-2)"


@pytest.fixture(scope="module")
def regressed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Warehouse, list[str]]:
    """Three nights: on the last one model regressed in three measures, and an alarm of the night before stands."""
    path, runs = fresh(tmp_path_factory, 3)
    land_verdicts(
        path,
        runs,
        [
            *(Verdict(2, "harbour-small", "regressed", REASON, measure) for measure in ("sensitivity", "micro_f1")),
            Verdict(2, "harbour-small", "regressed", REASON, "pss_inter", "one_shot"),
            Verdict(2, "harbour-large", "none_shown", ""),
        ],
    )
    change(
        path,
        "update marts.rpt_night_figures set base = .1, "
        "candidate = case measure when 'sensitivity' then .4 else .2 end, "
        "difference = case measure when 'sensitivity' then .3 else .1 end, difference_low = .05, difference_high = .45, "
        "q_value = .001",
    )
    return Warehouse(path), runs


def test_what_moved_together_is_one_sentence_and_the_figure_that_moved_most_is_the_worst(
    regressed: tuple[Warehouse, list[str]],
) -> None:
    warehouse, runs = regressed
    summary = summary_of(warehouse, runs[2])
    (cause,) = summary.causes
    assert cause.kind == "regressed"
    assert cause.sentence == (
        "harbour-small regressed: sensitivity of colours, simple, 0.100 → 0.400, +0.300 [+0.050, +0.450], by chance "
        f"1 time in 1,000, and 2 more figures: {REASON}."
    )
    worst = summary.worst
    assert worst is not None
    assert (worst.model_id, worst.measure, worst.before) == ("harbour-small", "sensitivity", 0.1)
    assert worst.printed == "0.400, +0.300 [+0.050, +0.450] since 0.100"
    assert summary.compared_with is not None
    assert summary.compared_with.startswith("normal nights, the newest of 2026-09-21")
    # the comparison has the figure and how far it moved; what the run alone points to is no answer
    assert summary.next_command == f"promptaudit compare {runs[1][:12]} {runs[2][:12]}"
    # an earlier night knows nothing of it
    assert summary_of(warehouse, runs[1]).causes == ()


def test_the_example_of_a_bad_night_is_the_flip_that_its_comparison_tells(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path, runs = fresh(tmp_path_factory)
    verdicts = [
        Verdict(1, "harbour-small", "regressed", REASON, "micro_f1"),
        Verdict(1, "harbour-large", "improved", ""),
    ]
    land_verdicts(path, runs, verdicts)
    change(
        path,
        *(
            f"update marts.{table} set base = .8, candidate = .6, difference = if(verdict = 'regressed', -.2, .3)"
            for table in ("rpt_night_figures", "rpt_run_comparisons")
        ),
    )
    warehouse = Warehouse(path)
    example = summary_of(warehouse, runs[1]).example
    flip = gather_comparison(warehouse, run_comparison(warehouse, "comparison 1")).examples[0]
    assert example is not None
    assert flip is not None
    assert (example.model_id, example.sample_id) == (flip.model_id, flip.sample_id)
    assert [answer.prediction_id for answer in example.answers] == [answer.prediction_id for answer in flip.answers]
    before, now = example.answers
    assert (before.side, now.side, before.is_correct, now.is_correct) == ("before", "now", True, False)
    assert before.wording.name == now.wording.name
    (line,) = [line for line in closing_lines(summary_of(warehouse, runs[1]), 400) if line.startswith("example")]
    assert f"{before.label} with {before.wording.name} before and {now.label} with {now.wording.name} now" in line
    # a night on which nothing got worse has two wordings beside each other
    change(path, "update marts.rpt_night_figures set verdict = 'none_shown'")
    calm = summary_of(warehouse, runs[1]).example
    assert calm is not None
    assert {answer.side for answer in calm.answers} == {""}


def test_an_earlier_alarm_is_told_as_what_moved_and_ends_with_its_place(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path, runs = fresh(tmp_path_factory, 3)
    verdicts = [
        Verdict(2, "harbour-small", verdict, "why", measure, since=0)
        for verdict, measure in (("regressed", "sensitivity"), ("none_shown", "micro_f1"))
    ]
    land_verdicts(path, runs, [*verdicts, Verdict(2, "harbour-large", "none_shown", "")])
    with Warehouse(path).write() as con:
        for measure in ("sensitivity", "micro_f1"):
            con.execute(
                "insert into raw.alarms (audit_run_id, audit_id, alarm_id, event, kind, model_id, task_id, strategy, measure, "
                "base_run_id, summary, reason, recorded_at) values ($run, $audit, $measure, 'raised', 'regressed', "
                "'harbour-small', 'colours', 'simple', $measure, $base, '0.1 → 0.4', 'why', '2026-09-21 03:00')",
                {"run": runs[1], "audit": AUDIT, "measure": measure, "base": runs[0]},
            )
    change(path, "update raw.audit_runs set started_at = '2026-09-21 02:00:04' where audit_run_id = '" + runs[1] + "'")
    shown = [
        (cause.kind, cause.sentence)
        for cause in summary_of(Warehouse(path), runs[2]).causes
        if cause.kind in ("alarm", "recovered")
    ]
    assert shown == [
        ("recovered", "The alarm of 2026-09-21 is over: harbour-small, colours, simple, micro_f1 (none shown).")
    ]
    # what stands is told as what moved
    assert summary_of(Warehouse(path), runs[2]).causes[0].kind == "regressed"
    # the night that raised it tells of itself alone
    assert not [cause for cause in summary_of(Warehouse(path), runs[1]).causes if cause.kind == "alarm"]


def test_of_several_comparisons_the_newest_night_counts_and_a_baseline_only_without_one() -> None:
    night = {"comparison_id": "n", "baseline": None, "base_run_index": 2}
    older = {"comparison_id": "o", "baseline": None, "base_run_index": 1}
    pinned = {"comparison_id": "b", "baseline": "main", "base_run_index": 3}
    assert last_comparable([pinned, older, night]) == [night]
    assert last_comparable([pinned]) == [pinned]
    assert last_comparable([]) == []


def test_a_run_that_is_not_complete_goes_on_with_run() -> None:

    run = {"audit_run_id": "0" * 32, "audit_id": "my audit", "state": "running", "origin": "run"}
    assert _outcome(run, None, []).state == "not measured"
    assert _next_command(run, None, None, []) == "promptaudit run 'my audit'"
