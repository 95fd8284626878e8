"""Compares the landed rows of a run with its seals, in the warehouse or a copy.

Retired rows are read in their archive.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

import polars as pl

from promptaudit.evidence.blanks import is_blank
from promptaudit.evidence.verify.checks import Check, Finding, Kind
from promptaudit.evidence.verify.copies import Place
from promptaudit.evidence.verify.rows import Rows, differing, named
from promptaudit.marts.digests import WORDS
from promptaudit.marts.seal import FAILED, NOTHING, SEALED, Entries, Seal, covered_rows, sealed_columns
from promptaudit.registry.errors import BrokenFile
from promptaudit.warehouse.duckdb_file import Connection, first_row
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
"""Tables that get rows about a run after it is closed. A row that no seal has yet is no sign of tampering there."""
MOST_BLANK = 100_000  # of the rows of a table that an erasure left, how many are looked at


def row_checks(check: Check, *, place: Place, other: Place | None, counts: Counter[str]) -> Iterator[Check]:
    """Checks that every row that a run's seals cover is there as it was sealed, and that there is no other.

    `other` is a place in which rows that differ are looked up, to say which they are and what of them changed. `counts`
    gets the number of rows that an erasure rewrote.
    """
    run = str(check.audit_run_id)
    newest, retired = place.seals_of(run)[-1].entries, place.retired(run)
    yield check.part(explain=partial(_state, sealed=newest, con=place.con))
    for table in SEALED:
        if table in place.counts.get(run, ()) or table in newest["raw"]:
            explain = partial(_table, place=place, table=table, other=other, counts=counts, retired=retired)
            yield check.part(what=f"raw.{table}", which="", explain=explain)


def _state(check: Check, *, sealed: Entries, con: Connection) -> Iterator[Finding]:
    run = check.audit_run_id
    row = first_row(con, "select state, finished_at from raw.audit_runs where audit_run_id = ?", [run])
    if sealed["state"] is None or row is None:
        return
    state, finished_at = row[0], None if row[1] is None else row[1].isoformat()
    if (state, finished_at) == (sealed["state"], sealed["finished_at"]):
        return
    if state == "running":
        detail = f"it was sealed {sealed['state']} and is running again: `promptaudit run` finishes it"
        yield check.found("unsealed", detail=detail)
    else:
        detail = f"state or finished_at is not what was sealed ({sealed['state']}, {sealed['finished_at']})"
        yield check.part(what="raw.audit_runs").found("changed", f"audit_run_id={run}", detail)


def _table(
    check: Check,
    *,
    place: Place,
    table: str,
    other: Place | None,
    counts: Counter[str],
    retired: Mapping[str, tuple[str, int]],
) -> Iterator[Finding | Check]:
    # first its lists of digests, then its rows; of several digests of a key the newest holds
    run, chain = str(check.audit_run_id), place.seals_of(str(check.audit_run_id))
    of_digests = check.part(what="raw.row_digests")
    query = "select seal_index, digests from raw.row_digests where audit_run_id = ? and table_name = ?"
    kept = {
        at: hashlib.sha256(content).hexdigest() for at, content in place.con.execute(query, [run, table]).fetchall()
    }
    sealed = {seal.seal_index: seal.entries["raw"].get(table) for seal in chain}
    wanted = {at: each["sha256"] for at, each in sealed.items() if each and each["n_new"]}
    for at in sorted(wanted.keys() | kept.keys()):
        if wanted.get(at) != kept.get(at):
            kind: Kind = "gone" if at not in kept else "changed" if at in wanted else "added"
            yield of_digests.found(kind, f"seal_index={at}, table_name={table}")
            return
    is_kept = table == "predictions" and FAILED in retired
    covered = covered_rows(place.con, run, table, _archived(place, run, retired[FAILED][0]) if is_kept else None)
    again = covered.filter(pl.col("key").is_duplicated())  # an erasure rewrote it, or its error was kept apart
    newest = covered.sort("seal_index").unique(subset="key", keep="last", maintain_order=True)
    counts["n_erased"] += covered.height - newest.height
    first = pl.col("seal_index").min().over("key")
    later = set(again.filter(pl.col("seal_index") > first)["seal_index"])
    if later - {seal.seal_index for seal in chain if seal.reason == "erased" or _keeps_errors(seal, table)}:
        yield of_digests.found("broken", f"table_name={table}", "a row is sealed twice")
    rows = of_run(check.what, run)
    if newest.height and table in retired:
        path, n_rows = retired[table]
        archived = _archived(place, run, path)
        if archived is None:
            yield check.part(what="file").found("gone", path, f"the archive of {n_rows} retired rows")
            return
        rows, check = archived, check.part(where=f"the archive of {place.where}", which=path)
    columns = {at: () if each is None else tuple(each["columns"]) for at, each in sealed.items()}
    explain = partial(_rows, place=place, table=table, rows=rows, other=other, columns=columns, covered=newest)
    yield check.part(explain=partial(_blank, place=place, table=table, rows=rows, keys=again["key"].unique()))
    yield check.part(explain=explain)


def _keeps_errors(seal: Seal, table: str) -> bool:
    # the seal adds errors whose cells were asked again: rows as they stood in raw.predictions
    failed = seal.entries["raw"].get(FAILED)
    return table == "predictions" and failed is not None and failed["n_new"] > 0


def _archived(place: Place, run: str, path: str) -> Selection | None:
    # None if the file is not there
    archive = place.warehouse.places.archive
    file = archive.parent / path
    if not file.resolve().is_relative_to(archive.resolve()):
        msg = f"{path} is not in the archive"
        raise BrokenFile(msg)
    return replace(of_file(file), column="audit_run_id", value=run) if file.is_file() else None


def _blank(check: Check, *, place: Place, table: str, rows: Selection, keys: pl.Series) -> Iterator[Finding]:
    # a row that was sealed again must be as an erasure leaves it, and the erasure must be noted
    noted = first_row(place.con, "select 1 from raw.erasures where audit_run_id = ? limit 1", [check.audit_run_id])
    there = Rows(place.con, rows, TABLES[table].key)
    for row in there.having(keys.head(MOST_BLANK), sealed_columns(place.con, table)):
        if noted is None or not is_blank(f"raw.{table}", row):
            yield check.found("changed", named(row, there.key), "it was sealed again, but not as an erasure leaves it")


def _rows(
    check: Check,
    *,
    place: Place,
    table: str,
    rows: Selection,
    other: Place | None,
    columns: dict[int, tuple[str, ...]],
    covered: pl.DataFrame,
) -> Iterable[Finding]:
    recorded: dict[tuple[str, ...], pl.DataFrame] = {}
    for at in covered["seal_index"].unique():
        of_seal = covered.filter(pl.col("seal_index") == at).select(WORDS)
        recorded[columns[at]] = pl.concat([recorded.get(columns[at], NOTHING), of_seal])
    run, key = str(check.audit_run_id), TABLES[table].key
    old = None if other is None else Rows(other.con, of_run(f"raw.{table}", run), key)
    is_open = first_row(place.con, "select state from raw.audit_runs where audit_run_id = ?", [run])
    is_waiting = (table in AFTERWARDS and not place.is_copy) or is_open == ("running",)
    own = sealed_columns(place.con, table)
    added: Kind = "unsealed" if is_waiting else "added"
    return differing(check, Rows(place.con, rows, key), recorded, old, columns=own, added=added)
