"""Sections on PSS, distinct answers, prompts and costs: what they print equals the marts, and what is missing says why."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

from promptaudit.report.blocks.cells import cells_of, parts, plain
from promptaudit.report.charts.drawing import undrawn
from promptaudit.report.contents import OF_TASKS
from promptaudit.report.data import ReportData
from promptaudit.report.gather import gather
from promptaudit.report.queries import query
from promptaudit.report.sections.answers import answer_formats, costs, distinct_answers, mean
from promptaudit.report.sections.consistency import sample_pairs
from promptaudit.report.sections.section import Room
from promptaudit.report.sections.sensitivity import measures_by_wordings, sensitivity, sensitivity_by_class
from promptaudit.report.sections.stability import (
    stability_by_model,
    stability_by_repetition,
    stability_by_wording,
    subsamples,
)
from promptaudit.report.sections.wordings import WORST, accuracy_by_variant, prompt_variants
from promptaudit.system.display.figures import count, milliseconds, number, percent, span
from promptaudit.system.display.policy import LEFT_OUT
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.figure_names import parse_figure
from tests.report.conftest import Reported
from tests.report.sections.test_sections_across_tasks import replaced
from tests.report.sections.test_sections_of_samples import AGGREGATES, asked, block_of, drawn_data, printed

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def test_every_k_is_printed_cumulative_and_adjacent(ordinary: Reported, found: ReportData) -> None:
    block = block_of(stability_by_repetition.drawn(found, Room(found)), "colours")
    truth = asked(
        ordinary,
        "select model_id, strategy, annotation_filter, n_annotators, "
        "max(pss) filter (series = 'cumulative'), max(pss) filter (series = 'adjacent'), "
        "max(pss_low) filter (series = 'adjacent'), max(pss_high) filter (series = 'adjacent') "
        "from marts.fct_prompt_stability where audit_run_id = {run} and scope = 'intra' and series <> 'all' "
        "and annotation_filter in ('labels_and_na', 'verbatim') group by all order by all",
    )
    (table,) = [table for table in block.tables if table.caption == "PSS by number of asks"]
    lines = {line[:4]: line[4:] for line in printed(table)}
    assert len(truth) >= 3 * 2 * 2 * 4
    for model, strategy, answers, k, cumulative, adjacent, low, high in truth:
        line = lines[model, strategy, answers, str(k)]
        assert (line[0], line[2], line[3]) == (number(cumulative), number(adjacent), f"[{number(low)}, {number(high)}]")
    for row in table.rows:
        for cell in cells_of(row):
            mart, column, _ = parse_figure(cell.figure)
            assert mart == "fct_prompt_stability"
            assert column in {"pss", "pss_low", "pss_high"}
    adjacent_charts = [panel for panel in block.panels if panel.detail.startswith("adjacent")]
    assert adjacent_charts
    (data, *_) = drawn_data(block, "points")
    assert {row["series"] for row in data} == {"labels_and_na", "verbatim"}


def test_each_temperature_is_drawn_for_labels_and_verbatim(ordinary: Reported, found: ReportData) -> None:
    block = block_of(stability_by_wording.drawn(found, Room(found)), "colours")
    truth = {
        (answers, temperature): pss
        for answers, temperature, pss in asked(
            ordinary,
            "select annotation_filter, paraphrase_temperature, pss from marts.fct_prompt_stability where audit_run_id = {run} "
            f"and scope = 'inter' and series = 'all' and model_id = '{block.panels[0].name}' "
            f"and strategy = '{block.panels[0].beside}' and annotation_filter in ('labels_and_na', 'verbatim')",
        )
    }
    (data, *_) = drawn_data(block, "points")
    assert {(row["series"], row["at"]): row["value"] for row in data} == truth
    assert {at for _, at in truth} == {0.5, 1.0, 2.0}


def test_the_convention_is_called_one(found: ReportData) -> None:
    for section in (stability_by_repetition.drawn(found, Room(found)), stability_by_wording.drawn(found, Room(found))):
        assert "only a convention" in section.intro


def test_parts_of_the_samples_grow_to_all(ordinary: Reported, found: ReportData) -> None:
    block = block_of(subsamples.drawn(found, Room(found, most=100)), "colours")
    truth = asked(
        ordinary,
        "select scope, model_id, strategy, sample_share, n_samples, pss, pss_low, pss_high from marts.rpt_stability_by_share "
        "where audit_run_id = {run} and task_id = 'colours' order by scope desc, 2, 3, 4",
    )
    # of 24 samples 2 and 5 % are fewer than three
    assert len(truth) == 2 * 3 * 2 * 5
    assert [table.caption.split(" of ")[0] for table in block.tables] == [
        "PSS by repetition",
        "PSS over prompt variants",
    ]
    assert [line for table in block.tables for line in printed(table)] == [
        (model, strategy, percent(share), str(n), number(pss), f"[{number(low)}, {number(high)}]")
        for _, model, strategy, share, n, pss, low, high in truth
    ]
    assert [row[4] for row in truth] == [3, 6, 12, 18, 24] * 12
    wholes = asked(
        ordinary,
        "select 'intra', model_id, strategy, pss_intra, pss_intra_low from marts.rpt_audit where audit_run_id = {run} "
        "and task_id = 'colours' union all select 'inter', model_id, strategy, pss_inter, pss_inter_low "
        "from marts.rpt_audit where audit_run_id = {run} and task_id = 'colours'",
    )
    assert {row[:3]: row[5:7] for row in truth if row[3] == 1} == {
        row[:3]: pytest.approx(row[3:], abs=1e-12) for row in wholes
    }
    drawn = [row for data in drawn_data(block, "points") for row in data]
    named = {cell.figure: cell.value for table in block.tables for row in table.rows for cell in cells_of(row)}
    assert all(named[row["figure"]] == row["value"] for row in drawn)
    assert len(drawn) == len(truth)


def test_parts_and_pairs_print_no_figure_without_a_name(found: ReportData) -> None:
    """What stands there without one: names of things, the place of a sample in the drawing."""
    shares, similar = (
        block_of(section.drawn(found, Room(found, most=100)), "colours") for section in (subsamples, sample_pairs)
    )
    columns = set()
    for block in (shares, similar):
        for row in (row for table in block.tables for row in table.rows):
            unnamed = [part for cell in row[2:] for part in parts(cell) if isinstance(part, str)]
            assert not re.search(r"\d", "".join(unnamed)), row
            columns |= {parse_figure(cell.figure)[:2] for cell in cells_of(row)}
        for note in block.notes:
            assert not re.search(r"\d", "".join(part for part in parts(note) if isinstance(part, str))), note
            columns |= {parse_figure(cell.figure)[:2] for cell in cells_of((note,))}
    of_share = {
        ("rpt_stability_by_share", name) for name in ("sample_share", "n_samples", "pss", "pss_low", "pss_high")
    }
    of_steps = {
        ("rpt_pair_distances", name)
        for name in ("similarity_low", "similarity_high", "n_pairs", "pair_share", "mean_similarity")
    }
    of_pairs = {
        ("rpt_sample_similarities", name) for name in ("mean_similarity", "n_pairs", "mean_similarity_of_pairs")
    }
    of_class = {("fct_consistency", "consistency"), ("fct_consistency", "n_samples"), ("fct_p_tau", "p_tau")}
    assert columns == of_share | of_steps | of_pairs | of_class


def test_curves_over_wordings_end_at_the_scorecard(ordinary: Reported, found: ReportData) -> None:
    block = block_of(measures_by_wordings.drawn(found, Room(found, most=100)), "colours")
    (table,) = block.tables
    truth = asked(
        ordinary,
        "select model_id, strategy, sensitivity, consistency from marts.rpt_audit where audit_run_id = {run} "
        "and task_id = 'colours'",
    )
    most = {}
    for line in table.rows:  # ascending numbers of wordings: the last of a group is the whole
        most[line[0], line[1]] = (line[4].value, line[5].value)
    assert most == {(model, strategy): pytest.approx((s, c), abs=1e-12) for model, strategy, s, c in truth}
    named = {cell.figure: cell.value for line in table.rows for cell in cells_of(line)}
    drawn = [row for data in drawn_data(block, "points") for row in data]
    assert all(named[row["figure"]] == row["value"] for row in drawn)
    # PSS has a number of wordings where there are no paraphrase temperatures: not here
    assert [panel.beside for panel in block.panels] == ["sensitivity", "consistency"] * 3
    assert all(line[8] == line[9] == "" for line in table.rows)


def test_models_stand_with_the_scorecards_pss(ordinary: Reported, found: ReportData) -> None:
    block = block_of(stability_by_model.drawn(found, Room(found)), "colours")
    truth = asked(
        ordinary,
        "select model_id, strategy, pss_intra, pss_inter from marts.rpt_audit where audit_run_id = {run} "
        "and task_id = 'colours'",
    )
    assert {(line[0], line[1], line[3], line[5]) for line in printed(block.tables[0])} == {
        (model, strategy, number(intra), number(inter)) for model, strategy, intra, inter in truth
    }
    assert [panel.name for panel in block.panels] == ["PSS intra", "PSS inter"]


def test_distinct_completions_are_those_of_the_marts(ordinary: Reported, found: ReportData) -> None:
    block = block_of(distinct_answers.drawn(found, Room(found, most=100)), "colours")
    truth = {
        (model, strategy, repetition): n
        for model, strategy, repetition, n in asked(
            ordinary,
            # the original is asked once more at each of three temperatures
            "select model_id, strategy, repetition, avg(n) from (select model_id, strategy, repetition, prompt_variant_id, "
            "count(distinct completion) as n from marts.fct_predictions where audit_run_id = {run} and is_original "
            "and task_id = 'colours' and answer_status <> 'error' group by all) group by all",
        )
    }
    drawn = [
        data
        for panel, data in zip(block.panels, drawn_data(block, "points"), strict=True)
        if panel.beside == "by repetition"
    ]
    models = [panel.name for panel in block.panels if panel.beside == "by repetition"]
    seen = {
        (model, row["series"], row["at"]): row["value"]
        for model, data in zip(models, drawn, strict=True)
        for row in data
    }
    assert seen == pytest.approx(truth)
    assert {panel.beside for panel in block.panels} == {"by repetition", "by paraphrase temperature"}
    by_temperature = {
        (model, strategy, f"{temperature:g}"): (str(n_variants), mean(n_distinct), mean(n_answers))
        for model, strategy, temperature, n_variants, n_distinct, n_answers in asked(
            ordinary,
            "select model_id, strategy, paraphrase_temperature, count(distinct prompt_variant_id), avg(d), avg(n) from ("
            "select model_id, strategy, paraphrase_temperature, prompt_variant_id, count(distinct completion) as d, "
            "count(*) as n from marts.fct_predictions where audit_run_id = {run} and not is_original and task_id = 'colours' "
            "and answer_status <> 'error' group by model_id, strategy, paraphrase_temperature, prompt_variant_id, repetition) "
            "group by all",
        )
    }
    assert {line[:3]: line[3:] for line in printed(block.tables[1])} == by_temperature


def _truth_of_disagreement(run: Reported, model: str, strategy: str) -> dict[str, float]:
    """How far each wording's labels differ from the others', pair by pair."""
    said: dict[str, dict[str, Counter[str | None]]] = {}
    for variant, sample, label in asked(
        run,
        "select prompt_variant_id, sample_id, label from marts.fct_predictions where audit_run_id = {run} "
        f"and model_id = '{model}' and strategy = '{strategy}' and task_id = 'colours' "
        "and answer_status <> 'error'",
    ):
        said.setdefault(sample, {}).setdefault(variant, Counter())[label] += 1
    per_variant: dict[str, list[float]] = {}
    for variants in said.values():
        for variant, own in variants.items():
            chances = [
                sum(own[label] / own.total() * other[label] / other.total() for label in own)
                for name, other in variants.items()
                if name != variant
            ]
            per_variant.setdefault(variant, []).append(1 - sum(chances) / len(chances))
    return {variant: sum(values) / len(values) for variant, values in per_variant.items()}


def test_wordings_differ_as_their_pairs_do(ordinary: Reported, found: ReportData) -> None:
    own = [row for row in found["prompt_variants"] if (row["model_id"], row["strategy"]) == ("harbour-small", "simple")]
    truth = _truth_of_disagreement(ordinary, "harbour-small", "simple")
    compared = {row["prompt_variant_id"]: row["disagreement"] for row in own if row["n_samples_compared"]}
    assert compared == pytest.approx(truth, abs=1e-9)
    assert all(row["disagreement"] is None for row in own if row["prompt_variant_id"] not in truth)


def test_the_worst_wording_comes_first_with_its_scores(ordinary: Reported, found: ReportData) -> None:
    block = block_of(prompt_variants.drawn(found, Room(found)), "colours")
    first = block.tables[0]
    assert first.is_open
    assert len(first.rows) == WORST
    model = first.caption.removeprefix("The worst prompts under ")
    truth = asked(
        ordinary,
        "select accuracy, f.strategy, v.instruction, (sum(n_landed) - sum(n_error) - sum(n_valid)) / "
        "(sum(n_landed) - sum(n_error)) from marts.fct_answer_formats as f "
        "join marts.dim_prompt_variants as v using (audit_run_id, prompt_variant_id) "
        "left join marts.fct_variant_accuracy as a using (audit_run_id, model_id, prompt_variant_id) "
        f"where f.audit_run_id = {{run}} and f.task_id = 'colours' and f.model_id = '{model}' "
        "group by accuracy, f.strategy, v.instruction, f.prompt_variant_id",
    )
    tables = {table.caption: printed(table) for table in block.tables}
    everything = tables[f"All prompts under {model}"]
    assert sorted((line[3], line[0], line[2], line[6]) for line in everything) == sorted(
        (number(accuracy), strategy, wording, percent(invalid)) for accuracy, strategy, wording, invalid in truth
    )
    known = [float(line[3]) for line in everything if line[3] != "–"]
    assert known == sorted(known)
    assert everything[:WORST] == printed(first)
    unranked = [line for line in everything if line[3] == "–"]
    assert everything[len(everything) - len(unranked) :] == unranked  # without a figure: last


def test_texts_that_are_left_out_are_in_no_section(ordinary: Reported) -> None:
    silent = gather(Warehouse(ordinary.warehouse), ordinary.audit_run_id, "none")
    with undrawn():
        sections = [section.drawn(silent) for section in OF_TASKS]
    told = [
        plain(cell)
        for section in sections
        for block in section.blocks
        for table in block.tables
        for row in table.rows
        for cell in row
    ]
    assert LEFT_OUT in told
    texts = asked(ordinary, "select distinct instruction from marts.dim_prompt_variants where audit_run_id = {run}")
    assert len(texts) > 10
    assert not {text for (text,) in texts} & set(told)


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
    own = {"audit_run_id": "r", "task_id": "t", "strategy": "s"}
    nothing = dict.fromkeys(("completion_tokens", "latency_p50_ms", "latency_p95_ms"))
    taken = [
        {
            **own,
            **nothing,
            "model_id": "dear",
            "n_answers": 10,
            "prompt_tokens": 100,
            "cost_usd": 0.05,
            "n_priced": 5,
            "n_timed": 0,
            "attempts_mean": 1.0,
            "attempts_max": 1,
            "n_retried": 0,
            "n_error": 0,
        },
        {
            **own,
            "model_id": "slow",
            "n_answers": 100,
            "prompt_tokens": 1000,
            "completion_tokens": 200,
            "cost_usd": 0.5,
            "n_priced": 50,
            "n_timed": 100,
            "latency_p50_ms": 50.5,
            "latency_p95_ms": 95.05,
            "attempts_mean": 1.06,
            "attempts_max": 4,
            "n_retried": 2,
            "n_error": 1,
        },
    ]
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
    (data,) = drawn_data_of_ranges(block)
    assert [(row["value"], row["low"], row["high"]) for row in data] == [pytest.approx((50.5, 50.5, 95.05))]


def drawn_data_of_ranges(block: Any) -> Iterator[list[dict[str, Any]]]:
    """The data of charts that name none."""
    for panel in block.panels:
        (data,) = panel.drawing.source.datasets.values()
        yield list(data)


def test_aggregates_have_their_names(ordinary: Reported, found: ReportData) -> None:
    """Every figure of these tables is a mart's, and every row of those marts is printed."""
    room = Room(found, most=0)
    told = {
        "rpt_class_sensitivities": (sensitivity_by_class.drawn(found, room), 7),
        "rpt_sample_spreads": (sensitivity.drawn(found, Room(found)), 8),
        "rpt_answer_totals": (costs.drawn(found, room), 10),
        "rpt_distinct_answers": (distinct_answers.drawn(found, room), 2),
        "rpt_prompt_variants": (prompt_variants.drawn(found, room), 3),  # and a word
    }
    for mart, (section, n_figures) in told.items():
        block = block_of(section, "colours")
        of_mart = [table for table in block.tables if not set(table.caption.split()) & {"like", "alike,", "without"}]
        named = [cells_of(row[-n_figures:]) for table in of_mart for row in table.rows]
        assert all(len(cells) in (n_figures, n_figures - 1, 0) for cells in named), mart
        assert {parse_figure(cell.figure)[0] for cells in named for cell in cells} == {mart}
        ((n_rows,),) = asked(
            ordinary, f"select count(*) from marts.{mart} where audit_run_id = {{run}} and task_id = 'colours'"
        )
        assert len({cell.row for cells in named for cell in cells}) == n_rows > 0, mart


