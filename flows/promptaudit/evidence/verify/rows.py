"""Names the rows that differ from the recorded ones, without printing what they hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from promptaudit.evidence.blanks import is_blank
from promptaudit.evidence.verify.checks import MOST, Check, Finding, Kind
from promptaudit.marts.digests import WORDS, digests, netstrings
from promptaudit.marts.seal import NOTHING
from promptaudit.system.display.figures import cut
from promptaudit.warehouse.duckdb_file import Connection
from promptaudit.warehouse.selection import Selection

_WIDTH = 60


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows that a connection reads, and the columns that name a row."""

    con: Connection
    selection: Selection
    key: Sequence[str]

    def digests(self, columns: Sequence[str]) -> pl.DataFrame:
        """Computes the digest of each row over these columns."""
        return digests(self.con, self.selection, columns, self.key)

    def having(self, keys: pl.Series, columns: Sequence[str]) -> list[dict[str, Any]]:
        """Reads the rows whose keys have these digests. Each row has the digest of its key as `key_digest`."""
        if keys.is_empty():
            return []
        names = ", ".join(f'"{name}"' for name in dict.fromkeys([*self.key, *columns]))
        cursor = self.con.execute(
            f"select {names}, md5_number_upper({netstrings(self.key)}) as key_digest from (from {self.selection.sql}) "  # noqa: S608 - names of ours
            f"where list_contains($keys::ubigint[], md5_number_upper({netstrings(self.key)})) order by all",
            {**self.selection.values, "keys": keys.to_list()},
        )
        heads = [column[0] for column in cursor.description or ()]
        return [dict(zip(heads, row, strict=True)) for row in cursor.fetchall()]


def named(row: Mapping[str, Any], key: Sequence[str]) -> str:
    """Names a row by its key without its run: `model_id=lexical, strategy=simple`."""
    parts = [f"{name}={cut(str(row[name]), _WIDTH)}" for name in key if name != "audit_run_id"]
    return ", ".join(parts) or f"audit_run_id={row['audit_run_id']}"


def differing(
    check: Check,
    rows: Rows,
    recorded: Mapping[tuple[str, ...], pl.DataFrame],
    old: Rows | None,
    *,
    columns: tuple[str, ...],
    added: Kind = "added",
    tolerance: float | None = None,
) -> Iterator[Finding]:
    """Names the rows that are not as recorded, and the columns that differ from the row in `old`, if `old` is there.

    `recorded` has digests of rows by the columns that they are over; `columns` are the columns of today. Without a
    `tolerance` for floating point numbers, 99 rows of a kind are named and the rest is counted.
    """
    there = {each: rows.digests(each) for each in {columns, *recorded}}
    known = pl.concat([NOTHING, *(each.select(NOTHING.columns) for each in recorded.values())])
    lost = [each.join(there[own], on=list(WORDS), how="anti") for own, each in recorded.items()]
    lost_keys = pl.concat([NOTHING, *(each.select(NOTHING.columns) for each in lost)])
    now, most = there[columns], None if tolerance is not None else MOST - 1
    changed, gone = lost_keys.join(now, on="key", how="semi"), lost_keys.join(now, on="key", how="anti")
    more = now.join(known, on="key", how="anti")
    twice = now.filter(pl.col("key").is_duplicated()).unique(subset="key")  # no two rows may share a key
    before = {}
    with suppress(Exception):  # what cannot be read there is a finding of that place
        before = {row["key_digest"]: row for row in (old.having(_first(lost_keys, most), columns) if old else ())}
    for row in rows.having(_first(changed, most), columns):
        was = before.get(row["key_digest"], row)
        differs = [name for name in columns if was[name] != row[name]]
        if tolerance is None or was is row or not all(_are_close(was[name], row[name], tolerance) for name in differs):
            detail = f"column {', '.join(differs)}" if differs else ""
            found = check.found("changed", named(row, rows.key), detail)
            yield replace(found, is_blank=is_blank(check.what, row))
    whose = [before[digest] for digest in gone["key"].to_list() if digest in before]
    for row in whose:
        yield check.found("gone", named(row, rows.key), "")
    if unknown := gone.height - len(whose):
        yield check.found("gone", "", f"{unknown:,} rows that no copy has, or more than are named")
    for name in sorted({named(row, rows.key) for row in rows.having(_first(twice, MOST), columns)}):
        yield check.found("added", name, "it stands there more than once")
    for row in rows.having(_first(more, most), columns):
        yield check.found(added, named(row, rows.key), "")
    kinds: tuple[tuple[Kind, pl.DataFrame], ...] = (("changed", changed), (added, more))
    for kind, frame in kinds:
        if most is not None and frame.height > most:
            more_rows = rows.having(frame["key"].slice(most), columns) if kind == "changed" else ()
            are_blank = bool(more_rows) and all(is_blank(check.what, row) for row in more_rows)
            yield replace(check.found(kind, "", f"and {frame.height - most:,} rows more"), is_blank=are_blank)


def _first(rows: pl.DataFrame, most: int | None) -> pl.Series:
    return rows["key"] if most is None else rows["key"].head(most)


def _are_close(one: Any, other: Any, tolerance: float) -> bool:  # noqa: ANN401 - values of any column
    # the order of a sum changes the last digits of a floating point number
    return isinstance(one, float) and isinstance(other, float) and abs(one - other) <= tolerance
