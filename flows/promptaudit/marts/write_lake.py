"""Brings a lake up to the published copy in one transaction, so that a reader sees the whole of one publication."""

from __future__ import annotations

from pathlib import Path

from promptaudit.registry.errors import UsageError, WarehouseError
from promptaudit.warehouse.duckdb_file import Connection, rewrite
from promptaudit.warehouse.lake import Lake, attached, quoted, vacuum

SCHEMAS = ("raw", "marts")
KEPT_S = 3600
"""How long replaced files are kept, in seconds. A reader in mid-query needs them, and none may read for longer."""
PARTS = "lake.main.promptaudit_parts"
"""The lake's table of its parts: for each part of a table the number of rows and a digest of them."""


def write_lake(lake: Lake, copy: Path, *, is_erasure: bool = False) -> int:
    """Brings a lake up to a published copy, then removes older files; returns how many parts of tables changed.

    A part is the rows of a run or of a comparison, or a whole table that has neither. With `is_erasure` every table is
    written again, and nothing that was replaced is kept, not even in the catalog. Raises WarehouseError if the lake
    cannot be reached or written, and UsageError if it belongs to another warehouse: it stays as it was. After an
    erasure it also raises WarehouseError if files lie beside its data that the lake does not know.
    """
    copy = copy.absolute()
    with attached(lake, is_writer=True, also=[copy]) as con:
        con.execute(f"attach '{quoted(str(copy))}' as published (read_only)")
        _refuse_strangers(con, lake)
        con.execute("begin")
        n_changed = _Writer(con, is_erasure=is_erasure).write()
        con.execute("commit" if n_changed else "rollback")
        con.execute("detach published")
        if n_changed:
            _let_go(con, 0 if is_erasure else KEPT_S)
        unknown = _unknown_files(con) if is_erasure else []
    if is_erasure and lake.is_on_postgres:
        vacuum(lake)
    elif is_erasure:
        rewrite(Path(str(lake)))
    if unknown:
        msg = (
            f"the lake {lake}: {len(unknown)} files beside its data are of none of its tables, {unknown[0]} the first: they may "
            "quote what was erased, or be another lake's; remove them, or give each lake a folder of its own"
        )
        raise WarehouseError(msg)
    return n_changed


def _refuse_strangers(con: Connection, lake: Lake) -> None:
    # all runs of another warehouse's lake would be replaced
    tables = (
        "select 1 from duckdb_tables() where (database_name, schema_name, table_name) = ('lake', 'raw', 'audit_runs')"
    )
    if not con.execute(tables).fetchall():
        return
    counts = (
        "select count(*), count(*) filter (audit_run_id in (select audit_run_id from published.raw.audit_runs)) "
        "from lake.raw.audit_runs"
    )
    ((n_runs, n_known),) = con.execute(counts).fetchall()
    if n_runs and not n_known:
        msg = (
            f"the lake {lake} holds {n_runs} runs of another warehouse, which this publication would replace: name another in "
            "PROMPTAUDIT_LAKE"
        )
        raise UsageError(msg)


def _unknown_files(con: Connection) -> list[str]:
    # Parquet files below the lake's data that belong to none of its tables; they may be another lake's, so they stay
    return [
        str(path)
        for (path,) in con.execute(
            "from ducklake_delete_orphaned_files('lake', cleanup_all => true, dry_run => true)"
        ).fetchall()
    ]


class _Writer:
    # replaces the parts of a lake's tables that differ from the copy; names are the schema's and dbt's own
    def __init__(self, con: Connection, *, is_erasure: bool) -> None:
        self._con, self._is_erasure = con, is_erasure
        for schema in (*SCHEMAS, "main"):
            con.execute(f"create schema if not exists lake.{schema}")
        con.execute(f"create table if not exists {PARTS} (name varchar, part varchar, n bigint, digest varchar)")
        self._parts: dict[str, dict[str, tuple[int, str]]] = {}  # of each table
        for name, part, n, digest in con.execute(f"from {PARTS}").fetchall():
            self._parts.setdefault(name, {})[part] = (n, digest)

    def write(self) -> int:
        # returns how many parts changed
        tables = self._con.execute(
            "select table_schema, table_name from information_schema.tables "
            "where table_catalog = 'published' and list_contains($schemas, table_schema) order by all",
            {"schemas": list(SCHEMAS)},
        ).fetchall()
        names = [f'{schema}."{table}"' for schema, table in tables]
        gone_tables = set(self._parts) - set(names)
        for gone in gone_tables:
            self._con.execute(f"drop table if exists lake.{gone}")
            del self._parts[gone]
        n_changed = len(gone_tables) + sum(self._exchange(name) for name in names)
        if n_changed:
            self._keep_parts()
        return n_changed

    def _keep_parts(self) -> None:
        # written at once: deleting twice in a transaction leaves a file that no table knows
        self._con.execute(f"delete from {PARTS}")  # noqa: S608
        rows = [(name, part, *mark) for name, parts in self._parts.items() for part, mark in parts.items()]
        columns = {f"c{place}": [row[place] for row in rows] for place in range(4)}
        self._con.execute(f"insert into {PARTS} select unnest($c0), unnest($c1), unnest($c2), unnest($c3)", columns)

    def _exchange(self, name: str) -> int:
        source, target = f"published.{name}", f"lake.{name}"
        self._con.execute(f"create table if not exists {target} as from {source} limit 0")
        columns, there = self._columns(source), self._columns(target)
        before = self._parts.get(name, {})
        if self._is_erasure or there != columns:  # another version's
            self._con.execute(f"create or replace table {target} as from {source} limit 0")
            before = {}
        key = next((each for each in ("audit_run_id", "comparison_id") if each in dict(columns)), None)
        part = "''" if key is None else f"coalesce({key}, '')"
        digests = f"select {part}, count(*), bit_xor(hash(t))::varchar from {source} as t group by all"  # noqa: S608
        wanted = {part: (n, digest) for part, n, digest in self._con.execute(digests).fetchall()}
        new = [each for each, mark in wanted.items() if before.get(each) != mark]
        old = [each for each in before if each not in wanted or each in new]
        if old:
            self._con.execute(f"delete from {target} where list_contains($old, {part})", {"old": old})  # noqa: S608
        if new:
            insert = f"insert into {target} from {source} where list_contains($new, {part})"
            self._con.execute(insert, {"new": new})
        self._parts[name] = wanted
        return len({*old, *new})

    def _columns(self, table: str) -> list[tuple[str, str]]:
        return self._con.execute(f"select column_name, column_type from (describe {table})").fetchall()  # noqa: S608


def _let_go(con: Connection, kept_s: int) -> None:
    # merges small files, and removes snapshots and files that were replaced at least `kept_s` seconds ago
    is_all = kept_s == 0
    con.execute(f"call ducklake_rewrite_data_files('lake', delete_threshold => {0.0 if is_all else 0.3})")
    con.execute("call ducklake_merge_adjacent_files('lake')")
    older = f"older_than => now() - interval '{kept_s} seconds'"
    con.execute(f"call ducklake_expire_snapshots('lake', {older})")
    files = "cleanup_all => true" if is_all else older
    con.execute(f"call ducklake_cleanup_old_files('lake', {files})")
