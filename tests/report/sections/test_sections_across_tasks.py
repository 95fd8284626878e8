"""The sections across tasks, their tables and charts, of rows as the marts have them."""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptaudit.query.history.nights import Nights
from promptaudit.registry.mart_columns import dbt_project, mart_columns
from promptaudit.report.blocks.blocks import Block, DrawnSection, Table
from promptaudit.report.blocks.cells import Cell, parts, plain
from promptaudit.report.blocks.filters import lines
from promptaudit.report.chart_files import _as_svg, _charts, _colours
from promptaudit.report.charts.drawing import Drawing
from promptaudit.report.data import JudgingData, ReportData
from promptaudit.report.gather import OF_SECTIONS
from promptaudit.report.gather_answers import GridAnswers
from promptaudit.report.page_size import only
from promptaudit.report.plain import _table as as_markdown
from promptaudit.report.sections.scorecard import measures_across_tasks
from promptaudit.report.sections.scoring import scoring_across_tasks
from promptaudit.report.sections.section import Room, unlimited
from promptaudit.report.sections.sensitivity import CEILING, sensitivity
from promptaudit.report.sections.stability import SCOPES, stability_across_tasks
from promptaudit.report.summary import Outcome, Summary
from promptaudit.report.table_files import as_csv, as_latex
from promptaudit.system.display.policy import Texts
from promptaudit.warehouse.figure_names import figure_id

Row = dict[str, Any]
RUN = {"audit_run_id": "r", "audit_id": "paper"}


def report_data(**rows: Any) -> ReportData:
    """A run with nothing but what is given: fields, and the rows of queries that sections name."""
    nothing: dict[str, Any] = {
        "run": RUN,
        "texts": Texts(),
        "gate": None,
        "summary": empty_summary(),
        "judging": JudgingData(),
        "answers": cast("GridAnswers", None),  # no section reads it
        "nights": Nights(),
        "n_checks": 0,
        "has_formats_page": False,
        "of_sections": {name: [] for name in OF_SECTIONS},
    }
    return replaced(ReportData(**nothing), **rows)


def replaced(data: ReportData, **rows: Any) -> ReportData:
    """The same run with other fields, and other rows of queries that sections name."""
    fields = {each.name for each in dataclasses.fields(ReportData)}
    of_sections = {name: own for name, own in rows.items() if name not in fields}
    assert set(of_sections) <= set(OF_SECTIONS)
    others = {name: own for name, own in rows.items() if name in fields}
    return replace(data, of_sections={**data.of_sections, **of_sections}, **others)


def empty_summary() -> Summary:
    nothing = dict.fromkeys(each.name for each in dataclasses.fields(Summary))
    several = dict.fromkeys(("causes", "unread", "read_differently", "breaking"), ())
    outcome = Outcome(state="no gate", reason="")
    return Summary(**{**nothing, **several, "outcome": outcome, "next_command": "promptaudit run"})  # type: ignore[arg-type]


def measured(measure: str, task: str, values: Mapping[str, float | None], *, unread: str = "") -> list[Row]:
    """Rows of rpt_measures_across_tasks; the model `chance` is a reference, `unread` one whose figure is not to be read."""
    direction = "lower" if measure == "sensitivity" else "higher"
    known = [value for model, value in values.items() if value is not None and model != "chance"]
    best = (min if direction == "lower" else max)(known)
    of = {**RUN, "task_id": task, "strategy": "simple", "measure": measure, "direction": direction, "rank_in_row": None}
    of |= {"value_low": None, "value_high": None, "value_std": None if measure.startswith("pss") else 0.125}
    return [
        {
            **of,
            "model_id": model,
            "value": value,
            "n_ranked": len(known),
            "n_variants_measured": 8,
            "is_best": len(known) > 1 and model != "chance" and value == best,
            "is_reference": model == "chance",
            "is_readable": model != unread,
            "best_of_sets": [],
        }
        for model, value in values.items()
    ]


def across(**changes: Any) -> ReportData:
    rows = [
        *measured("sensitivity", "trec", {"a": 0.25, "b": 0.5, "chance": 0.875}),
        *measured("sensitivity", "cb", {"a": 0.5, "b": 0.5, "chance": 0.75}),
        *measured("consistency", "trec", {"a": 0.625, "b": 0.75, "chance": 0.5}, unread="b"),
        *measured("consistency", "cb", {"a": 0.5, "b": None, "chance": 0.5}),
    ]
    of_run = {**RUN, "pearson": -0.25, "n_cells": 3, "min_sensitivity": 0.05}
    return report_data(**{"measures_across_tasks": rows, "correlation_across_tasks": [of_run], **changes})


