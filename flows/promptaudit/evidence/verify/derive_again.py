"""Derives marts again from the rows that stand under them, where a later seal has them otherwise than one that was kept."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import reduce
from operator import and_
from pathlib import Path

import polars as pl

from promptaudit.evidence.trace.recompute import TOLERANCE
from promptaudit.evidence.verify.chain import RULINGS, landed_since
from promptaudit.evidence.verify.differences import SealDifference
from promptaudit.marts.comparison.compare import derive
from promptaudit.marts.manifest import made_by
from promptaudit.marts.seal import OF_COMPARISONS, OF_RUNS, Seal, compares, marts, seals
from promptaudit.marts.transform import judge_nights, transform
from promptaudit.registry.errors import PromptauditError, WarehouseError
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.duckdb_file import Connection, rows_of
from promptaudit.warehouse.figure_names import grains
from promptaudit.warehouse.sql import sql

_BASES = "select base_run_id as run from raw.comparisons where list_contains($ids, comparison_id)"


def check_again(warehouse: Warehouse, differences: Sequence[SealDifference], kept: Seal) -> list[SealDifference]:
    """Returns the differences of marts that seals have otherwise than `kept`, less those that come out of their rows.

    The rows themselves are held against the seals elsewhere. What comes out otherwise by more than 1e-9 has `changed`. Marts of
    runs whose rows are not all there any more, in which more than rulings landed since, or that other code derived, stay as they
    are. Nothing is written but in a temporary folder.
    """
    runs = {each.audit_run_id for each in differences if each.audit_run_id is not None}
    if not warehouse.exists():
        return list(differences)
    compared = [each.which for each in differences if each.which]
    with warehouse.inspect() as con:
        chain = seals(con)
        bases = {row["run"] for row in rows_of(con, _BASES, ids=compared)}
        gone = {
            row["audit_run_id"] for row in rows_of(con, sql("evidence", "incomplete_runs"), runs=sorted(runs | bases))
        }
    gone |= {run for run, landed in landed_since(chain, kept).items() if landed.keys() - set(RULINGS)}
    derived_by = {each.audit_run_id: each.entries["derived_by"] for each in chain}
    runs = {run for run in runs if derived_by.get(run) == made_by()} - gone
    if not runs:
        return list(differences)
    with tempfile.TemporaryDirectory(prefix="promptaudit-") as folder:
        fresh = Warehouse(Path(folder) / "audit.duckdb")
        try:
            for ending in ("", ".wal"):
                if (file := warehouse.places.beside(ending)).is_file():
                    shutil.copyfile(file, fresh.places.beside(ending))
        except OSError as error:
            msg = f"{folder}: the warehouse cannot be copied there to derive its marts again: {error.strerror}"
            raise WarehouseError(msg) from None
        _clear(fresh, runs, compared)
        try:
            transform(fresh, sorted(runs), "up_to_formats", command="run")
            transform(fresh, sorted(runs), "after_formats", command="run")
            judge_nights(fresh, sorted(runs))
            if not gone & bases:
                derive(fresh, compared, command="run")
        except PromptauditError:  # what cannot be derived proves nothing
            return list(differences)
        with warehouse.inspect() as stands, fresh.inspect() as again:
            left = [_left(stands, again, each, runs, is_based=not gone & bases) for each in differences]
            return [each for each in left if each is not None]


def _clear(fresh: Warehouse, runs: Collection[str], compared: Collection[str]) -> None:
    """Takes the rows out that are to be derived: a build leaves those of a run of which it makes none."""
    with fresh.write() as con:
        for mart, of_run in marts(con).items():
            of, values = (OF_COMPARISONS, compared) if compares(mart) else (of_run, runs)
            con.execute(f'delete from marts."{mart}" where list_contains($values, {of})', {"values": list(values)})  # noqa: S608


def _left(
    stands: Connection, again: Connection, difference: SealDifference, runs: set[str], *, is_based: bool
) -> SealDifference | None:
    """Returns what is left of a difference once its mart was derived again: None where each row comes out as it stands."""
    if difference.audit_run_id not in runs or (difference.which and not is_based):
        return difference
    mart = difference.what.partition(".")[2]
    if mart not in grains() or mart not in marts(again):
        return difference
    if mart not in marts(stands):
        return replace(difference, kind="gone", detail=f"{difference.detail}; its table is not there")
    of, value = (OF_COMPARISONS, difference.which) if compares(mart) else (OF_RUNS, difference.audit_run_id)
    key = ", ".join(grains()[mart])
    query = f'select * from marts."{mart}" where {of} = ? order by {key}'  # noqa: S608 - a mart's own columns
    one, other = (con.execute(query, [value]).pl() for con in (stands, again))
    if one.height == other.height and one.columns == other.columns:
        n_rows = one.height - int(_alike(one, other).sum())
    else:
        n_rows = max(one.height, other.height)
    if not n_rows:
        return None
    detail = f"{difference.detail}; derived again from the rows that landed, {n_rows:,} of its rows come out otherwise"
    return replace(difference, kind="changed", detail=detail)


def _alike(one: pl.DataFrame, other: pl.DataFrame) -> pl.Series:
    """Returns whether rows are the same, one by one: floating point columns within 1e-9, lists exactly."""
    columns = [
        one[name].eq_missing(other[name]) | ((one[name] - other[name]).abs() <= TOLERANCE).fill_null(value=False)
        if one[name].dtype.is_float()
        else one[name].eq_missing(other[name])
        for name in one.columns
    ]
    return reduce(and_, columns, pl.Series([True] * one.height, dtype=pl.Boolean))
