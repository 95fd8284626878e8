"""`promptaudit plan --target-width` and `--detect`, on published answers of simulated models."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from promptaudit.udfs.designs.search import least_design
from promptaudit.udfs.designs.widths import Design, detectable_difference, half_width, half_widths
from tests.support.planned_answers import PlannedAnswers
from tests.support.shell import Ended, promptaudit
from tests.udfs.designs.worlds import World, components_of

CALM, WILD = World(wordings=0.03), World(samples=0.24, wordings=0.06)
REPHRASED = "  rephrasing: {rephraser: rules, variants: 10}\n  min_effect: 0.03\n"


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> tuple[PlannedAnswers, dict[str, np.ndarray]]:
    planned = PlannedAnswers(tmp_path_factory.mktemp("planned"), audit=REPHRASED)
    planned.add("0ld", {"calm": CALM, "wild": WILD}, seed=2)
    return planned, planned.add("1new", {"calm": CALM, "wild": WILD})


@pytest.fixture
def folder(answers: tuple[PlannedAnswers, dict[str, np.ndarray]]) -> Path:
    return answers[0].folder


def plan(folder: Path, *options: str | float, code: int = 0) -> Ended:
    ended = promptaudit(folder, "plan", "a", *map(str, options))
    assert ended.code == code, ended.err
    return ended


def planned(folder: Path, *options: str | float) -> Any:
    return plan(folder, *options, "--json").json()


def design_of(row: dict[str, Any]) -> Design:
    return Design(**{name: row[name] for name in ("n_samples", "n_wordings", "n_repetitions")})


def test_the_group_that_varies_most_decides(answers: tuple[PlannedAnswers, dict[str, np.ndarray]]) -> None:
    found = planned(answers[0].folder, "--target-width", 0.14, "--measure", "micro_f1")
    calm, wild = (components_of(answers[1][model]) for model in ("calm", "wild"))

    def worst(n: NDArray[np.float64], shape: Design) -> NDArray[np.float64]:
        return np.maximum(half_widths(calm, n, shape), half_widths(wild, n, shape))

    best = least_design(worst, 0.07, "linear", most_samples=400)
    assert best == design_of(found["design"])
    assert found["decided_by"] == "model 'wild', task 't', simple"
    assert (found["audit_run_id"], found["is_pilot"]) == ("1new", False)
    assert found["design"]["width"] == pytest.approx(2 * half_width(wild, best))
    assert found["design"]["width"] <= 0.14
    assert [row["var_samples"] for row in found["groups"]] == pytest.approx([calm.samples, wild.samples])
    # two models of one task at 50 tokens of prompt for 1 USD a million and 5 of answer for 10, ten answers a second each
    assert found["design"]["n_requests"] == 2 * best.n_requests
    assert found["design"]["usd"] == pytest.approx(2 * best.n_requests * (50 * 1 + 5 * 10) / 1e6)
    assert found["design"]["hours"] == pytest.approx(best.n_requests / 10 / 3600, rel=0.01)


def test_asking_a_fifth_twice_costs_a_fifth_more(folder: Path) -> None:
    found = planned(folder, "--target-width", 0.14, "--measure", "micro_f1")
    assert found["design"]["n_repetitions"] == 1
    assert found["n_requests_twice"] == round(1.2 * found["design"]["n_requests"])
    assert (
        planned(folder, "--target-width", 0.2, "--measure", "sensitivity")["n_requests_twice"] is None
    )  # asked twice as it is


def test_sensitivity_is_planned_with_twelve_wordings_and_the_runs_repetitions(folder: Path) -> None:
    found = planned(folder, "--target-width", 0.2, "--measure", "sensitivity")
    design = design_of(found["design"])
    assert design.n_wordings >= 12
    assert design.n_repetitions == 2
    assert all(row["bias"] < 0 and row["var_repetitions"] is None for row in found["groups"])


def test_accuracy_is_planned_by_scoring_method(folder: Path) -> None:
    found = planned(folder, "--target-width", 0.14, "--measure", "accuracy")
    by_label = planned(folder, "--target-width", 0.14, "--measure", "micro_f1")
    assert design_of(found["design"]) == design_of(by_label["design"])
    assert found["decided_by"] == "model 'wild', task 't', simple, label_match"


def test_a_difference_is_detected_by_the_least_design(answers: tuple[PlannedAnswers, dict[str, np.ndarray]]) -> None:
    found = planned(answers[0].folder, "--detect", 0.06)
    assert (found["measure"], found["detect"], found["target_width"]) == ("micro_f1", 0.06, None)
    assert found["detectable_difference"] <= 0.06
    # 8 measures of two models, none compared yet
    assert (found["n_comparisons"], found["min_effect"]) == (16, 0.03)
    best = design_of(found["design"])
    fewer = Design(n_samples=best.n_samples - 1, n_wordings=best.n_wordings, n_repetitions=best.n_repetitions)
    worst = [
        max(
            detectable_difference(components_of(own), each, n_comparisons=16, min_effect=0.03)
            for own in answers[1].values()
        )
        for each in (best, fewer)
    ]
    assert found["detectable_difference"] == pytest.approx(worst[0])
    assert worst[1] > 0.06


def test_the_differences_that_were_tested_are_counted(tmp_path: Path) -> None:
    own = PlannedAnswers(tmp_path, ("calm",))
    own.add("r1", {"calm": CALM})
    own.sql(
        "insert into marts.rpt_run_comparisons values ('c', 'r1', 'micro_f1', .4), ('c', 'r1', 'sensitivity', .4), "
        "('c', 'r1', 'pss_inter', null), ('c', 'r1', 'label_churn', .4), ('d', 'r1', 'micro_f1', .4)"
    )
    assert planned(tmp_path, "--detect", 0.06)["n_comparisons"] == 2


def test_too_few_cells_to_tell_wordings_from_samples_are_refused(tmp_path: Path) -> None:
    own = PlannedAnswers(tmp_path, ("calm",))
    own.add("r1", {"calm": WILD}, n=61, q=62)
    own.sql("delete from marts.fct_predictions where prompt_variant_id[2:]::int - sample_id[2:]::int not in (0, 1)")
    line = plan(tmp_path, "--target-width", "0.2", "--measure", "micro_f1", code=2).one_line()
    assert line.startswith(
        "DataError: run r1 has 122 cells of 61 samples x 62 wordings of task 't' under model 'calm', too few to tell wordings "
    )


def test_a_run_may_be_named(folder: Path) -> None:
    for name in ("0ld", "a~1"):
        found = planned(folder, "--target-width", 0.14, "--measure", "micro_f1", "--from", name)
        assert found["audit_run_id"] == "0ld"


def test_what_is_printed(folder: Path) -> None:
    lines = plan(folder, "--target-width", 0.14, "--measure", "micro_f1").out.splitlines()
    assert lines[0] == "micro_f1, planned from run 1new"
    assert [line.split()[0] for line in lines[1:]] == ["design", "cost", "width", "difference", "decided", "noise"]
    assert re.fullmatch(r"design     \d+ samples x \d+ wordings x 1 ask", lines[1])
    assert " requests a night, " in lines[2]
    assert lines[2].endswith("at that run's rate")
    assert lines[3].endswith(" expected, of the 95 % interval")
    assert lines[6].startswith("noise      with repetitions: {variants: 1, twice: 0.2} a fifth is asked twice: ")
    assert max(map(len, lines)) <= 160
    detected = plan(folder, "--detect", 0.06).out.splitlines()
    assert detected[4].startswith("difference 0.0")
    biased = plan(folder, "--target-width", 0.3, "--measure", "sensitivity").out
    assert "below that of endless wordings" in biased


def test_a_wording_that_breaks_is_named_and_planned_without(tmp_path: Path) -> None:
    own = PlannedAnswers(tmp_path, ("calm",))
    own.add("p1", {"calm": CALM}, n=60, q=9, state="running")
    unreadable = (
        "update marts.fct_predictions set answer_status = 'unparsed', label = null, is_correct = false "
        "where prompt_variant_id = 'v3'"
    )
    own.sql(unreadable, of_pilots=True)
    found = planned(tmp_path, "--target-width", 0.2, "--measure", "micro_f1")
    assert found["is_pilot"]
    assert found["notes"][0].startswith("wording v3 of model 'calm', task 't', simple breaks (0.000 against 0.")
    assert (found["groups"][0]["n_wordings"], found["groups"][0]["n_wordings_asked"]) == (8, 9)
    assert "planned from pilot p1" in plan(tmp_path, "--target-width", "0.2", "--measure", "micro_f1").out
    own.add("r1", {"calm": CALM}, n=60, q=9)
    own.sql(unreadable)
    for measure in ("micro_f1", "sensitivity"):
        found = planned(tmp_path, "--target-width", 0.4, "--measure", measure, "--from", "r1")
        (group,) = found["groups"]
        assert (found["is_pilot"], group["n_wordings"], group["n_wordings_asked"]) == (False, 8, 9)
        assert group["wordings_breaking"] == ["v3"]
        assert found["notes"][0].startswith("wording v3 of model 'calm', task 't', simple breaks (0.000 against 0.")


def test_a_breaking_wording_of_swept_temperatures_is_named_by_its_variant(tmp_path: Path) -> None:
    own = PlannedAnswers(tmp_path, ("calm",))
    own.add("r1", {"calm": CALM}, n=60, q=10)
    own.sql(
        "update marts.fct_predictions set answer_status = 'unparsed', label = null, is_correct = false "
        "where prompt_variant_id in ('v3', 'v4');"
        # one instruction under two temperatures
        "update marts.dim_prompt_variants set paraphrase_temperature = prompt_variant_id[2:]::integer % 2, "
        "instruction = if(prompt_variant_id in ('v3', 'v4'), 'a wording\nof two lines', instruction)"
    )
    found = planned(tmp_path, "--target-width", 0.5, "--measure", "sensitivity")
    (group,) = found["groups"]
    assert (group["n_wordings"], group["n_wordings_asked"], group["wordings_breaking"]) == (8, 9, ["v3"])
    assert found["notes"][0].startswith("wording v3 of model 'calm'")


def test_the_newer_of_run_and_pilot_is_planned_from(tmp_path: Path) -> None:
    own = PlannedAnswers(tmp_path, ("calm",))
    own.add("p1", {"calm": CALM}, n=60, q=9, state="running")
    own.add("r1", {"calm": CALM}, n=60, q=9)
    own.add("r2", {"calm": CALM}, n=60, q=9)  # a day after both
    assert planned(tmp_path, "--detect", 0.2)["audit_run_id"] == "r2"
    own.sql("update raw.audit_runs set run_index = 9", of_pilots=True)
    assert planned(tmp_path, "--detect", 0.2)["audit_run_id"] == "p1"


def test_a_model_that_the_run_lacks_is_told(tmp_path: Path) -> None:
    own = PlannedAnswers(tmp_path)
    own.add("r1", {"calm": CALM})
    found = planned(tmp_path, "--target-width", 0.2, "--measure", "micro_f1")
    assert found["notes"] == ["model 'wild' has no such answers in that run: it is not planned for"]


def test_what_asks_beside_the_models_is_told(tmp_path: Path) -> None:
    own = PlannedAnswers(tmp_path, ("calm",), audit="  rephrasing: {rephraser: by_model, variants: 10}\n")
    (tmp_path / "registry/rephrasers").mkdir()
    (tmp_path / "registry/rephrasers/r.yml").write_text("by_model: {kind: model, model: calm}\n")
    own.add("r1", {"calm": CALM})
    found = planned(tmp_path, "--target-width", 0.2, "--measure", "micro_f1")
    assert found["notes"] == ["judges and rephrasers are not among the requests; `promptaudit plan a` counts them"]


SIZE = "run r1 has {} samples x {} wordings of task 't' under model 'calm', and a plan needs 60 x 8"


@pytest.mark.parametrize(("n", "q"), [(59, 10), (70, 7)])
def test_too_small_a_run_is_refused_and_a_pilot_named(tmp_path: Path, n: int, q: int) -> None:
    PlannedAnswers(tmp_path, ("calm",)).add("r1", {"calm": CALM}, n=n, q=q)
    line = plan(tmp_path, "--target-width", "0.2", "--measure", "micro_f1", code=2).one_line()
    assert line.startswith(f"DataError: {SIZE.format(n, q)}: `promptaudit run a --pilot` asks them")


def test_without_a_run_a_pilot_is_named(tmp_path: Path) -> None:
    PlannedAnswers(tmp_path, ("calm",))
    line = plan(tmp_path, "--detect", "0.1", code=2).one_line()
    assert line == (
        "DataError: warehouse/audit.duckdb has no answers to audit 'a' to plan from: `promptaudit run a --pilot` asks 60 samples "
        "under 8 wordings"
    )
    (tmp_path / "warehouse/published/audit.duckdb").unlink()
    assert plan(tmp_path, "--detect", "0.1", code=2).one_line() == line


def lines() -> Iterator[tuple[tuple[str, ...], str]]:
    width, f1 = ("--target-width", "0.14"), ("--measure", "micro_f1")
    yield (
        (*width, "--measure", "micro-f1"),
        "UsageError: --measure micro-f1: planned are micro_f1, accuracy, invalid_rate, ",
    )
    yield width, "UsageError: --target-width is of one measure; give --measure micro_f1, "
    yield (*width, *f1, "--detect", "0.1"), "UsageError: give one of --target-width and --detect"
    yield ("--target-width", "0", *f1), "UsageError: --target-width 0: a number above 0 and up to 1 is wanted"
    yield ("--target-width", "2", *f1), "UsageError: --target-width 2: a number above 0 and up to 1 is wanted"
    yield ("--detect", "0.03"), "UsageError: --detect 0.03: min_effect of audit 'a' is 0.03, and no smaller difference "
    yield ("--measure", "micro_f1"), "UsageError: --measure is about a planned design"
    yield ("--from", "0ld"), "UsageError: --from is about a planned design"
    yield (*width, *f1, "--from", "2"), "UsageError: no complete run is '2'"
    yield (
        ("--target-width", "0.001", *f1),
        "UsageError: --target-width 0.001: micro_f1 varies so much between wordings that 60 ",
    )
    yield (
        ("--target-width", "0.055", *f1),
        "UsageError: --target-width 0.055: the 400 samples there are give micro_f1 a width ",
    )
    yield ("--detect", "0.031"), "UsageError: --detect 0.031: 400 samples under 60 wordings detect 0.0"
    yield (
        (*width, "--measure", "invalid_rate"),
        "DataError: invalid_rate does not vary in run 1new: its answers are alike",
    )


@pytest.mark.parametrize(("options", "line"), list(lines()))
def test_one_line_says_what_is_wrong(folder: Path, options: tuple[str, ...], line: str) -> None:
    assert plan(folder, *options, code=2).one_line().startswith(line)


def test_a_run_without_gold_labels_names_the_measures_it_has(tmp_path: Path) -> None:
    own = PlannedAnswers(tmp_path, ("calm",))
    own.add("r1", {"calm": CALM})
    own.sql("update marts.fct_predictions set is_correct = null")
    line = plan(tmp_path, "--detect", "0.1", code=2).one_line()
    assert line == (
        "DataError: --measure micro_f1: run r1 has no gold labels; plan for another of accuracy, invalid_rate, sensitivity"
    )
