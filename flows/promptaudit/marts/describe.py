"""Writes the descriptions of the marts and their columns into the warehouse, as comments that whoever opens a copy can query."""

from __future__ import annotations

from promptaudit.warehouse.duckdb_file import Connection
from promptaudit.warehouse.figure_names import descriptions

_COMMENTS = """
    select 'column' as kind, table_name as mart, column_name as name, comment from duckdb_columns()
    where database_name = current_database() and schema_name = 'marts'
    union all
    select 'table', table_name, null, comment from duckdb_tables()
    where database_name = current_database() and schema_name = 'marts'
    union all
    select 'view', view_name, null, comment from duckdb_views()
    where database_name = current_database() and schema_name = 'marts'
    order by all
"""


def describe_marts(con: Connection) -> int:
    """Gives every mart, and every column of one, the description that the dbt project has of it, as its comment.

    Returns how many comments were not as described. What the project does not know keeps what it has.
    """
    described, statements = descriptions(), []
    for kind, mart, column, comment in con.execute(_COMMENTS).fetchall():
        text = described.get(mart if column is None else f"{mart}.{column}", comment)
        if comment != text:
            place = f'"{mart}"' if column is None else f'"{mart}"."{column}"'
            statements.append(f"""comment on {kind} marts.{place} is '{text.replace("'", "''")}'""")
    if statements:
        con.execute(";\n".join(("begin", *statements, "commit")))
    return len(statements)