def printed(table: Table) -> list[tuple[str, ...]]:
    return [tuple(plain(cell) for cell in row) for row in table.rows]


def strong(table: Table) -> list[str]:
    return [
        str(part)
        for row in table.rows
        for cell in row
        for part in parts(cell)
        if isinstance(part, Cell) and part.is_strong
    ]


def the_block(section: DrawnSection) -> Block:
    (block,) = section.blocks
    return block


def test_a_measure_is_a_table_of_tasks_and_models_with_the_best_in_bold() -> None:
    sensitivity, consistency = the_block(measures_across_tasks.drawn(across())).tables
    assert sensitivity.columns == ("Task", "Strategy", "a", "b", "chance (reference)")
    assert printed(sensitivity) == [
        ("trec", "simple", "0.250 ± 0.125", "0.500 ± 0.125", "0.875 ± 0.125"),
        ("cb", "simple", "0.500 ± 0.125", "0.500 ± 0.125", "0.750 ± 0.125"),
    ]
    assert strong(sensitivity) == ["0.250", "0.500", "0.500"]  # both of cb
    assert "lower is better" in sensitivity.caption
    # b has no figure in cb, so a is alone in its line; what is not to be read has a mark
    assert printed(consistency)[0][3] == "0.750† ± 0.125"
    assert strong(consistency) == ["0.750†"]
    assert printed(consistency)[1][2:4] == ("0.500 ± 0.125", "")
    assert "chance" in consistency.note
    assert "†" in consistency.note
    assert "†" not in sensitivity.note


def test_the_best_of_each_set_of_models_is_in_bold() -> None:
    rows = measured("micro_f1", "trec", {"a": 0.25, "b": 0.5, "c": 0.75, "d": 0.875})
    for row, best_of in zip(rows, ([], ["open"], [], ["closed"]), strict=True):
        row["best_of_sets"] = best_of
    (table,) = the_block(
        measures_across_tasks.drawn(
            across(measures_across_tasks=[*rows, *measured("micro_f1", "cb", {"a": 0.5, "b": 0.25})])
        )
    ).tables
    assert strong(table) == ["0.500", "0.875"]
    assert table.note.startswith("The best of each task, over models and strategies, of closed and of open is in bold;")


@pytest.mark.parametrize(("labels", "n_notes"), [(["yes", "no"], 1), (["yes", "no", "perhaps"], 0)])
def test_what_two_labels_reach_at_most_stands_at_sensitivity(labels: list[str], n_notes: int) -> None:
    of = {**RUN, "task_id": "rte", "model_id": "m", "strategy": "simple"}
    names = ("steady_rate", *(f"sensitivity_{each}" for each in ("min", "p25", "p50", "p75", "max", "mean")))
    spread = {**of, "n_samples": 3, "n_steady": 0, **dict.fromkeys(names, 0.5)}
    data = report_data(
        scorecard=[{**of, "sensitivity": 0.5, "output_uncertainty": None}],
        sample_spreads=[spread],
        sensitivity=[{**of, "bin": 10, "n": 3}],
        tasks=[{**RUN, "task_id": "rte", "labels": labels}],
    )
    block = the_block(sensitivity.drawn(data, Room(data)))
    assert [plain(note) for note in block.notes] == [CEILING][:n_notes]
    assert len(block.panels) == 1
    # two labels in equal shares: -2 (.5 ln .5) / ln 3
    assert f"{math.log(2) / math.log(3):.3f}" in CEILING


def test_each_figure_is_that_of_its_row() -> None:
    data = across()
    values = {
        figure_id("rpt_measures_across_tasks", row, "value"): row["value"] for row in data["measures_across_tasks"]
    }
    tables = the_block(measures_across_tasks.drawn(data)).tables
    for table in tables:
        cells = [part for row in table.rows for cell in row for part in parts(cell) if isinstance(part, Cell)]
        assert all(cell.value == values[cell.figure] for cell in cells if ".value." in cell.figure)
        page = str(lines(table, lambda _: pytest.fail("no column of traces"), 200))
        assert re.findall(r'<span title="([^"]+)">[^/]*data-figure="\1"', page) == [cell.figure for cell in cells]
        assert page.count("<strong><data") == len(strong(table))
    assert "| **0.250** ± 0.125 | 0.500 ± 0.125 |" in "\n".join(as_markdown(tables[0]))


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ({}, "Pearson's correlation of sensitivity and consistency is -0.250"),
        ({"pearson": None, "n_cells": 2}, "it needs 3 of them"),
        ({"pearson": None, "n_cells": 9}, "one of the two does not vary"),
    ],
)
def test_the_correlation_is_said_in_a_sentence(row: Row, sentence: str) -> None:
    (of_run,) = across()["correlation_across_tasks"]
    data = across(correlation_across_tasks=[{**of_run, **row}])
    (note,) = the_block(measures_across_tasks.drawn(data)).notes
    assert sentence in plain(note)


