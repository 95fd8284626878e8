"""Registers the measures with dbt's connections, and sets for its macros which runs a build derives."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dbt.adapters.duckdb.plugins import BasePlugin
from dbt_common.exceptions import DbtRuntimeError

from promptaudit.udfs import COMPARISON_IDS, RUN_IDS
from promptaudit.udfs.register import register
from promptaudit.udfs.retired import RETIRED_RUNS

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class Plugin(BasePlugin):
    """The dbt-duckdb plugin `promptaudit.udfs.plugin`, which registers the measures on every connection of dbt."""

    def configure_connection(self, conn: DuckDBPyConnection) -> None:
        """Registers the measures on a connection, and reads which runs are retired."""
        register(conn)
        self._left_out = {} if _named(RUN_IDS) else _retired(conn)

    def configure_cursor(self, cursor: DuckDBPyConnection) -> None:
        """Sets the session variables that the macros `in_this_build` and `compared_in_this_build` read."""
        set_runs(cursor)
        for name, ids in self._left_out.items():
            cursor.execute(f"set variable {name} = {_listed(ids)}")


def set_runs(cursor: DuckDBPyConnection) -> None:
    """Sets the session variables of the runs and comparisons that a build is about; raises DbtRuntimeError for an odd id."""
    runs = _named(RUN_IDS)
    if runs:
        cursor.execute(f"set variable audit_run_ids = {_listed(runs)}")
        cursor.execute(f"set variable first_audit_run_id = '{runs[0]}'")
        cursor.execute(f"set variable last_audit_run_id = '{runs[-1]}'")
    comparisons = _named(COMPARISON_IDS)
    if comparisons:
        cursor.execute(f"set variable comparison_ids = {_listed(comparisons)}")


def _named(variable: str) -> list[str]:
    # in order
    ids = sorted(each for each in os.environ.get(variable, "").split(",") if each)
    if odd := [each for each in ids if not each.isalnum()]:
        message = f"{variable} holds ids with commas between them and no spaces, and {odd[0][:80]!r} is no id"
        raise DbtRuntimeError(message)
    return ids


def _retired(conn: DuckDBPyConnection) -> dict[str, list[str]]:
    # empty in a warehouse without the table of retirements
    known = "select 1 from information_schema.tables where table_schema = 'raw' and table_name = 'retirements'"
    if not conn.execute(known).fetchall():
        return {}
    runs = [run for (run,) in conn.execute(RETIRED_RUNS).fetchall()]
    if not runs:
        return {}
    of_them = "list_has_any($runs, [base_run_id, candidate_run_id])"
    rows = conn.execute(f"select comparison_id from raw.comparisons where {of_them}", {"runs": runs}).fetchall()  # noqa: S608
    return {"retired_run_ids": runs, "retired_comparison_ids": [each for (each,) in rows]}


def _listed(ids: Sequence[str]) -> str:
    return "[" + ", ".join("'" + each.replace("'", "''") + "'" for each in ids) + "]::varchar[]"