def test_what_became_of_the_answers_is_named_and_adds_up(ordinary: Reported, found: ReportData) -> None:
    block = block_of(answer_formats.drawn(found, Room(found)), "colours")
    became, worst = block.tables
    for line in became.rows:
        marts = [parse_figure(cell.figure)[0] for cell in cells_of(line[2:11])]
        assert marts == ["rpt_audit"] * 2 + ["rpt_answer_totals"] * 6
        planned, landed, *parts, missing = (int(str(cell).replace(",", "")) for cell in line[2:11])
        assert (landed, missing) == (sum(parts), planned - landed)
    truth = asked(
        ordinary,
        "select model_id, strategy, sum(n_planned), sum(n_landed), sum(n_valid), sum(n_error) "
        "from marts.fct_answer_formats where audit_run_id = {run} and task_id = 'colours' group by all order by all",
    )
    assert sorted((line[0], line[1], *(line[place] for place in (2, 3, 4, 9))) for line in printed(became)) == [
        (model, strategy, *(count(int(n)) for n in counts)) for model, strategy, *counts in truth
    ]
    assert [[parse_figure(cell.figure)[:2] for cell in cells_of(line)] for line in worst.rows] == [
        [("rpt_prompt_variants", "n_invalid"), ("rpt_prompt_variants", "invalid_rate")]
    ] * len(worst.rows)


