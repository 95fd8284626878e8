"""Seals the rows of a run: a hash of every row it landed and of its marts, chained to the seal before it.

A seal is made when a run is published. It covers the rows landed since the run's last seal, so that the contents of an
earlier seal can still be checked. Anyone who can write the warehouse could make the whole chain again. A copy of a seal
kept elsewhere (the report and the message print it) proves more than the order, and so does the signature of somebody
whose key is not theirs.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Collection
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, TypedDict

import polars as pl

from promptaudit.marts.digests import (
    NO_ROWS,
    WORDS,
    columns_of,
    digests,
    has_rows,
    packed,
    table_sha256,
    unpacked,
)
from promptaudit.marts.manifest import made_by
from promptaudit.marts.signature import MOST_BYTES, sign
from promptaudit.system.clock import now
from promptaudit.system.keys import as_json, sha256_of
from promptaudit.system.settings import Settings
from promptaudit.warehouse.duckdb_file import Connection, first_row
from promptaudit.warehouse.figure_names import grains
from promptaudit.warehouse.insert import insert_new
from promptaudit.warehouse.raw_tables import TABLES
from promptaudit.warehouse.rows import frame_of
from promptaudit.warehouse.selection import Selection, of_run

OWN = ("seals", "row_digests", "not_derived", "publications")
"""Tables that no seal covers: the seals' own, one that each build makes again, and the journal of publications."""
SEALED = tuple(table for table in TABLES if table not in OWN)
MUTABLE = {"audit_runs": ("state", "finished_at")}
"""Columns of audit_runs that change during a run. They are part of the manifest and left out of the row's digest."""
OF_RUNS, OF_CANDIDATES, OF_COMPARISONS = "audit_run_id", "candidate_run_id", "comparison_id"
IN_FILES = ("dim_baselines", "dim_nights", "rpt_latest", "rpt_not_derived")
"""Views that readers of Parquet need to choose runs: nights, pinned runs, each audit's newest scorecard."""
FAILED = "failed_predictions"
"""The table that a row of raw.predictions moves to, unchanged, when its cell is asked again under the same id."""
BY_COMPARING = "staging.stg_comparisons"
"""The view that a build of comparisons creates."""


class SealedRows(TypedDict):
    """The entry of a manifest for the rows of a run, or of a comparison, in a table.

    `sha256` is None in the entry of a table to which the seal adds no rows.
    """

    n_rows: int
    sha256: str | None
    columns: list[str]


class SealedTable(SealedRows):
    """The entry of a manifest for a run's rows in a table of raw. `n_new` is the number of rows that the seal adds."""

    n_new: int


class Entries(TypedDict):
    """The entries of a manifest: rows by table, comparisons by their id, and views with the hash of their SQL."""

    state: str | None
    finished_at: str | None
    raw: dict[str, SealedTable]
    marts: dict[str, SealedRows]
    comparisons: dict[str, dict[str, SealedRows]]
    views: dict[str, str]
    views_by: str | None
    derived_at: str | None
    derived_by: dict[str, str] | None
    schema_versions: list[list[Any]]


