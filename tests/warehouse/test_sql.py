"""Queries in files: each is read by its own room, and one can stand over others."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest

import promptaudit
from promptaudit.query.history.measure import history
from promptaudit.registry.mart_columns import dbt_project
from promptaudit.udfs.register import register
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.run_names import baselines, complete_runs
from promptaudit.warehouse.sql import VIEWS, over, sql, view_sql
from tests.report.conftest import built
from tests.support.imported_nights import change, fresh
from tests.support.prebuilt_folders import shape

PACKAGE = Path(promptaudit.__path__[0])
QUERIES = sorted(PACKAGE.rglob("queries/*.sql"))


def nearest_room(path: Path) -> Path:
    return next(folder for folder in path.parents if (folder / "queries").is_dir() or folder == PACKAGE)


def room_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).parts[:-2])


@pytest.mark.parametrize("room", sorted({path.parents[1] for path in QUERIES}), ids=str)
def test_a_room_reads_its_queries(room: Path) -> None:
    files = [path for path in room.rglob("*.py") if nearest_room(path) == room]
    code = "\n".join(path.read_text(encoding="utf-8") for path in files)
    unread = [path.stem for path in QUERIES if path.parents[1] == room and not re.search(rf"\b{path.stem}\b", code)]
    assert not unread


def test_what_a_room_reads_is_there() -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    named = re.findall(r'\bsql\("([\w.]+)", "(\w+)"\)', code)
    assert len(named) > 40
    assert all(sql(*each) for each in named)


@pytest.mark.slow
def test_each_query_names_what_is_there(tmp_path: Path) -> None:
    """But those that stand over others, whose tables the others are."""
    shape("reported", built, tmp_path)
    over_others, wrong = [], []
    with duckdb.connect(tmp_path / "audit.duckdb") as con:
        register(con)
        con.execute("set python_enable_replacements = false")
        for path in QUERIES:
            try:
                con.execute("prepare asked as " + sql(room_of(path), path.stem))
            except duckdb.CatalogException:
                over_others.append(path.stem)
            except duckdb.Error as error:
                wrong.append(f"{path}: {error}")
    assert not wrong
    assert len(over_others) < len(QUERIES) / 7


@pytest.mark.parametrize(
    "rest", ["select sum(n) from few", "with all_of_it as (from few) select sum(n) from all_of_it"]
)
def test_a_query_stands_over_others(rest: str) -> None:
    query = over(rest, many="select unnest([1, 2, 3, 4]) as n", few="with cut as (from many limit $most) from cut")
    with duckdb.connect() as con:
        assert con.execute(query, {"most": 3}).fetchall() == [(6,)]
        assert over("select 1") == "select 1"


def test_a_comment_before_a_query_stays_before_it() -> None:
    query = "-- of the run\nwith ours as (select 1 as x)\n\nselect x from ours, others"
    composed = over(query, others="select 2 as y")
    assert composed.startswith("-- of the run\nwith others as (")
    with duckdb.connect() as con:
        assert con.execute(composed).fetchall() == [(1,)]


def test_a_query_stands_over_the_views_that_it_reads() -> None:
    assert "dim_baselines as (" in sql("nightly", "baselines")
    assert "dim_nights as (" not in sql("nightly", "baselines")
    assert sql("report", "run").startswith("select")
    for view in VIEWS:
        (path,) = (dbt_project() / "models" / "marts").rglob(f"{view}.sql")
        assert "materialized='view'" in path.read_text(encoding="utf-8")
        assert "{{" not in view_sql(view)


@pytest.fixture
def nights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five runs: a trial and an import between the nights, one that failed; a name pinned twice, and one of another audit."""
    warehouse, runs = fresh(tmp_path_factory, 5)
    change(
        warehouse,
        "update marts.dim_audit_runs set origin = 'run'",
        f"update marts.dim_audit_runs set origin = 'trial' where audit_run_id = '{runs[4]}'",
        f"update marts.dim_audit_runs set origin = 'import' where audit_run_id = '{runs[1]}'",
        f"update marts.dim_audit_runs set state = 'failed' where audit_run_id = '{runs[2]}'",
        f"insert into raw.baselines values ('{runs[1]}', 'every night', 'prod', 'new prompt', '2026-11-02', 1)",
        f"insert into raw.baselines values ('{runs[0]}', 'every night', 'prod', null, '2026-11-01', 1)",
        f"insert into raw.baselines values ('{runs[3]}', 'another', 'prod', null, '2026-11-03', 1)",
    )
    return warehouse


@pytest.mark.parametrize("view", VIEWS)
def test_a_query_reads_what_the_view_holds(nights: Path, view: str) -> None:
    published = Warehouse(nights).published
    there = published.read(f"select * from marts.{view} order by all")
    assert len(there) == {"dim_baselines": 2, "dim_nights": 4}[view]
    assert published.read(over(f"select * from {view} order by all", **{view: view_sql(view)})) == there


def test_the_copy_of_a_version_without_these_views_is_read_as_before(nights: Path) -> None:
    warehouse = Warehouse(nights)

    def answers() -> list[object]:
        return [history(warehouse, "sensitivity"), complete_runs(warehouse), baselines(warehouse)]

    before = answers()
    change(nights, *(f"drop view marts.{view}" for view in ("rpt_latest", *VIEWS)))
    assert answers() == before