def test_accuracy_over_variants_is_named_and_the_variants_own(ordinary: Reported, found: ReportData) -> None:
    (table,) = block_of(accuracy_by_variant.drawn(found, Room(found)), "colours").tables
    truth = {
        row[:3]: row[3:]
        for row in asked(
            ordinary,
            "select model_id, strategy, scoring_method, count(*), avg(accuracy) filter (is_original), avg(accuracy), "
            "stddev_pop(accuracy) from marts.fct_variant_accuracy join marts.dim_prompt_variants "
            "using (audit_run_id, task_id, strategy, prompt_variant_id) "
            "where audit_run_id = {run} and task_id = 'colours' and accuracy is not null group by all",
        )
    }
    assert len(truth) == len(table.rows) > 1
    for line in table.rows:
        n, original, mean, std = truth[tuple(str(part) for part in line[:3])]
        cells = [cell for cell in cells_of(line) if parse_figure(cell.figure)[0] == "rpt_accuracy_spreads"]
        assert [cell.value for cell in cells] == [n, *(pytest.approx(each, abs=1e-9) for each in (original, mean, std))]


def test_an_import_has_no_latency_and_says_so(found: ReportData) -> None:
    block = block_of(costs.drawn(found, Room(found)), "colours")
    assert block.absent == ["No answer of this task has a latency."]
    assert not block.panels
    assert len(block.tables[0].rows) == 6


