"""Headings say what their sections find: each sentence from rows whose worst is known."""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from rich.console import Console, Group

from promptaudit.query.history.nights import NightRun, Nights
from promptaudit.report.blocks.cells import plain
from promptaudit.report.contents import SECTIONS
from promptaudit.report.gather import gather
from promptaudit.report.page import _scorecard_finding
from promptaudit.report.sections.answers import missing_answers
from promptaudit.report.sections.nights import format_gate
from promptaudit.report.sections.scorecard import heat
from promptaudit.report.sections.scorecard import samples_finding as of_samples
from promptaudit.report.sections.section import Section
from promptaudit.report.sections.sensitivity import measures_by_wordings, sensitivity, sensitivity_by_class
from promptaudit.report.sections.stability import stability_across_tasks, stability_by_model, stability_by_wording
from promptaudit.report.sections.wordings import accuracy_by_variant, finding, prompt_variants
from promptaudit.report.terminal import scorecard
from promptaudit.report.terminal.tables import printed
from promptaudit.warehouse import Warehouse
from tests.report.conftest import Reported
from tests.report.sections.test_sections_across_tasks import report_data
from tests.report.sections.test_sections_across_tasks import report_data as data

RUN = {"audit_run_id": "r"}


def group(model: str, task: str = "t", strategy: str = "s", **figures: Any) -> dict[str, Any]:
    return {**RUN, "model_id": model, "task_id": task, "strategy": strategy, **figures}


def stability(model: str, temperature: float | None, pss: float) -> dict[str, Any]:
    return group(
        model,
        scope="inter",
        series="all",
        annotation_filter="labels_and_na",
        paraphrase_temperature=temperature,
        pss=pss,
    )


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (
            [stability("lexical", 0.5, 0.95), stability("lexical", 2.1, 0.79), stability("other", 3.0, 0.2)],
            "PSS falls below .8 from temperature 2.1 for lexical, t, s",
        ),
        (
            [stability("lexical", 0.5, 0.95), stability("lexical", 2.1, 0.81)],
            "PSS stays at .8 or above at every paraphrase temperature, up to 2.1",
        ),
        (
            [stability("lexical", None, 0.75), stability("other", None, 0.5), stability("third", None, 0.9)],
            "PSS over wordings is below .8 for 2 of 3 groups, lowest for other, t, s: 0.500",
        ),
        ([], "Only one prompt variant was asked, so nothing tells how far answers agree between them"),
    ],
)
def test_where_stability_falls(rows: list[dict[str, Any]], sentence: str) -> None:
    assert stability_by_wording.finding(data(stabilities=rows)) == sentence


def test_whether_stability_falls_with_the_temperature_is_judged() -> None:
    rows = [stability("lexical", 0.5, 0.95), stability("lexical", 2.1, 0.79)]
    trend = {"difference": -0.16, "difference_low": -0.25, "difference_high": -0.07, "verdict": "falls"}
    quiet = {"difference": -0.02, "difference_low": -0.1, "difference_high": 0.06, "verdict": "none_shown"}
    found = data(stabilities=rows, stability_trends=[group("lexical", **trend), group("other", **quiet)])
    assert stability_by_wording.finding(found) == (
        "PSS falls below .8 from temperature 2.1 for lexical, t, s; it falls with the temperature in 1 of 2 groups, most for "
        "lexical, t, s: -0.160 [-0.250, -0.070]"
    )
    unknown = {"difference": -0.3, "difference_low": None, "difference_high": None, "verdict": "not_comparable"}
    found = data(stabilities=rows, stability_trends=[group("other", **quiet), group("third", **unknown)])
    assert stability_by_wording.finding(found).endswith(
        "; a fall with the temperature is shown in none of 1 groups (1 could not be tested)"
    )


