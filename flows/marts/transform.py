"""Builds the dbt project for the runs it is given, in a child process that reads the project once a command.

The child (`flows.marts.dbt_child`) lets go of DuckDB after each build. A command that will build starts it early, else the first
build does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from promptaudit.flows.lineage.openlineage.tell import built
from promptaudit.flows.marts import relations
from promptaudit.flows.trust.readers import trusted_readers
from promptaudit.flows.warehouse import Warehouse
from promptaudit.flows.warehouse.dbt_project import dbt
from promptaudit.flows.warehouse.sql import sql

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

    `run` leaves out the tests, which are about whole runs, and the events, which are about this warehouse's. Where tables and
    views are as this very code made them before, in whichever warehouse, views are left as they are, contracts are not checked
    again, and models that have no rows for these runs are not built; a warehouse that has none of them is given them, empty.
    """
    readers = trusted_readers(own_readers(warehouse, audit_run_ids)) if part in ("up_to_formats", "pilot") else []
    stands = bool(audit_run_ids) and part != "pilot" and relations.stand(warehouse)
    how = (_needed(warehouse, audit_run_ids, part), "--vars", "{marts_stand: true}") if stands else (part,)
    try:
        dbt(
            warehouse,
            command,
            "--selector",
            *how,
            audit_run_ids=audit_run_ids,
            comparison_ids=comparison_ids,
            readers=readers,
        )
        if part == "after_formats" and not stands:
            relations.keep(warehouse)
    finally:
        if command == "build":
            laid_out = relations.left_empty(warehouse, is_last=part == "after_formats")
            built(warehouse, audit_run_ids, comparison_ids, laid_out)


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
