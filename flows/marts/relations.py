"""The tables and views that the dbt project makes in a warehouse: kept as SQL, and laid out empty where there are none yet."""

from __future__ import annotations

import re
from graphlib import TopologicalSorter

from flows.warehouse.duckdb_file import Connection
from models_registry.mart_columns import dbt_project

_NAMES = re.compile(r"(?=\b(\w+\.\w+))")  # of relations, and of whatever else holds a full stop
SCHEMAS = ("staging", "intermediate", "marts")
_RELATIONS = """
    select schema_name || '.' || table_name, sql from duckdb_tables() where not temporary
    union all
    select schema_name || '.' || view_name, sql from duckdb_views() where not internal and not temporary
    order by all
"""


def relations(con: Connection) -> dict[str, str]:
    """Returns the SQL of each table and view that bears the name of a model of the project, by schema and name."""
    models = {path.stem for path in (dbt_project() / "models").rglob("*.sql")}
    found = con.execute(_RELATIONS).fetchall()
    return {
        name: made for name, made in found if name.partition(".")[0] in SCHEMAS and name.partition(".")[2] in models
    }


def lay_out(con: Connection, made: dict[str, str]) -> None:
    """Makes these tables and views, each after those that it reads, in one transaction."""
    reads = {name: made.keys() & set(_NAMES.findall(sql)) - {name} for name, sql in made.items()}
    schemas = (f"create schema if not exists {schema}" for schema in SCHEMAS)
    ordered = (made[name].rstrip(";") for name in TopologicalSorter(reads).static_order())
    con.execute(";\n".join(("begin", *schemas, *ordered, "commit")))
