"""A comparison's texts where a task is sensitive in one of its runs: on its page, on the candidate's, and in a trace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from promptaudit.evidence.trace.gather import trace
from promptaudit.marts.comparison.result import run_comparison
from promptaudit.report import as_written
from promptaudit.report.comparison_page.gather import gather
from promptaudit.report.comparison_page.page import page_of
from promptaudit.system.display.policy import LEFT_OUT
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.figure_names import row_id
from tests.report.comparison_page.test_page import copied
from tests.report.conftest import Compared

BASE, CANDIDATE = "Name the colour, Zo\u00eb.", "Which colour does Zo\u00eb mean?"
SENSITIVE = '{"sensitive": true}'


@pytest.fixture
def own(compared: Compared, hostile_compared: Compared, tmp_path: Path) -> Compared:
    """The comparison as of two runs with other instructions, of which the base alone says that the task is sensitive."""
    own = copied(compared, tmp_path)
    warehouse = Warehouse(own.warehouse)
    base = run_comparison(warehouse, hostile_compared.comparison_id).runs[0].audit_run_id
    names = {"id": own.comparison_id, "base": base}
    with duckdb.connect(str(warehouse.published.path)) as con:
        con.execute(
            "update marts.rpt_run_comparisons set base_run_id = $base, base_model_id = model_id, "
            "cause = 'we_changed_the_prompt', reason = if(task_id = 'colours', $reason, reason) where comparison_id = $id",
            names | {"reason": f"we changed the prompt (instruction {BASE} -> {CANDIDATE}, prompts 6 -> 7)"},
        )
        con.execute(
            "update raw.comparisons set base_run_id = $base, base_model_id = null, candidate_model_id = null "
            "where comparison_id = $id",
            names,
        )
        con.execute("delete from marts.rpt_run_changes")
        for what in ("instruction", "output_format"):
            con.execute(
                "insert into marts.rpt_run_changes by name select comparison_id, base_run_id, candidate_run_id, "
                "'colours' as task_id, $what as what, 'we_changed_the_prompt' as cause, $before as base, $after as candidate, "
                "measure_version from marts.rpt_run_comparisons where comparison_id = $id limit 1",
                {"what": what, "before": BASE, "after": CANDIDATE, "id": own.comparison_id},
            )
        for mart in ("marts.dim_tasks", "raw.tasks"):
            con.execute(
                f"insert into {mart} by name select * replace ($base as audit_run_id, $card as card) "
                f"from {mart} where task_id = 'colours' and audit_run_id <> $base limit 1",
                {"base": base, "card": SENSITIVE},
            )
    return own


def page(own: Compared, text: Any = None) -> str:
    warehouse = Warehouse(own.warehouse)
    return page_of(gather(warehouse, run_comparison(warehouse, own.comparison_id), text))


@pytest.mark.parametrize("text", [None, "none"])
def test_the_page_has_no_text_of_it(own: Compared, text: Any) -> None:
    printed = page(own, text)
    assert "Zo\u00eb" not in printed
    assert f"instruction {LEFT_OUT} -&gt; {LEFT_OUT}, prompts 6 -&gt; 7" in printed
    assert "2 things differ: instruction, output_format" in printed


def test_texts_that_are_asked_for_stand_there(own: Compared) -> None:
    printed = page(own, "excerpt")
    assert printed.count(CANDIDATE) > 2
    assert LEFT_OUT not in printed


@pytest.mark.slow
def test_the_candidates_page_quotes_no_reason_and_no_cause(own: Compared) -> None:
    warehouse = Warehouse(own.warehouse)
    run = run_comparison(warehouse, own.comparison_id).runs[1].audit_run_id
    assert CANDIDATE in as_written(warehouse, run, "excerpt")
    assert "Zo\u00eb" not in as_written(warehouse, run, "none")


def test_a_trace_leaves_out_what_is_sensitive_in_the_base_alone(own: Compared) -> None:
    warehouse = Warehouse(own.warehouse)
    with duckdb.connect(str(warehouse.published.path)) as con:
        con.execute("update raw.audit_runs set card = '{\"of\": \"Zo\u00eb\"}', source = 'Zo\u00eb.csv'")
    measures = run_comparison(warehouse, own.comparison_id).measures
    row = next(row for row in measures if row["task_id"] == "colours" and row["measure"] == "micro_f1")
    found = trace(warehouse, row_id("rpt_run_comparisons", row), with_lineage=False, most=20)
    assert {answer["completion"] for answer in found.raw["predictions"]} == {LEFT_OUT}
    assert [(run["card"], run["source"]) for run in (*found.other_runs, found.run)] == [(LEFT_OUT, LEFT_OUT)] * 2
    assert LEFT_OUT in found.row["reason"]
    shown = trace(warehouse, row_id("rpt_run_comparisons", row), "full", with_lineage=False, most=20)
    assert LEFT_OUT not in {answer["completion"] for answer in shown.raw["predictions"]}


def test_a_trace_of_what_is_recorded_otherwise_has_no_text_either(own: Compared) -> None:
    warehouse = Warehouse(own.warehouse)
    change = run_comparison(warehouse, own.comparison_id).changes[0]
    name = row_id("rpt_run_changes", change)
    assert [trace(warehouse, name, with_lineage=False, most=1).row[side] for side in ("base", "candidate")] == [
        LEFT_OUT
    ] * 2
    assert trace(warehouse, name, "full", with_lineage=False, most=1).row["base"] == BASE
