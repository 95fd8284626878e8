"""Every interval stands beside the figure that it is of, and holds it: in marts, analyses, sections and texts."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from promptaudit.query.diagnosis.diagnose import diagnose
from promptaudit.query.diagnosis.terminal import lines_of
from promptaudit.query.history.measure import history
from promptaudit.query.history.terminal import bounds, printed
from promptaudit.report.gather import gather
from promptaudit.report.plain import markdown
from promptaudit.report.summary import summary_of
from promptaudit.report.terminal.closing import closing_lines
from promptaudit.report.terminal.scorecard import scorecard
from promptaudit.warehouse import Warehouse
from tests.report.conftest import Reported
from tests.support.intervals import (
    n_in_texts,
    outside_in_analyses,
    outside_in_marts,
    outside_in_sections,
    outside_in_texts,
)

RUNS = ("ordinary", "judged")


@pytest.mark.slow
def test_in_the_marts_and_analyses(ordinary: Reported) -> None:
    # one warehouse has the runs of all fixtures
    assert outside_in_marts(ordinary.warehouse) == []
    assert outside_in_analyses(ordinary.warehouse) == []


@pytest.mark.parametrize("name", RUNS)
def test_in_the_sections_and_texts_of_a_report(name: str, request: pytest.FixtureRequest) -> None:
    run: Reported = request.getfixturevalue(name)
    warehouse = Warehouse(run.warehouse)
    data = gather(warehouse, run.audit_run_id)
    assert outside_in_sections(data) == []
    lines = [*markdown(data).splitlines(), *closing_lines(summary_of(warehouse, run.audit_run_id), 200)]
    lines += [cause.sentence for cause in data.summary.causes]
    assert n_in_texts(lines) > 2
    assert outside_in_texts(lines) == []


@pytest.mark.slow
def test_in_what_a_terminal_prints(ordinary: Reported) -> None:
    warehouse = Warehouse(ordinary.warehouse)
    console = Console(file=io.StringIO(), width=200)
    with console.capture() as capture:
        console.print(scorecard(warehouse, ordinary.audit_run_id, 200))
    lines = capture.get().splitlines()
    lines += lines_of(diagnose(warehouse, ordinary.audit_run_id), 10)
    for measure in ("sensitivity", "sensitivity_corrected", "micro_f1"):
        for series in history(warehouse, measure).series:
            lines += [f"{printed(measure, night.figure)} {bounds(night)}" for night in series.nights]
    assert n_in_texts(lines) > 10
    assert outside_in_texts(lines) == []


def test_a_walk_that_meets_a_figure_outside_says_so() -> None:
    lines = [
        "Sensitivity 0.823 [0.844, 0.877]",
        "0.823 (0.860) [0.844, 0.877]",
        "43.2 % [40.1 %, 46.0 %], +0.1 [-0.2, +0.3]",
    ]
    assert outside_in_texts(lines) == ["Sensitivity 0.823 [0.844, 0.877]"]
    assert n_in_texts(lines) == 4