def test_wordings_that_cost_much_are_counted_against_the_original() -> None:
    variants = [{"prompt_variant_id": f"v{place}", "is_original": place == 0, "variation": None} for place in range(4)]
    rows = [
        group("m", scoring_method="label_match", prompt_variant_id=f"v{place}", accuracy=accuracy)
        for place, accuracy in enumerate((0.8, 0.75, 0.69, 0.5))  # .1 below the original is .7
    ]
    assert prompt_variants.finding(data(variants=variants, accuracy_by_variant=rows)) == (
        "2 of 4 wordings cost m, t, s more than 0.1 of the original's accuracy"
    )
    steady = [{**row, "accuracy": 0.8} for row in rows]
    assert prompt_variants.finding(data(variants=variants, accuracy_by_variant=steady)) == (
        "No wording costs more than 0.1 of the original's accuracy"
    )
    assert accuracy_by_variant.finding(data(accuracy_by_variant=rows)) == (
        "Accuracy is 0.500 to 0.800 depending on the wording, for m, t, s"
    )


def test_variants_of_other_kinds_are_no_wordings() -> None:
    variants = [
        {"prompt_variant_id": "v0", "is_original": True, "variation": "original"},
        {"prompt_variant_id": "v1", "is_original": False, "variation": "option_order"},
    ]
    of = data(
        variants=variants,
        accuracy_by_variant=[
            group("m", scoring_method="label_match", prompt_variant_id=f"v{place}", accuracy=accuracy)
            for place, accuracy in enumerate((0.8, 0.5))
        ],
        stabilities=[stability("m", None, 0.5)],
        sample_spreads=[group("m", n_steady=3, n_samples=20)],
        sensitivity_by_class=[group("m", class_label="a", gold_label="a", sensitivity_mean=0.5)],
        top=[group("m", sample_id="q1", sensitivity=0.9)],
        scorecard=[row("m", "a", 0.3, pss_inter=0.5), row("n", "a", 0.3, pss_inter=0.9)],
        measures_by_wordings=[group("m", n_wordings=n, sensitivity=n / 10) for n in (2, 5)],
    )
    of_sections = (
        *(prompt_variants, accuracy_by_variant, stability_by_wording, sensitivity, sensitivity_by_class),
        *(measures_by_wordings, stability_across_tasks, stability_by_model),
    )
    sentences = [*(section.finding(of) for section in of_sections), of_samples(of), *heat(of).notes]
    assert all("prompt" in sentence for sentence in sentences), sentences
    assert not any("wording" in sentence for sentence in sentences), sentences
    assert sentences[0] == "1 of 2 prompts costs m, t, s more than 0.1 of the original's accuracy"
    assert sentences[3] == "17 of 20 samples change their label with the prompt for m, t, s"


def test_models_by_chance_are_not_the_worst_of_others() -> None:
    rows = [group("m", sensitivity=0.1), group("random", sensitivity=0.9)]
    found = data(scorecard=rows, references=[{"model_id": "random", "kind": "random"}])
    assert _scorecard_finding(found) == "Sensitivity 0.100 for m, t, s"
    assert _scorecard_finding(data(scorecard=rows)) == "Sensitivity 0.100 (m, t, s) to 0.900 (random, t, s)"


def test_a_section_without_figures_says_why_as_its_heading() -> None:
    of = data(tasks=[{"task_id": "t", "kind": "open_ended"}], scorecard=[row("m", "t", None, n_landed=0)])
    assert sensitivity_by_class.drawn(of).finding == "An open-ended task has no labels to measure this by"


@pytest.mark.slow
@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.name)
def test_a_section_reads_what_it_names(section: Section, ordinary: Reported) -> None:
    found = gather(Warehouse(ordinary.warehouse), ordinary.audit_run_id)
    own = replace(found, of_sections={name: found[name] for name in section.reads})
    drawn = section.drawn(own)
    assert drawn == section.drawn(found)
    assert drawn.blocks or section.is_optional


def row(model: str, task: str, figure: float | None, **others: Any) -> dict[str, Any]:
    return group(model, task, sensitivity=figure, sensitivity_low=figure, sensitivity_high=figure, **others)


