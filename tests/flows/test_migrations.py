"""A warehouse of an earlier version is backed up and brought to this one, its rows kept."""

from __future__ import annotations

from pathlib import Path

import duckdb

from flows.rows import SCHEMAS
from flows.warehouse import SCHEMA_VERSION, apply_schema
from tests.flows.audits import query

ADDED = {"prompt_variants": ("answer_schema", "reader"), "predictions": ("sampling",)}
NEW = ("rephrasings", "engines", "batches")


def test_version_1_is_migrated_with_its_rows_and_a_backup(tmp_path: Path) -> None:
    warehouse = tmp_path / "audit.duckdb"
    apply_schema(warehouse)
    with duckdb.connect(str(warehouse)) as con:
        for table, columns in ADDED.items():
            for column in columns:
                con.execute(f"alter table raw.{table} drop column {column}")
        for table in NEW:
            con.execute(f"drop table raw.{table}")
        con.execute("update raw.schema_versions set version = 1")
        con.execute("insert into raw.attempts values ('r', 'p', timestamp '2026-01-01', 500, 'x', 0)")
    apply_schema(warehouse)
    assert query(warehouse, "select max(version) from raw.schema_versions") == [(SCHEMA_VERSION,)]
    assert query(warehouse, "select prediction_id from raw.attempts") == [("p",)]
    for table, columns in SCHEMAS.items():
        found = {row[0] for row in query(warehouse, f"describe raw.{table}")}
        assert found == set(columns), table
    backup = warehouse.with_name("audit.duckdb.v1.backup")
    assert query(backup, "select max(version) from raw.schema_versions") == [(1,)]
    apply_schema(warehouse)
