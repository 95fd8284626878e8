"""Sections on single samples: what they print and draw equals the marts, and what is missing says why."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from promptaudit.report.ask_copy import rows
from promptaudit.report.blocks.blocks import Block, DrawnSection, Table
from promptaudit.report.blocks.cells import plain
from promptaudit.report.charts import samples as charts_of_samples
from promptaudit.report.data import ReportData
from promptaudit.report.gather import OF_SECTIONS, gather
from promptaudit.report.queries import LIMITS, N_BINS, SAMPLED, query
from promptaudit.report.sections.columns import table as table_of
from promptaudit.report.sections.columns import words
from promptaudit.report.sections.consistency import density, runs, sample_consistency, sample_pairs
from promptaudit.report.sections.section import LEAST_ROWS, Chart, Room
from promptaudit.report.sections.sensitivity import (
    label_distributions,
    sensitivity,
    sensitivity_against_consistency,
    sensitivity_by_class,
)
from promptaudit.system.display.figures import number
from promptaudit.warehouse import Warehouse
from tests.report.conftest import Reported
from tests.report.sections.test_sections_across_tasks import replaced, report_data
from tests.support.published_copy import table

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SVG = "{http://www.w3.org/2000/svg}"
EVERY = (sensitivity_by_class, label_distributions, sensitivity_against_consistency, sample_consistency, sample_pairs)
Group = tuple[str, str]
AGGREGATES: dict[str, Any] = {name: [] for name in OF_SECTIONS}


@pytest.fixture(scope="module")
def wavering(hostile: Reported) -> ReportData:
    return gather(Warehouse(hostile.warehouse), hostile.audit_run_id)


def asked(run: Reported, query: str) -> list[tuple[Any, ...]]:
    """Rows of a query of the test's own words, with {run} put in."""
    return table(run.warehouse, query.replace("{run}", f"'{run.audit_run_id}'"))[1]


def block_of(section: DrawnSection, task_id: str) -> Block:
    (block,) = [block for block in section.blocks if block.task_id == task_id]
    return block


def printed(table: Table) -> list[tuple[str, ...]]:
    return [tuple(plain(cell) for cell in row) for row in table.rows]


def drawn_data(block: Block, name: str) -> Iterator[list[dict[str, Any]]]:
    """The data of that name behind each chart of a block that has such."""
    for panel in block.panels:
        datasets = panel.drawing.source.datasets  # type: ignore[attr-defined]
        if name in datasets:
            yield list(datasets[name])


def test_dots_are_every_sample_once_where_there_are_few(ordinary: Reported, found: ReportData) -> None:
    block = block_of(sensitivity_against_consistency.drawn(found, Room(found)), "colours")
    truth = asked(
        ordinary,
        "select model_id, count(*), avg(sensitivity), count(*) filter (sensitivity = 0) from marts.fct_sensitivity "
        "where audit_run_id = {run} and mean_consistency is not null group by 1 order by 1",
    )
    assert [panel.name for panel in block.panels] == [model for model, *_ in truth]
    for data, (_, n, mean, n_zero) in zip(drawn_data(block, "dots"), truth, strict=True):
        assert sum(row["n"] for row in data) == n
        assert sum(row["n"] * row["sensitivity"] for row in data) / n == pytest.approx(mean, abs=5e-4)
        assert sum(row["n"] for row in data if row["sensitivity"] == 0) == n_zero
    assert not any("chosen by a hash" in note for note in block.notes)


def test_of_many_samples_the_same_few_are_drawn_of_every_model(ordinary: Reported) -> None:
    assert LIMITS["sampled"] == SAMPLED
    counts: dict[Group, int] = {}
    for row in rows(
        Warehouse(ordinary.warehouse), query("sensitivity_against_consistency"), ordinary.audit_run_id, sampled=7
    ):
        key = (row["model_id"], row["strategy"])
        counts[key] = counts.get(key, 0) + row["n"]
    assert len(counts) == 6
    assert set(counts.values()) == {7}


def test_references_stand_behind_and_are_no_panel_of_their_own(found: ReportData) -> None:
    dots = found["sensitivity_against_consistency"]
    models = sorted({row["model_id"] for row in dots})
    kinds = [{"model_id": models[0], "kind": "random"}, {"model_id": models[1], "kind": "noisy"}]
    block = block_of(sensitivity_against_consistency.drawn(replaced(found, references=kinds)), "colours")
    assert [panel.name for panel in block.panels] == [models[2]]
    (behind,) = drawn_data(block, "behind")
    own = [row for row in dots if row["model_id"] in models[:2]]
    assert sum(row["n"] for row in behind) == sum(row["n"] for row in own)
    assert {row["who"] for row in behind} == {"random", "noisy"}
    assert any(models[0] in meaning and "by chance" in meaning for _, meaning in block.legend)
    # where nothing else was asked they are drawn as themselves
    alone = replaced(found, references=kinds, sensitivity_against_consistency=own)
    block = block_of(sensitivity_against_consistency.drawn(alone), "colours")
    assert [panel.name for panel in block.panels] == models[:2]


