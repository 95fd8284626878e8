"""The gate: what passes, what fails and what is never a pass; how it is told; what people accept and pin."""

from __future__ import annotations

import csv
import io
import json
import shlex
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptaudit.gate.accept import pin_run, waive_run
from promptaudit.gate.check import check_run
from promptaudit.gate.formats import junit, markdown
from promptaudit.gate.outcome import MOST_ROWS, GateResult, RuleResult, RuleRow
from promptaudit.gate.source import Parts
from promptaudit.registry.errors import CardError, UsageError, WarehouseError
from promptaudit.report.sections.nights import gate_rules
from promptaudit.report.summary import gate_of
from promptaudit.system.clock import now
from promptaudit.system.display.encode import encoded
from promptaudit.system.display.progress import Progress
from promptaudit.system.files import SHARED, write_text
from promptaudit.system.settings import Settings
from promptaudit.warehouse import Warehouse
from tests.report.sections.test_sections_across_tasks import report_data
from tests.support.handmade_warehouse import NAMES, Gated, run_id
from tests.support.published_copy import table

QUIET = Progress(quiet=True)
GROUPS = [{**NAMES, "model_id": model, "task_id": task} for model in ("m", "n") for task in ("t", "u")]


def checked(gated: Gated, run: str, *rules: str, **more: Any) -> GateResult:
    return check_run(Warehouse(gated.published()), run, rules=rules or None, **more)


def one(gated: Gated, run: str, rule: str, **more: Any) -> RuleResult:
    (result,) = checked(gated, run, rule, **more).rules
    return result


def states(result: RuleResult) -> list[tuple[Any, ...]]:
    return [(f.state, f.model_id, f.task_id, f.figure) for f in result.rows]


# ---------------------------------------------------------------- values
def test_a_rule_holds_for_every_row_it_selects(tmp_path: Path) -> None:
    gated = Gated(tmp_path)
    run = gated.run()
    for names, high in zip(GROUPS, (0.1, 0.2, 0.21, 0.3), strict=True):
        own = {"sensitivity": high - 0.05, "sensitivity_low": high - 0.1, "sensitivity_high": high}
        corrected = {name.replace("sensitivity", "sensitivity_corrected"): figure + 0.5 for name, figure in own.items()}
        gated.row("rpt_audit", run, **names, **own, **corrected)
    result = one(gated, run, "sensitivity_high <= 0.2")
    assert (result.outcome, result.n_rows, result.reason) == ("failed", 4, "2 of 4 rows fail")
    assert states(result) == [("failed", "n", "t", 0.21), ("failed", "n", "u", 0.3)]
    assert result.rows[0].figures == "sensitivity_high 0.210; sensitivity 0.160 [0.110, 0.210]"
    # the corrected one has an interval of its own
    corrected = one(gated, run, "sensitivity_corrected_high <= 0.7")
    assert (corrected.rule, corrected.reason) == ("sensitivity_corrected_high <= 0.7", "2 of 4 rows fail")
    assert corrected.rows[0].figures == "sensitivity_corrected_high 0.710; sensitivity_corrected 0.660 [0.610, 0.710]"
    # 0.2 is not above 0.2
    assert one(gated, run, "sensitivity_high <= 0.2 at model_id = m").outcome == "passed"
    assert one(gated, run, "sensitivity_high < 0.2 at model_id = m").outcome == "failed"
    assert one(gated, run, "sensitivity_high <= 0.25 at model_id != m and task_id = t").outcome == "passed"


@given(
    limit=st.integers(0, 8).map(lambda n: n / 8),
    op=st.sampled_from(["<=", "<", ">=", ">"]),
    figures=st.lists(st.integers(0, 8).map(lambda n: n / 8) | st.none(), max_size=4),
)
def test_the_outcome_is_the_worst_of_the_rows(
    tmp_path_factory: pytest.TempPathFactory, limit: float, op: str, figures: list[float | None]
) -> None:
    from promptaudit.gate.source import Source
    from promptaudit.gate.value_rules import check_values
    from promptaudit.registry.gate_rules import ValueRule
    from promptaudit.registry.gates import parse_rule

    source = Source(Warehouse(tmp_path_factory.getbasetemp() / "none.duckdb"), None, run_id("a"), frozenset())
    source._marts[f"rpt_audit {run_id('a')}"] = [
        {**NAMES, "task_id": str(n), "micro_f1": f} for n, f in enumerate(figures)
    ]
    rule = parse_rule(f"micro_f1 {op} {limit}")
    assert isinstance(rule, ValueRule)
    holds = {"<=": float.__le__, "<": float.__lt__, ">=": float.__ge__, ">": float.__gt__}[op]
    failing = [figure for figure in figures if figure is not None and not holds(figure, limit)]
    expected = "failed" if failing else "unmeasured" if None in figures or not figures else "passed"
    result = check_values(rule, source)
    assert result.outcome == expected
    assert [f.figure for f in result.rows if f.state == "failed"] == failing
    assert sum(f.state == "unmeasured" for f in result.rows) == figures.count(None)