def test_one_task_is_no_table_and_one_model_is_one() -> None:
    rows = across()["measures_across_tasks"]
    assert not measures_across_tasks.drawn(
        across(measures_across_tasks=[row for row in rows if row["task_id"] == "cb"])
    ).blocks
    assert not measures_across_tasks.drawn(across(measures_across_tasks=[])).blocks
    alone = across(measures_across_tasks=[{**row, "is_best": False} for row in rows if row["model_id"] == "b"])
    (table,) = the_block(measures_across_tasks.drawn(alone)).tables
    assert table.columns == ("Task", "Strategy", "Sensitivity", "Consistency")
    assert printed(table)[0] == ("trec", "simple", "0.500 ± 0.125", "0.750† ± 0.125")
    assert not strong(table)


def test_further_pages_leave_out_what_is_of_all_tasks() -> None:
    section = measures_across_tasks.drawn(across())
    assert only([section], frozenset({""})) == [section]
    assert only([section], frozenset({"trec"})) == []


def test_the_directions_of_the_mart_are_those_of_the_scorecard() -> None:
    sql = (dbt_project() / "models/marts/reporting/rpt_measures_across_tasks.sql").read_text(encoding="utf-8")
    said = re.findall(r"\('(\w+)', '(lower|higher)', (true|false)\)", sql)
    columns = mart_columns("rpt_audit")
    assert len(said) == 6
    for name, direction, has_std in said:
        assert columns[name].direction == direction
        assert columns[name].ends is not None  # the query reads them of every measure
        assert (f"{name}_std" in columns) == (has_std == "true")


def stable(n_tasks: int, models: tuple[str, ...] = ("m",), strategies: tuple[str, ...] = ("simple",)) -> ReportData:
    """A run whose task k has PSS k/16 below one, with three asks and two temperatures."""
    scorecard, stabilities = [], []
    for k, model, strategy in itertools.product(range(n_tasks), models, strategies):
        pss = 1 - k / 16
        group = {**RUN, "task_id": f"task {k}", "model_id": model, "strategy": strategy}
        ends = {"pss_low": pss - 0.5, "pss_high": pss}
        sizes = {"n_samples": 9, "n_variants": 5, "n_repetitions": 3, "sensitivity": 0.5}
        figures = {"pss": pss, **ends}
        both = {name.replace("pss", f"pss_{scope}"): figure for scope in SCOPES for name, figure in figures.items()}
        scorecard.append({**group, **sizes, **both})
        common = {**group, **ends, "annotation_filter": "labels_and_na", "pss": pss}
        stabilities += [
            {**common, "scope": "intra", "series": "cumulative", "paraphrase_temperature": None, "n_annotators": n}
            for n in (2, 3)
        ]
        stabilities += [
            {**common, "scope": "inter", "series": "all", "paraphrase_temperature": t, "n_annotators": 5}
            for t in (0.5, 2.0)
        ]
    scorecard.reverse()
    return report_data(scorecard=scorecard, stabilities=stabilities)


def test_tasks_stand_in_the_order_of_their_score() -> None:
    section = stability_across_tasks.drawn(stable(12))
    intra, by_repetition, inter, by_temperature = section.blocks
    for block, title in ((by_repetition, "number of repetitions"), (by_temperature, "paraphrase temperature")):
        assert block.figure.endswith("-by-task")
        assert title in block.heading
        assert [panel.name for panel in block.panels] == [f"task {k}" for k in range(12)]
    for block, scope in ((intra, "intra"), (inter, "inter")):
        (panel,) = block.panels
        assert isinstance(panel.drawing, Drawing)
        names = panel.drawing.source.datasets["rows"]
        assert [row["name"] for row in names] == [f"task {k}" for k in range(12)]
        assert all(row["figure"].startswith(f"rpt_audit.pss_{scope}.") for row in names)
        assert 'stroke-dasharray="4 3"' in str(panel.drawing)  # the line at .8
        (table,) = block.tables
        assert [row[0] for row in printed(table)] == [f"task {k}" for k in range(12)]


