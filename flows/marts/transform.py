"""Builds the dbt project for the runs it is given, in a child process that reads the project once a command.

The child (`flows.marts.dbt_child`) lets go of DuckDB after each build. A command that will build starts it early, else the first
build does.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Literal

from flows.lineage.openlineage.tell import built
from flows.marts.manifest import made_by
from flows.marts.seal import views
from flows.system import user_cache
from flows.system.keys import as_json
from flows.trust.readers import trusted_readers
from flows.warehouse import Warehouse
from flows.warehouse.dbt_project import dbt
from flows.warehouse.sql import sql
from models_registry.mart_columns import dbt_project

Command = Literal["build", "run"]
Part = Literal["up_to_formats", "after_formats", "nights", "comparisons", "pilot"]


def transform(
    warehouse: Warehouse,
    audit_run_ids: Sequence[str],
    part: Part,
    comparison_ids: Sequence[str] = (),
    *,
    command: Command = "build",
) -> None:
    """Builds one part of the project for these runs, and comparisons.

    Raises WarehouseError naming the model that failed; UntrustedCard or ChangedCode, before anything is built, where answers are
    to be read by code that the user does not trust as it is.

    `run` leaves out the tests, which are about whole runs, and the events, which are about this warehouse's. Where views and
    marts are as this very code makes them, views are left as they are, contracts are not checked again, and models that have no
    rows for these runs are not built.
    """
    readers = trusted_readers(own_readers(warehouse, audit_run_ids)) if part in ("up_to_formats", "pilot") else []
    known = user_cache.read(_built_by(warehouse))
    stands = bool(audit_run_ids) and known is not None and known == _shape(warehouse)
    is_quick = stands and part != "pilot"
    how = (_needed(warehouse, audit_run_ids, part), "--vars", "{marts_stand: true}") if is_quick else (part,)
    try:
        dbt(
            warehouse, command, "--selector", *how,
            audit_run_ids=audit_run_ids, comparison_ids=comparison_ids, readers=readers,
        )  # fmt: skip
        if part == "after_formats" and not stands:
            user_cache.keep(_built_by(warehouse), _shape(warehouse), instead_of=f"{warehouse.places.file.name}.*.shape")
    finally:
        if command == "build":
            built(warehouse, audit_run_ids, comparison_ids)


def judge_nights(warehouse: Warehouse, audit_run_ids: Sequence[str]) -> list[str]:
    """Holds each of these nights against the nights before it, and then every later night of their audits; returns them all.

    A night rests on the states of those before it. A build of one run that is the newest of its audit has done so itself, and
    is returned as it is.
    """
    nights = [row["audit_run_id"] for row in warehouse.read(sql("marts", "nights_from"), runs=list(audit_run_ids))]
    if len(nights) > 1:
        for night in nights:
            transform(warehouse, [night], "nights", command="run")
    return nights


def _needed(warehouse: Warehouse, audit_run_ids: Sequence[str], part: Part) -> str:
    """Returns the selector of what has rows for these runs where marts stand, without comparisons unless they are the part."""
    if part != "after_formats":
        return f"{part}_where_marts_stand"
    (held,) = warehouse.read(sql("marts", "held_by_runs"), runs=list(audit_run_ids))
    kinds = ["judged"] * held["is_judged"] + ["nights" if held["has_nights"] else "answers"]
    return f"after_formats_of_{'_'.join(kinds)}"


def own_readers(warehouse: Warehouse, audit_run_ids: Sequence[str]) -> dict[str, str]:
    """Returns the readers of runs that name code, each with a run and task that it is of."""
    rows = warehouse.read(sql("marts", "own_readers"), runs=list(audit_run_ids))
    return {row["reader"]: f"task '{row['task_id']}' of run {row['audit_run_id']}" for row in rows}


def _built_by(warehouse: Warehouse) -> str:
    """Returns where the user's cache keeps what this very code makes of a warehouse of this file name.

    A warehouse may be somebody else's, so what it says of itself, its seals too, proves nothing here.
    """
    code = "".join(digest[:16] for digest in made_by().values())
    return f"{warehouse.places.file.name}.{code}.{version('duckdb')}.shape"


def _shape(warehouse: Warehouse) -> bytes:
    """Returns the project's views as hashes of their SQL, and the columns of its marts with their types."""
    names = {path.stem for path in (dbt_project() / "models").rglob("*.sql")}
    with warehouse.write() as con:
        seen = {name: digest for name, digest in views(con).items() if name.partition(".")[2] in names}
        columns = con.execute(
            "select table_name, column_name, data_type from duckdb_columns() where schema_name = 'marts' order by all"
        ).fetchall()
    return as_json([seen, [row for row in columns if row[0] in names]]).encode()