def test_no_row_and_no_figure_are_never_a_pass(tmp_path: Path) -> None:
    gated = Gated(tmp_path)
    run = gated.run()
    gated.row("rpt_audit", run, micro_f1=None, invalid_rate=float("nan"), cost_usd=1)
    assert one(gated, run, "micro_f1 >= 0").outcome == "unmeasured"
    assert one(gated, run, "invalid_rate <= 1").outcome == "unmeasured"
    assert one(gated, run, "cost_usd <= 2 at task_id = other").reason == "no row is selected"
    assert one(gated, run, "mean_spearman >= -1").outcome == "unmeasured"
    assert one(gated, run, "cost_usd <= 2").outcome == "passed"
    both = checked(gated, run, "micro_f1 >= 0", "cost_usd <= 2")
    assert both.exit_code == 3
    assert checked(gated, run, "micro_f1 >= 0", "cost_usd <= 0.5").exit_code == 1
    assert checked(gated, run, "cost_usd <= 2").exit_code == 0


def test_a_publication_without_a_table_is_unmeasured(tmp_path: Path) -> None:
    gated = Gated(tmp_path, marts=["dim_audit_runs", "rpt_audit"])
    first, run = gated.run("b", hours=25), gated.run()
    result = one(gated, run, "no regressed")
    assert (result.outcome, result.look_closer) == ("unmeasured", (f"promptaudit compare {first} {run}",))
    assert one(gated, run, "mean_spearman >= 0").outcome == "unmeasured"


def stability(gated: Gated, run: str, temperature: float | None, low: float | None, **columns: Any) -> None:
    known = {"scope": "inter", "series": "all", "annotation_filter": "labels_and_na", "n_annotators": 5}
    row = {"paraphrase_temperature": temperature, "pss": 0.9, "pss_low": low, "pss_high": 0.95}
    gated.row("fct_prompt_stability", run, **known | row | columns)


def test_rpt_audits_name_over_paraphrase_temperatures(tmp_path: Path) -> None:
    gated = Gated(tmp_path)
    run = gated.run()
    gated.row("rpt_audit", run)
    for temperature, low in ((0.1, 0.85), (1.0, 0.79), (2.0, 0.3)):
        stability(gated, run, temperature, low)
    for other in ({"scope": "intra"}, {"series": "cumulative"}, {"annotation_filter": "verbatim"}):
        stability(gated, run, 0.5, 0.0, **other)
    result = one(gated, run, "pss_inter_low >= 0.8 at paraphrase_temperature <= 1")
    assert (result.n_rows, states(result)) == (2, [("failed", "m", "t", 0.79)])
    assert result.rows[0].name == "m / t / simple / paraphrase_temperature 1.0"
    assert result.rows[0].figures == "pss_inter_low 0.790; pss 0.900 [0.790, 0.950]"
    assert one(gated, run, "pss_inter_low >= 0.8 at paraphrase_temperature < 1").outcome == "passed"
    assert one(gated, run, "pss_inter_low >= 0.5 at paraphrase_temperature <= 2").n_rows == 3


def test_no_paraphrase_temperature_counts_as_below_every_one(tmp_path: Path) -> None:
    """A rephraser without the setting has one group, and a rule on tame rewordings is about it too."""
    gated = Gated(tmp_path)
    run = gated.run()
    gated.row("rpt_audit", run)
    stability(gated, run, None, 0.7)
    rule = "pss_inter_low >= 0.8 at paraphrase_temperature"
    assert one(gated, run, f"{rule} <= 1").outcome == "failed"
    assert one(gated, run, f"{rule} >= 1").reason == "1 row has no figure"  # the group that ought to have one
    assert one(gated, run, f"{rule} = 0").outcome == "unmeasured"


