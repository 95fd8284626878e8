"""Where the same rows stand: the warehouse, its published copy, and the Parquet files of its marts."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from flows.digests import NO_ROWS, table_sha256
from flows.seal import Seal
from flows.warehouse import Connection, parquet_source


@dataclass(frozen=True, slots=True)
class Place:
    """Tables of a warehouse, or the Parquet files of its marts in `folder`, which `con` reads.

    `warehouse` is the one whose archive holds retired rows; `counts` are rows of raw by run and table; `marts` gives the
    column that says whose run a mart's row is.
    """

    where: str
    con: Connection
    warehouse: Path
    chain: list[Seal]
    marts: dict[str, str]
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    folder: Path | None = None
    is_copy: bool = False  # published: only ever written sealed
    only: str | None = None  # the one run that is looked at
    _sums: dict[tuple[str, tuple[str, ...]], dict[str, tuple[int, str]]] = field(default_factory=dict)

    def seals_of(self, run: str) -> list[Seal]:
        """A run's part of the chain."""
        return [found for found in self.chain if found.audit_run_id == run]

    def source(self, mart: str, run: str) -> str | None:
        """SQL of a mart's rows; None where it is not there."""
        if self.folder is None:
            return f'marts."{mart}"' if mart in self.marts else None
        path = self.folder / mart / f"audit_run_id={run}" / "data.parquet"
        return parquet_source(path) if path.is_file() else None

    def rows(self, mart: str, run: str) -> str:
        """SQL for which rows are a run's: a file holds no others."""
        return f"{self.marts[mart]} = '{run}'" if self.folder is None and mart in self.marts else "true"

    def sum_of(self, mart: str, run: str, columns: tuple[str, ...]) -> tuple[int, str]:
        """How many rows of a mart a run has here, and the sha256 over them; those of all runs are counted at once."""
        source = self.source(mart, run)
        if source is None:
            return NO_ROWS
        if self.folder is not None:
            return table_sha256(self.con, source, "true", columns).get("", NO_ROWS)
        if (mart, columns) not in self._sums:
            where = "true" if self.only is None else self.rows(mart, self.only)
            self._sums[mart, columns] = table_sha256(self.con, source, where, columns, by=self.marts[mart])
        return self._sums[mart, columns].get(run, NO_ROWS)
