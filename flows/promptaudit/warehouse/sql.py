"""Loads the queries of each room, `flows/promptaudit/<room>/queries/<name>.sql`."""

from __future__ import annotations

import functools
import itertools
import re
from importlib.resources import files

from promptaudit.registry.mart_columns import dbt_project

VIEWS = ("dim_baselines", "dim_nights")
"""Marts that are views, which queries read by their names alone."""


@functools.cache
def sql(room: str, name: str) -> str:
    """Returns the text of one query of a room, as `query.history`; its `$names` are values to be bound.

    Before a query that reads one of `VIEWS` stands what the dbt project defines it as: a warehouse has no such view before its
    first build.
    """
    query = files(f"promptaudit.{room}").joinpath("queries", f"{name}.sql").read_text(encoding="utf-8").strip()
    read = [view for view in VIEWS if re.search(rf"\b(from|join) {view}\b", query)]
    return over(query, **{view: view_sql(view) for view in read})


def view_sql(view: str) -> str:
    """Returns the SQL of a view of the dbt project over the tables it is of; staging views rename no column of theirs."""
    model = (dbt_project() / "models" / "marts" / "core" / f"{view}.sql").read_text(encoding="utf-8").strip()
    model = model.replace("{{ config(materialized='view') }}\n", "")
    model = re.sub(r"\{\{ ref\('stg_(\w+)'\)\S* \}\}", r"raw.\1", model)
    return re.sub(r"\{\{ ref\('(\w+)'\)\S* \}\}", r"marts.\1", model)


def over(query: str, **tables: str) -> str:
    """Returns a query with others before it as its first common table expressions, under the names by which it reads them."""
    if not tables:
        return query
    first = ",\n\n".join(f"{name} as (\n{text}\n)" for name, text in tables.items())
    comments = "".join(itertools.takewhile(lambda line: line.startswith("--"), query.splitlines(keepends=True)))
    query = query.removeprefix(comments)
    rest = query.removeprefix("with ")
    return f"{comments}with {first}\n\n{rest}" if rest == query else f"{comments}with {first},\n\n{rest}"