def test_who_has_no_row_of_another_table_is_unmeasured(tmp_path: Path) -> None:
    """No ask of n was answered: its row of the scorecard has no figures, and other tables none of it."""
    gated = Gated(tmp_path)
    run = gated.run()
    for model in ("m", "n"):
        gated.row("rpt_audit", run, model_id=model)
    stability(gated, run, 0.5, 0.9)
    gated.row("dim_tasks", run, scoring_methods=["label_match"])
    gated.row("fct_scoring_sensitivity", run, scoring_method="label_match", accuracy_mean=0.9)
    gated.row("fct_scoring_sensitivity", run, scoring_method="judge:j", accuracy_mean=0.9)
    result = one(gated, run, "pss_inter_low >= 0.8 at paraphrase_temperature <= 1")
    assert (result.outcome, states(result)) == ("unmeasured", [("unmeasured", "n", "t", None)])
    assert one(gated, run, "pss_inter_low >= 0.8 at paraphrase_temperature <= 1 and model_id = m").outcome == "passed"
    result = one(gated, run, "accuracy_mean >= 0.5")
    assert [f.others for f in result.rows] == [{"scoring_method": "judge:j"}, {"scoring_method": "label_match"}]
    assert one(gated, run, "accuracy_mean >= 0.5 at model_id = m").outcome == "passed"
    # among models there is one row a task and strategy, of no model
    stability(gated, run, None, 0.9, scope="inter_model", model_id=None)
    assert one(gated, run, "pss_inter_model_low >= 0.8").outcome == "passed"
    assert one(gated, run, "pss_inter_model_low >= 0.8 at strategy = detail").outcome == "unmeasured"


def test_a_figure_of_a_part_of_what_was_planned_cannot_pass(tmp_path: Path) -> None:
    gated = Gated(tmp_path)
    run = gated.run()
    counts = {"n_samples": 40, "n_samples_planned": 40, "n_variants": 10, "n_variants_answered": 9}
    gated.row("rpt_audit", run, invalid_rate=0.02, **counts)
    result = one(gated, run, "invalid_rate <= 0.1")
    assert (result.outcome, result.reason) == ("unmeasured", "1 row has no figure of all that was planned")
    assert result.rows[0].reason == "it is of 9 of 10 wordings: the others have no answer"
    assert one(gated, run, "invalid_rate <= 0.01").outcome == "failed"
    # a figure of another table is of the same answers
    gated.row("fct_scoring_sensitivity", run, scoring_method="label_match", accuracy_mean=0.9)
    gated.row("dim_tasks", run, scoring_methods=["label_match"])
    assert one(gated, run, "accuracy_mean >= 0.5").outcome == "unmeasured"


def test_every_task_with_a_rule_ought_to_have_an_accuracy(tmp_path: Path) -> None:
    gated = Gated(tmp_path)
    run = gated.run()
    for task in ("t", "u"):
        gated.row("rpt_audit", run, task_id=task)
        gated.row("dim_tasks", run, task_id=task, scoring_methods=["label_match"])
    gated.row("fct_scoring_sensitivity", run, scoring_method="label_match", accuracy_mean=0.9)
    assert states(one(gated, run, "accuracy_mean >= 0.5")) == [("unmeasured", "m", "u", None)]
    assert one(gated, run, "accuracy_mean >= 0.5 at task_id = t").outcome == "passed"


# ---------------------------------------------------------------- the run
def test_an_old_run_is_unmeasured(tmp_path: Path) -> None:
    gated = Gated(tmp_path)
    run = gated.run(gate=["micro_f1 >= 0"], hours=40)
    gated.row("rpt_audit", run, micro_f1=0.5)
    warehouse = gated.published()
    result = check_run(Warehouse(warehouse), run).rules[0]
    assert result.outcome == "unmeasured"
    assert "40.0 hours ago; at most 36.0 hours is allowed" in result.reason
    assert result.look_closer == ("promptaudit nightly nightly",)
    assert check_run(Warehouse(warehouse), run, max_age="41h").exit_code == 0
    assert check_run(Warehouse(warehouse), run, now=now() - timedelta(hours=5)).exit_code == 0
    with pytest.raises(CardError, match="max_age: an age is a whole number"):
        check_run(Warehouse(warehouse), run, max_age="soon")


def test_the_landed_card_says_the_rules_unless_they_are_given(tmp_path: Path) -> None:
    gated = Gated(tmp_path)
    run = gated.run(gate=["micro_f1 >= 0.9"], max_age="3d", hours=40)
    gated.row("rpt_audit", run, micro_f1=0.5)
    warehouse = gated.published()
    assert [(r.rule, r.outcome) for r in check_run(Warehouse(warehouse), run).rules] == [("micro_f1 >= 0.9", "failed")]
    assert check_run(Warehouse(warehouse), run, rules=["micro_f1 >= 0.4"]).exit_code == 0
    none = check_run(Warehouse(warehouse), run, rules=[])
    assert none.headline.endswith("the audit's card has no gate: nothing is checked")
    assert none.exit_code == 3
    with pytest.raises(CardError, match=r"gate\.0: character 1: no column 'f1'"):
        check_run(Warehouse(warehouse), run, rules=["f1 >= 0"])
    imported = gated.run("b", origin="import")
    assert checked(gated, imported).rules == ()


