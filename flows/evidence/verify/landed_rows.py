"""Holds the landed rows of a run against its seals, in the warehouse or a copy; retired rows in their archive."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from flows.evidence.blanks import is_blank
from flows.evidence.verify.copies import Place
from flows.evidence.verify.findings import MOST, Finding, Kind, few, named
from flows.marts.digests import WORDS, columns_of, digests, netstrings
from flows.marts.seal import SEALED, Seal, covered_rows, sealed_columns
from flows.warehouse.duckdb_file import Connection, DatabaseError
from flows.warehouse.schema import KEYS
from flows.warehouse.selection import Selection, of_file, of_run

AFTERWARDS = (
    "comparisons", "baselines", "waivers", "nights", "alarms", "notifications", "retirements", "reports", "erasures",
)  # fmt: skip
"""What is said of a run when it is closed: rows of it that no seal has yet are no sign of anything."""
MOST_BLANK = 100_000  # rows an erasure left that are looked at
NO_ROWS = hashlib.sha256(b"").hexdigest()


@dataclass(slots=True)
class Looked:
    """What a look at a run's rows found."""

    findings: list[Finding] = field(default_factory=list)
    n_rows: int = 0
    n_retired: int = 0
    n_erased: int = 0


def check_rows(place: Place, run: str, other: Place | None) -> Looked:
    """Every row that the run's seals cover is there as it was sealed, and no other.

    `other` is a place in which rows that differ are looked up, to say which they are and what of them changed.
    """
    chain = place.seals_of(run)
    looked = Looked(findings=_check_state(place, run, chain[-1]))
    there = {*place.counts.get(run, ()), *chain[-1].held["raw"]}
    for table in (table for table in SEALED if table in there):
        covered = _covered(place, run, table, chain, looked)
        if covered is None:
            continue
        source: Selection | None = of_run(f"raw.{table}", run)
        where = place.where
        if covered.height and _is_retired(place.con, run, table):
            source, where = _archived(place, run, table, looked), f"the archive of {place.where}"
        if source is not None and looked.n_erased:
            looked.findings += _check_blank(replace(place, where=where), run, table, source)
        if source is not None:
            looked.findings += few(_differences(replace(place, where=where), run, table, source, covered, other))
        looked.n_rows += covered.height
    return looked


def _check_state(place: Place, run: str, newest: Seal) -> list[Finding]:
    held = newest.held
    row = place.con.execute("select state, finished_at from raw.audit_runs where audit_run_id = ?", [run]).fetchone()
    if held["state"] is None or row is None:
        return []
    state, finished_at = row[0], None if row[1] is None else row[1].isoformat()
    if (state, finished_at) == (held["state"], held["finished_at"]):
        return []
    if state == "running":
        detail = f"it was sealed {held['state']} and is running again: `promptaudit run` finishes it"
        return [Finding("unsealed", place.where, "run", run, detail, run)]
    detail = f"state or finished_at is not what was sealed ({held['state']}, {held['finished_at']})"
    return [Finding("changed", place.where, "raw.audit_runs", f"audit_run_id={run}", detail, run)]


def _covered(place: Place, run: str, table: str, chain: Sequence[Seal], looked: Looked) -> pl.DataFrame | None:
    """Digests that hold of a table's rows: the newest of a key whose row was rewritten by an erasure; None: they are broken."""
    kept = dict(
        place.con.execute(
            "select seal_index, digests from raw.row_digests where audit_run_id = ? and table_name = ?", [run, table]
        ).fetchall()
    )
    broken: tuple[Kind, int] | None = None
    for found in chain:
        held = found.held["raw"].get(table)
        content = kept.pop(found.seal_index, b"")
        wanted = NO_ROWS if held is None or held["sha256"] is None else held["sha256"]
        if broken is None and hashlib.sha256(content).hexdigest() != wanted:
            broken = ("changed" if content else "gone", found.seal_index)
    if broken is None and kept:
        broken = ("added", min(kept))
    if broken is not None:
        which = f"seal_index={broken[1]}, table_name={table}"
        looked.findings.append(Finding(broken[0], place.where, "raw.row_digests", which, "", run))
        return None
    covered = covered_rows(place.con, run, table).sort("seal_index")
    holds = covered.unique(subset="key", keep="last", maintain_order=True)
    if holds.height < covered.height:  # rows that an erasure rewrote; no other seal covers a key again
        looked.n_erased += covered.height - holds.height
        erasing = [found.seal_index for found in chain if found.reason == "erased"]
        again = covered.filter(
            pl.col("key").is_duplicated() & (pl.col("seal_index") > pl.col("seal_index").min().over("key"))
        )
        if not again["seal_index"].is_in(erasing).all():
            looked.findings.append(
                Finding("broken", place.where, "raw.row_digests", f"table_name={table}", "a row is sealed twice", run)
            )
    return holds


