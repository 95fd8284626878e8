"""Lakes as tests have them: a catalog in a file with a folder, or one on a real Postgres with a real S3-compatible server."""

from __future__ import annotations

import contextlib
import functools
import io
import itertools
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import duckdb
import polars as pl
import pytest

from promptaudit.warehouse.lake import attached, lake_of_settings
from tests.support.prefect_server import postgres_programs, running_postgres
from tests.support.s3_server import running_s3

SERVERS = contextlib.ExitStack()
"""What serves lakes; whoever ends the session closes it."""
_numbers = itertools.count()
KINDS = ["file", pytest.param("postgres", marks=pytest.mark.slow)]


@dataclass(frozen=True)
class PlacedLake:
    """A lake: what leads to it, and where its data lie if that is a folder."""

    variables: dict[str, str]
    folder: Path | None

    def files(self) -> dict[str, bytes]:
        """Every file of its data, and of its catalog where that is one."""
        if self.folder is not None:
            return {str(path): path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}
        import s3fs

        store = s3fs.S3FileSystem(use_listings_cache=False, skip_instance_cache=True)
        return {path: store.cat_file(path) for path in store.find(self.variables["PROMPTAUDIT_LAKE_DATA"])}

    def holding(self, text: str) -> set[str]:
        """The files whose bytes or rows hold a text, and tables of the catalog that do."""
        found = set()
        for name, content in self.files().items():
            rows = str(pl.read_parquet(io.BytesIO(content)).to_dicts()) if name.endswith(".parquet") else ""
            if text.encode() in content or text in rows:
                found.add(name)
        lake = lake_of_settings()
        assert lake is not None
        with attached(lake, is_writer=False) as con:
            tables = con.execute(
                "select table_schema || '.' || table_name from information_schema.tables "
                "where table_catalog = '__ducklake_metadata_lake'"
            ).fetchall()
            for (table,) in tables:
                rows_there = con.execute(f"from __ducklake_metadata_lake.{table}").fetchall()
                found |= {table} if text in str(rows_there) else set()
        return found

    def n_snapshots(self) -> int:
        """How many states of it can still be read."""
        lake = lake_of_settings()
        assert lake is not None
        with attached(lake, is_writer=False) as con:
            ((n,),) = con.execute("select count(*) from ducklake_snapshots('lake')").fetchall()
        return int(n)


@functools.cache
def _servers() -> tuple[str, dict[str, str]]:
    """The port of a Postgres, and the variables of an S3-compatible server; both serve every lake of this session."""
    postgres = SERVERS.enter_context(running_postgres())
    return postgres["PREFECT_SERVER_DATABASE_PORT"], SERVERS.enter_context(running_s3())


def placed_lake(kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> PlacedLake:
    """Returns a lake that is not there yet, to which this process's variables lead."""
    pytest.importorskip("duckdb_extension_ducklake", reason="the extra lake is not installed")
    if kind == "file":
        variables = {"PROMPTAUDIT_LAKE": str(folder / "lake/catalog.ducklake")}
        place = folder / "lake"
    else:
        try:
            port, store = _servers()
        except FileNotFoundError as missing:
            pytest.skip(f"{missing} is not on this machine: apt-get install postgresql")
        name = f"lake{next(_numbers)}"
        made = [postgres_programs() / "createdb", "-h", "127.0.0.1", "-p", port, "-U", "prefect", name]
        subprocess.run(made, env={"PATH": os.defpath, "PGPASSWORD": "pass"}, check=True, capture_output=True)
        variables = store | {
            "PROMPTAUDIT_LAKE": f"postgresql://prefect:pass@127.0.0.1:{port}/{name}",
            "PROMPTAUDIT_LAKE_DATA": f"s3://audits/{name}",
        }
        place = None
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("PGPASSWORD", raising=False)
    return PlacedLake(variables, place)


def rows_of(source: duckdb.DuckDBPyConnection, table: str) -> list[str]:
    """The rows of a table, each as text, in an order of their own."""
    return sorted(str(row) for row in source.execute(f"from {table}").fetchall())
