"""A gate about models and strategies of one run, and whether somebody may sign a candidate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from promptaudit.gate.source import Parts
from promptaudit.gate.verdict_rules import EXIT_CODES, approve, pairs_inside, parse_approval
from promptaudit.marts.comparison.result import RunComparison
from promptaudit.registry.errors import UsageError
from promptaudit.registry.gates import parse_rule
from promptaudit.system.display.compared import RunsCompared
from tests.gate.test_check import one, row, states
from tests.support.handmade_warehouse import NAMES, Gated, run_id

GROUPS = [(model, task, strategy) for model in ("m", "n", "m:8b") for task in "tu" for strategy in ("simple", "detail")]


@pytest.mark.parametrize(
    ("rule", "pairs"),
    [
        ("no regressed against :m", [("m", None, "m:8b", None), ("m", None, "n", None)]),
        ("no regressed against :m:8b at model_id = n", [("m:8b", None, "n", None)]),
        ("no worse than ::detail", [(None, "detail", None, "simple")]),
        ("same as :n:simple at model_id = n", [("n", "simple", "n", "detail")]),
        (
            "same as :m:8b:simple at task_id = u and strategy = simple",
            [("m:8b", "simple", "m", "simple"), ("m:8b", "simple", "n", "simple")],
        ),
        ("no worse than :m at model_id = m", []),
        ("no worse than :nobody", []),
        ("no worse than ::one_shot", []),
        ("no worse than baseline", []),
        ("micro_f1 >= 0.5", []),
    ],
)
def test_which_pairs_a_rule_needs(rule: str, pairs: list[tuple[str | None, ...]]) -> None:
    assert pairs_inside(parse_rule(rule), GROUPS) == [Parts(*pair) for pair in pairs]


def of_two_models(folder: Path, *rows: dict[str, Any], is_compared: bool = True) -> tuple[Gated, str]:
    gated = Gated(folder)
    run = gated.run("a")
    for model in ("m", "n"):
        gated.row("rpt_audit", run, **NAMES | {"model_id": model})
    if is_compared:
        named = [{"model_id": "n", "cause": "other_model", "min_effect": 0.02, **each} for each in rows]
        gated.compared(run, run, *named, parts=Parts("m", None, "n", None))
    return gated, run


def test_the_models_of_a_run_are_held_against_one_of_them(tmp_path: Path) -> None:
    by_nature = [row("label_churn", "not_comparable", reason="two models"), row("accuracy_std:exact", "not_comparable")]
    small = {"difference": -0.02, "difference_low": -0.03, "difference_high": -0.01}
    gated, run = of_two_models(tmp_path, row("micro_f1", "regressed", **small), *by_nature)
    result = one(gated, run, "no regressed against :m")
    assert (result.outcome, result.reason) == ("failed", "1 of 1 comparisons is regressed, against :m")
    assert states(result) == [("failed", "n", "t", -0.02)]
    assert result.look_closer == (f"promptaudit compare {run}:m {run}:n",)
    # there are no nights between them that would have to be known
    assert one(gated, run, "no worse than :m by 0.05").outcome == "passed"
    assert one(gated, run, "same as :m by 0.02").outcome == "unmeasured"
    assert one(gated, run, "no worse on micro_f1 than :m by 0.005").outcome == "failed"
    # a measure that is named has to have a figure
    assert one(gated, run, "no worse on accuracy_std than :m").outcome == "unmeasured"
    result = one(gated, run, "no regressed against :nobody")
    assert (result.outcome, result.reason) == ("unmeasured", "this run has not :nobody and another to hold against it")


def test_parts_that_are_not_compared_yet_are_unmeasured(tmp_path: Path) -> None:
    gated, run = of_two_models(tmp_path, is_compared=False)
    result = one(gated, run, "no regressed against :m")
    assert (result.outcome, result.reason) == ("unmeasured", "1 of 1 pairs are not compared yet")
    assert result.look_closer == (f"promptaudit compare {run}:m {run}:n",)


def comparison(*rows: dict[str, Any]) -> RunComparison:
    of_runs = {"base_run_id": run_id("b"), "candidate_run_id": run_id("a"), "min_effect": 0.02, "n_alike_nights": 8}
    names = set(RunsCompared.__dataclass_fields__) - {"row", "p_value", "what_changed"} | {"n_samples_for_same"}
    none = dict.fromkeys(names)
    measures = [none | NAMES | of_runs | each for each in rows]
    return RunComparison(comparison_id="c", runs=(), measures=measures, changes=(), flips=(), moved=())


@pytest.mark.parametrize(
    ("measure", "n_nights", "low", "high", "code"),
    [
        ("all", 8, -0.015, 0.05, 0),
        ("micro_f1", 8, -0.015, 0.05, 0),
        ("micro_f1", 8, -0.03, 0.05, 3),
        ("micro_f1", 8, -0.09, -0.03, 1),
        ("micro_f1", 2, -0.015, 0.05, 3),
        ("sensitivity", 8, -0.015, 0.05, 3),  # no such figure
    ],
)
def test_an_approval_needs_the_interval_within_the_bound(
    measure: str, n_nights: int, low: float, high: float, code: int
) -> None:
    figure = row("micro_f1", "none_shown", difference_low=low, difference_high=high, n_alike_nights=n_nights)
    result = approve(parse_approval(measure), comparison(figure), "release-4")
    assert EXIT_CODES[result.outcome] == code
    assert "release-4" in result.reason


@pytest.mark.parametrize(("difference", "low", "code"), [(-0.04, -0.06, 1), (-0.015, -0.03, 3), (-0.01, -0.015, 0)])
def test_what_regressed_by_the_bound_is_worse_however_wide_its_interval(
    difference: float, low: float, code: int
) -> None:
    moved = {"difference": difference, "difference_low": low, "difference_high": -0.005, "n_alike_nights": 8}
    result = approve(parse_approval("micro_f1"), comparison(row("micro_f1", "regressed", **moved)), "release-4")
    assert EXIT_CODES[result.outcome] == code


def test_a_measure_that_nobody_knows_names_the_option() -> None:
    with pytest.raises(
        UsageError, match=r"^UsageError: --no-worse micro_f2: no measure 'micro_f2'; nearest: micro_f1$"
    ):
        parse_approval("micro_f2")
