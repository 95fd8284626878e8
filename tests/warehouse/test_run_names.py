"""A run is named by the beginning of its id, complete or not, or as `latest` or by its audit."""

from __future__ import annotations

import duckdb
import pytest

from promptaudit.registry.errors import UsageError
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.run_names import Reference, resolve, resolve_id, resolve_pair

RUNS = """
    select * from (values
        ('a1', 'nightly', timestamp '2026-11-01', 'complete', 'run', 1),
        ('a2', 'nightly', timestamp '2026-11-02', 'complete', 'run', 2),
        ('b1', 'answers', timestamp '2026-11-03', 'complete', 'import', 3),
        ('c1', 'answers', timestamp '2026-11-04', 'failed', 'import', 4)
    ) as runs (audit_run_id, audit_id, started_at, state, origin, run_index)
"""


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    warehouse = Warehouse(tmp_path_factory.mktemp("names") / "audit.duckdb")
    warehouse.published.path.parent.mkdir()
    with duckdb.connect(str(warehouse.published.path)) as con:
        con.execute("create schema marts; create schema raw")
        con.execute(f"create table marts.dim_audit_runs as {RUNS}")
        con.execute(
            "create table marts.dim_models as select 'b1' as audit_run_id, unnest(['gpt-x', 'x:free']) as model_id"
        )
        con.execute(
            "create table marts.rpt_audit as select 'b1' as audit_run_id, unnest(['simple', 'detail']) as strategy"
        )
        names = "audit_run_id text, audit_id text, name text, reason text, pinned_at timestamp, after_run_index bigint"
        con.execute(f"create table raw.baselines ({names}); create table raw.erased (audit_run_id text)")
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
        (":gpt-x", "':gpt-x' names a part of a run, and the whole run is wanted: b1"),
        ("nightly~2", "'nightly~2': audit 'nightly' has 2 complete runs up to there"),
    ],
)
def test_what_names_no_run_is_refused(warehouse: Warehouse, text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        resolve_id(warehouse, text)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (":gpt-x", {"model_id": "gpt-x"}),
        (":x:free", {"model_id": "x:free"}),
        ("answers:x:free:simple", {"model_id": "x:free", "strategy": "simple"}),
        ("b1::detail", {"strategy": "detail"}),
    ],
)
def test_a_part_of_a_run_is_a_model_or_a_strategy_or_both(
    warehouse: Warehouse, text: str, part: dict[str, str]
) -> None:
    assert resolve(warehouse, text) == Reference(audit_run_id="b1", audit_id="answers", **part)


@pytest.mark.parametrize(
    ("base", "candidate", "words"),
    [
        (":gpt-x:simple2", ":gpt-x:detail", "strategy simple2: run b1 has none of that name; nearest: simple"),
        (":gpt-y", ":gpt-x", "model gpt-y: run b1 has none of that name; nearest: gpt-x"),
        ("::simple", ":gpt-x", "name a model of both, or of neither"),
        (":gpt-x:simple", ":gpt-x", "name a strategy of both, or of neither"),
        ("::simple", "b1::simple", "are the same"),
    ],
)
def test_two_parts_are_of_one_kind(warehouse: Warehouse, base: str, candidate: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        resolve_pair(warehouse, base, candidate)
