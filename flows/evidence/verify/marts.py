"""Holds a run's marts against its newest seal, in the warehouse, the published copy and the Parquet files beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flows.evidence.trace.recompute import TOLERANCE
from flows.evidence.verify.copies import Place
from flows.evidence.verify.findings import Finding, Kind, few, named
from flows.evidence.verify.landed_rows import rows_of
from flows.marts.digests import WORDS, digests
from flows.marts.manifest import made_by
from flows.marts.seal import OF_COMPARISONS, OF_RUNS, Seal, compares, views
from flows.warehouse.duckdb_file import DatabaseError
from flows.warehouse.figure_names import grains


def check_marts(run: str, newest: Seal, place: Place, others: Sequence[Place]) -> list[Finding]:
    """Every mart has the rows that the seal says; `others` are places to look up which row differs."""
    found: list[Finding] = []
    sealed, compared = newest.held["marts"], newest.held["comparisons"]
    for mart in sorted({*sealed, *place.marts, *(mart for own in compared.values() for mart in own)}):
        if mart not in grains():
            detail = "another version's: the next build seals what this one makes"
            found.append(Finding("unsealed", place.where, f"marts.{mart}", "", detail, run))
            continue
        try:
            if not compares(mart):
                found += few(_check_mart(mart, run, sealed.get(mart), place, others))
                continue
            there = place.comparisons(mart, run)
            if None in there:
                found.append(Finding("added", place.where, f"marts.{mart}", "", "rows of no comparison", run))
            for each in sorted({*compared, *(there - {None})}):
                found += few(_check_mart(mart, run, compared.get(each, {}).get(mart), place, others, each))
        except DatabaseError as error:  # a file that is no Parquet file any more, or lacks a column
            detail = f"it cannot be read as what was published: {type(error).__name__}"
            found.append(Finding("broken", place.where, f"marts.{mart}", "", detail, run))
    return found


def check_views(place: Place, *, is_open: bool) -> list[Finding]:
    """Views are what the newest seal has.

    Another version of the project, or of DuckDB that prints SQL its own way, makes others; so does a build in a run that is
    open. They are sealed by the next build.
    """
    if not place.chain:
        return []
    newest = place.chain[-1].held
    is_open = (is_open and not place.is_copy) or newest["views_by"] != made_by()["dbt_project"]
    sealed, there, found = newest["views"], views(place.con), []
    ours = {*sealed, *(f"marts.{mart}" for mart in grains())}  # others are named by what looks for what was planted
    for name in sorted(name for name in ours if name in sealed or name in there):
        if there.get(name) != sealed.get(name):
            kind: Kind = "gone" if name not in there else "changed" if name in sealed else "added"
            found.append(Finding("unsealed" if is_open else kind, place.where, f"view {name}"))
    return found


def _check_mart(  # noqa: PLR0913 - where a mart's rows are looked for
    mart: str,
    run: str,
    wanted: dict[str, Any] | None,
    place: Place,
    others: Sequence[Place],
    comparison: str | None = None,
) -> list[Finding]:
    source, what = place.source(mart, run), f"marts.{mart}"
    if source is None:
        kind = "its table" if place.folder is None else "its Parquet file"
        return [] if wanted is None else [Finding("gone", place.where, what, "", kind, run)]
    if wanted is None:
        return _unsealed(mart, run, place, comparison)
    if place.sum_of(mart, run, tuple(wanted["columns"]), comparison) == (wanted["n_rows"], wanted["sha256"]):
        return []
    return _differences(mart, run, place, wanted, others, comparison)


def _unsealed(mart: str, run: str, place: Place, comparison: str | None) -> list[Finding]:
    """Rows that no seal has: what is left of a comparison that was cut short waits for its seal, all else was added."""
    n_rows, _ = place.sum_of(mart, run, (OF_RUNS if comparison is None else OF_COMPARISONS,), comparison)
    if not n_rows:
        return []
    asked = "select 1 from raw.comparisons where comparison_id = ?"
    if comparison is not None and place.con.execute(asked, [comparison]).fetchall():
        detail = "a comparison that was cut short: asking for it again derives it"
        return [Finding("unsealed", place.where, f"marts.{mart}", comparison, detail, run)]
    return [Finding("added", place.where, f"marts.{mart}", "", f"{n_rows} rows of a mart that no seal has", run)]


def _differences(  # noqa: PLR0913 - where a mart's rows are looked for
    mart: str,
    run: str,
    place: Place,
    wanted: dict[str, Any],
    others: Sequence[Place],
    comparison: str | None,
) -> list[Finding]:
    """Which rows differ from those of a place that still has what was sealed; without one, that the mart differs."""
    what, columns, key = f"marts.{mart}", tuple(wanted["columns"]), grains()[mart]
    there = place.rows(mart, run, comparison)
    for other in others:
        held_there = other.rows(mart, run, comparison)
        is_as_sealed = other.sum_of(mart, run, columns, comparison) == (wanted["n_rows"], wanted["sha256"])
        if there is None or held_there is None or not is_as_sealed:
            continue
        now_there = digests(place.con, there, columns, key)
        was = digests(other.con, held_there, columns, key)
        lost, new = was.join(now_there, on=list(WORDS), how="anti"), now_there.join(was, on=list(WORDS), how="anti")
        held = {row["key_digest"]: row for row in rows_of(other.con, held_there, key, columns, lost["key"].to_list())}
        found, n_close = [], 0
        for row in rows_of(place.con, there, key, columns, new["key"].to_list()):
            old = held.pop(row["key_digest"], None)
            differing = [] if old is None else [name for name in columns if old[name] != row[name]]
            if old is not None and all(_are_close(old[name], row[name]) for name in differing):
                n_close += 1
                continue
            detail = f"column {', '.join(differing)}" if differing else ""
            found.append(
                Finding("added" if old is None else "changed", place.where, what, named(row, key), detail, run)
            )
        if n_close:
            detail = f"{n_close:,} rows differ from what was sealed by 1e-9 at most, as another build makes them"
            found.append(Finding("unsealed", place.where, what, "", detail, run))
        return found + [Finding("gone", place.where, what, named(row, key), "", run) for row in held.values()]
    return [Finding("changed", place.where, what, "", "no copy has it as it was sealed, to say in which row", run)]


def _are_close(one: Any, other: Any) -> bool:  # noqa: ANN401 - values of any column
    """Whether two values are floating point numbers that are the same but for what the order of a sum makes of them."""
    return isinstance(one, float) and isinstance(other, float) and abs(one - other) <= TOLERANCE
