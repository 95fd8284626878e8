"""Holds a run's marts against its newest seal, in the warehouse, the published copy and the Parquet files beside it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from promptaudit.evidence.trace.recompute import TOLERANCE
from promptaudit.evidence.verify.copies import Place
from promptaudit.evidence.verify.differences import Kind, SealDifference, few, named
from promptaudit.evidence.verify.landed_rows import rows_of
from promptaudit.marts.digests import WORDS, digests
from promptaudit.marts.manifest import made_by
from promptaudit.marts.seal import IN_FILES, OF_COMPARISONS, OF_RUNS, Seal, SealedRows, compares, views
from promptaudit.warehouse.duckdb_file import DatabaseError
from promptaudit.warehouse.figure_names import grains
from promptaudit.warehouse.selection import of_file


def check_marts(run: str, newest: Seal, place: Place, others: Sequence[Place]) -> list[SealDifference]:
    """Holds a run's marts against its newest seal; `others` are places to look up which row differs."""
    differences: list[SealDifference] = []
    sealed, compared = newest.entries["marts"], newest.entries["comparisons"]
    for mart in sorted({*sealed, *place.marts, *(mart for own in compared.values() for mart in own)}):
        differs = partial(SealDifference, where=place.where, what=f"marts.{mart}", audit_run_id=run)
        if mart not in grains():
            detail = "another version's: the next build seals what this one makes"
            differences.append(differs(kind="unsealed", detail=detail))
            continue
        try:
            if not compares(mart):
                differences += few(_check_mart(mart, run, sealed.get(mart), place, others))
                continue
            there = place.comparisons(mart, run)
            if None in there:
                differences.append(differs(kind="added", detail="rows of no comparison"))
            for each in sorted({*compared, *(known for known in there if known is not None)}):
                differences += few(_check_mart(mart, run, compared.get(each, {}).get(mart), place, others, each))
        except DatabaseError as error:  # a file that is no Parquet file any more, or lacks a column
            detail = f"it cannot be read as what was published: {type(error).__name__}"
            differences.append(differs(kind="broken", detail=detail))
    return differences


def check_views(place: Place, *, is_open: bool) -> list[SealDifference]:
    """Returns the views that are not what the newest seal has.

    Another version of the project, or of DuckDB that prints SQL its own way, makes others; so does a build in a run that is
    open. They are sealed by the next build.
    """
    if not place.chain:
        return []
    newest = place.chain[-1].entries
    is_open = (is_open and not place.is_copy) or newest["views_by"] != made_by()["dbt_project"]
    sealed, there, differences = newest["views"], views(place.con), []
    ours = {*sealed, *(f"marts.{mart}" for mart in grains())}  # others are named by what looks for what was planted
    for name in sorted(name for name in ours if name in sealed or name in there):
        if there.get(name) != sealed.get(name):
            kind: Kind = "gone" if name not in there else "changed" if name in sealed else "added"
            kind = "unsealed" if is_open else kind
            differences.append(SealDifference(kind=kind, where=place.where, what=f"view {name}"))
    return differences


def check_view_files(folder: Path, places: Sequence[Place], where: str) -> list[SealDifference]:
    """Returns the views whose file holds what they give neither in the published copy nor in the warehouse.

    A publication that was cut short may have written the file of the one, not yet the other.
    """
    differences = []
    for view in IN_FILES:
        having = [place for place in places if f"marts.{view}" in views(place.con)]
        path, differs = folder / view / "data.parquet", partial(SealDifference, where=where, what=f"view marts.{view}")
        if having and not path.is_file():
            differences.append(differs(kind="gone", detail="its Parquet file"))
        elif having and not any(_is_same(place, view, path) for place in having):
            differences.append(differs(kind="changed", detail="its Parquet file"))
    return differences


