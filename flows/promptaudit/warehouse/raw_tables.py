"""Parses the tables of schema raw from `schema.sql`: columns, key, and the columns that are never NULL."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

SCHEMA_SQL = Path(__file__).with_name("schema.sql").read_text(encoding="utf-8")

_TABLE = re.compile(
    r"^-- one row per ([\w, ]+)\ncreate table if not exists raw\.(\w+) \(\n(.*?)\n\);", re.MULTILINE | re.DOTALL
)
_COLUMN = re.compile(r"^    (\w+) ([\w\[\]]+)( not null)?", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class RawTable:
    """A table of schema raw.

    sql_types: the type of each column, in order.
    key: the columns that identify a row, the run's first.
    required: the columns that are never NULL.
    """

    sql_types: Mapping[str, str]
    key: tuple[str, ...]
    required: tuple[str, ...]

    @cached_property
    def columns(self) -> dict[str, pl.DataType]:
        """Gives the type of each column in a frame."""
        import polars as pl  # most commands have no frame

        types: dict[str, pl.DataType] = {
            "varchar": pl.String(),
            "integer": pl.Int32(),
            "bigint": pl.Int64(),
            "double": pl.Float64(),
            "boolean": pl.Boolean(),
            "timestamp": pl.Datetime("us"),
            "blob": pl.Binary(),
            "integer[]": pl.List(pl.Int32()),
            "varchar[]": pl.List(pl.String()),
        }
        return {name: types[sql_type] for name, sql_type in self.sql_types.items()}


def _table(key: str, body: str) -> RawTable:
    columns = _COLUMN.findall(body)
    return RawTable(
        sql_types={name: sql_type for name, sql_type, _ in columns},
        key=tuple(key.split(", ")),
        required=tuple(name for name, _, is_required in columns if is_required),
    )


TABLES: dict[str, RawTable] = {name: _table(key, body) for key, name, body in _TABLE.findall(SCHEMA_SQL)}
"""Each table of schema raw that a run lands rows in, by its name."""
