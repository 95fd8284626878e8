"""Loads the queries of each room, `flows/<room>/queries/<name>.sql`."""

from __future__ import annotations

import functools
import itertools
from importlib.resources import files


@functools.cache
def sql(room: str, name: str) -> str:
    """Returns the text of one query of a room; its `$names` are values to be bound."""
    return files(f"flows.{room}").joinpath("queries", f"{name}.sql").read_text(encoding="utf-8").strip()


def over(query: str, **tables: str) -> str:
    """Returns a query with others before it as its first common table expressions, under the names by which it reads them."""
    if not tables:
        return query
    first = ",\n\n".join(f"{name} as (\n{text}\n)" for name, text in tables.items())
    comments = "".join(itertools.takewhile(lambda line: line.startswith("--"), query.splitlines(keepends=True)))
    query = query.removeprefix(comments)
    rest = query.removeprefix("with ")
    return f"{comments}with {first}\n\n{rest}" if rest == query else f"{comments}with {first},\n\n{rest}"
