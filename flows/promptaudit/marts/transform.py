"""Builds the dbt project for some runs, in a child process that reads the project once per command.

The child (`promptaudit.marts.dbt_child`) closes DuckDB after each build. A command that will build starts it early;
otherwise the first build does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from promptaudit.cards.trust.readers import trusted_readers
from promptaudit.lineage.openlineage.emit import built
from promptaudit.marts import relations
from promptaudit.marts.not_derived import land_not_derived
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.dbt_project import dbt
from promptaudit.warehouse.sql import sql

Command = Literal["build", "run"]
Part = Literal["up_to_formats", "after_formats", "nights", "comparisons", "pilot"]


class Selection(NamedTuple):
    """The nodes of the project that a build selects and excludes, in dbt's own words."""

    select: tuple[str, ...]
    exclude: tuple[str, ...] = ()


PARTS: Mapping[Part, Selection] = {
    # what the format gate looks at, before anything is aggregated
    "up_to_formats": Selection(("+int_answer_formats",)),
    "after_formats": Selection(("resource_type:model", "test_type:singular"), ("+int_answer_formats",)),
    # one night held against the nights before it; it reads marts alone, and a build of one run does so itself
    "nights": Selection(("tag:nights", "stg_acceptances"), ("dim_groups", "rules_of_nights")),
    # runs that have their marts, held against each other; it reads marts alone, so the archive stays where it is
    "comparisons": Selection(("tag:comparisons", "int_scores_averaged")),
    # answers that are read and scored, which an audit is planned from, and no measure of a run
    "pilot": Selection(("+fct_predictions", "+fct_scores", "+dim_prompt_variants", "+dim_samples", "+dim_tasks")),
}


def transform(
    warehouse: Warehouse,
    audit_run_ids: Sequence[str],
    part: Part,
    comparison_ids: Sequence[str] = (),
    *,
    command: Command = "build",
) -> None:
    """Builds one part of the project for these runs and comparisons.

    Raises WarehouseError naming the model that failed. Raises UntrustedCard or ChangedCode, before anything is built,
    if answers have to be read by code that the user does not trust as it is.

    The command `run` leaves out the tests, which are about whole runs, and the events, which are about this warehouse.
    If tables and views are as the present code made them before, in any warehouse, it leaves views as they are, does
    not check contracts again, and skips models that have no rows for these runs. A warehouse without any tables gets
    them, empty.
    """
    readers = trusted_readers(own_readers(warehouse, audit_run_ids)) if part in ("up_to_formats", "pilot") else []
    stands = bool(audit_run_ids) and part != "pilot" and relations.stand(warehouse)
    selected, left_out = PARTS[part]
    if stands:
        left_out += ("config.materialized:view", *_without_rows(warehouse, audit_run_ids, part))
    try:
        missing = dbt(
            warehouse,
            command,
            *("--select", *selected),
            *("--exclude", *left_out) * bool(left_out),
            *("--indirect-selection", "empty"),  # of tests, which are selected themselves
            *("--vars", "{marts_stand: true}") * stands,
            audit_run_ids=audit_run_ids,
            comparison_ids=comparison_ids,
            readers=readers,
            n_values=warehouse.read(sql("marts", "n_values"), runs=list(audit_run_ids))[0]["n"],
        )
        if part != "pilot":  # which derives no measures
            land_not_derived(warehouse, part, audit_run_ids, comparison_ids, missing)
        if part == "after_formats" and not stands:
            relations.keep(warehouse)
    finally:
        if command == "build":
            laid_out = relations.left_empty(warehouse, is_last=part == "after_formats")
            built(warehouse, audit_run_ids, comparison_ids, laid_out)


def judge_nights(warehouse: Warehouse, audit_run_ids: Sequence[str]) -> list[str]:
    """Compares each of these nights, and every later night of their audits, with the nights before it; returns them.

    A night depends on the states of the nights before it. A build of a run that is the newest of its audit has done
    this already, so that run is only returned.
    """
    nights = [row["audit_run_id"] for row in warehouse.read(sql("marts", "nights_from"), runs=list(audit_run_ids))]
    if len(nights) > 1:
        for night in nights:
            transform(warehouse, [night], "nights", command="run")
    return nights


def _without_rows(warehouse: Warehouse, audit_run_ids: Sequence[str], part: Part) -> list[str]:
    # comparisons have no rows unless they are the part that is built
    if part != "after_formats":
        return []
    (held,) = warehouse.read(sql("marts", "held_by_runs"), runs=list(audit_run_ids))
    return ["tag:comparisons", *(f"tag:{kind}" for kind, is_held in held.items() if not is_held)]


def own_readers(warehouse: Warehouse, audit_run_ids: Sequence[str]) -> dict[str, str]:
    """Lists the readers of runs that name code, each with one run and task that uses it."""
    rows = warehouse.read(sql("marts", "own_readers"), runs=list(audit_run_ids))
    return {row["reader"]: f"task '{row['task_id']}' of run {row['audit_run_id']}" for row in rows}
