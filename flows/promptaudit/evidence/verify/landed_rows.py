"""Holds the landed rows of a run against its seals, in the warehouse or a copy; retired rows in their archive."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import polars as pl

from promptaudit.evidence.blanks import is_blank
from promptaudit.evidence.verify.copies import Place
from promptaudit.evidence.verify.differences import MOST, Kind, SealDifference, few, named
from promptaudit.marts.digests import WORDS, columns_of, digests, netstrings
from promptaudit.marts.seal import FAILED, SEALED, Seal, covered_rows, sealed_columns
from promptaudit.warehouse.duckdb_file import Connection, DatabaseError
from promptaudit.warehouse.raw_tables import TABLES
from promptaudit.warehouse.selection import Selection, of_file, of_run

AFTERWARDS = (
    "comparisons",
    "baselines",
    "acceptances",
    "waivers",
    "nights",
    "alarms",
    "notifications",
    "retirements",
    "reports",
    "erasures",
)
"""Tables about a run that is closed: rows of it that no seal has yet are no sign of anything."""
MOST_BLANK = 100_000  # rows an erasure left that are looked at
NO_ROWS = hashlib.sha256(b"").hexdigest()


@dataclass(slots=True, kw_only=True)
class RowCheck:
    """How many rows of a run were looked at in one place, and what differs; it fills table by table."""

    differences: list[SealDifference] = field(default_factory=list)
    n_rows: int = 0
    n_retired: int = 0
    n_erased: int = 0


def check_rows(place: Place, run: str, other: Place | None) -> RowCheck:
    """Holds a run's rows against its seals: every row that they cover is there as it was sealed, and no other.

    `other` is a place in which rows that differ are looked up, to say which they are and what of them changed.
    """
    chain = place.seals_of(run)
    check = RowCheck(differences=_check_state(place, run, chain[-1]))
    there = {*place.counts.get(run, ()), *chain[-1].entries["raw"]}
    for table in (table for table in SEALED if table in there):
        covered = _covered(place, run, table, chain, check)
        if covered is None:
            continue
        source: Selection | None = of_run(f"raw.{table}", run)
        at = place
        if covered.height and _is_retired(place.con, run, table):
            source, at = _archived(place, run, table, check), replace(place, where=f"the archive of {place.where}")
        if source is not None and check.n_erased:
            check.differences += _check_blank(at, run, table, source)
        if source is not None:
            check.differences += few(_differences(at, run, table, source, covered, other))
        check.n_rows += covered.height
    return check


def _check_state(place: Place, run: str, newest: Seal) -> list[SealDifference]:
    sealed = newest.entries
    row = place.con.execute("select state, finished_at from raw.audit_runs where audit_run_id = ?", [run]).fetchone()
    if sealed["state"] is None or row is None:
        return []
    state, finished_at = row[0], None if row[1] is None else row[1].isoformat()
    if (state, finished_at) == (sealed["state"], sealed["finished_at"]):
        return []
    if state == "running":
        detail = f"it was sealed {sealed['state']} and is running again: `promptaudit run` finishes it"
        return [
            SealDifference(kind="unsealed", where=place.where, what="run", which=run, detail=detail, audit_run_id=run)
        ]
    return [
        SealDifference(
            kind="changed",
            where=place.where,
            what="raw.audit_runs",
            which=f"audit_run_id={run}",
            detail=f"state or finished_at is not what was sealed ({sealed['state']}, {sealed['finished_at']})",
            audit_run_id=run,
        )
    ]


def _covered(place: Place, run: str, table: str, chain: Sequence[Seal], check: RowCheck) -> pl.DataFrame | None:
    """Returns the digests that hold of a table's rows, the newest of a key that an erasure rewrote; None: they are broken."""
    kept = dict(
        place.con.execute(
            "select seal_index, digests from raw.row_digests where audit_run_id = ? and table_name = ?", [run, table]
        ).fetchall()
    )
    broken: tuple[Kind, int] | None = None
    for seal in chain:
        sealed = seal.entries["raw"].get(table)
        content = kept.pop(seal.seal_index, b"")
        wanted = NO_ROWS if sealed is None or sealed["sha256"] is None else sealed["sha256"]
        if broken is None and hashlib.sha256(content).hexdigest() != wanted:
            broken = ("changed" if content else "gone", seal.seal_index)
    if broken is None and kept:
        broken = ("added", min(kept))
    differs = partial(SealDifference, where=place.where, what="raw.row_digests", audit_run_id=run)
    if broken is not None:
        check.differences.append(differs(kind=broken[0], which=f"seal_index={broken[1]}, table_name={table}"))
        return None
    covered = _covered_rows(place, run, table).sort("seal_index")
    newest = covered.unique(subset="key", keep="last", maintain_order=True)
    if (
        newest.height < covered.height
    ):  # rows that an erasure rewrote; a key is covered again where its error was kept apart, too
        check.n_erased += covered.height - newest.height
        erasing = [seal.seal_index for seal in chain if seal.reason == "erased" or _keeps_errors(seal, table)]
        again = covered.filter(
            pl.col("key").is_duplicated() & (pl.col("seal_index") > pl.col("seal_index").min().over("key"))
        )
        if not again["seal_index"].is_in(erasing).all():
            check.differences.append(
                differs(kind="broken", which=f"table_name={table}", detail="a row is sealed twice")
            )
    return newest