def test_the_picture_has_a_cell_a_group_and_the_last_comparable_night_beside_it() -> None:
    now = [row("m", "a", 0.3, n_variants=5), row("m", "b", 0.01, n_variants=5), row("n", "a", 0.7, n_variants=5)]
    before = [
        {**row("m", "a", 0.2, n_variants=5), "audit_run_id": "q"},
        {**row("m", "b", 0.4, n_variants=9), "audit_run_id": "q"},
    ]
    nights = Nights(runs=[NightRun(run, datetime(2026, 11, 1)) for run in "qr"], figures=[*before, *now])
    drawn = heat(data(scorecard=now, nights=nights))
    assert drawn.columns == (("m", ""), ("n", ""))
    assert [
        (line.name, [None if cell is None else (cell.shade, plain(cell.figure)) for cell in line.cells])
        for line in drawn.lines
    ] == [("a", [("h3", "0.300"), ("h5", "0.700")]), ("b", [("h0", "0.010"), None])]
    cells = [line.cells[0] for line in drawn.lines]
    # of b the night before asked other wordings
    assert [None if cell is None else [plain(below) for below in cell.below] for cell in cells] == [
        ["[0.300, 0.300]", "was 0.200"],
        ["[0.010, 0.010]"],
    ]
    assert drawn.beside == "with its 95 % interval and the figure of the last comparable night"
    assert all(line.heading is None for line in drawn.lines)  # there is one strategy
    assert (drawn.legend[0], drawn.legend[-1]) == (("h0", "below 0.05"), ("h5", "0.6 and more"))


def test_a_picture_of_one_cell_and_of_none() -> None:
    (line,) = heat(data(scorecard=[row("m", "a", 0.3)])).lines
    assert len(line.cells) == 1
    assert heat(data(scorecard=[])).absent == "Nothing of this run has been measured yet."


def test_a_figure_of_answers_that_are_mostly_invalid_says_so() -> None:
    drawn = heat(data(scorecard=[row("m", "a", 0.1, invalid_rate=0.899), row("m", "b", 0.2, invalid_rate=0.5)]))
    cells = [line.cells[0] for line in drawn.lines]
    assert [None if cell is None else [plain(below) for below in cell.below] for cell in cells] == [
        ["[0.100, 0.100]", "89.9 % invalid"],
        ["[0.200, 0.200]"],
    ]
    assert "so the figure is about them where most answers are invalid" in drawn.notes[0]


def failed(**of: Any) -> dict[str, Any]:
    return {"model_id": "m", "task_id": "t", "expectation": "c", "reason": "r", "action": "warned", "n_failed": 3, **of}


def test_a_check_of_all_answers_together_is_of_all_and_one_of_a_variant_that_is_gone_of_nobody_known() -> None:
    checks = [failed(model_id=None, task_id=None, prompt_variant_id=None, action="failed")]
    checks += [failed(prompt_variant_id="v"), failed(prompt_variant_id="gone")]
    variant = {"prompt_variant_id": "v", "strategy": "simple", "variant_index": 2}
    variant |= dict.fromkeys(("paraphrase_temperature", "variation", "setting"))
    data = report_data(n_checks=7, failed_checks=checks, variants=[variant], not_derived=[{"n": 0}])
    (block,) = format_gate.drawn(data).blocks
    assert block.notes == ["3 of 7 checks failed."]
    rows = [list(row[:4]) for row in block.tables[0].rows]
    assert rows == [["all"] * 4, ["m", "t", "simple", "2"], ["m", "t", "?", "?"]]


BOUNDS = {
    "sensitivity": (0.412, 0.25),
    "consistency": (None, None),
    "micro_f1": (0.5, 0.625),
    "invalid_rate": (0.2, 0.1),
}
GAPS = {f"{name}_if_missing_{end}": own[k] for name, own in BOUNDS.items() for k, end in enumerate(("na", "modal"))}


