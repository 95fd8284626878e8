"""Selects the rows of a table or a file for a query: names stand in its SQL, values are bound."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Rows of a relation: all of them, or only rows whose `column` is `value`.

    relation: a table of ours, or a table function of ours that reads `file`.
    """

    relation: str
    column: str | None = None
    value: str | None = None
    file: str | None = None

    @property
    def sql(self) -> str:
        """Writes the text after a `from`; its values have to be bound."""
        return self.relation if self.column is None else f"{self.relation} where {self.column} = $value"

    @property
    def values(self) -> dict[str, str]:
        """Gives the values of the names in `sql`."""
        named = {"value": self.value if self.column is not None else None, "file": self.file}
        return {name: value for name, value in named.items() if value is not None}


def of_run(table: str, audit_run_id: str) -> Selection:
    """Selects a run's rows of a table."""
    return Selection(relation=table, column="audit_run_id", value=audit_run_id)


def of_file(path: Path) -> Selection:
    """Selects the rows of one Parquet file. Its name is no pattern, and the folders it lies in are no columns."""
    return Selection(relation="read_parquet($file, hive_partitioning = false)", file=_unpatterned(path))


def of_files(mart: Path, audit_run_id: str | None = None) -> Selection:
    """Selects the rows of a mart's Parquet files, of all runs or of one; column `filename` says whose a row is.

    A column that some of them lack is NULL there; types are the first file's.
    """
    relation = "read_parquet($file, hive_partitioning = false, filename = true, union_by_name = true)"
    return Selection(relation=relation, file=f"{_unpatterned(mart)}/audit_run_id={audit_run_id or '*'}/data.parquet")


def _unpatterned(path: Path) -> str:
    return re.sub(r"([*?\[])", r"[\1]", str(path))
