"""Derives marts again from their raw rows, where a later seal differs from a seal that somebody kept."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from promptaudit.evidence.trace.recompute import TOLERANCE
from promptaudit.evidence.verify.chain import RULINGS, landed_since
from promptaudit.evidence.verify.checks import Check, Finding
from promptaudit.evidence.verify.rows import Rows, differing
from promptaudit.marts.comparison.compare import derive
from promptaudit.marts.digests import columns_of
from promptaudit.marts.manifest import made_by
from promptaudit.marts.seal import OF_COMPARISONS, OF_RUNS, Seal, compares, marts, seals
from promptaudit.marts.transform import judge_nights, transform
from promptaudit.registry.errors import PromptauditError, WarehouseError
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.duckdb_file import Connection, rows_of
from promptaudit.warehouse.figure_names import grains
from promptaudit.warehouse.selection import Selection
from promptaudit.warehouse.sql import sql

_BASES = "select base_run_id as run from raw.comparisons where list_contains($ids, comparison_id)"


def check_again(warehouse: Warehouse, findings: Sequence[Finding], kept: Seal) -> list[Finding]:
    """Derives again the marts that differ from the seal `kept`, and drops the findings of marts that come out alike.

    The raw rows are checked against the seals elsewhere. A mart that comes out different by more than 1e-9 is
    `changed`. Findings stay as they are for runs whose rows are not all there any more, in which more than rulings
    landed since, or that other code derived. Only a temporary folder is written to.

    Raises WarehouseError where the warehouse cannot be copied into that folder.
    """
    runs = {each.audit_run_id for each in findings if each.audit_run_id is not None}
    if not warehouse.exists():
        return list(findings)
    compared = [each.which for each in findings if each.which]
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
        return list(findings)
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
        except PromptauditError:  # without marts to compare the findings stay
            return list(findings)
        with warehouse.inspect() as stands, fresh.inspect() as again:
            left = [_left(stands, again, each, runs, is_based=not gone & bases) for each in findings]
            return [each for each in left if each is not None]


def _clear(fresh: Warehouse, runs: Collection[str], compared: Collection[str]) -> None:
    # a build leaves the old rows of a run for which it makes none
    with fresh.write() as con:
        for mart, of_run in marts(con).items():
            of, values = (OF_COMPARISONS, compared) if compares(mart) else (of_run, runs)
            con.execute(f'delete from marts."{mart}" where list_contains($values, {of})', {"values": list(values)})  # noqa: S608


def _left(stands: Connection, again: Connection, finding: Finding, runs: set[str], *, is_based: bool) -> Finding | None:
    # None if each row comes out as it stands
    mart = finding.what.partition(".")[2]
    if finding.audit_run_id not in runs or (finding.which and not is_based) or mart not in marts(again):
        return finding
    if mart not in marts(stands):
        return replace(finding, kind="gone", detail=f"{finding.detail}; its table is not there")
    of, value = (OF_COMPARISONS, finding.which) if compares(mart) else (OF_RUNS, finding.audit_run_id)
    rows = Selection(relation=f'marts."{mart}"', column=of, value=value)
    now, old = Rows(stands, rows, grains()[mart]), Rows(again, rows, grains()[mart])
    columns = columns_of(stands, rows)
    if columns == columns_of(again, rows):
        recorded = {columns: old.digests(columns)}
        check = Check(where=finding.where, what=finding.what)
        n_rows = len(list(differing(check, now, recorded, old, columns=columns, tolerance=TOLERANCE)))
    else:
        n_rows = now.digests(columns).height
    detail = f"{finding.detail}; derived again from the rows that landed, {n_rows:,} of its rows come out otherwise"
    return replace(finding, kind="changed", detail=detail) if n_rows else None