def _covered_rows(place: Place, run: str, table: str) -> pl.DataFrame:
    is_kept = table == "predictions" and _is_retired(place.con, run, FAILED)
    return covered_rows(place.con, run, table, _archived(place, run, FAILED, RowCheck()) if is_kept else None)


def _keeps_errors(seal: Seal, table: str) -> bool:
    """Returns whether a seal adds errors whose cells were asked again: rows of raw.predictions as they were."""
    failed = seal.entries["raw"].get(FAILED)
    return table == "predictions" and failed is not None and failed["n_new"] > 0


def _check_blank(place: Place, run: str, table: str, source: Selection) -> list[SealDifference]:
    """Returns rows that were sealed again but not as an erasure leaves them, or without the note that an erasure leaves."""
    covered = _covered_rows(place, run, table)
    keys = covered.filter(pl.col("key").is_duplicated())["key"].unique().to_list()
    if not keys:
        return []
    noted = place.con.execute("select 1 from raw.erasures where audit_run_id = ? limit 1", [run]).fetchone()
    rows = rows_of(place.con, source, TABLES[table].key, sealed_columns(place.con, table), keys[:MOST_BLANK])
    what = f"raw.{table}"
    detail = "it was sealed again, but not as an erasure leaves it"
    differs = partial(SealDifference, kind="changed", where=place.where, what=what, detail=detail, audit_run_id=run)
    return [differs(which=named(row, TABLES[table].key)) for row in rows if noted is None or not is_blank(what, row)]


def _is_retired(con: Connection, run: str, table: str) -> bool:
    """Returns whether a table's rows were moved to the archive and not landed again since."""
    moved = con.execute(
        "select 1 from raw.retirements where audit_run_id = ? and table_name = ? limit 1", [run, table]
    ).fetchone()
    query = f"select 1 from raw.{table} where audit_run_id = ? limit 1"  # noqa: S608 - ours
    return moved is not None and con.execute(query, [run]).fetchone() is None


def _archived(place: Place, run: str, table: str, check: RowCheck) -> Selection | None:
    """Returns a retired table's rows; None, and a difference, where their file is not there or cannot be read."""
    rows = place.con.execute(
        "select path, n_rows from raw.retirements where audit_run_id = ? and table_name = ? order by retired_at desc limit 1",
        [run, table],
    ).fetchall()
    path, n_rows = rows[0]
    check.n_retired += n_rows
    file = place.warehouse.places.archive.parent / path
    differs = partial(SealDifference, where=place.where, what="file", which=str(path), audit_run_id=run)
    if not file.resolve().is_relative_to(place.warehouse.places.archive.resolve()):
        check.differences.append(differs(kind="broken", detail="it is not in the archive"))
        return None
    source = replace(of_file(file), column="audit_run_id", value=run)
    if not file.is_file():
        check.differences.append(differs(kind="gone", detail=f"the archive of {n_rows} retired rows"))
        return None
    try:
        columns_of(place.con, source)
    except DatabaseError:
        check.differences.append(differs(kind="broken", detail="it is no Parquet file any more"))
        return None
    return source


