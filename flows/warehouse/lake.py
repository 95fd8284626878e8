"""The lake: what is published as a DuckLake, for readers of other machines, who need its catalog's address alone.

The catalog is a database of Postgres, or a file for readers of one machine; the tables are Parquet files in a folder or a
bucket. One process writes at a time, who publishes; DuckLake has no keys, so whole runs are exchanged.
"""

from __future__ import annotations

import importlib.util
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import duckdb
from pydantic import SecretStr

from flows.settings import settings_of
from flows.system.files import PRIVATE, private_folder
from models_registry.errors import UsageError, WarehouseError

CATALOGS = frozenset({"", "lake", "system", "temp"})
"""The databases that somebody's query of a lake may name: its catalog is another."""
CATALOG_WAIT_S = 30.0
"""How long a file that another program has open is waited for, in seconds."""
NO_DOWNLOADS: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
}
FUNCTIONS = frozenset({
    "duckdb_columns", "duckdb_functions", "duckdb_schemas", "duckdb_tables", "duckdb_types", "duckdb_views",
    "generate_series", "generate_subscripts", "json_each", "json_tree", "pragma_table_info", "range", "unnest",
})  # fmt: skip
"""The table functions that somebody's query of a lake may call: others reach the catalog's server or files."""


@dataclass(frozen=True, slots=True)
class Lake:
    """A lake by its catalog, a file or an address as `postgresql://user:password@host/database`, and where its data lie."""

    catalog: SecretStr
    data: str | None

    @property
    def is_on_postgres(self) -> bool:
        """Returns whether the catalog is a database of Postgres."""
        return self.catalog.get_secret_value().startswith(("postgres://", "postgresql://"))

    @property
    def password(self) -> str | None:
        """Returns the password in the catalog's address, before its host or as a parameter."""
        if not self.is_on_postgres:
            return None
        parts = urlsplit(self.catalog.get_secret_value())
        given = dict(parse_qsl(parts.query)).get("password")
        return given if parts.password is None else unquote(parts.password)

    def __str__(self) -> str:
        """Returns the catalog's address without its password."""
        address = self.catalog.get_secret_value()
        if not self.is_on_postgres:
            return address
        parts = urlsplit(address)
        query = "&".join(each for each in parts.query.split("&") if not each.startswith("password="))
        return parts._replace(netloc=f"{parts.username or ''}@{parts.netloc.rpartition('@')[2]}", query=query).geturl()


def lake_of_settings() -> Lake | None:
    """Returns the lake that PROMPTAUDIT_LAKE names; None where it names none."""
    settings = settings_of()
    if settings.lake is None:
        return None
    lake = Lake(settings.lake, settings.lake_data)
    if not lake.is_on_postgres and "password=" in settings.lake.get_secret_value().replace(" ", ""):
        msg = "PROMPTAUDIT_LAKE: a database of Postgres is named as postgresql://user:password@host/database"
        raise UsageError(msg)
    return lake


