"""The tables and views that the dbt project makes: kept as SQL for every warehouse, and laid out empty where there are none."""

from __future__ import annotations

import json
import re
from graphlib import TopologicalSorter
from importlib.metadata import version

from flows.marts.manifest import made_by
from flows.settings import Settings
from flows.system import user_cache
from flows.system.keys import as_json
from flows.warehouse import Warehouse
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


def stand(warehouse: Warehouse) -> bool:
    """Returns whether tables and views are as this very code makes them; where there are none it lays them out, empty.

    Where lineage is told it lays out none: the first build of a warehouse tells of each.
    """
    known = user_cache.read(_kept_as(warehouse))
    if known is None:
        return False
    made: dict[str, str] = json.loads(known)
    with warehouse.write() as con:
        if relations(con) or Settings().lineage:
            return relations(con) == made
        _lay_out(con, made)
    return True


def keep(warehouse: Warehouse) -> None:
    """Keeps in the user's cache what dbt has just made of a warehouse, for others of this file name."""
    with warehouse.write() as con:
        made = as_json(relations(con)).encode()
    user_cache.keep(_kept_as(warehouse), made, instead_of=f"{warehouse.places.file.name}.*.relations")


def relations(con: Connection) -> dict[str, str]:
    """Returns the SQL of each table and view that bears the name of a model of the project, by schema and name."""
    models = {path.stem for path in (dbt_project() / "models").rglob("*.sql")}
    found = con.execute(_RELATIONS).fetchall()
    return {
        name: made for name, made in found if name.partition(".")[0] in SCHEMAS and name.partition(".")[2] in models
    }


def _lay_out(con: Connection, made: dict[str, str]) -> None:
    """Makes these tables and views, each after those that it reads, in one transaction."""
    reads = {name: made.keys() & set(_NAMES.findall(sql)) - {name} for name, sql in made.items()}
    schemas = (f"create schema if not exists {schema}" for schema in SCHEMAS)
    ordered = (made[name].rstrip(";") for name in TopologicalSorter(reads).static_order())
    con.execute(";\n".join(("begin", *schemas, *ordered, "commit")))


def _kept_as(warehouse: Warehouse) -> str:
    """Returns where the user's cache keeps what this very code makes of a warehouse of this file name.

    A warehouse may be somebody else's, so what it says of itself, its seals too, proves nothing here.
    """
    code = "".join(digest[:16] for digest in made_by().values())
    return f"{warehouse.places.file.name}.{code}.{version('duckdb')}.relations"
