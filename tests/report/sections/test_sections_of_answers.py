"""Sections on PSS, distinct answers, prompts and costs: what they print equals the marts, and what is missing says why."""

from __future__ import annotations

import re
from typing import Any

import duckdb
import pytest

from promptaudit.report.blocks.cells import cells_of, parts, plain
from promptaudit.report.contents import OF_TASKS
from promptaudit.report.data import ReportData
from promptaudit.report.queries import query
from promptaudit.report.sections.answers import answer_formats, costs, distinct_answers
from promptaudit.report.sections.consistency import sample_pairs
from promptaudit.report.sections.section import Room, Section
from promptaudit.report.sections.stability import stability_by_repetition, subsamples
from promptaudit.report.sections.wordings import WORST, prompt_variants
from promptaudit.system.display.figures import milliseconds, span
from promptaudit.warehouse.figure_names import figure_id, parse_figure
from tests.report.sections.test_sections_across_tasks import replaced, report_data
from tests.report.sections.test_sections_of_samples import AGGREGATES, block_of, drawn_data, printed

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def test_every_k_is_printed_cumulative_and_adjacent(found: ReportData) -> None:
    block = block_of(stability_by_repetition.drawn(found), "colours")
    (table,) = [table for table in block.tables if table.caption == "PSS by number of asks"]
    rows = {figure_id("fct_prompt_stability", row, "pss"): row for row in found["stabilities"]}
    assert len(table.rows) >= 3 * 2 * 2 * 4
    for line in table.rows:
        cumulative, adjacent = (rows[cell.figure] for cell in cells_of(line) if parse_figure(cell.figure)[1] == "pss")
        assert [row["series"] for row in (cumulative, adjacent)] == ["cumulative", "adjacent"]
        for row in (cumulative, adjacent):
            key = ("model_id", "strategy", "annotation_filter", "n_annotators")
            assert tuple(str(row[name]) for name in key) == tuple(map(plain, line[:4]))
    assert any(panel.detail.startswith("adjacent") for panel in block.panels)


def test_parts_and_pairs_print_no_figure_without_a_name(found: ReportData) -> None:
    """What stands there without one: names of things, the place of a sample in the drawing."""
    blocks = [block_of(each.drawn(found, Room(found, most=100)), "colours") for each in (subsamples, sample_pairs)]
    rows = [row[2:] for block in blocks for table in block.tables for row in table.rows]
    rows += [(note,) for block in blocks for note in block.notes]
    for row in rows:
        unnamed = [part for cell in row for part in parts(cell) if isinstance(part, str)]
        assert not re.search(r"\d", "".join(unnamed)), row
    marts = {parse_figure(cell.figure)[0] for row in rows for cell in cells_of(row)}
    assert marts >= {"rpt_stability_by_share", "rpt_pair_distances", "rpt_sample_similarities", "fct_consistency"}


def test_the_worst_wording_comes_first_with_its_scores(found: ReportData) -> None:
    first, everything = (printed(table) for table in block_of(prompt_variants.drawn(found), "colours").tables[:2])
    assert len(first) == WORST
    assert everything[:WORST] == first
    known = [float(line[3]) for line in everything if line[3] != "–"]
    assert known == sorted(known)
    assert {line[3] for line in everything[len(known) :]} <= {"–"}  # without a figure: last