def _is_same(place: Place, view: str, path: Path) -> bool:
    file = of_file(path)
    rows = f"(from marts.{view} except all from {file.sql}) union all (from {file.sql} except all from marts.{view})"
    try:
        return not place.con.execute(f"select 1 from ({rows}) limit 1", file.values).fetchall()  # noqa: S608 - ours
    except DatabaseError:  # a file that is no Parquet file any more, or lacks a column
        return False


def _check_mart(
    mart: str,
    run: str,
    wanted: SealedRows | None,
    place: Place,
    others: Sequence[Place],
    comparison: str | None = None,
) -> list[SealDifference]:
    if place.source(mart, run) is None:
        detail, what = "its table" if place.folder is None else "its Parquet file", f"marts.{mart}"
        gone = SealDifference(kind="gone", where=place.where, what=what, detail=detail, audit_run_id=run)
        return [] if wanted is None else [gone]
    if wanted is None:
        return _unsealed(mart, run, place, comparison)
    if place.sum_of(mart, run, tuple(wanted["columns"]), comparison) == (wanted["n_rows"], wanted["sha256"]):
        return []
    return _differences(mart, run, place, wanted, others, comparison)


def _unsealed(mart: str, run: str, place: Place, comparison: str | None) -> list[SealDifference]:
    """Returns rows that no seal has: what is left of a comparison that was cut short waits for its seal, all else was added."""
    n_rows, _ = place.sum_of(mart, run, (OF_RUNS if comparison is None else OF_COMPARISONS,), comparison)
    if not n_rows:
        return []
    differs = partial(SealDifference, where=place.where, what=f"marts.{mart}", audit_run_id=run)
    wanted = "select 1 from raw.comparisons where comparison_id = ?"
    if comparison is not None and place.con.execute(wanted, [comparison]).fetchall():
        detail = "a comparison that was cut short: asking for it again derives it"
        return [differs(kind="unsealed", which=comparison, detail=detail)]
    return [differs(kind="added", detail=f"{n_rows} rows of a mart that no seal has")]


def _differences(
    mart: str,
    run: str,
    place: Place,
    wanted: SealedRows,
    others: Sequence[Place],
    comparison: str | None,
) -> list[SealDifference]:
    """Returns which rows differ from those of a place that still has what was sealed; without one, that the mart differs."""
    columns, key = tuple(wanted["columns"]), grains()[mart]
    differs = partial(SealDifference, where=place.where, what=f"marts.{mart}", audit_run_id=run)
    there = place.rows(mart, run, comparison)
    for other in others:
        sealed = other.rows(mart, run, comparison)
        is_as_sealed = other.sum_of(mart, run, columns, comparison) == (wanted["n_rows"], wanted["sha256"])
        if there is None or sealed is None or not is_as_sealed:
            continue
        now_there = digests(place.con, there, columns, key)
        was = digests(other.con, sealed, columns, key)
        lost, new = was.join(now_there, on=list(WORDS), how="anti"), now_there.join(was, on=list(WORDS), how="anti")
        gone = {row["key_digest"]: row for row in rows_of(other.con, sealed, key, columns, lost["key"].to_list())}
        differences = []
        for row in rows_of(place.con, there, key, columns, new["key"].to_list()):
            old = gone.pop(row["key_digest"], None)
            differing = [] if old is None else [name for name in columns if old[name] != row[name]]
            if old is not None and all(_are_close(old[name], row[name]) for name in differing):
                continue  # as another build of the same answers makes it
            detail = f"column {', '.join(differing)}" if differing else ""
            kind: Kind = "added" if old is None else "changed"
            differences.append(differs(kind=kind, which=named(row, key), detail=detail))
        return differences + [differs(kind="gone", which=named(row, key)) for row in gone.values()]
    return [differs(kind="changed", detail="no copy has it as it was sealed, to say in which row")]


def _are_close(one: Any, other: Any) -> bool:  # noqa: ANN401 - values of any column
    """Returns whether two values are floating point numbers that are the same but for what the order of a sum makes of them."""
    return isinstance(one, float) and isinstance(other, float) and abs(one - other) <= TOLERANCE
