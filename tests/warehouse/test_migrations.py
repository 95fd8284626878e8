"""A warehouse of an earlier version is backed up and led to this one, its rows kept; any other is refused in one line."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import duckdb
import pytest

from promptaudit.registry.errors import WarehouseError
from promptaudit.warehouse import Warehouse, schema
from tests.support.http_audit import query
from tests.support.landed_nights import FIRST, land_night, run_id


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    path = tmp_path / "audit.duckdb"
    Warehouse(path).apply_schema()
    with duckdb.connect(str(path)) as con:
        con.execute("insert into raw.attempts values ('r', 'p', timestamp '2026-01-01', 500, 'x', 0)")
    return path


def test_an_earlier_version_is_migrated_with_its_rows_and_a_backup(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "SCHEMA_VERSION", 2)
    monkeypatch.setattr(schema, "MIGRATIONS", {2: "alter table raw.attempts add column region varchar"})
    Warehouse(warehouse).apply_schema()
    assert query(warehouse, "select max(version) from raw.schema_versions") == [(2,)]
    assert query(warehouse, "select prediction_id, region from raw.attempts") == [("p", None)]
    backup = warehouse.with_name("audit.duckdb.v1.backup")
    assert query(backup, "select max(version) from raw.schema_versions") == [(1,)]
    Warehouse(warehouse).apply_schema()
    assert query(warehouse, "select count(*) from raw.schema_versions") == [(2,)]


@pytest.mark.parametrize("version", [0, 2, 14])
def test_another_version_is_refused_as_a_warehouse_and_as_a_copy(warehouse: Path, version: int) -> None:
    with duckdb.connect(str(warehouse)) as con:
        con.execute("update raw.schema_versions set version = ?", [version])
    refused = f"audit.duckdb has schema version {version}, this promptaudit knows 1: use the one that made it"
    with pytest.raises(WarehouseError, match=refused):
        Warehouse(warehouse).apply_schema()
    assert query(warehouse, "select prediction_id from raw.attempts") == [("p",)]
    copy = Warehouse(warehouse).published.path
    copy.parent.mkdir()
    copy.write_bytes(warehouse.read_bytes())
    with pytest.raises(WarehouseError, match=refused):
        Warehouse(warehouse).published.read("select 1")


def test_a_table_and_a_column_that_this_version_has_got_since_are_made(warehouse: Path) -> None:
    with duckdb.connect(str(warehouse)) as con:
        con.execute("drop table raw.failed_predictions")
        con.execute("alter table raw.verdicts drop column other_prediction_id")
    Warehouse(warehouse).apply_schema()
    assert query(warehouse, "select count(*) from raw.failed_predictions") == [(0,)]
    assert query(warehouse, "select count(other_prediction_id) from raw.verdicts") == [(0,)]
    assert query(warehouse, "select prediction_id from raw.attempts") == [("p",)]


def test_runs_of_a_file_that_did_not_number_them_are_numbered_by_their_beginning(warehouse: Path) -> None:
    for night in (2, 1, 3):
        land_night(warehouse, night)
    assert query(warehouse, "select run_index from raw.audit_runs order by started_at") == [(2,), (1,), (3,)]
    with duckdb.connect(str(warehouse)) as con:
        noon = FIRST + timedelta(days=2, hours=10)
        con.execute("insert into raw.baselines values (?, 'nightly', 'prod', null, ?, null)", [run_id(1), noon])
        con.execute("alter table raw.audit_runs drop column run_index")
        con.execute("alter table raw.baselines drop column after_run_index")
        con.execute("create schema marts")
        con.execute("create table marts.dim_audit_runs as select audit_run_id from raw.audit_runs")
    Warehouse(warehouse).apply_schema()
    assert query(warehouse, "select run_index from raw.audit_runs order by started_at") == [(1,), (2,), (3,)]
    assert query(warehouse, "select run_index from marts.dim_audit_runs order by audit_run_id") == [(1,), (2,), (3,)]
    assert query(warehouse, "select after_run_index from raw.baselines") == [(2,)]
    land_night(warehouse, 0)
    assert query(warehouse, "select run_index from raw.audit_runs order by started_at") == [(4,), (1,), (2,), (3,)]