def test_a_figure_is_of_all_models_or_of_one_with_its_strategies() -> None:
    joint, panels, *_ = stability_across_tasks.drawn(stable(2, ("a", "b"))).blocks
    assert [panel.beside for panel in joint.panels] == ["all models"]
    assert [name for _, name in panels.legend] == ["a", "b"]
    joint, panels, *_ = stability_across_tasks.drawn(stable(2, ("a", "b"), ("simple", "detail"))).blocks
    assert [panel.beside for panel in joint.panels] == ["a", "b"]
    assert [name for _, name in panels.legend] == ["detail", "simple"]
    assert "One of 2 models" in plain(panels.notes[0])
    with unlimited():
        blocks = stability_across_tasks.drawn(stable(2, ("a", "b"), ("simple", "detail"))).blocks
    assert sum(block.figure.endswith("-by-task") for block in blocks) == 4
    joint, *_ = stability_across_tasks.drawn(stable(2, tuple("abcdef"))).blocks
    assert len(joint.legend) == 4
    assert "4 of 6" in plain(joint.notes[0])
    assert len(joint.tables[0].rows) == 12
    assert not stability_across_tasks.drawn(stable(1)).blocks


def test_each_panel_is_a_picture_named_by_what_tells_it_apart() -> None:
    charts = list(_charts(stability_across_tasks.drawn(stable(12))))
    stem = "barrie-2025-all-tasks"
    for scope, place in (("intra", 0), ("inter", 13)):
        joint, *by_task = charts[place : place + 13]
        assert joint[0] == f"{stem}-pss-{scope}"
        assert [name for name, *_ in by_task] == [f"{stem}-pss-{scope}-by-task-task-{k}" for k in range(12)]
        assert all(len(source.rows) == 2 and "figure" in source.rows[0] for _, source, _ in by_task)
    assert len(charts) == 26
    # the panels of two models are named after task and model
    with unlimited():
        of_two = list(_charts(stability_across_tasks.drawn(stable(2, ("a", "b"), ("simple", "detail")))))
    names = [name.removeprefix(f"{stem}-pss-intra-by-task-") for name, *_ in of_two if "intra-by-task" in name]
    assert names == ["task-0-a", "task-1-a", "task-0-b", "task-1-b"]


def test_whatever_things_are_called_a_picture_is_sound_and_a_table_readable() -> None:
    hostile = "<b>\x00\u202e&'\"" + "x" * 300
    data = stable(2, (hostile, "b"), (hostile, "simple"))
    data = replaced(
        data,
        scorecard=[{**row, "task_id": row["task_id"] + hostile} for row in data.scorecard],
        stabilities=[{**row, "task_id": row["task_id"] + hostile} for row in data["stabilities"]],
    )
    charts = list(_charts(stability_across_tasks.drawn(data)))
    assert charts
    for _, source, legend in charts:
        root = ET.fromstring(_as_svg(source, legend, _colours()))  # noqa: S314 - our own
        assert {each.tag.rpartition("}")[2] for each in root.iter()} <= {"svg", "style", "rect", "path", "g", "text"}
    rows = [*measured("micro_f1", hostile, {hostile: 0.5, "chance": 0.5}), *measured("micro_f1", "t", {hostile: 0.5})]
    (table,) = the_block(measures_across_tasks.drawn(across(measures_across_tasks=rows))).tables
    assert all(text.isprintable() for text in table.columns)


def scored(task: str, method: str, means: Mapping[str, float], std: float = 0.125) -> list[Row]:
    """Rows of rpt_scoring_across_tasks and of fct_scoring_sensitivity in one; the second model is the steadier one."""
    of = {
        **RUN,
        "task_id": task,
        "scoring_method": method,
        "rule": "a rule",
        "is_reference": False,
        "n_ranked": len(means),
    }
    of |= {"mean_difference": 0.25 if "judge" in method else None, "std_difference": -0.125}
    of |= {"fleiss_kappa": 0.5, "perfect_agreement_rate": 0.25}
    return [
        {
            **of,
            "model_id": model,
            "accuracy_mean": mean,
            "accuracy_std_sample": std / (1 + place),
            "is_best": mean == max(means.values()),
            "is_steadiest": place == len(means) - 1,
        }
        for place, (model, mean) in enumerate(means.items())
    ]


