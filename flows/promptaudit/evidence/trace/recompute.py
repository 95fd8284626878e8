"""Derives figures again in an empty warehouse, from the raw rows that their traces list and nothing else."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from promptaudit.evidence.trace.gather import Trace
from promptaudit.evidence.trace.scope import COMPARED
from promptaudit.marts.comparison.compare import derive
from promptaudit.marts.transform import transform
from promptaudit.registry.errors import UsageError
from promptaudit.system.keys import content_id
from promptaudit.warehouse import Row, Warehouse
from promptaudit.warehouse.duckdb_file import Connection, frame_of_rows, rows_of
from promptaudit.warehouse.figure_names import grains
from promptaudit.warehouse.raw_tables import TABLES
from promptaudit.warehouse.rows import frame_of

TOLERANCE = 1e-9
OF_EARLIER_NIGHTS = (
    "fct_nights_apart",
    "fct_samples_lost",
    "rpt_night_states",
    "rpt_night_figures",
    "rpt_night_verdicts",
    "rpt_alarms",
)
NOT_OF_NIGHTS = ("base", "candidate", "difference")  # columns of a comparison that rest on no earlier night


def recompute(warehouse: Warehouse, traces: Sequence[Trace]) -> list[Any]:
    """Derives each figure from its own listed rows and gives their values in the order of the traces.

    The runs of each trace become runs of its own, so one build derives all of them.

    Raises:
        UsageError: a trace has no column, its raw rows were retired, or it rests on comparisons of earlier nights.
    """
    for trace in traces:
        if why := _why_not(trace):
            msg = f"{trace.figure} cannot be recomputed: {why}"
            raise UsageError(msg)
    with tempfile.TemporaryDirectory(prefix="promptaudit-") as folder:
        fresh = Warehouse(Path(folder) / "audit.duckdb")
        fresh.apply_schema()
        for place, trace in enumerate(traces):
            _land(warehouse, fresh, trace, place)
        runs = [_again(trace, place, run) for place, trace in enumerate(traces) for run in _runs(trace)]
        transform(fresh, runs, "up_to_formats", command="run")
        transform(fresh, runs, "after_formats", command="run")
        compared = [
            _again(trace, place, trace.row["comparison_id"])
            for place, trace in enumerate(traces)
            if trace.mart in COMPARED
        ]
        derive(fresh, compared, command="run")
        return [_value(fresh, trace, place) for place, trace in enumerate(traces)]


def _why_not(trace: Trace) -> str:
    if trace.column is None:
        return "a figure is wanted: `<mart>.<column>.<digits>`"
    if trace.is_retired:
        return "its raw rows are retired"
    if trace.mart in OF_EARLIER_NIGHTS:
        return "it rests on earlier nights too, which `promptaudit rebuild` derives in their order"
    if trace.mart == "rpt_run_comparisons" and trace.column not in NOT_OF_NIGHTS and trace.row["n_alike_nights"]:
        return "it rests on earlier nights too"
    return ""


def agrees(one: Any, other: Any) -> bool:  # noqa: ANN401 - values of any column
    """Checks whether two values of a figure are the same. Floats may differ by 1e-9, and NaN equals NaN."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=0, abs_tol=TOLERANCE) or (math.isnan(one) and math.isnan(other))
    return bool(one == other)


def _runs(trace: Trace) -> list[str]:
    return [run["audit_run_id"] for run in (*trace.other_runs, trace.run)]


def _again(trace: Trace, place: int, name: str) -> str:
    # the id of a run or comparison in the fresh warehouse, which no other trace has
    return content_id("recomputed", trace.figure, str(place), name)


def _land(warehouse: Warehouse, fresh: Warehouse, trace: Trace, place: int) -> None:
    with warehouse.published.connect() as con:
        rows = {table: _listed(con, table, listed) for table, listed in trace.raw.items() if listed}
        query = "select * from raw.audit_runs where list_contains($runs, audit_run_id)"
        rows["audit_runs"] = rows_of(con, query, runs=_runs(trace))
    named = ("audit_run_id", "base_run_id", "candidate_run_id", "comparison_id")
    for run in _runs(trace):
        tables = []
        for table, listed in rows.items():
            own = [
                {name: row.get(name) for name in TABLES[table].columns}
                | {name: _again(trace, place, row[name]) for name in named if row.get(name) is not None}
                for row in listed
                if row["audit_run_id"] == run
            ]
            tables.append((table, frame_of(table, own)))
        fresh.land(tables)


def _listed(con: Connection, table: str, listed: Sequence[Row]) -> list[Row]:
    # read again by their keys, since a trace may leave texts out
    key = TABLES[table].key
    keys = pl.DataFrame([{name: row[name] for name in key} for row in listed], infer_schema_length=None)
    con.register("listed", keys.to_arrow())
    same = " and ".join(f"landed.{name} is not distinct from listed.{name}" for name in key)
    query = f"select landed.* from raw.{table} as landed semi join listed on {same}"  # noqa: S608 - ours
    rows: list[Row] = frame_of_rows(con, query).to_dicts()
    con.unregister("listed")
    return rows


def _value(fresh: Warehouse, trace: Trace, place: int) -> Any:  # noqa: ANN401 - a value of any column
    ids = ("audit_run_id", "comparison_id")
    key = {
        name: _again(trace, place, trace.row[name]) if name in ids else trace.row[name] for name in grains()[trace.mart]
    }
    same = " and ".join(f"{name} is not distinct from ${name}" for name in key)
    rows = fresh.read(f"select {trace.column} as value from marts.{trace.mart} where {same}", **key)  # noqa: S608 - our own names
    return rows[0]["value"] if rows else None
