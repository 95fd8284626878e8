"""Derives marts again from the rows that stand under them, where a later seal has them otherwise than one that was kept."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import and_
from pathlib import Path

import polars as pl

from flows.compare import derive
from flows.figures import grains
from flows.manifest import made_by
from flows.seal import OF_COMPARISONS, OF_RUNS, compares, seals
from flows.trace.recompute import TOLERANCE
from flows.transform import transform
from flows.verify.findings import Finding
from flows.warehouse import Connection, beside, fetch, look_into
from models_registry.errors import PromptauditError

_GONE = """
    select audit_run_id from raw.retirements where list_contains($runs, audit_run_id)
    union select audit_run_id from raw.erasures where list_contains($runs, audit_run_id)
    union select audit_run_id from raw.audit_runs where list_contains($runs, audit_run_id) and state = 'running'
"""
_BASES = "select base_run_id from raw.comparisons where list_contains($ids, comparison_id)"


def check_again(warehouse: Path, found: Sequence[Finding]) -> list[Finding]:
    """Returns the findings about marts that a seal has otherwise, less those that come out of their rows as they stand.

    The rows themselves are held against the seals elsewhere. What comes out otherwise by more than 1e-9 has `changed`. Marts of
    runs whose rows are not all there any more, or that other code derived, stay as they were found.
    """
    runs = {each.audit_run_id for each in found if each.audit_run_id is not None}
    own = beside(warehouse, "")
    if not own.is_file():
        return list(found)
    with look_into(own) as con:
        derived_by = {each.audit_run_id: each.held["derived_by"] for each in seals(con)}
    compared = [each.which for each in found if each.which]
    bases = {row["base_run_id"] for row in fetch(own, _BASES, {"ids": compared})}
    gone = {row["audit_run_id"] for row in fetch(own, _GONE, {"runs": sorted(runs | bases)})}
    runs = {run for run in runs if derived_by.get(run) == made_by()} - gone
    if not runs:
        return list(found)
    with tempfile.TemporaryDirectory(prefix="promptaudit-") as folder:
        fresh = Path(folder) / "audit.duckdb"
        shutil.copyfile(own, fresh)
        try:
            transform(fresh, sorted(runs), "up_to_formats", command="run")
            transform(fresh, sorted(runs), "after_formats", command="run")
            if not gone & bases:
                derive(fresh, compared, command="run")
        except PromptauditError:  # what cannot be derived proves nothing
            return list(found)
        with look_into(own) as stands, look_into(fresh) as again:
            return [
                left
                for each in found
                if (left := _left(stands, again, each, runs, is_based=not gone & bases)) is not None
            ]


def _left(stands: Connection, again: Connection, found: Finding, runs: set[str], *, is_based: bool) -> Finding | None:
    """What is left of a finding once its mart was derived again: nothing where each row comes out as it stands."""
    if found.audit_run_id not in runs or (found.which and not is_based):
        return found
    mart = found.what.partition(".")[2]
    of, value = (OF_COMPARISONS, found.which) if compares(mart) else (OF_RUNS, found.audit_run_id)
    key = ", ".join(grains()[mart])
    query = f'select * from marts."{mart}" where {of} = ? order by {key}'  # noqa: S608 - a mart's own columns
    one, other = (con.execute(query, [value]).pl() for con in (stands, again))
    if one.height == other.height and one.columns == other.columns:
        n_rows = one.height - int(_alike(one, other).sum())
    else:
        n_rows = max(one.height, other.height)
    if not n_rows:
        return None
    detail = f"{found.detail}; derived again from the rows that landed, {n_rows:,} of its rows come out otherwise"
    return replace(found, kind="changed", detail=detail)


def _alike(one: pl.DataFrame, other: pl.DataFrame) -> pl.Series:
    """Whether rows are the same, one by one: floating point numbers within 1e-9."""
    columns = [
        one[name].eq_missing(other[name]) | ((one[name] - other[name]).abs() <= TOLERANCE).fill_null(value=False)
        if one[name].dtype.is_float()
        else one[name].eq_missing(other[name])
        for name in one.columns
    ]
    return reduce(and_, columns, pl.Series([True] * one.height, dtype=pl.Boolean))
