"""Holds a run's marts against its newest seal, in the warehouse, the published copy and the Parquet files beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flows.digests import WORDS, digests
from flows.figures import grains
from flows.manifest import made_by
from flows.seal import Seal, views
from flows.verify.findings import Finding, Kind, few, named
from flows.verify.places import Place
from flows.verify.rows import rows_of
from flows.warehouse import DatabaseError


def check_marts(run: str, newest: Seal, place: Place, others: Sequence[Place]) -> list[Finding]:
    """Every mart has the rows that the seal says; `others` are places to look up which row differs."""
    found: list[Finding] = []
    for mart in sorted({*newest.held["marts"], *place.marts}):
        try:
            found += few(_check_mart(mart, run, newest.held["marts"].get(mart), place, others))
        except DatabaseError as error:  # a file that is no Parquet file any more, or lacks a column
            detail = f"it cannot be read as what was published: {type(error).__name__}"
            found.append(Finding("broken", place.where, f"marts.{mart}", "", detail, run))
    return found


def check_views(place: Place, *, is_open: bool) -> list[Finding]:
    """Views are what the newest seal has.

    Another version of the project, or of DuckDB that prints SQL its own way, makes others; so does a build in a run that is
    open. They are sealed by the next build.
    """
    newest = next((found.held for found in reversed(place.chain) if "views" in found.held), None)
    if newest is None:  # by an older version
        return []
    is_open = (is_open and not place.is_copy) or newest["dbt_project"] != made_by()["dbt_project"]
    sealed, there, found = newest["views"], views(place.con), []
    for name in sorted({*sealed, *(each for each in there if each.startswith("marts."))}):
        if there.get(name) != sealed.get(name):
            kind: Kind = "gone" if name not in there else "changed" if name in sealed else "added"
            found.append(Finding("unsealed" if is_open else kind, place.where, f"view {name}"))
    return found


def _check_mart(
    mart: str, run: str, wanted: dict[str, Any] | None, place: Place, others: Sequence[Place]
) -> list[Finding]:
    source, what = place.source(mart, run), f"marts.{mart}"
    if source is None:
        kind = "its table" if place.folder is None else "its Parquet file"
        return [] if wanted is None else [Finding("gone", place.where, what, "", kind, run)]
    if wanted is None:
        n_rows, _ = place.sum_of(mart, run, (place.marts[mart],))
        detail = f"{n_rows} rows of a mart that no seal has"
        return [Finding("added", place.where, what, "", detail, run)] if n_rows else []
    if place.sum_of(mart, run, tuple(wanted["columns"])) == (wanted["n_rows"], wanted["sha256"]):
        return []
    return _differences(mart, run, place, wanted, others)


def _differences(mart: str, run: str, place: Place, wanted: dict[str, Any], others: Sequence[Place]) -> list[Finding]:
    """Which rows differ from those of a place that still has what was sealed; without one, that the mart differs."""
    what, columns, key = f"marts.{mart}", tuple(wanted["columns"]), grains()[mart]
    there = (str(place.source(mart, run)), place.rows(mart, run))
    for other in others:
        source, where = other.source(mart, run), other.rows(mart, run)
        if source is None or other.sum_of(mart, run, columns) != (wanted["n_rows"], wanted["sha256"]):
            continue
        now_there = digests(place.con, *there, columns, key)
        was = digests(other.con, source, where, columns, key)
        lost, new = was.join(now_there, on=list(WORDS), how="anti"), now_there.join(was, on=list(WORDS), how="anti")
        held = {
            row["key_digest"]: row for row in rows_of(other.con, source, where, key, columns, lost["key"].to_list())
        }
        found = []
        for row in rows_of(place.con, *there, key, columns, new["key"].to_list()):
            old = held.pop(row["key_digest"], None)
            differing = [] if old is None else [name for name in columns if old[name] != row[name]]
            detail = f"column {', '.join(differing)}" if differing else ""
            found.append(
                Finding("added" if old is None else "changed", place.where, what, named(row, key), detail, run)
            )
        return found + [Finding("gone", place.where, what, named(row, key), "", run) for row in held.values()]
    return [Finding("changed", place.where, what, "", "no copy has it as it was sealed, to say in which row", run)]
