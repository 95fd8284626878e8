"""Writes the descriptions of marts and columns into the warehouse, as comments that readers of a copy can query."""

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
    """Writes the dbt project's description of every mart and column as its comment; returns how many comments changed.

    Marts and columns that the project does not know keep their comments.
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
