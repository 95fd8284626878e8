"""Loads the queries of each room from `flows/promptaudit/<room>/queries/<name>.sql`."""

from __future__ import annotations

import functools
import itertools
import re
from importlib.resources import files

from promptaudit.registry.mart_columns import dbt_project

VIEWS = ("dim_baselines", "dim_nights")
"""Marts that are views and that queries read by their names alone."""


@functools.cache
def sql(room: str, name: str) -> str:
    """Loads one query of a room, such as `query.history`; its `$names` are values to be bound.

    A query that reads one of `VIEWS` gets the dbt project's definition of it in front: a warehouse has no such view
    before its first build.
    """
    query = files(f"promptaudit.{room}").joinpath("queries", f"{name}.sql").read_text(encoding="utf-8").strip()
    read = [view for view in VIEWS if re.search(rf"\b(from|join) {view}\b", query)]
    return over(query, **{view: view_sql(view) for view in read})


def view_sql(view: str) -> str:
    """Gives the SQL of a view of the dbt project over the tables behind it.

    Staging views rename none of their columns.
    """
    model = (dbt_project() / "models" / "marts" / "core" / f"{view}.sql").read_text(encoding="utf-8").strip()
    model = model.replace("{{ config(materialized='view') }}\n", "")
    model = re.sub(r"\{\{ ref\('stg_(\w+)'\)\S* \}\}", r"raw.\1", model)
    return re.sub(r"\{\{ ref\('(\w+)'\)\S* \}\}", r"marts.\1", model)


def over(query: str, **tables: str) -> str:
    """Puts other queries before a query as its first common table expressions, named as the query reads them."""
    if not tables:
        return query
    first = ",\n\n".join(f"{name} as (\n{text}\n)" for name, text in tables.items())
    comments = "".join(itertools.takewhile(lambda line: line.startswith("--"), query.splitlines(keepends=True)))
    query = query.removeprefix(comments)
    rest = query.removeprefix("with ")
    return f"{comments}with {first}\n\n{rest}" if rest == query else f"{comments}with {first},\n\n{rest}"