@contextmanager
def read_lake(lake: Lake, memory: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yields a reader's connection whose queries name tables as those of a published copy do; limited as there.

    It reads files of the lake alone. What is not ours goes through `refuse_reaching_out` first.
    """
    with attached(lake, is_writer=False) as con:
        ((folder,),) = con.execute("select data_path from ducklake_settings('lake')").fetchall()
        con.execute("set memory_limit = $memory", {"memory": memory})
        con.execute("set temp_directory = ''")
        con.execute("set allowed_directories = $folders", {"folders": [folder]})
        con.execute("set enable_external_access = false")
        con.execute("set lock_configuration = true")
        yield con


def refuse_reaching_out(con: duckdb.DuckDBPyConnection, query: str) -> None:
    """Raises WarehouseError of a query that is no SELECT, or calls what reaches beyond the tables of the lake."""
    ((written,),) = con.execute("select json_serialize_sql($query)", {"query": query}).fetchall()
    tree = json.loads(written)
    if tree["error"]:
        if tree["error_type"] == "parser":
            return  # DuckDB says what is wrong with it
        msg = "a lake answers SELECT alone"
        raise WarehouseError(msg)
    for node in _nodes(tree):
        name = node["function"]["function_name"] if node.get("type") == "TABLE_FUNCTION" else None
        if name is not None and name not in FUNCTIONS:
            msg = f"{name}(): a query of a lake reads its tables, and calls {', '.join(sorted(FUNCTIONS))}"
            raise WarehouseError(msg)
        catalog, schema = (str(node.get(part, "")).casefold() for part in ("catalog_name", "schema_name"))
        if node.get("type") == "BASE_TABLE" and (catalog not in CATALOGS or schema.startswith("__ducklake")):
            msg = "a query of a lake reads its tables, and not its catalog"
            raise WarehouseError(msg)


def _nodes(tree: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(tree, dict):
        yield tree
        tree = list(tree.values())
    if isinstance(tree, list):
        for each in tree:
            yield from _nodes(each)


def vacuum(lake: Lake) -> None:
    """Has Postgres write a lake's catalog anew: what was deleted stays in its files otherwise.

    Raises WarehouseError where a reader is in its way for longer than `CATALOG_WAIT_S`.
    """
    with _one_line(lake), duckdb.connect(config=NO_DOWNLOADS) as con:
        _load_postgres(con, lake)
        options = quote(f"-c lock_timeout={CATALOG_WAIT_S:g}s")
        address = f"{lake}{'&' if urlsplit(str(lake)).query else '?'}options={options}"
        con.execute(f"attach '{quoted(address)}' as catalog (type postgres)")
        con.execute("call postgres_execute('catalog', 'vacuum full', use_transaction => false)")


@contextmanager
def attached(lake: Lake, *, is_writer: bool) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yields a connection whose database `lake` it is, and the one that is used; errors leave as one line without a secret."""
    with _one_line(lake):
        con = duckdb.connect(config=NO_DOWNLOADS)
    try:
        with _one_line(lake):
            _attach(con, lake, is_writer=is_writer)
            con.execute("use lake")
        with _one_line(lake) if is_writer else _as_it_is():
            yield con
    finally:
        con.close()


def _attach(con: duckdb.DuckDBPyConnection, lake: Lake, *, is_writer: bool) -> None:
    con.execute(f"load '{quoted(_extension('ducklake'))}'")
    if lake.is_on_postgres:
        _load_postgres(con, lake)
    elif not is_writer and not Path(str(lake)).is_file():
        msg = f"{lake}: no lake is there; who publishes with PROMPTAUDIT_LAKE makes it"
        raise WarehouseError(msg)
    _allow_s3(con)
    if is_writer:
        _attach_as(con, lake, f"data_inlining_row_limit 0, data_path '{quoted(_folder(lake))}'")
        if not lake.is_on_postgres:
            Path(str(lake)).chmod(PRIVATE)
        return
    _attach_as(con, lake, "read_only")
    # else each query would see the publication that is newest by then
    ((newest,),) = con.execute("select max(snapshot_id) from ducklake_snapshots('lake')").fetchall()
    con.execute("detach lake")
    _attach_as(con, lake, f"read_only, snapshot_version {newest:d}")


def _attach_as(con: duckdb.DuckDBPyConnection, lake: Lake, how: str) -> None:
    catalog = f"postgres:{lake}" if lake.is_on_postgres else str(lake)
    ends_at = time.monotonic() + CATALOG_WAIT_S
    while True:
        try:
            con.execute(f"attach 'ducklake:{quoted(catalog)}' as lake ({how})")
        except duckdb.IOException as error:
            if "Conflicting lock" not in str(error) or time.monotonic() > ends_at:
                raise
            time.sleep(0.2)
        else:
            return


def _load_postgres(con: duckdb.DuckDBPyConnection, lake: Lake) -> None:
    """Lets DuckDB reach Postgres, and libpq know the password: an address is shown to whoever asks which databases there are."""
    con.execute(f"load '{quoted(_extension('postgres_scanner'))}'")
    if lake.password is not None:
        os.environ["PGPASSWORD"] = lake.password


def _allow_s3(con: duckdb.DuckDBPyConnection) -> None:
    """Lets DuckDB reach S3 with the variables of AWS, where there are any."""
    variables = {
        "key_id": "AWS_ACCESS_KEY_ID", "secret": "AWS_SECRET_ACCESS_KEY", "session_token": "AWS_SESSION_TOKEN",
        "region": "AWS_DEFAULT_REGION",
    }  # fmt: skip
    found = {name: os.environ[variable] for name, variable in variables.items() if os.environ.get(variable)}
    if "key_id" not in found or importlib.util.find_spec("duckdb_extension_httpfs") is None:
        return
    endpoint = urlsplit(os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or "")
    if endpoint.netloc:
        found |= {"endpoint": endpoint.netloc, "url_style": "path", "use_ssl": str(endpoint.scheme == "https").lower()}
    con.execute(f"load '{quoted(_extension('httpfs'))}'")
    written = ", ".join(f"{name} '{quoted(value)}'" for name, value in found.items())
    con.execute(f"create secret (type s3, {written})")


def _folder(lake: Lake) -> str:
    """Returns where a lake's data are written, made where it is a folder of this machine."""
    data = lake.data
    if data is None and lake.is_on_postgres:
        msg = "PROMPTAUDIT_LAKE_DATA: name the folder, or s3://bucket/prefix, of the lake's data"
        raise UsageError(msg)
    if data is not None and "://" in data:
        return f"{data.rstrip('/')}/"
    path = Path(f"{lake}.data" if data is None else data).absolute()
    private_folder(path)
    return f"{path}{os.sep}"


def _extension(name: str) -> str:
    """Returns where an extension lies that a package brought: nothing is downloaded."""
    found = importlib.util.find_spec(f"duckdb_extension_{name}")
    if found is None or found.origin is None:
        msg = "a lake needs extensions of DuckDB: `pip install 'promptaudit[lake]'` brings them"
        raise UsageError(msg)
    return str(next(Path(found.origin).parent.glob(f"extensions/*/{name}.duckdb_extension")))


def quoted(text: str) -> str:
    """Returns a text as it stands between quotes: ATTACH, LOAD and CREATE SECRET take no parameter."""
    return text.replace("'", "''")


@contextmanager
def _as_it_is() -> Iterator[None]:
    yield


@contextmanager
def _one_line(lake: Lake) -> Iterator[None]:
    try:
        yield
    except duckdb.Error as error:
        text = " ".join(str(error).split())
        for secret in filter(None, (lake.password, quote(lake.password or "", safe=""))):
            text = text.replace(secret, "***")
        msg = f"the lake {lake}: {text[:300]}"
        raise WarehouseError(msg) from None