def test_what_is_not_complete_or_not_published_is_unmeasured(tmp_path: Path) -> None:
    gated = Gated(tmp_path)
    running = gated.run(state="running", gate=["no regressed"])
    warehouse = gated.published()
    (result,) = check_run(Warehouse(warehouse), running).rules
    assert (result.outcome, result.reason) == ("unmeasured", "the run is running, not complete")
    assert result.look_closer == ("promptaudit run nightly",)
    later = gated.run("b", gate=["no regressed"])
    gated.written()
    assert check_run(Warehouse(warehouse), later).rules[0].reason == "the run is not published"
    with pytest.raises(UsageError, match="no run is"):
        check_run(Warehouse(warehouse), run_id("f"))


def test_nothing_published_is_unmeasured(tmp_path: Path) -> None:
    gated = Gated(tmp_path)
    run = gated.run(gate=["no regressed", "micro_f1 >= 0"])
    warehouse = gated.written()
    assert not Warehouse(warehouse).published.path.exists()
    assert check_run(Warehouse(warehouse), run).exit_code == 3


# ---------------------------------------------------------------- comparisons
def row(measure: str, verdict: str, **columns: Any) -> dict[str, Any]:
    figures = {"base": 0.9, "candidate": 0.8, "difference": -0.1, "difference_low": -0.15, "difference_high": -0.05}
    return {
        "measure": measure,
        "verdict": verdict,
        **figures,
        "q_value": 0.001,
        "reason": "the prompt changed",
        **columns,
    }


def two_nights(folder: Path, *rows: dict[str, Any]) -> tuple[Gated, str, str]:
    gated = Gated(folder)
    base, run = gated.run("b", hours=25), gated.run("a")
    for each in (base, run):
        gated.row("rpt_audit", each)
    if rows:
        gated.compared(base, run, *rows)
    return gated, base, run


def test_no_regressed(tmp_path: Path) -> None:
    rows = (row("micro_f1", "regressed"), row("sensitivity", "none_shown"), row("label_churn", "changed"))
    gated, base, run = two_nights(tmp_path, *rows)
    result = one(gated, run, "no regressed on micro_f1")
    assert (result.outcome, result.n_rows, result.base_run_id) == ("failed", 1, base)
    assert result.reason == f"1 of 1 comparisons is regressed, against last night ({base})"
    assert result.look_closer == (f"promptaudit compare {base} {run}",)
    assert result.rows[0].figures == (
        "micro_f1 0.900 -> 0.800; difference -0.100 [-0.150, -0.050]; by chance 1 time in 1,000; the prompt changed"
    )
    assert one(gated, run, "no regressed").n_rows == 2  # every measure but label_churn
    assert one(gated, run, "no regressed on sensitivity").outcome == "passed"
    assert states(one(gated, run, "no changed")) == [("failed", "m", "t", -0.1)]
    # which regressions count; the rows that do not were still measured
    assert one(gated, run, "no regressed at cause != nothing_changed").outcome == "passed"
    assert one(gated, run, "no regressed at q_value > 0.01").outcome == "passed"
    assert one(gated, run, "no regressed at cause = nothing_changed and q_value < 0.01").outcome == "failed"


def test_the_first_night_passes_and_says_why(tmp_path: Path) -> None:
    gated = Gated(tmp_path)
    run = gated.run()
    gated.run("b", hours=25, state="failed")
    gated.run("c", hours=25, audit="another")
    gated.run("d", hours=25, origin="import")
    for rule in ("no regressed", "no regressed against baseline"):
        result = one(gated, run, rule)
        assert result.outcome == "first_night"
        assert result.reason == "no run of 'nightly' before this one is complete: there is nothing to compare it with"
    assert checked(gated, run, "no regressed").exit_code == 0


def test_a_comparison_that_was_not_made_is_unmeasured(tmp_path: Path) -> None:
    gated, base, run = two_nights(tmp_path)
    result = one(gated, run, "no regressed")
    assert (result.outcome, result.look_closer) == ("unmeasured", (f"promptaudit compare {base} {run}",))


