"""Registers in DuckDB every function that a module of the measures declares for SQL."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from typing import TYPE_CHECKING

import duckdb
from duckdb.func import FunctionNullHandling, PythonUDFType

from promptaudit import udfs
from promptaudit.udfs.arrow import of_columns
from promptaudit.udfs.sql_function import FUNCTIONS, SqlFunction
from promptaudit.udfs.sql_types import returns, sql_parameters, sql_type

if TYPE_CHECKING:
    from collections.abc import Mapping

WITHOUT_FUNCTIONS = ("promptaudit.udfs.plugin", "promptaudit.udfs.scoring.math.algebra")
"""Modules that are not imported: dbt's plugin, and one that imports sympy, which only the math worker needs."""


# Names that a function of ours could collide with: DuckDB ignores case in them.
_NAMES = """
    select distinct lower(function_name) from duckdb_functions()
    where database_name in ('system', 'temp') or (database_name = current_database() and schema_name = current_schema())
"""


@functools.cache
def functions() -> Mapping[str, SqlFunction]:
    """Lists every function of the measures by its name in SQL."""
    for module in pkgutil.walk_packages(udfs.__path__, f"{udfs.__name__}."):
        if module.name not in WITHOUT_FUNCTIONS:
            importlib.import_module(module.name)
    return FUNCTIONS


def register(con: duckdb.DuckDBPyConnection) -> None:
    """Registers the measures as functions of SQL, and for each `f` a `try_f(group_keys, …)`, as SQL has `try_cast`.

    Where `f` raises on a group, `try_f` gives NULL, or an empty list, and `udfs.attempts` notes it under the text
    `group_keys`.

    Raises:
        ValueError: the connection already has functions or macros of these names; none of ours is added then.
    """
    found = con.execute(_NAMES).fetchall()
    names = {*functions(), *(f"try_{name}" for name in functions())}
    if taken := names & {name for (name,) in found}:
        message = f"the connection has functions of these names already: {', '.join(sorted(taken))}"
        raise ValueError(message)
    for name, function in functions().items():
        for is_tried in (False, True):
            con.create_function(
                f"{'try_' * is_tried}{name}",
                of_columns(function, is_tried=is_tried),
                [*["VARCHAR"] * is_tried, *sql_parameters(function)],
                sql_type(returns(function)),
                type=PythonUDFType.ARROW,
                null_handling=FunctionNullHandling.SPECIAL,
                side_effects=False,
            )
