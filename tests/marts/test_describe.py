"""A published copy says what it holds: every mart and every column of one has its description as a comment."""

from __future__ import annotations

from pathlib import Path

from promptaudit.marts.describe import describe_marts
from promptaudit.marts.publish import publish
from promptaudit.marts.seal import views
from promptaudit.registry.mart_columns import dbt_project, declared_models
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.figure_names import descriptions
from tests.support.handmade_warehouse import Gated

COMMENTS = "select table_name, column_name, comment from duckdb_columns() where schema_name = 'marts'"


def test_every_column_of_a_published_mart_has_its_description(tmp_path: Path) -> None:
    gated = Gated(tmp_path)
    publish(Warehouse(gated.warehouse))
    rows = Warehouse(gated.warehouse).published.read(COMMENTS)
    assert len(rows) > 100
    for row in rows:
        assert row["comment"] == descriptions()[f"{row['table_name']}.{row['column_name']}"]
    tables = Warehouse(gated.warehouse).published.read(
        "select table_name, comment from duckdb_tables() where schema_name = 'marts'"
    )
    assert [row["comment"] for row in tables] == [descriptions()[row["table_name"]] for row in tables]


def test_only_what_differs_is_written(tmp_path: Path) -> None:
    gated = Gated(tmp_path)
    with Warehouse(gated.warehouse).write() as con:
        con.execute("comment on column marts.rpt_audit.n_samples is null")
        assert describe_marts(con) == 1
        assert describe_marts(con) == 0
        con.execute("comment on column marts.rpt_audit.sensitivity is 'of an earlier version'")
        con.execute("create table marts.own as select 1 as mine")
        con.execute("comment on column marts.own.mine is 'stays'")
        con.execute("create view marts.rpt_latest as select 'r' as audit_run_id")
        before = views(con)
        con.execute("comment on table marts.rpt_audit is null")
        assert describe_marts(con) == 4
        assert views(con) == before  # a seal holds a view's SQL, not what is said of it
        rows = {tuple(row[:2]): row[2] for row in con.execute(COMMENTS).fetchall()}
    assert rows["own", "mine"] == "stays"
    assert rows["rpt_latest", "audit_run_id"] == descriptions()["rpt_latest.audit_run_id"]


def test_every_column_of_every_mart_is_described() -> None:
    marts = dbt_project() / "models/marts"
    declared = {model["name"] for path in marts.rglob("*.yml") for model in declared_models(path)}
    assert declared == {path.stem for path in marts.rglob("*.sql")}
    assert all(descriptions().values())
    assert [name for name in sorted(declared) if not descriptions()[name].startswith("One row per ")] == []
