"""Where the same rows stand: the warehouse, its published copy, and the Parquet files of its marts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from promptaudit.marts.digests import NO_ROWS, table_sha256
from promptaudit.marts.seal import OF_CANDIDATES, OF_COMPARISONS, Seal
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.duckdb_file import Connection
from promptaudit.warehouse.selection import Selection, of_file


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Tables of a warehouse, or the Parquet files of its marts in `folder`, which `con` reads.

    `warehouse` is the one whose archive holds retired rows; `counts` are rows of raw by run and table; `marts` gives the
    column that says whose run a mart's row is.
    """

    where: str
    con: Connection
    warehouse: Warehouse
    chain: list[Seal]
    marts: dict[str, str]
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    folder: Path | None = None
    is_copy: bool = False  # published: only ever written sealed
    is_same: bool = False  # byte for byte the warehouse's file
    only: str | None = None  # the one run that is looked at
    _sums: dict[tuple[str, str, tuple[str, ...]], dict[str, tuple[int, str]]] = field(default_factory=dict, init=False)
    _comparisons: dict[str, dict[str, set[str | None]]] = field(default_factory=dict, init=False)  # by mart and run

    def seals_of(self, run: str) -> list[Seal]:
        """Returns a run's part of the chain."""
        return [seal for seal in self.chain if seal.audit_run_id == run]

    def source(self, mart: str, run: str) -> Selection | None:
        """Returns a mart's rows, of a file a run's alone; None where it is not there."""
        if self.folder is None:
            return Selection(relation=f'marts."{mart}"') if mart in self.marts else None
        path = self.folder / mart / f"audit_run_id={run}" / "data.parquet"
        return of_file(path) if path.is_file() else None

    def rows(self, mart: str, run: str, comparison: str | None = None) -> Selection | None:
        """Returns the rows that are a run's, or a comparison's of it; None where the mart is not there."""
        source = self.source(mart, run)
        if source is None or (comparison is None and self.folder is not None):  # a file holds no other run's
            return source
        column, value = (self.marts[mart], run) if comparison is None else (OF_COMPARISONS, comparison)
        return replace(source, column=column, value=value)

    def comparisons(self, mart: str, run: str) -> set[str | None]:
        """Returns the comparisons that a mart has of a run; None is one without its id."""
        source = self.source(mart, run)
        if source is None:
            return set()
        if self.folder is not None:
            query = f"select distinct {OF_COMPARISONS} from {source.sql}"  # noqa: S608 - ours
            return {row[0] for row in self.con.execute(query, source.values).fetchall()}
        if mart not in self._comparisons:
            by_run: dict[str, set[str | None]] = {}
            query = f"select distinct {OF_CANDIDATES}, {OF_COMPARISONS} from {source.sql}"  # noqa: S608 - ours
            for candidate, comparison in self.con.execute(query).fetchall():
                by_run.setdefault(candidate, set()).add(comparison)
            self._comparisons[mart] = by_run
        return self._comparisons[mart].get(run, set())

    def sum_of(self, mart: str, run: str, columns: tuple[str, ...], comparison: str | None = None) -> tuple[int, str]:
        """Returns how many rows of a mart a run, or a comparison of it, has here, and the sha256 over them."""
        source = self.source(mart, run)
        if source is None:
            return NO_ROWS
        if self.folder is not None:
            by = "''" if comparison is None else OF_COMPARISONS
            return table_sha256(self.con, source, columns, by).get(comparison or "", NO_ROWS)
        by = self.marts[mart] if comparison is None else OF_COMPARISONS
        if (mart, by, columns) not in self._sums:
            rows = (None if self.only is None else self.rows(mart, self.only)) or source
            self._sums[mart, by, columns] = table_sha256(self.con, rows, columns, by)
        return self._sums[mart, by, columns].get(comparison or run, NO_ROWS)
