"""The tables of schema raw as `schema.sql` declares them: columns, key, and which columns no row leaves out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import polars as pl

SCHEMA_SQL = Path(__file__).with_name("schema.sql").read_text(encoding="utf-8")

WHOLE, REAL, TIME = pl.Int32(), pl.Float64(), pl.Datetime("us")
_TYPES: dict[str, pl.DataType] = {
    "varchar": pl.String(), "integer": WHOLE, "bigint": pl.Int64(), "double": REAL, "boolean": pl.Boolean(),
    "timestamp": TIME, "blob": pl.Binary(), "integer[]": pl.List(WHOLE), "varchar[]": pl.List(pl.String()),
}  # fmt: skip
_TABLE = re.compile(
    r"^-- one row per ([\w, ]+)\ncreate table if not exists raw\.(\w+) \(\n(.*?)\n\);", re.MULTILINE | re.DOTALL
)
_COLUMN = re.compile(r"^    (\w+) ([\w\[\]]+)( not null)?", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class RawTable:
    """A table of schema raw.

    columns: the type of each in a frame, in order.
    key: the columns that tell its rows apart, that of the run first.
    required: the columns that are never NULL.
    """

    columns: dict[str, pl.DataType]
    key: tuple[str, ...]
    required: tuple[str, ...]


def _table(key: str, body: str) -> RawTable:
    columns = _COLUMN.findall(body)
    return RawTable(
        columns={name: _TYPES[of_type] for name, of_type, _ in columns},
        key=tuple(key.split(", ")),
        required=tuple(name for name, _, is_required in columns if is_required),
    )


TABLES: dict[str, RawTable] = {name: _table(key, body) for key, name, body in _TABLE.findall(SCHEMA_SQL)}
"""Each table of schema raw that a run lands rows in, by its name."""
