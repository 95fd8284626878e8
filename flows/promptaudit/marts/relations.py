"""Checks whether the dbt project's tables and views are in a warehouse, and creates them empty in one that has none.

The SQL of what dbt made is kept in the user's cache. A warehouse may belong to somebody else, with columns and checks
of its own. So only SQL from warehouses that held nothing of the project before, and that have the tables of schema raw
as they are here, is run on other warehouses.
"""

from __future__ import annotations

import functools
import glob
import json
import re
import tempfile
from graphlib import TopologicalSorter
from importlib.metadata import version
from pathlib import Path

from promptaudit.lineage.columns.project import are_known
from promptaudit.lineage.openlineage.emit import is_on
from promptaudit.marts.manifest import made_by
from promptaudit.registry.errors import WarehouseError
from promptaudit.registry.mart_columns import dbt_project
from promptaudit.system import user_cache
from promptaudit.system.keys import as_json
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.dbt_project import results_of_build
from promptaudit.warehouse.duckdb_file import Connection

_NAMES = re.compile(r"(?=\b(\w+\.\w+))")  # of relations, and of any other words with a full stop
_RELATIONS = """
    select schema_name || '.' || table_name, sql from duckdb_tables()
    where database_name = current_database() and not temporary
    union all
    select schema_name || '.' || view_name, sql from duckdb_views()
    where database_name = current_database() and not internal and not temporary
    order by all
"""
_empty: set[Path] = set()  # warehouses with nothing of the project, and with the tables of raw as they are here
# the SQL by name of what this process created in a warehouse and dbt has not built since
_laid_out: dict[Path, dict[str, str]] = {}


def stand(warehouse: Warehouse) -> bool:
    """Checks whether tables and views are as the present code makes them. If there are none, it creates them, empty.

    If lineage is on, it creates them only once their columns are known: the first build of a warehouse reports each of
    them.
    """
    made = user_cache.read(_made())
    with warehouse.write() as con:
        found = relations(con)
        if not found and _raw_of(con).items() >= _own_raw().items():
            _empty.add(warehouse.path)
    if found:
        there = as_json(found).encode()
        return there == made or there == user_cache.read(_shape(warehouse))
    if made is None or warehouse.path not in _empty or (is_on() and not are_known()):
        return False
    laid_out = json.loads(made)
    try:
        with warehouse.write() as con:
            _lay_out(con, laid_out)
    except WarehouseError:  # dbt makes them, or says what is wrong with the file
        return False
    _laid_out[warehouse.path] = {name.partition(".")[2]: sql for name, sql in laid_out.items()}
    return True


def left_empty(warehouse: Warehouse, *, is_last: bool) -> dict[str, str]:
    """Gives the SQL, by name, of relations that this process created here and that dbt did not build in a run's parts.

    It gives them once, after the last part, and nothing before that.
    """
    laid_out = _laid_out.pop(warehouse.path, {})
    if laid_out:
        for built in results_of_build(warehouse.places.dbt / "target"):
            laid_out.pop(built.rpartition(".")[2], None)
    if is_last:
        return laid_out
    _laid_out[warehouse.path] = laid_out
    return {}


def keep(warehouse: Warehouse) -> None:
    """Keeps the SQL of what dbt has just made in the user's cache.

    It is kept for every warehouse if this one was empty before, else only for the next build of this one.
    """
    with warehouse.write() as con:
        made = as_json(relations(con)).encode()
    if warehouse.path in _empty:
        _empty.remove(warehouse.path)
        user_cache.keep(_made(), made, instead_of="*.relations")
    else:
        user_cache.keep(_shape(warehouse), made, instead_of=f"{glob.escape(warehouse.places.file.name)}.*.shape")


def relations(con: Connection) -> dict[str, str]:
    """Reads the SQL of each table and view of the project, by schema and name."""
    models = dbt_project() / "models"
    names = {f"{path.relative_to(models).parts[0]}.{path.stem}" for path in models.rglob("*.sql")}
    return {name: made for name, made in con.execute(_RELATIONS).fetchall() if name in names}


def _raw_of(con: Connection) -> dict[str, str]:
    return {name: made for name, made in con.execute(_RELATIONS).fetchall() if name.startswith("raw.")}


@functools.cache
def _own_raw() -> dict[str, str]:
    # as in a new warehouse
    with tempfile.TemporaryDirectory(prefix="promptaudit-") as folder:
        warehouse = Warehouse(Path(folder) / "audit.duckdb")
        warehouse.apply_schema()
        with warehouse.write() as con:
            return _raw_of(con)


def _lay_out(con: Connection, made: dict[str, str]) -> None:
    # each after the relations that it reads, in one transaction
    reads = {name: made.keys() & set(_NAMES.findall(sql)) - {name} for name, sql in made.items()}
    schemas = (f"create schema if not exists {schema}" for schema in sorted({name.partition(".")[0] for name in made}))
    ordered = (made[name].rstrip(";") for name in TopologicalSorter(reads).static_order())
    con.execute(";\n".join(("begin", *schemas, *ordered, "commit")))


def _made() -> str:
    # the name, in the user's cache, of what the present code makes
    return f"{''.join(digest[:16] for digest in made_by().values())}.{version('duckdb')}.relations"


def _shape(warehouse: Warehouse) -> str:
    # the name of what dbt made last in a warehouse of this file name: it is compared with and never run
    return f"{warehouse.places.file.name}.{_made().removesuffix('relations')}shape"