@pytest.mark.parametrize("verdict", ["not_comparable", "not_judged"])
def test_what_cannot_be_compared_passes_only_beside_what_can(tmp_path: Path, verdict: str) -> None:
    gated, _, run = two_nights(tmp_path, row("pss_inter", verdict), row("micro_f1", "none_shown"))
    result = one(gated, run, "no regressed on pss_inter")
    assert (result.outcome, result.rows[0].reason) == ("unmeasured", "the prompt changed")
    passed = one(gated, run, "no regressed")
    assert (passed.outcome, passed.n_rows) == ("passed", 2)
    assert "none of 1 comparisons is regressed" in passed.reason
    assert "1 more could not be compared or judged" in passed.reason
    assert one(gated, run, "no regressed on accuracy_std").reason.startswith("no row is selected")


def test_a_model_that_cannot_be_compared_is_unmeasured_and_a_new_one_is_new(tmp_path: Path) -> None:
    gated, base, run = two_nights(tmp_path, row("micro_f1", "none_shown"))
    gated.row("rpt_audit", run, model_id="n")
    result = one(gated, run, "no regressed")
    assert result.outcome == "passed"
    assert "1 of 2 groups are new and have nothing to be compared with" in result.reason
    gated.row("rpt_audit", base, model_id="n")
    result = one(gated, run, "no regressed")
    assert (result.outcome, states(result)) == ("unmeasured", [("unmeasured", "n", "t", None)])
    assert one(gated, run, "no regressed at model_id = m").outcome == "passed"


def test_the_newest_comparison_of_all_models_counts(tmp_path: Path) -> None:
    gated, base, run = two_nights(tmp_path)
    gated.compared(base, run, row("micro_f1", "regressed"), by="old", at=now() - timedelta(hours=2))
    gated.compared(base, run, row("micro_f1", "none_shown"), by="new", at=now() - timedelta(hours=1))
    gated.compared(base, run, by="underivable", at=now())
    gated.compared(base, run, row("micro_f1", "regressed"), by="of one model", parts=Parts("m", None, "m"), at=now())
    assert one(gated, run, "no regressed").outcome == "passed"
    assert one(gated, run, "no regressed", comparison_ids=["old"]).outcome == "failed"


def test_baselines(tmp_path: Path) -> None:
    gated, base, run = two_nights(tmp_path, row("micro_f1", "none_shown"))
    older = gated.run("c", hours=49)
    gated.row("rpt_audit", older)
    gated.compared(older, run, row("micro_f1", "regressed"), by="d")
    settings = Settings(warehouse=gated.published())
    result = one(gated, run, "no regressed against release-4")
    assert (result.outcome, result.look_closer) == ("unmeasured", ("promptaudit pin RUN release-4",))

    pinned = pin_run(settings, older, "release-4", "as shipped", QUIET)
    assert (pinned.audit_run_id, pinned.before) == (older, None)
    for rule in ("no regressed against release-4", "no regressed against baseline"):
        assert one(gated, run, rule).base_run_id == older
        assert one(gated, run, rule).outcome == "failed"
    # the one pinned last, then the one that is named so
    pin_run(settings, base, "release-5", None, QUIET)
    assert one(gated, run, "no regressed against baseline").base_run_id == base
    pin_run(settings, older[:8], "baseline", None, QUIET)
    assert one(gated, run, "no regressed against baseline").base_run_id == older
    again = pin_run(settings, run, "release-4", None, QUIET)
    assert again.before == older
    assert list(again.lines()) == [f"run {run} of 'nightly' is pinned as 'release-4', in place of {older}"]
    result = one(gated, run, "no regressed against release-4")
    assert (result.outcome, result.reason) == ("passed", "this run is what 'release-4' names")


def test_a_clock_that_was_ahead_keeps_no_pin_from_being_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gated, base, run = two_nights(tmp_path, row("micro_f1", "none_shown"))
    settings = Settings(warehouse=gated.published())
    with monkeypatch.context() as patched:
        patched.setattr("promptaudit.gate.accept.this_instant", lambda: now() + timedelta(days=30))
        pin_run(settings, base, "release-4", None, QUIET)
    pin_run(settings, run, "release-4", None, QUIET)
    for rule in ("no regressed against release-4", "no regressed against baseline"):
        assert one(gated, run, rule).reason.startswith("this run is what ")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("latest", "another name than 'latest', which means a run already"),
        ("last_night", "another name than 'last_night'"),
        ("nightly", "a name that no audit has"),
        ("decade", "a name that cannot be the beginning of a run's id"),
        ("", "1 to 200 printable characters without '~', ':' and '\"' is wanted"),
        (" a", "1 to 200 printable"),
        ("latest~1", "1 to 200 printable"),
        ("a:b", "1 to 200 printable"),
        ('a"b', "1 to 200 printable"),
        ("a\nb", "1 to 200 printable"),
        ("z" * 201, "1 to 200 printable"),
    ],
)
def test_names_that_mean_something_else_are_refused(tmp_path: Path, name: str, said: str) -> None:
    gated = Gated(tmp_path)
    gated.run()
    with pytest.raises(UsageError) as caught:
        pin_run(Settings(warehouse=gated.published()), None, name, None, QUIET)
    assert said in str(caught.value)
    assert Warehouse(gated.warehouse).read("select * from raw.baselines") == []


