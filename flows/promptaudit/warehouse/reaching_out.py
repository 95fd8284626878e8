"""Decides what SQL from other people may do.

A query, on a published copy as on a lake, may read tables and call the functions that are listed. A warehouse's file
may contain tables and views of tables.

The lists say what is allowed. So functions of a later DuckDB, or of an extension, are refused until somebody has
checked them.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterator, Mapping
from importlib.resources import files
from typing import Any

from promptaudit.registry.errors import WarehouseError, nearest
from promptaudit.warehouse.sql import sql

TABLE_FUNCTIONS = frozenset(
    {
        "duckdb_columns",
        "duckdb_functions",
        "duckdb_schemas",
        "duckdb_tables",
        "duckdb_types",
        "duckdb_views",
        "generate_series",
        "generate_subscripts",
        "json_each",
        "json_tree",
        "pragma_table_info",
        "range",
        "repeat",
        "unnest",
    }
)
"""The table functions that a query may call.

Others read files, settings or secrets, or reach the server of a lake's catalog.
"""
OWN_VIEWS = frozenset(
    {
        "duckdb_columns",
        "duckdb_schemas",
        "duckdb_tables",
        "duckdb_types",
        "duckdb_views",
        "sqlite_master",
        "sqlite_schema",
        "character_sets",
        "check_constraints",
        "columns",
        "constraint_column_usage",
        "constraint_table_usage",
        "key_column_usage",
        "referential_constraints",
        "schemata",
        "table_constraints",
        "tables",
        "views",
    }
)
"""DuckDB's own views that a query may read, including views of information_schema. Others show settings."""
SHOWN = frozenset({"tables", "__show_tables_expanded", ""})
"""Words that SHOW and DESCRIBE may be used with; databases and variables are not among them."""
PLACES = ("catalog_name", "schema_name", "catalog", "schema")
"""Keys of the tree for the database and schema of a table, a function or a type.

A database alone stands under a schema's key.
"""
_EXPLAIN = re.compile(r"(?:\s|--[^\r\n]*[\r\n])*explain(?:\s+analyze)?\b", re.IGNORECASE)

Node = Mapping[str, Any]
Rows = Callable[..., list[tuple[Any, ...]]]
"""A function that reads the rows of a query, with parameters bound by their names."""


@functools.cache
def functions() -> frozenset[str]:
    """Reads the scalar, aggregate and window functions that may be called.

    They depend only on arguments, a clock or chance.
    """
    words = files("promptaudit.warehouse").joinpath("functions.txt").read_text(encoding="utf-8").split()
    return frozenset(word.casefold() for word in words)


def refuse_reaching_out(rows: Rows, query: str) -> None:
    """Raises WarehouseError for a statement that does more than read the tables of the database in use.

    It checks DuckDB's own tree of the statement, in which no comment, quote or nesting hides a name.
    """
    tree = list(_nodes(_tree(rows, query)))
    views = {name for (name,) in rows("select view_name from duckdb_views() where internal")} - OWN_VIEWS
    databases = "(current_database(), 'system', 'temp')"
    places = rows(f"select database_name, schema_name from duckdb_schemas() where database_name in {databases}")  # noqa: S608
    known = {name.casefold() for place in places for name in place} | {""}
    for node in tree:
        _refuse_call(rows, node)
        for place in (str(node.get(part, "")) for part in PLACES):
            if place.casefold() not in known:
                msg = f"{place}: a query reads the tables of what is published, and that is another place"
                raise WarehouseError(msg)
        if node.get("type") == "SHOW_REF" and node["table_name"].strip('"') not in SHOWN and node["query"] is None:
            msg = f"SHOW {node['table_name']}: SHOW TABLES, DESCRIBE and SUMMARIZE are answered"
            raise WarehouseError(msg)
        if node.get("type") == "BASE_TABLE":
            _refuse_table(rows, node["table_name"], views)


def refuse_foreign(rows: Rows, shown: object, *, macros_alone: bool = False) -> None:
    """Raises WarehouseError if a warehouse's file holds something that could read the user's files while it is in use.

    A macro may also replace the function that computes a digest. `macros_alone` lets views pass.
    """
    for (name,) in rows(sql("warehouse", "foreign_objects")):
        if macros_alone and name.startswith("view "):
            continue
        msg = f"{shown} has the {name}, which promptaudit has not made and which may read your files; drop it to go on"
        raise WarehouseError(msg)


def _tree(rows: Rows, query: str) -> Any:  # noqa: ANN401 - a tree of JSON
    # of EXPLAIN, the statement that is explained
    explained = _EXPLAIN.match(query)
    for text in (query, query[explained.end() :] if explained else ""):
        ((written,),) = rows("select json_serialize_sql($query)", query=text)
        tree = json.loads(written)
        if not tree["error"] and tree["statements"]:
            return tree["statements"]
    msg = "a query reads: SELECT, DESCRIBE, SUMMARIZE, SHOW TABLES and EXPLAIN are answered"
    raise WarehouseError(msg)


def _refuse_call(rows: Rows, node: Node) -> None:
    is_table = node.get("type") == "TABLE_FUNCTION"
    name = node["function"].get("function_name", "") if is_table else node.get("function_name")
    allowed = TABLE_FUNCTIONS if is_table else functions()
    if name is None or name.casefold() in allowed:
        return
    if not rows("select 1 from duckdb_functions() where function_name = $name limit 1", name=name.casefold()):
        msg = f"{name}(): DuckDB has no such function{nearest(name, filter(str.isidentifier, allowed))}"
    elif is_table:
        msg = f"{name}(): a query reads the published tables; of functions that give one it calls {', '.join(sorted(allowed))}"
    else:
        msg = f"{name}(): a query calls no function that reads or does more than its arguments say"
    raise WarehouseError(msg)


def _refuse_table(rows: Rows, name: str, views: set[str]) -> None:
    if name.casefold() in views:
        msg = f"{name}: a query reads the published tables; SHOW TABLES, DESCRIBE and information_schema tell which there are"
        raise WarehouseError(msg)
    if not name.isidentifier() and not rows(
        "select 1 from information_schema.tables where table_name = $name", name=name
    ):
        msg = f"{name}: no table; a query reads the published tables, and no files"
        raise WarehouseError(msg)


def _nodes(tree: object) -> Iterator[Node]:
    # the name of a table function lies in a node of its own below the call; it is checked with the call and left out
    # there
    if isinstance(tree, dict):
        yield tree
        is_table = tree.get("type") == "TABLE_FUNCTION"
        tree = list(({**tree, "function": {**tree["function"], "function_name": None}} if is_table else tree).values())
    if isinstance(tree, list):
        for each in tree:
            yield from _nodes(each)
