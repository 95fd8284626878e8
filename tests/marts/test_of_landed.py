"""A mart made from what has landed is that of a build of the project, to the last figure."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from polars.testing import assert_frame_equal

from promptaudit.marts.of_landed import MACROS, mart_of_landed, queries_of
from promptaudit.warehouse import Warehouse
from tests.report.conftest import NAMES, built
from tests.support.prebuilt_folders import shape

GROUP = ["model_id", "task_id", "strategy", "scope", "series", "annotation_filter", "paraphrase_temperature"]


def test_each_model_comes_after_those_that_it_reads() -> None:
    queries = queries_of("fct_prompt_stability")
    assert list(queries)[-1] == "fct_prompt_stability"
    there: set[str] = set()
    for name, query in queries.items():
        assert "{{" not in query
        assert set(re.findall(r'from "(\w+)"', query)) <= there
        there.add(name)
    assert "list_contains(getvariable('audit_run_ids'), audit_run_id)" in queries["int_annotators"]
    assert all(macro not in "".join(queries.values()) for macro in MACROS if macro != "measure_version")


@pytest.mark.slow
def test_it_is_what_a_build_makes(tmp_path: Path) -> None:
    """Of runs with wordings that break, paraphrase temperatures and several models, and of open tasks."""
    runs = dict(zip(NAMES, shape("reported", built, tmp_path), strict=True))
    warehouse = Warehouse(tmp_path / "audit.duckdb")
    query = "select * from marts.fct_prompt_stability where audit_run_id = $run"
    heights = []
    for run in runs.values():
        made, published = (
            mart_of_landed(warehouse, "fct_prompt_stability", run),
            warehouse.published.frame(query, run=run),
        )
        order = [*GROUP, "n_annotators"]
        assert made.schema == published.schema
        assert_frame_equal(made.sort(order), published.sort(order), rel_tol=0, abs_tol=1e-12)
        heights.append(made.height)
    assert heights[0] > 1000
    planned = mart_of_landed(warehouse, "int_cells_planned", runs["ordinary"])
    assert planned["n_planned"].sum() == 3 * (2 * 3 * 24 * (5 + 5 * 2) + 20)
