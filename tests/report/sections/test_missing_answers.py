"""Bounds of missing answers, as the page and the terminal print them."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console, Group

from promptaudit.report.blocks.cells import plain
from promptaudit.report.sections.answers import missing_answers
from promptaudit.report.terminal import scorecard
from promptaudit.report.terminal.tables import printed
from tests.report.sections.test_sections_across_tasks import report_data

GAPS = {
    "sensitivity_if_missing_na": 0.412, "sensitivity_if_missing_modal": 0.25,
    "consistency_if_missing_na": None, "consistency_if_missing_modal": None,
    "micro_f1_if_missing_na": 0.5, "micro_f1_if_missing_modal": 0.625,
    "invalid_rate_if_missing_na": 0.2, "invalid_rate_if_missing_modal": 0.1,
}


def row(model: str, **columns: Any) -> dict[str, Any]:
    of = {"audit_run_id": "r", "model_id": model, "task_id": "t", "strategy": "simple", "n_planned": 1200}
    of |= {"n_landed": 1100, "n_error": 5, "n_samples": 39, "n_samples_planned": 40, "n_variants": 30}
    figures = {"sensitivity": 0.3, "consistency": None, "micro_f1": 0.55, "invalid_rate": 0.12}
    return {**of, "n_variants_answered": 30, "n_variants_breaking": 0, **figures, **dict.fromkeys(GAPS), **columns}


def test_the_section_stands_only_where_answers_are_missing() -> None:
    assert missing_answers.drawn(report_data(scorecard=[row("whole")])).blocks == []
    (block,) = missing_answers.drawn(report_data(scorecard=[row("whole"), row("gaps", **GAPS)])).blocks
    (found,) = block.tables
    assert [[plain(cell) for cell in line] for line in found.rows] == [
        ["gaps", "simple", "Sensitivity", "105", "0.300", "0.412", "0.250"],
        ["gaps", "simple", "micro-F1", "105", "0.550", "0.500", "0.625"],
        ["gaps", "simple", "Invalid rate", "105", "12.0 %", "20.0 %", "10.0 %"],
    ]


@pytest.mark.parametrize("width", [60, 100])
def test_the_terminal_has_both_bounds(width: int) -> None:
    assert scorecard.missing_answers([row("whole")]) == []
    (table,) = scorecard.missing_answers([row("gaps", **GAPS)])
    out = io.StringIO()
    Console(file=out, width=width, color_system=None).print(Group(*printed(table, width)))
    for figure in ("105", "0.412", "0.250", "0.500", "0.625", "20.0 %", "10.0 %"):
        assert figure in out.getvalue()
    assert table.lines[0].cells[2] == "–"


def test_samples_measured_stand_before_those_planned_where_they_differ() -> None:
    assert scorecard.size(row("m")) == "39 of 40 × 30"
    assert scorecard.size(row("m", n_samples=40)) == "40 × 30"
    assert scorecard.size(row("m", n_variants_answered=29, n_variants_breaking=4)) == "39 of 40 × 29 of 30, 4 break"