def _check_blank(place: Place, run: str, table: str, source: Selection) -> list[Finding]:
    """A row may be sealed again only as an erasure leaves it, and an erasure leaves a note."""
    covered = covered_rows(place.con, run, table)
    keys = covered.filter(pl.col("key").is_duplicated())["key"].unique().to_list()
    if not keys:
        return []
    noted = place.con.execute("select 1 from raw.erasures where audit_run_id = ? limit 1", [run]).fetchone()
    rows = rows_of(place.con, source, KEYS[table], sealed_columns(place.con, table), keys[:MOST_BLANK])
    what = f"raw.{table}"
    return [
        Finding(
            "changed",
            place.where,
            what,
            named(row, KEYS[table]),
            "it was sealed again, but not as an erasure leaves it",
            run,
        )
        for row in rows
        if noted is None or not is_blank(what, row)
    ]


def _is_retired(con: Connection, run: str, table: str) -> bool:
    """Whether a table's rows were moved to the archive and not landed again since."""
    moved = con.execute(
        "select 1 from raw.retirements where audit_run_id = ? and table_name = ? limit 1", [run, table]
    ).fetchone()
    query = f"select 1 from raw.{table} where audit_run_id = ? limit 1"  # noqa: S608 - ours
    return moved is not None and con.execute(query, [run]).fetchone() is None


def _archived(place: Place, run: str, table: str, looked: Looked) -> Selection | None:
    """A retired table's rows; None, and a finding, where their file is not there or cannot be read."""
    rows = place.con.execute(
        "select path, n_rows from raw.retirements where audit_run_id = ? and table_name = ? order by retired_at desc limit 1",
        [run, table],
    ).fetchall()
    path, n_rows = rows[0]
    looked.n_retired += n_rows
    file = place.warehouse.places.archive.parent / path
    if not file.resolve().is_relative_to(place.warehouse.places.archive.resolve()):
        looked.findings.append(Finding("broken", place.where, "file", str(path), "it is not in the archive", run))
        return None
    source = replace(of_file(file), column="audit_run_id", value=run)
    if not file.is_file():
        looked.findings.append(
            Finding("gone", place.where, "file", str(path), f"the archive of {n_rows} retired rows", run)
        )
        return None
    try:
        columns_of(place.con, source)
    except DatabaseError:
        looked.findings.append(Finding("broken", place.where, "file", str(path), "it is no Parquet file any more", run))
        return None
    return source


def _differences(  # noqa: PLR0913 - what is held against what
    place: Place, run: str, table: str, source: Selection, covered: pl.DataFrame, other: Place | None
) -> list[Finding]:
    con, key, what = place.con, KEYS[table], f"raw.{table}"
    columns_at = {
        found.seal_index: tuple(found.held["raw"].get(table, {}).get("columns", ())) for found in place.seals_of(run)
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
    found = []
    for row in rows(con, source, changed):
        before = old.get(row["key_digest"], row)
        differing = [name for name in own if before[name] != row[name]]
        detail = f"column {', '.join(differing)}" if differing else ""
        found.append(Finding("changed", place.where, what, named(row, key), detail, run))
    if changed.height > MOST:
        found.append(Finding("changed", place.where, what, "", f"and {changed.height - MOST:,} rows more", run))
    known = [old[digest] for digest in gone["key"].to_list() if digest in old]
    found += [Finding("gone", place.where, what, named(row, key), "", run) for row in known]
    if unknown := gone.height - len(known):
        found.append(
            Finding("gone", place.where, what, "", f"{unknown:,} rows that no copy has, or more than are named", run)
        )
    again = {named(row, key) for row in rows(con, source, twice)}
    found += [
        Finding("added", place.where, what, each, "it stands there more than once", run) for each in sorted(again)
    ]
    is_open = con.execute("select state from raw.audit_runs where audit_run_id = ?", [run]).fetchone() == ("running",)
    kind: Kind = "unsealed" if (table in AFTERWARDS and not place.is_copy) or is_open else "added"
    if added.height > MOST:
        found.append(Finding(kind, place.where, what, "", f"and {added.height - MOST:,} rows more", run))
    return found + [Finding(kind, place.where, what, named(row, key), "", run) for row in rows(con, source, added)]


def rows_of(
    con: Connection, rows: Selection, key: Sequence[str], columns: Sequence[str], keys: Sequence[int]
) -> list[dict[str, Any]]:
    """Returns those of the rows whose keys have these digests, which stand in `key_digest`."""
    if not keys:
        return []
    names = ", ".join(f'"{name}"' for name in dict.fromkeys([*key, *columns]))
    found = con.execute(
        f"select {names}, md5_number_upper({netstrings(key)}) as key_digest from (from {rows.sql}) "  # noqa: S608 - names of ours
        f"where list_contains($keys::ubigint[], md5_number_upper({netstrings(key)})) order by all",
        {**rows.values, "keys": list(keys)},
    )
    heads = [column[0] for column in found.description or ()]
    return [dict(zip(heads, row, strict=True)) for row in found.fetchall()]
