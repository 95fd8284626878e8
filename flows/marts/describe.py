"""Writes the descriptions of the marts' columns into the warehouse, as comments that whoever opens a copy can query."""

from __future__ import annotations

from flows.warehouse.duckdb_file import Connection
from models_registry.mart_columns import column_descriptions

_COMMENTS = (
    "select table_name, column_name, comment from duckdb_columns() "
    "where database_name = current_database() and schema_name = 'marts' order by all"
)


def describe_marts(con: Connection) -> int:
    """Gives every column of schema marts the description that the dbt project has of it, as its comment.

    Returns how many comments were not as described. Columns that the project does not know keep what they have.
    """
    comments = {(table, column): comment for table, column, comment in con.execute(_COMMENTS).fetchall()}
    statements = [
        f"""comment on column marts."{table}"."{column}" is '{description.replace("'", "''")}'"""
        for (table, column), description in column_descriptions().items()
        if comments.get((table, column), description) != description
    ]
    if statements:
        con.execute(";\n".join(("begin", *statements, "commit")))
    return len(statements)