def _tables(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("create schema marts; create schema raw")
    con.execute(
        "create table marts.fct_predictions as select 'r' as audit_run_id, p::varchar as prediction_id, 't' as task_id, "
        "'slow' as model_id from range(6) as each(p)"
    )
    con.execute(
        "create table raw.attempts as select 'r' as audit_run_id, id as prediction_id, status as http_status, 250.0 as waited_ms "
        "from (values ('3', 429), ('3', 429), ('3', null), ('5', 500), ('a rephrasing', 429)) as each(id, status)"
    )


def _rows(con: duckdb.DuckDBPyConnection, query: str) -> list[dict[str, Any]]:
    cursor = con.execute(query.replace("$run", "'r'"))
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def test_what_answers_took_is_counted(found: ReportData) -> None:
    with duckdb.connect() as con:
        _tables(con)
        failed = _rows(con, query("attempts"))
    names = (
        *(
            "model_id",
            "n_answers",
            "prompt_tokens",
            "completion_tokens",
            "cost_usd",
            "n_priced",
            "n_timed",
            "latency_p50_ms",
        ),
        *("latency_p95_ms", "attempts_mean", "attempts_max", "n_retried", "n_error"),
    )
    dear = ("dear", 10, 100, None, 0.05, 5, 0, None, None, 1.0, 1, 0, 0)
    slow = ("slow", 100, 1000, 200, 0.5, 50, 100, 50.5, 95.05, 1.06, 4, 2, 1)
    own = {"audit_run_id": "r", "task_id": "t", "strategy": "s"}
    taken = [{**own, **dict(zip(names, figures, strict=True))} for figures in (dear, slow)]
    card = {**found.scorecard[0], "task_id": "t"}
    run = replaced(found, scorecard=[card], **AGGREGATES | {"answer_totals": taken, "attempts": failed})
    block, others = costs.drawn(run, Room(run)).blocks
    # half of the answers have a price; two took four tries
    assert printed(block.tables[0]) == [
        ("dear", "s", "10", "100", "–", "$0.0500 *", "–", "–", "1.00", "1", "0", "0"),
        ("slow", "s", "100", "1,000", "200", "$0.5000 *", "50 ms", "95 ms", "1.06", "4", "2", "1"),
    ]
    assert block.tables[0].note == "* This is the cost of only those answers whose price is known."
    assert printed(block.tables[1]) == [
        ("slow", "429", "2", "1", "0.5"),
        ("slow", "500", "1", "1", "0.2"),
        ("slow", "none", "1", "1", "0.2"),
    ]
    assert printed(others.tables[0]) == [("other", "429", "1", "1", "0.2")]
    (data,) = drawn_data(block, "rows")
    assert [(row["value"], row["low"], row["high"]) for row in data] == [pytest.approx((50.5, 50.5, 95.05))]


def test_what_became_of_the_answers_is_named_and_adds_up(found: ReportData) -> None:
    block = block_of(answer_formats.drawn(found, Room(found)), "colours")
    became, worst = block.tables
    for line in became.rows:
        marts = [parse_figure(cell.figure)[0] for cell in cells_of(line[2:11])]
        assert marts == ["rpt_audit"] * 2 + ["rpt_answer_totals"] * 6
        planned, landed, *parts, missing = (int(str(cell).replace(",", "")) for cell in line[2:11])
        assert (landed, missing) == (sum(parts), planned - landed)
    assert [[parse_figure(cell.figure)[:2] for cell in cells_of(line)] for line in worst.rows] == [
        [("rpt_prompt_variants", "n_invalid"), ("rpt_prompt_variants", "invalid_rate")]
    ] * len(worst.rows)


def test_an_import_has_no_latency_and_says_so(found: ReportData) -> None:
    block = block_of(costs.drawn(found, Room(found)), "colours")
    assert (block.absent, block.panels) == (["No answer of this task has a latency."], [])
    assert len(block.tables[0].rows) == 6


@pytest.mark.parametrize(("value", "said"), [(None, "–"), (0.0123, "0.012 ms"), (9.94, "9.9 ms"), (1234.4, "1,234 ms")])
def test_a_time_has_the_digits_it_deserves(value: float | None, said: str) -> None:
    assert milliseconds(value) == said


@pytest.mark.parametrize(
    ("values", "said"), [([], "–"), ([0.5], "0.500"), ([0.5, 0.5001], "0.500"), ([0.9, 0.1], "0.100 to 0.900")]
)
def test_a_span_of_one_figure_is_that_figure(values: list[float], said: str) -> None:
    assert span(values) == said


@pytest.mark.parametrize("section", [each for each in OF_TASKS if each.of_labels], ids=lambda section: section.name)
def test_a_task_with_nothing_to_measure_says_why(section: Section, found: ReportData, questions: ReportData) -> None:
    block = block_of(section.drawn(found), "moods")  # one wording, asked once, without gold labels
    assert (bool(block.absent), block.panels) == (True, [])
    kinds = {row["task_id"]: row["kind"] for row in questions.tasks}
    blocks = [block for block in section.drawn(questions).blocks if kinds[block.task_id] == "open_ended"]
    assert blocks
    assert all(block.absent == ["An open-ended task has no labels to measure this by."] for block in blocks)
    assert section.drawn(report_data()).blocks == []


def test_open_questions_have_prompts_and_costs_and_no_labels(questions: ReportData) -> None:
    kinds = {row["task_id"]: row["kind"] for row in questions.tasks}
    (task_id, *_) = [task for task, kind in kinds.items() if kind == "open_ended"]
    prompts = block_of(prompt_variants.drawn(questions, Room(questions)), task_id)
    assert all(line[7] == "–" for line in printed(prompts.tables[0]))  # how far labels differ
    assert any(line[3] != "–" for line in printed(prompts.tables[0]))  # rules and judges score them
    assert block_of(costs.drawn(questions, Room(questions)), task_id).tables


def test_a_run_without_answers_says_so_in_every_section(found: ReportData) -> None:
    card = [{**row, "n_landed": 0, "pss_intra": None, "pss_inter": None} for row in found.scorecard]
    silent = replaced(found, scorecard=card, formats=[], references=[], **AGGREGATES)
    for section in (each.drawn(silent) for each in OF_TASKS if not each.is_optional):
        assert section.blocks
        for block in section.blocks:
            assert block.absent == ["No answer has landed yet."], section.anchor
            assert not block.panels


@pytest.mark.parametrize(
    ("section", "query"),
    [(distinct_answers, "distinct_answers"), (costs, "answer_totals")],
    ids=["distinct_answers", "costs"],
)
def test_a_model_of_a_strategy_without_a_colour_has_no_chart(section: Section, query: str, found: ReportData) -> None:
    """A task has colours for four strategies: a model that was asked under the fifth alone stands in the tables."""
    rows = [row for row in found[query] if row["task_id"] == "colours"]
    first = next(row["model_id"] for row in rows)
    own = [row for row in rows if row["model_id"] == first]
    many = [{**row, "strategy": f"strategy {nth}"} for nth in range(4) for row in own]
    fifth = [{**row, "model_id": "late", "strategy": "strategy 4"} for row in own]
    block = block_of(section.drawn(replaced(found, **{query: [*many, *fifth]})), "colours")
    assert any("late" in plain(line[0]) for table in block.tables for line in table.rows)
    assert not any("late" in panel.name for panel in block.panels)