def gaps_row(model: str, **columns: Any) -> dict[str, Any]:
    of = {"audit_run_id": "r", "model_id": model, "task_id": "t", "strategy": "simple", "n_planned": 1200}
    of |= {"n_landed": 1100, "n_error": 5, "n_samples": 39, "n_samples_planned": 40, "n_variants": 30}
    figures = {"sensitivity": 0.3, "consistency": None, "micro_f1": 0.55, "invalid_rate": 0.12}
    return {**of, "n_variants_answered": 30, "n_variants_breaking": 0, **figures, **dict.fromkeys(GAPS), **columns}


def test_the_section_stands_only_where_answers_are_missing() -> None:
    assert missing_answers.drawn(report_data(scorecard=[gaps_row("whole")])).blocks == []
    (block,) = missing_answers.drawn(report_data(scorecard=[gaps_row("whole"), gaps_row("gaps", **GAPS)])).blocks
    (found,) = block.tables
    assert [[plain(cell) for cell in line] for line in found.rows] == [
        ["gaps", "simple", "Sensitivity", "105", "0.300", "0.412", "0.250"],
        ["gaps", "simple", "micro-F1", "105", "0.550", "0.500", "0.625"],
        ["gaps", "simple", "Invalid rate", "105", "12.0 %", "20.0 %", "10.0 %"],
    ]


@pytest.mark.parametrize("width", [60, 100])
def test_the_terminal_has_both_bounds(width: int) -> None:
    assert scorecard.missing_answers([gaps_row("whole")]) == []
    (table,) = scorecard.missing_answers([gaps_row("gaps", **GAPS)])
    out = io.StringIO()
    Console(file=out, width=width, color_system=None).print(Group(*printed(table, width)))
    for figure in ("105", "0.412", "0.250", "0.500", "0.625", "20.0 %", "10.0 %"):
        assert figure in out.getvalue()
    assert table.lines[0].cells[2] == "–"


def test_samples_measured_stand_before_those_planned_where_they_differ() -> None:
    assert scorecard.size(gaps_row("m")) == "39 of 40 × 30"
    assert scorecard.size(gaps_row("m", n_samples=40)) == "40 × 30"
    assert (
        scorecard.size(gaps_row("m", n_variants_answered=29, n_variants_breaking=4)) == "39 of 40 × 29 of 30, 4 break"
    )


def kind_row(variation: str, verdict: str, effect: float | None = 0.2, **of: Any) -> dict[str, Any]:
    low, high = (None, None) if effect is None else (effect - 0.1, effect + 0.1)
    ends = {"effect_low": low, "effect_high": high}
    names = {"model_id": "m", "task_id": "t", "strategy": "simple"}
    return {**names, "variation": variation, "verdict": verdict, "effect": effect, **ends, **of}


def test_the_largest_effect_that_is_named_comes_first() -> None:
    rows = [
        kind_row("wording", "not_told", 0.3),
        kind_row("option_order", "moves_most", 0.2),
        kind_row("format", "moves_most", 0.4, model_id="n\u202ex"),
        kind_row("wording", "moves", 0.6, model_id="n"),
    ]
    assert (
        finding(rows) == "Format moves answers of n\\u202ex most, 0.400 [0.300, 0.500] beyond repeating; 1 more below"
    )
    of_two_tasks = [kind_row("option_order", "moves_most", 0.2), kind_row("format", "not_told", task_id="u")]
    assert finding(of_two_tasks) == "Option order moves answers of m on t most, 0.200 [0.100, 0.300] beyond repeating"


@pytest.mark.parametrize(
    ("verdicts", "effect", "said"),
    [
        (("not_told", "not_told"), 0.01, "No kind of variation is told from repeating"),
        (("moves", "moves"), 0.2, "A and b move answers, none told from all others"),
        (("not_measured", "not_told"), 0.2, "No kind of variation is told from repeating"),
        (("not_measured", "not_measured"), None, "Not measured without repetitions"),
    ],
)
def test_no_kind_is_named_that_is_not_told(verdicts: tuple[str, str], effect: float | None, said: str) -> None:
    assert finding([kind_row(kind, verdict, effect) for kind, verdict in zip("ab", verdicts, strict=True)]) == said
