"""Creates schema raw, and migrates it from earlier versions."""

from __future__ import annotations

from typing import Any

from promptaudit.registry.errors import WarehouseError
from promptaudit.system.clock import now
from promptaudit.system.files import copy_durably
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.raw_tables import SCHEMA_SQL, TABLES
from promptaudit.warehouse.sql import sql

SCHEMA_VERSION = 1
MIGRATIONS: dict[int, str] = {}
"""The SQL from the version before to version n, for changes that `create table if not exists` does not make."""
OF_DUCKDB = ("main", "system", "temp")


def apply_schema(warehouse: Warehouse) -> None:
    """Creates schema raw if it is missing, backs up and migrates one of an earlier version, refuses any other."""
    if warehouse.path.stem.lower() in OF_DUCKDB:
        msg = f"{warehouse}: DuckDB has catalogs of its own called {', '.join(OF_DUCKDB)}; choose another file name"
        raise WarehouseError(msg)
    with warehouse.kept_open():
        _apply(warehouse)


def unknown_version(version: int, place: object) -> WarehouseError:
    """Makes the error for a schema version that is neither this one nor one that migrations start from."""
    return WarehouseError(
        f"{place} has schema version {version}, this promptaudit knows {SCHEMA_VERSION}: use the one that made it"
    )


def _missing(there: set[tuple[str, str]]) -> str:
    # the SQL that adds tables and columns that this version has got since the warehouse with these (table, column)
    # pairs was made
    tables = {table for table, _ in there}
    columns = [
        f"alter table raw.{table} add column {name} {sql_type};"
        for table, declared in TABLES.items()
        for name, sql_type in declared.sql_types.items()
        if table in tables and (table, name) not in there
    ]
    return "\n".join([*([] if TABLES.keys() <= tables else [SCHEMA_SQL]), *columns])


def _number_mart(con: Any) -> None:  # noqa: ANN401 - a connection, whose module imports this one
    # retired runs are never derived again
    mart = "select 1 from information_schema.tables where (table_schema, table_name) = ('marts', 'dim_audit_runs')"
    if con.execute(mart).fetchall():
        con.execute("alter table marts.dim_audit_runs add column if not exists run_index bigint")
        con.execute(
            "update marts.dim_audit_runs set run_index = runs.run_index from raw.audit_runs as runs "
            "where dim_audit_runs.audit_run_id = runs.audit_run_id"
        )


def _apply(warehouse: Warehouse) -> None:
    with warehouse.write() as con:
        is_known = con.execute(
            "select 1 from information_schema.tables where table_schema = 'raw' and table_name = 'schema_versions'"
        ).fetchall()
        landed_version = None
        if is_known:
            ((landed_version,),) = con.execute("select max(version) from raw.schema_versions").fetchall()
        if landed_version == SCHEMA_VERSION:
            rows = con.execute(
                "select table_name, column_name from information_schema.columns where table_schema = 'raw'"
            )
            there = set(rows.fetchall())
            if missing := _missing(there):
                con.execute("begin")
                con.execute(missing)
                if ("audit_runs", "run_index") not in there:
                    con.execute(sql("warehouse", "number_runs"))
                    _number_mart(con)
                con.execute("commit")
            return
        if landed_version is not None:
            if (
                not set(range(landed_version + 1, SCHEMA_VERSION + 1)) <= MIGRATIONS.keys()
                or landed_version > SCHEMA_VERSION
            ):
                raise unknown_version(landed_version, warehouse)
            con.execute("checkpoint")
    if landed_version is not None:
        warehouse.let_go()
        copy_durably(warehouse.path, warehouse.path.with_name(f"{warehouse.path.name}.v{landed_version}.backup"))
    with warehouse.write() as con:
        con.execute("begin")
        for version in range((landed_version or SCHEMA_VERSION) + 1, SCHEMA_VERSION + 1):
            con.execute(MIGRATIONS[version])
        con.execute(SCHEMA_SQL)
        con.execute("insert into raw.schema_versions values (?, ?)", [SCHEMA_VERSION, now()])
        con.execute("commit")
