"""Answers a person's SQL from the published copy, as a table, CSV or JSON."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from promptaudit.query.tables import tables
from promptaudit.registry.errors import PromptauditError, WarehouseError
from promptaudit.system.display.encode import encoded
from promptaudit.system.display.progress import visible
from promptaudit.system.display.spreadsheet import CsvRows
from promptaudit.system.settings import Settings, settings_of
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.duckdb_file import stopped_after

if TYPE_CHECKING:
    import polars as pl

FORMATS = ("table", "csv", "json")
PLAIN_WIDTH = 200  # for a table that no terminal shows
_SHOW_TABLES = re.compile(r"\s*show\s+tables\s*;?\s*", re.IGNORECASE)
COLUMNS = ("name", "grain", "keys")
"""Of the rows of `show tables`."""
TABLE_ROWS = 1_000  # a terminal shows no more; CSV and JSON hold every row


def ask(settings: Settings, query: str, format_: str, out: TextIO) -> None:
    """Writes the rows of one query. Raises WarehouseError in one line.

    A query that DuckDB does not stop in time ends the process, with that line.
    """
    with _asked(settings, query, out) as (names, rows):
        if format_ == "json":
            out.write("[")
            for index, row in enumerate(rows):
                out.write(",\n " if index else "")
                record = {name: encoded(value) for name, value in zip(names, row, strict=True)}
                out.write(json.dumps(record, ensure_ascii=out.isatty(), allow_nan=False))
            out.write("]\n")
        elif format_ == "csv":
            written = CsvRows(out)
            shown = visible if out.isatty() else str
            written.row(map(shown, names))
            for row in rows:
                written.row(shown(each) if isinstance(each, str) else each for each in map(_plain, row))
        elif format_ == "arrow":
            _frame(names, list(rows)).write_ipc(out.buffer)
        else:
            _table(names, rows, out)


@contextlib.contextmanager
def _asked(settings: Settings, query: str, out: TextIO) -> Iterator[tuple[list[str], Iterator[tuple[Any, ...]]]]:
    seconds = settings.sql_seconds

    def end() -> None:
        out.flush()
        sys.stderr.write(f"{WarehouseError(stopped_after(seconds))}\n")
        sys.stderr.flush()
        os._exit(WarehouseError.exit_code)

    asked = Warehouse(settings.warehouse).published.query(
        query, memory=settings.sql_memory, seconds=seconds, give_up=end
    )
    with asked as (columns, rows):
        if asks_for_tables(query):
            yield list(COLUMNS), iter(described(name for (name,) in rows))
        else:
            yield distinct_names(columns), rows


def _frame(names: list[str], rows: list[tuple[Any, ...]]) -> pl.DataFrame:
    # what polars has no type for, a UUID, becomes text
    import polars as pl

    frame = pl.DataFrame(rows, schema=names, orient="row", strict=False, infer_schema_length=None)
    texts = [
        pl.Series(name, [None if value is None else str(value) for value in frame[name]], dtype=pl.String)
        for name, kind in frame.schema.items()
        if kind == pl.Object
    ]
    return frame.with_columns(texts)


def asks_for_tables(query: str) -> bool:
    """Checks whether a query is DuckDB's `show tables` and nothing else."""
    return _SHOW_TABLES.fullmatch(query) is not None


def described(names: Iterable[str]) -> list[tuple[str, str | None, str | None]]:
    """Lists tables with grain and keys, NULL for what is no mart: first the ones to begin with, then others by name."""
    from promptaudit.warehouse.figure_names import begin_with, descriptions, grains

    first = {name: place for place, name in enumerate(begin_with())}
    rows = []
    for name in sorted(names, key=lambda name: (first.get(name, len(first)), name)):
        grain = re.split(r"(?<=\.)\s", descriptions().get(name, ""), maxsplit=1)[0]
        rows.append((name, grain or None, ", ".join(grains().get(name, ())) or None))
    return rows


def distinct_names(names: list[str]) -> list[str]:
    """Numbers repeated column names, so that no value hides another: a, a_2, or a_3 if the query names an a_2 itself."""
    distinct: list[str] = []
    for name in names:
        free = (f"{name}_{n}" for n in itertools.count(2) if f"{name}_{n}" not in {*names, *distinct})
        distinct.append(next(free) if name in distinct else name)
    return distinct


def _plain(value: Any) -> Any:
    if isinstance(value, dict | list | tuple):
        return json.dumps(encoded(value), ensure_ascii=False)
    return "" if value is None else encoded(value)


def _table(names: list[str], rows: Any, out: TextIO) -> None:
    from rich.console import Console

    shown = [[_shown(value) for value in row] for row in itertools.islice(rows, TABLE_ROWS)]
    n_more = sum(1 for _ in rows)
    console = Console(file=out, width=None if out.isatty() else PLAIN_WIDTH)
    for table in tables([visible(name) for name in names], shown, console.width):
        console.print(table)
    if n_more:
        out.write(f"{n_more} more rows; --format csv or json holds them all\n")


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.6g}"
    text = visible(str(_plain(value))).replace("\n", "\\n")
    return text if len(text) <= 200 else text[:199] + "…"  # noqa: PLR2004 - a screen's worth


def main() -> None:
    """Answers the query on stdin in Arrow's file format. As a process it ends in time, whatever DuckDB is doing."""
    try:
        ask(settings_of(Path(sys.argv[1])), sys.stdin.read(), "arrow", sys.stdout)
    except PromptauditError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
