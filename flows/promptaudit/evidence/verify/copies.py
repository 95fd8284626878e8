"""Reads the places that hold the same rows: the warehouse, its published copy, and the Parquet files of its marts."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from promptaudit.marts.digests import NO_ROWS, columns_of, table_sha256
from promptaudit.marts.seal import OF_CANDIDATES, OF_COMPARISONS, Seal
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.duckdb_file import Connection, first_row
from promptaudit.warehouse.selection import Selection, of_file, of_files

Sums = dict[str, tuple[int, str]]
"""Number of rows and sha256, by what the rows were grouped by."""
_SCHEMAS = """
select count(distinct columns) from (
    select list((name, type, converted_type, logical_type, scale, precision, num_children) order by column_id) as columns
    from parquet_schema($file) group by file_name
)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The tables of a warehouse, or the Parquet files of its marts in `folder`. `con` reads either.

    `warehouse` is the one whose archive holds retired rows. `counts` has the number of rows of raw by run and table.
    `marts` has for each mart the column that says whose run a row is.
    """

    where: str
    con: Connection
    warehouse: Warehouse
    chain: list[Seal]
    marts: dict[str, str]
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    folder: Path | None = None
    is_copy: bool = False  # the published copy: all that is written there is sealed
    is_same: bool = False  # has the same bytes as the warehouse's file
    only: str | None = None  # the one run that is looked at
    _known: dict[object, Any] = field(default_factory=dict, init=False)

    def seals_of(self, run: str) -> list[Seal]:
        """Picks a run's seals out of the chain."""
        return [seal for seal in self.chain if seal.audit_run_id == run]

    def retired(self, run: str) -> dict[str, tuple[str, int]]:
        """Finds the tables whose rows of a run were moved to the archive and not landed again.

        Each comes with its file and number of rows.
        """
        query = (
            "select table_name, arg_max(path, retired_at), arg_max(n_rows, retired_at) from raw.retirements "
            "where audit_run_id = ? group by all"
        )
        moved = self.con.execute(query, [run]).fetchall()
        return {table: (path, n_rows) for table, path, n_rows in moved if table not in self.counts.get(run, ())}

    def source(self, mart: str, run: str) -> Selection | None:
        """Selects a mart's table, or the file with the run's rows of it. None if it is not there."""
        if self.folder is None:
            rows = Selection(relation=f'marts."{mart}"')
            of_one = rows if self.only is None else replace(rows, column=self.marts.get(mart), value=self.only)
            return of_one if mart in self.marts else None
        path = self._file(mart, run)
        return of_file(path) if path.is_file() else None

    def rows(self, mart: str, run: str, comparison: str | None = None) -> Selection | None:
        """Selects a run's rows of a mart, or the rows of one of its comparisons. None if the mart is not there."""
        source = self.source(mart, run)
        if source is None or (comparison is None and self.folder is not None):  # a file holds no other run's
            return source
        column, value = (self.marts[mart], run) if comparison is None else (OF_COMPARISONS, comparison)
        return replace(source, column=column, value=value)

    def comparisons(self, mart: str, run: str) -> set[str | None]:
        """Finds the comparisons that a mart has of a run. None among them stands for rows without a comparison's id."""
        source = self.source(mart, run)
        if source is None:
            return set()
        query = f"select distinct {OF_CANDIDATES}, {OF_COMPARISONS} from {source.sql}"  # noqa: S608 - ours
        rows = self._once(query, source, lambda: self.con.execute(query, source.values).fetchall())
        return {comparison for candidate, comparison in rows if candidate == run or self.folder is not None}

    def columns(self, mart: str) -> set[str]:
        """Collects the names of a mart's columns, in any of its files; empty if there is none, or one is broken."""
        if self.folder is None:
            return set(columns_of(self.con, Selection(relation=f'marts."{mart}"'))) if mart in self.marts else set()
        with suppress(Exception):  # a broken file is a finding of its run
            return set(columns_of(self.con, of_files(self.folder / mart, self.only))) - {"filename"}
        return set()

    def sum_of(self, mart: str, run: str, columns: tuple[str, ...], comparison: str | None = None) -> tuple[int, str]:
        """Counts the rows of a mart that a run, or a comparison of it, has here, and computes the sha256 over them."""
        source = self.source(mart, run)
        if source is None:
            return NO_ROWS
        if self.folder is None:
            by = self.marts[mart] if comparison is None else OF_COMPARISONS
            return self._sums(source, columns, by).get(comparison or run, NO_ROWS)
        by = "filename" if comparison is None else f"concat_ws(' ', filename, {OF_COMPARISONS})"
        name = f"{self._file(mart, run)}" if comparison is None else f"{self._file(mart, run)} {comparison}"
        # the files of all runs take as long as two of them; if one is broken or has other columns, each by itself
        of_all = self._once((by, columns), mart, lambda: self._of_all_files(mart, columns, by))
        sums = self._sums(of_files(self.folder / mart, run), columns, by) if of_all is None else of_all
        return sums.get(name, NO_ROWS)

    def _file(self, mart: str, run: str) -> Path:
        return Path(str(self.folder), mart, f"audit_run_id={run}", "data.parquet")

    def _of_all_files(self, mart: str, columns: tuple[str, ...], by: str) -> Sums | None:
        files = of_files(Path(str(self.folder), mart), self.only)
        with suppress(Exception):  # whatever its library likes
            (n_schemas,) = first_row(self.con, _SCHEMAS, files.values) or (0,)
            # files of other types would be read as of the first one's
            return table_sha256(self.con, files, columns, by) if n_schemas == 1 else None
        return None

    def _sums(self, source: Selection, columns: tuple[str, ...], by: str) -> Sums:
        sums: Sums = self._once((by, columns), source, lambda: table_sha256(self.con, source, columns, by))
        return sums

    def _once(self, what: object, source: object, read: Callable[[], Any]) -> Any:  # noqa: ANN401 - what it reads
        if (what, source) not in self._known:
            self._known[what, source] = read()
        return self._known[what, source]