# ---------------------------------------------------------------- waivers
def test_what_is_accepted_passes_until_its_day_is_over(tmp_path: Path) -> None:
    gated, _, run = two_nights(tmp_path, row("micro_f1", "regressed"), row("sensitivity", "none_shown"))
    stability(gated, run, 0.5, 0.1)
    stability(gated, run, 1.0, 0.2)
    rules = ["no regressed", "pss_inter_low >= 0.8 at paraphrase_temperature <= 1"]
    settings = Settings(warehouse=gated.published())
    until = (now() + timedelta(days=3)).date()
    accepted = waive_run(settings, run, "  known:\n a new prompt ", until.isoformat(), QUIET, rules=rules)
    assert (accepted.n_rows, accepted.n_new, accepted.reason) == (3, 3, "known: a new prompt")
    assert accepted.valid_until == datetime.combine(until, datetime.min.time()) + timedelta(
        hours=23, minutes=59, seconds=59
    )
    landed = Warehouse(gated.warehouse).read("select rule, measure, model_id from raw.waivers order by all")
    assert [(r["rule"], r["measure"], r["model_id"]) for r in landed] == [
        ("no regressed", "micro_f1", "m"),
        (rules[1], "pss_inter_low paraphrase_temperature=0.5", "m"),
        (rules[1], "pss_inter_low paraphrase_temperature=1.0", "m"),
    ]
    found = checked(gated, run, *rules)
    assert [result.outcome for result in found.rules] == ["waived", "waived"]
    assert found.exit_code == 0
    assert "known: a new prompt" in "\n".join(found.lines())
    assert f"accepted until {until} 23:59" in found.rules[0].rows[0].figures
    # the same again lands nothing; and nothing fails any more
    with pytest.raises(UsageError, match="fails no rule: there is nothing to accept"):
        waive_run(settings, run, "known: a new prompt", until.isoformat(), QUIET, rules=rules)

    later = now() + timedelta(days=4)
    assert checked(gated, run, *rules, max_age="9d", now=later).exit_code == 1
    # written otherwise it is the same rule; with another limit it is another
    assert checked(gated, run, "pss_inter_low>=0.80 at paraphrase_temperature <= 1.0").exit_code == 0
    assert checked(gated, run, "pss_inter_low >= 0.7 at paraphrase_temperature <= 1").exit_code == 1


@pytest.mark.slow
def test_a_waiver_is_for_the_rows_it_names_alone(tmp_path: Path) -> None:
    gated = Gated(tmp_path)
    run = gated.run()
    gated.row("rpt_audit", run, micro_f1=0.5)
    settings = Settings(warehouse=gated.published())
    waive_run(settings, None, "known", (now() + timedelta(days=1)).isoformat(), QUIET, rules=["micro_f1 >= 0.8"])
    later = gated.run("e", hours=0.5)
    gated.row("rpt_audit", later, micro_f1=0.4)
    assert one(gated, later, "micro_f1 >= 0.8").outcome == "waived"
    gated.row("rpt_audit", later, micro_f1=None)
    assert one(gated, later, "micro_f1 >= 0.8").outcome == "unmeasured"  # no figure is not what was accepted
    gated.row("rpt_audit", later, micro_f1=0.6, task_id="v")
    result = one(gated, later, "micro_f1 >= 0.8")
    assert (result.outcome, result.reason) == ("failed", "2 of 3 rows fail; 1 of these accepted")
    # of the same model, task and strategy, but at a temperature that was not accepted
    rule = "pss_inter_low >= 0.8 at paraphrase_temperature <= 1"
    stability(gated, run, 0.5, 0.1)
    gated.published()
    waive_run(settings, run, "known", (now() + timedelta(days=1)).isoformat(), QUIET, rules=[rule])
    for temperature in (0.5, 1.0):
        stability(gated, later, temperature, 0.1)
    assert [f.state for f in one(gated, later, rule).rows[:2]] == ["waived", "failed"]
    other = gated.run("d", audit="another")
    gated.row("rpt_audit", other, micro_f1=0.4)
    assert one(gated, other, "micro_f1 >= 0.8").outcome == "failed"


