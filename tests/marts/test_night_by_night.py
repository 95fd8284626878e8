"""Nights that are judged as they land, and all at once from nothing: the same states and figures."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path

import duckdb
import pytest

from promptaudit.evidence.trace.recompute import agrees
from promptaudit.marts.transform import judge_nights, transform
from promptaudit.nightly.faults import Copy, land_copy
from promptaudit.system.keys import content_id
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.figure_names import grains
from tests.support.shell import promptaudit

OTHER = slice(3, 9)  # of the ten nights those that a second audit has too, an hour after the first; two are bad
SAME = (
    "dim_groups",
    "fct_nights_apart",
    "fct_samples_lost",
    "rpt_night_figures",
    "rpt_night_states",
    "rpt_wording_choices",
)


def build(warehouse: Warehouse, runs: list[str]) -> None:
    transform(warehouse, runs, "up_to_formats", command="run")
    transform(warehouse, runs, "after_formats", command="run")
    judge_nights(warehouse, runs)


def land_other(warehouse: Warehouse) -> list[str]:
    """Nights of a second audit between those of the first, and nothing that is derived; gives all nights in order."""
    with warehouse.write() as con:
        schemas = con.execute(
            "select distinct schema_name from duckdb_tables() where not internal union "
            "select distinct schema_name from duckdb_views() where not internal"
        )
        for (schema,) in schemas.fetchall():
            if schema not in ("raw", "main"):
                con.execute(f'drop schema "{schema}" cascade')
        nights = con.execute(
            "select audit_run_id, started_at from raw.audit_runs where state = 'complete' order by run_index"
        ).fetchall()
        others = {run: content_id("other", run) for run, _ in nights[OTHER]}
        for run, at in nights[OTHER]:
            land_copy(con, Copy(run, others[run], at + timedelta(hours=1)))
        con.execute(
            "update raw.audit_runs set audit_id = 'other', state = 'complete', finished_at = started_at + interval 1 minute "
            "where list_contains($runs, audit_run_id)",
            {"runs": list(others.values())},
        )
        con.execute(
            "update raw.audit_runs set run_index = ordered.place from (select audit_run_id, row_number() over "
            "(order by started_at) as place from raw.audit_runs) as ordered where ordered.audit_run_id = audit_runs.audit_run_id"
        )
    return [each for run, _ in nights for each in (run, others.get(run)) if each is not None]


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_nights_as_they_land_are_those_derived_again_at_once(tmp_path: Path) -> None:
    assert promptaudit(tmp_path, "rehearse", "--folder", "weeks").code == 0
    at_once, one_by_one = (Warehouse(tmp_path / name / "audit.duckdb") for name in ("at once", "one by one"))
    at_once.path.parent.mkdir()
    shutil.copyfile(tmp_path / "weeks/warehouse/audit.duckdb", at_once.path)
    runs = land_other(at_once)
    landed = tmp_path / "landed.duckdb"
    one_by_one.path.parent.mkdir()
    for place in (landed, one_by_one.path):
        shutil.copyfile(at_once.path, place)
    with at_once.kept_open():
        build(at_once, runs)

    with one_by_one.kept_open():
        with one_by_one.write() as con:
            of_runs = con.execute(
                "select table_name from duckdb_columns() where schema_name = 'raw' and column_name = 'audit_run_id' "
                "and database_name = current_database()"
            )
            tables = [table for (table,) in of_runs.fetchall()]
            for table in tables:
                con.execute(f"delete from raw.{table} where list_contains($runs, audit_run_id)", {"runs": runs})
        for run in runs:
            with one_by_one.write() as con:
                con.execute(f"attach '{landed}' as landed (read_only)")
                for table in tables:
                    own = f"select * from landed.raw.{table} where audit_run_id = $run"
                    con.execute(f"insert into raw.{table} by name {own}", {"run": run})
                con.execute("detach landed")
            build(one_by_one, [run])

    with duckdb.connect() as con:
        for name, each in (("at_once", at_once), ("one_by_one", one_by_one)):
            con.execute(f"attach '{each.path}' as {name} (read_only)")
        states = con.execute("select state, count(*) from one_by_one.marts.rpt_night_states group by all").fetchall()
        assert {"first_night", "normal", "regressed"} <= {state for state, _ in states}
        ((shared,),) = con.execute(
            "select max(n_tests) - min(n_tests) from one_by_one.marts.rpt_night_figures where verdict = 'none_shown'"
        ).fetchall()
        assert shared > 0  # the audits share one budget of tests
        for mart in SAME:
            of_mart = f"marts.{mart} order by {', '.join(grains()[mart])}"
            names = [column[0] for column in con.execute(f"describe at_once.marts.{mart}").fetchall()]
            one, other = (
                con.execute(f"select {', '.join(names)} from {name}.{of_mart}").fetchall()
                for name in ("at_once", "one_by_one")
            )
            assert len(one) == len(other) > 0, mart
            # the order of a sum changes the last digit
            differing = {
                name
                for rows in zip(one, other, strict=True)
                for name, *values in zip(names, *rows, strict=True)
                if not agrees(*values)
            }
            assert differing == set(), mart
