"""Derives figures again from the raw rows that their traces list, and nothing else: the project in an empty warehouse."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from flows.figures import grains
from flows.keys import content_id
from flows.rows import SCHEMAS, frame_of
from flows.trace.scope import COMPARED
from flows.trace.trace import Trace
from flows.transform import transform
from flows.warehouse import KEYS, apply_schema, fetch, land, look_into_published
from models_registry.errors import UsageError

TOLERANCE = 1e-9


def recompute(warehouse: Path, traces: Sequence[Trace]) -> list[Any]:
    """The values that the figures have when each is derived from its own listed rows, in their order.

    Each trace becomes a run of its own, so one build derives all of them.

    Raises:
        UsageError: a trace has no column, compares runs, or its raw rows were retired.
    """
    for found in traces:
        if found.column is None or found.mart in COMPARED or found.is_retired:
            why = (
                "its raw rows are retired"
                if found.is_retired
                else "a figure of one run is wanted: `<mart>.<column>.<digits>`"
            )
            msg = f"{found.figure} cannot be recomputed: {why}"
            raise UsageError(msg)
    with tempfile.TemporaryDirectory(prefix="promptaudit-") as folder:
        fresh = Path(folder) / "audit.duckdb"
        apply_schema(fresh)
        runs = [_land(warehouse, fresh, found, place) for place, found in enumerate(traces)]
        transform(fresh, runs, "up_to_formats", command="run")
        transform(fresh, runs, "after_formats", command="run")
        return [_value(fresh, found, run) for found, run in zip(traces, runs, strict=True)]


def agrees(one: Any, other: Any) -> bool:  # noqa: ANN401 - values of any column
    """Whether two values of a figure are the same, floating point numbers within 1e-9."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=0, abs_tol=TOLERANCE) or (math.isnan(one) and math.isnan(other))
    return bool(one == other)


def _land(warehouse: Path, fresh: Path, found: Trace, place: int) -> str:
    """The listed rows as a run of the fresh warehouse."""
    source = found.run["audit_run_id"]
    run = content_id("recomputed", found.figure, str(place))
    with look_into_published(warehouse) as con:
        rows = {
            "audit_runs": con.execute("select * from raw.audit_runs where audit_run_id = ?", [source]).pl().to_dicts()
        }
        for table, listed in found.raw.items():
            # by their keys: a trace may leave texts out
            key = KEYS[table]
            keys = pl.DataFrame([{name: row[name] for name in key} for row in listed], infer_schema_length=None)
            if keys.is_empty():
                continue
            con.register("listed", keys.to_arrow())
            same = " and ".join(f"landed.{name} is not distinct from listed.{name}" for name in key)
            query = f"select landed.* from raw.{table} as landed semi join listed on {same}"  # noqa: S608 - ours
            rows[table] = con.execute(query).pl().to_dicts()
            con.unregister("listed")
    land(
        fresh,
        [
            (
                table,
                frame_of(
                    table, [{name: row.get(name) for name in SCHEMAS[table]} | {"audit_run_id": run} for row in listed]
                ),
            )
            for table, listed in rows.items()
        ],
    )
    return run


def _value(fresh: Path, found: Trace, run: str) -> Any:  # noqa: ANN401 - a value of any column
    key = {name: found.row[name] for name in grains()[found.mart]} | {"audit_run_id": run}
    same = " and ".join(f"{name} is not distinct from ${name}" for name in key)
    rows = fetch(fresh, f"select {found.column} as value from marts.{found.mart} where {same}", key)  # noqa: S608 - our own names
    return rows[0]["value"] if rows else None