@pytest.mark.parametrize(
    ("reason", "days", "until", "said"),
    [
        (" \n", 1, None, "--reason: 1 to 1000 characters"),
        ("why", -1, None, "that is past"),
        ("why", 400, None, "more than a year away"),
        ("why", 0, "tomorrow", "--until: a day such as 2026-12-01 is wanted, found 'tomorrow'"),
        ("why", 0, "2026-02-30", "--until: a day such as"),
        ("why", 0, "0001-01-01T00:00+23:00", "--until: a day such as"),
    ],
)
def test_what_is_not_accepted(tmp_path: Path, reason: str, days: int, until: str | None, said: str) -> None:
    gated = Gated(tmp_path)
    gated.row("rpt_audit", gated.run(), micro_f1=0.5)
    settings = Settings(warehouse=gated.published())
    end = until or (now() + timedelta(days=days)).isoformat()
    with pytest.raises(UsageError) as caught:
        waive_run(settings, None, reason, end, QUIET, rules=["micro_f1 >= 0.8"])
    assert said in str(caught.value)
    assert Warehouse(gated.warehouse).read("select * from raw.waivers") == []


# ---------------------------------------------------------------- how it is told
HOSTILE = "m'; drop table marts.rpt_audit; --|`$(touch x)`</td><script>alert(1)</script>\x00\x1b[31m\u202e@all %s {0}"


def hostile(folder: Path) -> GateResult:
    gated = Gated(folder)
    run = gated.run(audit=HOSTILE)
    gated.row("rpt_audit", run, model_id=HOSTILE, micro_f1=0.5)
    text = HOSTILE.replace("\x00", "").replace("\x1b", "")
    gated.row("rpt_audit", run, model_id=text, micro_f1=0.5)
    return checked(
        gated, run, "micro_f1 >= 0.8", f'micro_f1 >= 0.8 at model_id = "{text}"', "cost_usd <= 1", "no regressed"
    )


def test_names_steer_neither_terminal_nor_shell_nor_query(tmp_path: Path) -> None:
    found = hostile(tmp_path)
    assert [result.outcome for result in found.rules] == ["failed", "failed", "unmeasured", "first_night"]
    said = "\n".join(found.lines())
    assert not {"\x00", "\x1b", "\u202e"} & set(said)
    command, query = found.rules[1].look_closer[0], "select count(*) from marts.rpt_audit"
    words = shlex.split(command)
    assert words[:2] == ["promptaudit", "sql"]
    assert len(words) == 3
    warehouse = tmp_path / "warehouse/audit.duckdb"
    names, rows = table(warehouse, words[2])  # one statement, and it selects what failed
    assert names == ["model_id", "task_id", "strategy", "micro_f1", "micro_f1_low", "micro_f1_high"]
    assert len(rows) == 1
    assert table(warehouse, query)[1] == [(2,)]


def test_junit_is_xml_whatever_the_names(tmp_path: Path) -> None:
    found = hostile(tmp_path)
    root = ET.fromstring(junit(found))  # noqa: S314 - our own
    (suite,) = root.findall("testsuite")
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "4",
        "failures": "2",
        "errors": "1",
        "skipped": "0",
    }
    cases = suite.findall("testcase")
    assert [[child.tag for child in case] for case in cases] == [["failure"], ["failure"], ["error"], ["system-out"]]
    failure = cases[0].find("failure")
    assert failure is not None
    assert failure.get("message") == "2 of 2 rows fail"
    assert "micro_f1 0.500" in (failure.text or "")
    assert "<script>alert(1)</script>\\x00\\x1b[31m\\u202e" in (failure.text or "")
    assert "look closer: promptaudit report " in (failure.text or "")


@given(st.text(st.characters(codec="utf-8") | st.sampled_from("\x00\x0b\ufffe\uffff|`\\<&\"'\n"), max_size=80))
def test_any_text_is_told_in_xml_and_in_one_cell(text: str) -> None:
    found = GateResult(
        audit_run_id=run_id("a"),
        audit_id=text,
        started_at=now(),
        checked_at=now(),
        rules=(
            RuleResult(
                rule=text,
                outcome="failed",
                reason=text,
                n_rows=1,
                rows=(
                    RuleRow(
                        state="failed", measure="micro_f1", model_id=text, task_id=text, strategy=text, reason=text
                    ),
                ),
                base_run_id=None,
                look_closer=(text,),
            ),
        ),
    )
    (case,) = ET.fromstring(junit(found)).iter("testcase")  # noqa: S314 - our own
    assert case.get("name") is not None
    table = markdown(found).split("\n\n")[1].splitlines()
    assert len(table) == 3
    cells = next(csv.reader(io.StringIO(table[2].replace("\\|", "")), delimiter="|", quoting=csv.QUOTE_NONE))
    assert len(cells) == 7  # five between the outer bars