@pytest.mark.parametrize(("value", "said"), [(None, "–"), (0.0123, "0.012 ms"), (9.94, "9.9 ms"), (1234.4, "1,234 ms")])
def test_a_time_has_the_digits_it_deserves(value: float | None, said: str) -> None:
    assert milliseconds(value) == said


@pytest.mark.parametrize(
    ("values", "said"), [([], "–"), ([0.5], "0.500"), ([0.5, 0.5001], "0.500"), ([0.9, 0.1], "0.100 to 0.900")]
)
def test_a_span_of_one_figure_is_that_figure(values: list[float], said: str) -> None:
    assert span(values) == said


def test_tasks_without_repetitions_or_wordings_say_so(found: ReportData) -> None:
    for section in (stability_by_model, measures_by_wordings, subsamples):
        block = block_of(section.drawn(found, Room(found)), "moods")
        assert block.absent
        assert not block.panels
        assert not block.tables
    assert not block_of(distinct_answers.drawn(found, Room(found)), "moods").panels  # asked once
    assert block_of(prompt_variants.drawn(found, Room(found)), "moods").tables


def test_open_questions_have_prompts_and_costs_and_no_labels(questions: ReportData) -> None:
    kinds = {row["task_id"]: row["kind"] for row in questions.tasks}
    (task_id, *_) = [task for task, kind in kinds.items() if kind == "open_ended"]
    open_ended = "An open-ended task has no labels to measure this by."
    for section in (stability_by_model, measures_by_wordings, subsamples):
        assert block_of(section.drawn(questions, Room(questions)), task_id).absent == [open_ended]
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
            assert block.absent, (section.anchor, block.task_id)
            assert not block.panels