def test_scoring_stands_by_task_and_method() -> None:
    rows = [
        *scored("arc", "option_letter", {"a": 0.75, "b": 0.5}),
        *scored("arc", "judge:j", {"a": 0.875, "b": 0.75}),
        *scored("math", "math_equal", {"a": 0.25, "b": 0.5}),
    ]
    of = {**RUN, "task_id": "arc", "scoring_method": "judge:j", "n_pairs": 66, "n_variants": 12}
    rankings = [
        {**of, "model_set": model_set, "mean_spearman": spearman, "n_models": n, "is_of_few_models": n < 5}
        for model_set, spearman, n in (("all", 0.9375, 7), ("open", 0.5, 4))
    ]
    raters = {"raters": "judge:j | judge:k", "kind": "judge and judge", "n_rated": 1000, "n_rated_distinct": 40}
    rates = {"agreement_rate": 0.5, "perfect_agreement_rate": 0.5, "cohen_kappa": 0.25, "fleiss_kappa": 0.25}
    agreements = [{**RUN, "task_id": "arc", **raters, **rates, "cohen_kappa_distinct": 0.125}]
    judging = JudgingData(spreads=rows, rankings=rankings, agreements=agreements)
    data = report_data(judging=judging, scoring_across_tasks=rows)
    accuracies, differences, ranked, templates, raters = the_block(scoring_across_tasks.drawn(data)).tables
    assert accuracies.columns == ("Task", "Scored by", "a", "b", "Mean Spearman")
    assert printed(accuracies) == [
        ("arc", "option_letter", "0.750 ± 0.125", "0.500 ± 0.062", "–"),
        ("arc", "judge:j", "0.875 ± 0.125", "0.750 ± 0.062", "0.938"),
        ("math", "math_equal", "0.250 ± 0.125", "0.500 ± 0.062", "–"),
    ]
    assert strong(accuracies) == ["0.750", "0.062", "0.875", "0.062", "0.500", "0.062"]
    assert printed(differences) == [("arc", "judge:j", "a rule", "0.250 / -0.125", "0.250 / -0.125")]
    assert printed(ranked) == [("arc", "judge:j", "0.938 (7)", "0.500 * (4)")]
    assert printed(templates)[0][2:] == ("0.500 / 25 %", "0.500 / 25 %")
    assert printed(raters)[0][:4] == ("arc", "judge:j | judge:k", "judge and judge", "1,000")
    of_one = replace(judging, spreads=[row for row in rows if row["task_id"] == "arc"])
    assert not scoring_across_tasks.drawn(report_data(judging=of_one, scoring_across_tasks=rows)).blocks
    assert not scoring_across_tasks.drawn(report_data(scoring_across_tasks=rows)).blocks  # matched with labels alone


def test_a_table_is_a_file_of_exact_figures_and_a_tabular() -> None:
    table = the_block(measures_across_tasks.drawn(across())).tables[1]
    assert as_csv(table).splitlines() == [
        "Task,Strategy,a value,a value_std,b value,b value_std,chance (reference) value,chance (reference) value_std",
        "trec,simple,0.625,0.125,0.75,0.125,0.5,0.125",
        "cb,simple,0.5,0.125,,,0.5,0.125",
    ]
    assert (
        r"trec & simple & 0.625 $\pm$ 0.125 & \textbf{0.750$^\dagger$} $\pm$ 0.125 & 0.500 $\pm$ 0.125 \\"
        in as_latex(table)
    )
    negative = Table(
        caption="a\n\\input{b}", columns=("_",), rows=[(Cell("-0.5", "rpt_audit.pss_intra.0", -0.5),)], n_figures=1
    )
    tabular = [r"\begin{tabular}{r}", r"\hline", r"\_ \\", r"\hline", r"$-$0.5 \\", r"\hline", r"\end{tabular}"]
    assert as_latex(negative).splitlines() == [r"% a\n\input{b}", *tabular]


@given(st.text())
def test_no_name_is_a_command_of_latex(name: str) -> None:
    made = as_latex(Table(caption=name, columns=("a",), rows=[(name,)], note=f"{name}.")).split("\n")
    assert [line[:1] for line in made] == [*"%\\\\a\\", made[5][:1], *"\\\\%", ""]
    line = made[5]
    texts = ("backslash", "asciitilde", "asciicircum", "less", "greater", "bar", "asciigrave")
    own = {"pm", "kappa", "dagger", *(f"text{name}" for name in texts)}
    assert set(re.findall(r"\\([A-Za-z]+)", line.replace(r"\\", ""))) <= own
    assert not re.search(r"(?<!\\)[&#%_]", line)