def test_markdown_keeps_names_in_code(tmp_path: Path) -> None:
    lines = markdown(hostile(tmp_path)).splitlines()
    assert lines[2] == "|  | Rule | Outcome | Found | Look closer |"
    cell = lines[4].split(" | ")[1]
    assert cell == "`micro_f1 >= 0.8`"
    # the name has a back quote, so that its span is fenced by two
    assert "``m'; drop table marts.rpt_audit; --\\|`$(touch x)`</td><script>" in lines[4]


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    gated = Gated(tmp_path)
    run = gated.run()
    n = MOST_ROWS + 5
    for task in range(n):
        gated.row("rpt_audit", run, task_id=f"t{task:02}", micro_f1=0.5 if task else None)
    found = checked(gated, run, "micro_f1 >= 0.8")
    lines = found.lines()
    assert lines[1].startswith(f"FAILED      micro_f1 >= 0.8: {n - 1} of {n} rows fail")
    assert lines[2].strip() == "m / t01 / simple: micro_f1 0.500"  # what failed comes before what has no figure
    assert lines[2 + MOST_ROWS].strip() == "and 5 more"
    assert "and 5 more" in junit(found)
    assert "and 5 more" in markdown(found)
    data = json.loads(json.dumps(encoded(found)))
    assert (len(data["rules"][0]["rows"]), data["exit_code"]) == (n, 1)
    assert data["rules"][0]["rows"][1]["figure"] == 0.5


def test_files_are_written_whole_or_not_at_all(tmp_path: Path) -> None:
    found = hostile(tmp_path)
    path = tmp_path / "report.xml"
    path.write_text("old")
    link = tmp_path / "link.xml"
    link.symlink_to(path)
    assert write_text(junit(found), link, SHARED) == link
    assert (path.read_text(), link.is_symlink()) == (junit(found), True)
    with pytest.raises(WarehouseError, match=r"missing/gate\.md: cannot be written: No such file"):
        write_text(markdown(found), tmp_path / "missing/gate.md", SHARED)
    (tmp_path / "folder").mkdir()
    with pytest.raises(WarehouseError, match="folder: cannot be written"):
        write_text(junit(found), tmp_path / "folder", SHARED)
    assert [each.name for each in tmp_path.glob("*.new")] == []


def test_checking_writes_nothing(tmp_path: Path) -> None:
    gated, _, run = two_nights(tmp_path, row("micro_f1", "regressed"))
    warehouse = gated.published()
    files = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    check_run(Warehouse(warehouse), run, rules=["no regressed", "micro_f1 >= 0.5"])
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == files


# ---------------------------------------------------------------- in the report
def test_the_report_begins_with_what_the_gate_says_whatever_the_age(tmp_path: Path) -> None:
    gated = Gated(tmp_path)
    run = gated.run(gate=["micro_f1 >= 0.5", "sensitivity <= 0.2", "invalid_rate <= 0.1"], hours=24 * 900)
    gated.row("rpt_audit", run, model_id="<b>m</b>", micro_f1=0.4, sensitivity=0.1)
    warehouse = gated.published()
    row = {"audit_run_id": run, "started_at": now() - timedelta(days=900)}
    found = gate_of(Warehouse(warehouse), row)
    assert found is not None
    assert found.counts == "3 rules: 1 failed, 1 could not be measured, 1 passed"
    (block,) = gate_rules.drawn(report_data(gate=found)).blocks
    assert [(line[0], line[1]) for line in block.tables[0].rows] == [
        ("Failed", "micro_f1 >= 0.5"),
        ("Could not be measured", "invalid_rate <= 0.1"),
        ("Passed", "sensitivity <= 0.2"),
    ]
    assert "micro_f1 0.400" in str(block.tables[0].rows[0][2])


def test_without_rules_that_can_be_read_or_its_landed_row_a_run_has_no_verdict(tmp_path: Path) -> None:
    gated = Gated(tmp_path)
    none, strange = gated.run("a"), gated.run("b", gate=["micro_f1 ~ 0.5"])
    warehouse = gated.published()
    rows = [{"audit_run_id": run, "started_at": now()} for run in (none, strange, "0" * 32)]
    gates = [gate_of(Warehouse(warehouse), row) for row in rows]
    assert [gate_rules.drawn(report_data(gate=gate)).blocks for gate in gates] == [[], [], []]
