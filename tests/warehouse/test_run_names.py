"""A run is named by the beginning of its id, complete or not, or as `latest` or by its audit."""

from __future__ import annotations

import duckdb
import pytest

from promptaudit.flows.warehouse import Warehouse
from promptaudit.flows.warehouse.run_names import resolve_id
from promptaudit.models_registry.errors import UsageError

RUNS = """
    select * from (values
        ('a1', 'nightly', timestamp '2026-11-01', 'complete', 'run'),
        ('a2', 'nightly', timestamp '2026-11-02', 'complete', 'run'),
        ('b1', 'answers', timestamp '2026-11-03', 'complete', 'import'),
        ('c1', 'answers', timestamp '2026-11-04', 'failed', 'import')
    ) as runs (audit_run_id, audit_id, started_at, state, origin)
"""


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    warehouse = Warehouse(tmp_path_factory.mktemp("names") / "audit.duckdb")
    warehouse.published.path.parent.mkdir()
    with duckdb.connect(str(warehouse.published.path)) as con:
        con.execute("create schema marts; create schema raw")
        con.execute(f"create table marts.dim_audit_runs as {RUNS}")
        con.execute("create table marts.dim_models as select 'b1' as audit_run_id, 'gpt-x' as model_id")
    return warehouse


@pytest.mark.parametrize(
    ("text", "run"),
    [
        (None, "c1"),
        ("c", "c1"),
        ("a1", "a1"),
        ("latest", "b1"),
        ("nightly", "a2"),
        ("nightly~1", "a1"),
        ("answers", "b1"),
    ],
)
def test_a_run_is_named_by_id_or_audit(warehouse: Warehouse, text: str | None, run: str) -> None:
    assert resolve_id(warehouse, text) == run


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a", "several runs begin with 'a'"),
        (":gpt-x", "':gpt-x' names a model of a run, and the whole run is wanted: b1"),
        ("nightly~2", "'nightly~2': audit 'nightly' has 2 complete runs up to there"),
    ],
)
def test_what_names_no_run_is_refused(warehouse: Warehouse, text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        resolve_id(warehouse, text)
