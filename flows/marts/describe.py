"""Writes the descriptions of the marts and their columns into the warehouse, as comments that whoever opens a copy can query."""

from __future__ import annotations

from flows.warehouse.duckdb_file import Connection
from models_registry.mart_columns import descriptions

_COMMENTS = """
    select 'column' as kind, table_name || '.' || column_name as name, comment from duckdb_columns()
    where database_name = current_database() and schema_name = 'marts'
    union all
    select 'table', table_name, comment from duckdb_tables()
    where database_name = current_database() and schema_name = 'marts'
    union all
    select 'view', view_name, comment from duckdb_views()
    where database_name = current_database() and schema_name = 'marts'
    order by all
"""


def describe_marts(con: Connection) -> int:
    """Gives every mart, and every column of one, the description that the dbt project has of it, as its comment.

    Returns how many comments were not as described. What the project does not know keeps what it has.
    """
    described = descriptions()
    statements = [
        f"""comment on {kind} marts."{name.replace(".", '"."')}" is '{described[name].replace("'", "''")}'"""
        for kind, name, comment in con.execute(_COMMENTS).fetchall()
        if comment != described.get(name, comment)
    ]
    if statements:
        con.execute(";\n".join(("begin", *statements, "commit")))
    return len(statements)