def _differences(
    place: Place, run: str, table: str, source: Selection, covered: pl.DataFrame, other: Place | None
) -> list[SealDifference]:
    con, key, what = place.con, TABLES[table].key, f"raw.{table}"
    columns_at = {
        seal.seal_index: () if (sealed := seal.entries["raw"].get(table)) is None else tuple(sealed["columns"])
        for seal in place.seals_of(run)
    }
    own = sealed_columns(con, table)
    there = {
        columns: digests(con, source, columns, key)
        for columns in {own, *(columns_at[index] for index in covered["seal_index"].unique())}
    }
    lost = pl.concat(
        [
            covered.clear(),
            *(
                covered.filter(pl.col("seal_index") == index).join(there[columns_at[index]], on=list(WORDS), how="anti")
                for index in covered["seal_index"].unique()
            ),
        ]
    )
    changed, gone = lost.join(there[own], on="key", how="semi"), lost.join(there[own], on="key", how="anti")
    added = there[own].join(covered, on="key", how="anti")
    twice = there[own].filter(pl.col("key").is_duplicated()).unique(subset="key")  # a key is a row's own

    def rows(in_: Connection, relation: Selection, wanted: pl.DataFrame) -> list[dict[str, Any]]:
        return rows_of(in_, relation, key, own, wanted["key"].head(MOST).to_list())

    old = {} if other is None else {row["key_digest"]: row for row in rows(other.con, of_run(what, run), lost)}
    differs = partial(SealDifference, where=place.where, what=what, audit_run_id=run)
    differences = []
    for row in rows(con, source, changed):
        before = old.get(row["key_digest"], row)
        differing = [name for name in own if before[name] != row[name]]
        detail = f"column {', '.join(differing)}" if differing else ""
        differences.append(differs(kind="changed", which=named(row, key), detail=detail))
    if changed.height > MOST:
        differences.append(differs(kind="changed", detail=f"and {changed.height - MOST:,} rows more"))
    known = [old[digest] for digest in gone["key"].to_list() if digest in old]
    differences += [differs(kind="gone", which=named(row, key)) for row in known]
    if unknown := gone.height - len(known):
        detail = f"{unknown:,} rows that no copy has, or more than are named"
        differences.append(differs(kind="gone", detail=detail))
    again = sorted({named(row, key) for row in rows(con, source, twice)})
    differences += [differs(kind="added", which=each, detail="it stands there more than once") for each in again]
    is_open = con.execute("select state from raw.audit_runs where audit_run_id = ?", [run]).fetchone() == ("running",)
    kind: Kind = "unsealed" if (table in AFTERWARDS and not place.is_copy) or is_open else "added"
    if added.height > MOST:
        differences.append(differs(kind=kind, detail=f"and {added.height - MOST:,} rows more"))
    return differences + [differs(kind=kind, which=named(row, key)) for row in rows(con, source, added)]


def rows_of(
    con: Connection, rows: Selection, key: Sequence[str], columns: Sequence[str], keys: Sequence[int]
) -> list[dict[str, Any]]:
    """Returns those of the rows whose keys have these digests, which stand in `key_digest`."""
    if not keys:
        return []
    names = ", ".join(f'"{name}"' for name in dict.fromkeys([*key, *columns]))
    cursor = con.execute(
        f"select {names}, md5_number_upper({netstrings(key)}) as key_digest from (from {rows.sql}) "  # noqa: S608 - names of ours
        f"where list_contains($keys::ubigint[], md5_number_upper({netstrings(key)})) order by all",
        {**rows.values, "keys": list(keys)},
    )
    heads = [column[0] for column in cursor.description or ()]
    return [dict(zip(heads, row, strict=True)) for row in cursor.fetchall()]