EMPTY: Entries = {
    "state": None,
    "finished_at": None,
    "raw": {},
    "marts": {},
    "comparisons": {},
    "views": {},
    "views_by": None,
    "derived_at": None,
    "derived_by": None,
    "schema_versions": [],
}
"""The entries of a run without a seal."""
NOTHING = pl.DataFrame(
    {"row_high": [], "row_low": [], "key": []}, schema=dict.fromkeys(("row_high", "row_low", "key"), pl.UInt64())
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seal:
    """A seal as it landed. The hash is over `manifest`, which is kept as text."""

    audit_run_id: str
    seal_index: int
    reason: str
    manifest: str
    previous_seal: str | None
    seal: str
    sealed_at: datetime

    @property
    def entries(self) -> Entries:
        """Parses the entries of the manifest."""
        return _read(self.manifest)


@functools.lru_cache(maxsize=256)
def _read(manifest: str) -> Entries:
    entries: Entries = json.loads(manifest)
    return EMPTY | entries


def seal_of(row: Seal) -> str:
    """Computes the hash that a seal's row should have."""
    return sha256_of(
        row.previous_seal,
        str(row.seal_index),
        row.audit_run_id,
        row.reason,
        row.sealed_at.isoformat(),
        row.manifest,
    )


def seals(con: Connection, audit_run_id: str | None = None) -> list[Seal]:
    """Reads the chain in order, or one run's part of it."""
    rows = con.execute(
        "select audit_run_id, seal_index, reason, manifest, previous_seal, seal, sealed_at from raw.seals "
        "where audit_run_id = coalesce($run, audit_run_id) order by seal_index",
        {"run": audit_run_id},
    ).fetchall()
    return [Seal(**dict(zip(Seal.__slots__, row, strict=True))) for row in rows]


def signatures(con: Connection) -> dict[int, str]:
    """Maps the index of each signed seal to its signature."""
    if "signature" not in columns_of(con, Selection(relation="raw.seals")):  # an earlier version signed none
        return {}
    return dict(
        con.execute(
            f"select seal_index, signature::varchar from raw.seals where strlen(signature::varchar) < {MOST_BYTES}"  # noqa: S608
        ).fetchall()
    )


def has_seals(con: Connection) -> bool:
    """Checks whether a file has the table of seals, which somebody may have dropped."""
    there = "select 1 from information_schema.tables where table_schema = 'raw' and table_name = 'seals'"
    return bool(con.execute(there).fetchall())


def marts(con: Connection) -> dict[str, str]:
    """Maps each mart that is a table here to the column that holds the run of a row."""
    tables = con.execute(
        "select table_name from information_schema.tables "
        "where table_schema = 'marts' and table_type = 'BASE TABLE' order by all"
    ).fetchall()
    return {name: OF_CANDIDATES if compares(name) else OF_RUNS for (name,) in tables if name in grains()}


def views_in_files(con: Connection) -> list[str]:
    """Lists the marts that are views here and are also published as a file; each file holds all runs together."""
    there = views(con)
    return [view for view in IN_FILES if f"marts.{view}" in there]


def compares(mart: str) -> bool:
    """Checks whether a mart compares runs with each other. Each comparison in it is sealed by itself."""
    return OF_COMPARISONS in grains().get(mart, ())


def views(con: Connection) -> dict[str, str]:
    """Maps each view to the sha256 of its SQL."""
    rows = con.execute(
        "select schema_name || '.' || view_name, sql from duckdb_views() where not internal and not temporary order by all"
    ).fetchall()
    return {name: sha256_of(sql) for name, sql in rows}


def schema_versions(con: Connection) -> list[list[Any]]:
    """Lists the versions of schema raw that the file has had, with the time of each."""
    rows = con.execute("select version, applied_at::varchar from raw.schema_versions order by all").fetchall()
    return [list(row) for row in rows]


def row_counts(con: Connection) -> dict[str, dict[str, int]]:
    """Counts the rows of each run in each table of raw that seals cover."""
    parts = [
        f"select audit_run_id, '{table}' as name, count(*) from raw.{table} group by all"  # noqa: S608 - ours
        for table in SEALED
        if table != FAILED or _has_failed(con)
    ]
    counts: dict[str, dict[str, int]] = {}
    for run, table, n in con.execute(" union all ".join(parts)).fetchall():
        counts.setdefault(run, {})[table] = n
    return counts


def seal_runs(
    con: Connection, derived: Collection[str] = (), compared: Collection[str] = (), erased: Collection[str] = ()
) -> None:
    """Seals, in one transaction, each run that is not running and has rows, a state or marts that no seal covers.

    `derived` are runs whose marts are new, except for comparisons, which `compared` names. `erased` are runs whose rows
    were rewritten without their texts; only a seal with that reason may do this to rows that an earlier one covers.
    Everything else stays sealed as it was, whatever was done to it since.
    """
    chain = seals(con)
    last = {seal.audit_run_id: seal for seal in chain}
    states = {
        run: (audit, state, None if at is None else at.isoformat())
        for run, audit, state, at in con.execute(
            "select audit_run_id, audit_id, state, finished_at from raw.audit_runs"
        ).fetchall()
    }
    new_comparisons: dict[str, set[str]] = {}
    for run, comparison_id in con.execute(
        "select candidate_run_id, comparison_id from raw.comparisons where list_contains($ids, comparison_id)",
        {"ids": list(compared)},
    ).fetchall():
        new_comparisons.setdefault(run, set()).add(comparison_id)
    of_views = _views_as_sealed(con, chain, has_built=bool(derived), has_compared=bool(compared))
    con.execute("begin")
    for run, n_rows in sorted(row_counts(con).items()):
        audit_id, state, finished_at = states.get(run, (None, None, None))  # rows without a run: a night that had none
        if state == "running" and run not in erased:
            continue
        before = last.get(run)
        entries = EMPTY if before is None else before.entries
        has_more = any(n > n_sealed(entries, table) for table, n in n_rows.items())
        if run in erased:
            reason = "erased"
        elif before is None or state != entries["state"]:
            reason = state or "landed"
        elif has_more:
            reason = "landed"
        elif run in derived or run in new_comparisons:
            reason = "derived"
        else:
            continue
        head = {"audit_id": audit_id, "state": state, "finished_at": finished_at, **of_views}
        head |= {"schema_versions": schema_versions(con)}
        head |= {"derived_at": finished_at if run in derived else entries["derived_at"]}
        head |= {"derived_by": made_by() if run in derived else entries["derived_by"]}
        of_run, comparisons = entries["marts"], entries["comparisons"]
        # the first seal has them, no matter who derived them and when
        if state is not None and (before is None or run in derived or run in erased):
            of_run = _entries(con, OF_RUNS, run)
        new = new_comparisons.get(run, set()) | (set(comparisons) if run in erased else set())
        comparisons = comparisons | {each: _entries(con, OF_COMPARISONS, each) for each in sorted(new)}
        _seal(con, run, reason, {**head, "marts": of_run, "comparisons": comparisons}, entries, n_rows)
    con.execute("commit")


def n_sealed(entries: Entries, table: str) -> int:
    """Gives how many rows of a table of raw a run had when it was sealed."""
    return entries["raw"][table]["n_rows"] if table in entries["raw"] else 0


def _views_as_sealed(con: Connection, chain: list[Seal], *, has_built: bool, has_compared: bool) -> dict[str, Any]:
    # which project made the views is known only after a build of all; comparing recreates one of them
    if has_built or not chain:
        return {"views": views(con), "views_by": made_by()["dbt_project"] if has_built else None}
    known, there = chain[-1].entries, views(con)
    remade = {name: there[name] for name in (BY_COMPARING,) if has_compared and name in there}
    return {"views": known["views"] | remade, "views_by": known["views_by"]}


def _entries(con: Connection, column: str, value: str) -> dict[str, SealedRows]:
    entries: dict[str, SealedRows] = {}
    for mart in marts(con):
        if compares(mart) == (column == OF_COMPARISONS):
            rows = Selection(relation=f"marts.{mart}", column=column, value=value)
            names = columns_of(con, rows)
            # most marts of a small run are empty, and a digest's query is planned longer than a look takes
            n_rows, sha256 = table_sha256(con, rows, names).get("", NO_ROWS) if has_rows(con, rows) else NO_ROWS
            entries[mart] = {"n_rows": n_rows, "sha256": sha256, "columns": list(names)}
    return entries


def _seal(
    con: Connection, run: str, reason: str, head: dict[str, Any], entries: Entries, n_rows: dict[str, int]
) -> None:
    covered: dict[str, SealedTable] = {
        table: {**known, "n_new": 0, "sha256": None} for table, known in entries["raw"].items()
    }
    added = {}
    were_asked_again = n_rows.get(FAILED, 0) > n_sealed(entries, FAILED)
    for table, n in n_rows.items():
        is_replaced = table == "predictions" and were_asked_again
        if n <= n_sealed(entries, table) and reason != "erased" and not is_replaced:
            continue
        new, n_covered = _uncovered(con, run, table, is_rewritten=reason == "erased")
        added[table] = packed(new)
        covered[table] = {
            "n_rows": n_covered,
            "n_new": new.height,
            "columns": list(sealed_columns(con, table)),
            "sha256": hashlib.sha256(added[table]).hexdigest(),
        }
    chain = first_row(con, "select seal_index, seal from raw.seals order by seal_index desc limit 1")
    index, previous = (0, None) if chain is None else chain
    manifest = as_json({**head, "raw": covered, **made_by()})
    seal = Seal(
        audit_run_id=run,
        seal_index=index + 1,
        reason=reason,
        manifest=manifest,
        previous_seal=previous,
        seal="",
        sealed_at=now(),
    )
    own, key = seal_of(seal), Settings().sign_key
    row = {**asdict(seal), "seal": own, "signature": None if key is None else sign(own, key)}
    insert_new(con, "seals", frame_of("seals", [row]))
    rows = [
        {"audit_run_id": run, "seal_index": index + 1, "table_name": table, "digests": content}
        for table, content in added.items()
        if content
    ]
    insert_new(con, "row_digests", frame_of("row_digests", rows))


def sealed_columns(con: Connection, table: str) -> tuple[str, ...]:
    """Lists the columns of a raw table that are part of a row's digest."""
    return tuple(
        name for name in columns_of(con, Selection(relation=f"raw.{table}")) if name not in MUTABLE.get(table, ())
    )


def covered_rows(con: Connection, run: str, table: str, retired: Selection | None = None) -> pl.DataFrame:
    """Reads the digests of every row that the seals of a run cover, with the index of the seal in column `seal_index`.

    It leaves out rows of raw.predictions that stand unchanged in raw.failed_predictions, or were retired from it
    (`retired`).
    """
    rows = con.execute(
        "select seal_index, digests from raw.row_digests where audit_run_id = ? and table_name = ? order by seal_index",
        [run, table],
    ).fetchall()
    frames = [unpacked(content).with_columns(seal_index=pl.lit(index, pl.Int64())) for index, content in rows]
    covered = pl.concat([NOTHING.with_columns(seal_index=pl.lit(0, pl.Int64())).clear(), *frames])
    if table != "predictions" or not _has_failed(con):
        return covered
    failed = digests(con, retired or of_run(f"raw.{FAILED}", run), sealed_columns(con, table), TABLES[table].key)
    return covered.join(failed, on=list(WORDS), how="anti")


def _has_failed(con: Connection) -> bool:
    # a copy by an earlier version has no such table
    there = "select 1 from information_schema.tables where table_schema = 'raw' and table_name = $name"
    return bool(con.execute(there, {"name": FAILED}).fetchall())


def _uncovered(con: Connection, run: str, table: str, *, is_rewritten: bool) -> tuple[pl.DataFrame, int]:
    # rows that no seal covers (rewritten ones too, if `is_rewritten`), and how many keys are covered once these are
    # sealed. A row is held against the columns of its own seal: a table may have more by now
    own, rows, key = sealed_columns(con, table), of_run(f"raw.{table}", run), TABLES[table].key
    current, before = digests(con, rows, own, key), covered_rows(con, run, table)
    fresh = current.join(before, on="key", how="anti")
    n_covered = before["key"].n_unique() + fresh.height
    if not is_rewritten:
        return fresh, n_covered
    stand = [NOTHING.select("key")]
    seals_by_columns: dict[tuple[str, ...], list[int]] = {}
    for seal in seals(con, run):
        if table in seal.entries["raw"]:
            columns = tuple(seal.entries["raw"][table]["columns"])
            seals_by_columns.setdefault(columns, []).append(seal.seal_index)
    for columns, indexes in seals_by_columns.items():
        if set(columns) <= set(own):
            now_there = current if columns == own else digests(con, rows, columns, key)
            of_seals = before.filter(pl.col("seal_index").is_in(indexes))
            stand.append(now_there.join(of_seals, on=list(WORDS), how="semi").select("key"))
    return current.join(pl.concat(stand), on="key", how="anti"), n_covered