def test_telling_samples_are_the_steadiest_the_median_and_the_least_steady(
    ordinary: Reported, found: ReportData
) -> None:
    table = block_of(label_distributions.drawn(found, Room(found)), "colours").tables[0]
    seen: dict[Group, dict[str, str]] = {}
    for line in printed(table):
        seen.setdefault((line[0], line[1]), {}).update(dict.fromkeys(line[2].split(" and "), line[3]))
    truth: dict[Group, list[tuple[float, str, bool]]] = {}
    for model, strategy, sample, value, is_right in asked(
        ordinary,
        "select s.model_id, s.strategy, sample_id, any_value(sensitivity), "
        "max(p_tau) filter (label = s.gold_label) = max(p_tau) from marts.fct_sensitivity as s "
        "join marts.fct_p_tau as p using (audit_run_id, model_id, task_id, strategy, sample_id) "
        "where s.audit_run_id = {run} and task_id = 'colours' group by 1, 2, 3",
    ):
        truth.setdefault((model, strategy), []).append((value, sample, is_right))
    assert set(seen) == set(truth)
    for group, values in truth.items():
        ranked = sorted(values)
        right = [sample for _, sample, is_right in ranked if is_right]
        wrong = [sample for _, sample, is_right in ranked if not is_right]
        expected = {"most": ranked[-1][1], "median": ranked[(len(ranked) + 1) // 2 - 1][1]}
        expected |= {"least, right": right[0]} if right else {}
        expected |= {"least, wrong": wrong[0]} if wrong else {}
        assert seen[group] == expected, group


def test_more_labels_than_colours_share_one() -> None:
    of = {"audit_run_id": "r", "task_id": "t", "model_id": "m", "strategy": "s", "sample_id": "x", "gold_label": "l0"}
    row = {**of, "sensitivity": 0.9, "mean_consistency": None, "roles": ["most"], "place": 1}
    shares = [0.1] * 5 + [0.04] * 10 + [0.1]
    labels = [*(f"l{place}" for place in range(15)), None]
    rows = [
        {**row, "label": label, "label_index": -1 if label is None else place, "p_tau": p}
        for place, (label, p) in enumerate(zip(labels, shares, strict=True))
    ]
    card = {"task_id": "t", "model_id": "m", "strategy": "s", "n_landed": 9, "n_variants": 9, "n_variants_breaking": 0}
    found = report_data(scorecard=[card], label_distributions=rows)
    block = block_of(label_distributions.drawn(found, Room(found)), "t")
    assert [colour for colour, _ in block.legend] == [*charts_of_samples.LABELS, "muted", "line"]
    assert [meaning for _, meaning in block.legend][-2:] == ["N/A", "other labels"]
    (data,) = drawn_data(block, "shares")
    assert [round(part["p_tau"], 9) for part in data if part["label"] == "other labels"] == [0.12]  # three of .04


def test_density_of_one_bin_is_the_kernel_and_of_nonereport_data() -> None:
    counts = np.zeros(50)
    assert density(counts).tolist() == [0.0] * 50
    counts[25] = 4
    smooth = density(counts, bandwidth=0.03)
    assert smooth[25] == 1
    assert smooth[26] == pytest.approx(np.exp(-0.5 * (0.02 / 0.03) ** 2))
    # at an edge the tail is folded back: the first bin and its mirror image, .02 apart
    edge = density(np.eye(50)[0], bandwidth=0.03)
    kernel = [np.exp(-0.5 * (at / 0.03) ** 2) for at in (0, 0.02, 0.04)]
    assert edge[1] == pytest.approx((kernel[1] + kernel[2]) / (kernel[0] + kernel[1]))


def test_violins_are_as_wide_at_their_modes(found: ReportData) -> None:
    block = block_of(sample_consistency.drawn(found, Room(found)), "colours")
    for outlines, middles in zip(drawn_data(block, "outlines"), drawn_data(block, "middles"), strict=True):
        assert len(outlines) == N_BINS * len(middles)
        for place in range(len(middles)):
            widths = [row["high"] - row["low"] for row in outlines if row["place"] == place]
            assert max(widths) == pytest.approx(0.72)


def test_token_probabilities_stand_beside_sensitivity_where_there_are_any(found: ReportData) -> None:
    assert len(block_of(sensitivity.drawn(found), "colours").tables) == 1
    card = [{**row, "output_uncertainty": 0.25 if row["strategy"] == "simple" else None} for row in found.scorecard]
    table = block_of(sensitivity.drawn(replaced(found, scorecard=card)), "colours").tables[1]
    own = [row for row in card if row["output_uncertainty"] and row["task_id"] == "colours"]
    assert printed(table) == [(row["model_id"], "simple", number(row["sensitivity"]), "0.250") for row in own]


def test_runs_make_a_row_again() -> None:
    row = np.array([1.0, 0.98, 0.5, 0.5, 0.52, 0.0])
    assert runs(row) == [(0, 2, 1.0), (2, 5, 0.5), (5, 6, 0.0)]
    assert runs(np.array([0.25])) == [(0, 1, 0.25)]


def test_the_matrix_is_of_the_class_that_is_treated_least_alike(found: ReportData) -> None:
    block = block_of(sample_pairs.drawn(found), "colours")
    worst = min(found["consistency"], key=lambda row: row["consistency"])
    n, consistency = worst["n_samples"], worst["consistency"]
    assert (block.panels[0].name, block.panels[0].beside) == (worst["model_id"], worst["strategy"])
    note, label = plain(block.notes[0]), str(block.panels[0].drawing)
    assert f"Class {worst['gold_label']} has the lowest consistency, {number(consistency)} over its {n} samples" in note
    assert [line[0] for line in printed(block.tables[0])] == [str(place + 1) for place in range(n)]
    (cells,) = itertools.islice(drawn_data(block, "cells"), 1)
    # of so few samples all are shown, so that the mean of all cells is the class's figure; shades are in twentieths
    total = sum((row["end"] - row["start"]) * row["similarity"] for row in cells)
    assert total / n**2 == pytest.approx(consistency, abs=0.5 / 20)
    assert sum(row["end"] - row["start"] for row in cells) == n * n
    # pairs without those of a sample with itself: n² of them less n, each twice
    between = (consistency * n**2 - n) / (n**2 - n)
    assert f"The mean over the {n * (n - 1) // 2} pairs shown is {number(between)}." in note
    assert f"{n} by {n} samples, 1 less their total variation distance, mean {number(between)}." in label


def test_the_other_class_is_the_one_treated_most_alike_and_all_pairs_are_counted(found: ReportData) -> None:
    block = block_of(sample_pairs.drawn(found, Room(found, most=100)), "colours")
    first = block.panels[0]
    of = [row for row in found["consistency"] if (row["model_id"], row["strategy"]) == (first.name, first.beside)]
    lowest, *_, highest = sorted(of, key=lambda row: (row["consistency"], row["gold_label"]))
    most = f"{number(highest['consistency'])} over its {highest['n_samples']} samples"
    assert f"Class {highest['gold_label']} has the highest consistency, {most}" in plain(block.notes[1])
    for drawn, row in zip(drawn_data(block, "bars"), (lowest, highest), strict=True):
        assert sum(bar["value"] for bar in drawn) == row["n_samples"] * (row["n_samples"] - 1) // 2
        assert all((bar["low"] < 0) == (bar["start"] == bar["end"] == 0) for bar in drawn)


@pytest.mark.parametrize("section", EVERY)
def test_hostile_names_are_drawn_as_text(section: Any, wavering: ReportData) -> None:
    (block,) = section.drawn(wavering, Room(wavering)).blocks
    assert block.panels, block.absent
    for panel in block.panels:
        root = ET.fromstring(str(panel.drawing))  # noqa: S314 - drawn here
        tags = {element.tag.removeprefix(SVG) for element in root.iter()}
        assert tags <= {"svg", "g", "path", "rect", "line", "text", "tspan", "circle", "defs", "clipPath", "title"}
        assert "<script" not in str(panel.drawing)


def test_a_section_draws_as_far_as_there_is_room(found: ReportData) -> None:
    n_tasks = len({row["task_id"] for row in found.scorecard})
    room = Room(found, most=2 * n_tasks + 1)
    assert room.n_a_task == 2
    blocks = [Block(task_id=str(place)) for place in range(n_tasks + 1)]
    wanted = [
        Chart(str(place), "x", lambda: ("", charts_of_samples.steps([{"start": 0, "end": 0.05, "value": 1}], "l")))
        for place in range(3)
    ]
    for block in blocks:
        room.draw(block, wanted)
    assert [len(block.panels) for block in blocks] == [*[2] * n_tasks, 1]
    assert all(block.notes for block in blocks)
    many = replaced(found, scorecard=[{**found.scorecard[0], "task_id": f"t{n}"} for n in range(500)])
    assert Room(many).n_rows == LEAST_ROWS
    lines = [{"a": str(place)} for place in range(50)]
    table = table_of("x", (words("a", "a"),), lines, n_heads=1, note="Told.", most=Room(many).n_rows)
    assert len(table.rows) == LEAST_ROWS
    assert (table.note, table.n_in_all) == ("Told.", 50)  # the page says how many there are beyond them
