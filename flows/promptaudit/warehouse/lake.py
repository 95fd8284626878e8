"""Opens a lake: publications as a DuckLake, for readers on other machines.

They need its catalog's address and its folder.

The catalog is a database of Postgres, or a file for readers of one machine; the tables are Parquet files in a folder or
a bucket. One process writes at a time, the one that publishes. DuckLake has no keys, so whole runs are replaced. A
reader may not know who wrote the lake: a connection reaches only the catalog and the folder that its user named, and
keys lie in secrets of DuckDB.
"""

from __future__ import annotations

import importlib.util
import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, quote, unquote, urlsplit

import duckdb
from pydantic import SecretStr

from promptaudit.registry.errors import UsageError, WarehouseError
from promptaudit.registry.extras import needs_extra
from promptaudit.system.files import PRIVATE, private_folder
from promptaudit.system.settings import settings_of

CATALOG_WAIT_S = 30.0
"""How long to wait for a file that another program has open, in seconds."""
_AWS = {
    "key_id": "AWS_ACCESS_KEY_ID",
    "secret": "AWS_SECRET_ACCESS_KEY",
    "session_token": "AWS_SESSION_TOKEN",
    "region": "AWS_DEFAULT_REGION",
}
# the parts of an address of Postgres, which may name several hosts, also IPv6 ones; `urlsplit` takes only one
_PARTS = re.compile(r"(?P<scheme>\w+)://(?P<netloc>[^/?#]*)(?P<path>[^?#]*)(?:\?(?P<query>[^#]*))?.*", re.DOTALL)
_ADDRESS = re.compile(r"(?P<host>\[[^\]]*\]|[^:]*)(?::(?P<port>\d*))?")
_CLOSED: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_persistent_secrets": "false",
    "python_enable_replacements": "false",
}
# endings of the files that DuckDB looks for when it opens one
_ENDINGS = ("", ".wal", ".wal.checkpoint", ".wal.recovery")
_LOGIN = "lake_login"
# the database by which DuckLake reads the catalog of the lake `lake`
_CATALOG = "__ducklake_metadata_lake"


@dataclass(frozen=True, slots=True)
class Lake:
    """A lake: its catalog and the place of its data.

    The catalog is a file, or an address like `postgresql://user:password@host/database`.
    """

    catalog: SecretStr
    data: str | None

    @property
    def is_on_postgres(self) -> bool:
        """Checks whether the catalog is a database of Postgres."""
        return self.catalog.get_secret_value().startswith(("postgres://", "postgresql://"))

    @property
    def password(self) -> str | None:
        """Reads the password in the catalog's address, before its host or as a parameter; None without one."""
        return self._connection.get("password") if self.is_on_postgres else None

    @property
    def connection(self) -> str:
        """Writes the connection string for libpq: the whole address of the catalog's database without the password."""
        words = {name: value for name, value in self._connection.items() if value.strip(",") and name != "password"}
        return " ".join(
            f"{name}='{value.replace(chr(92), 2 * chr(92)).replace(chr(39), chr(92) + chr(39))}'"
            for name, value in words.items()
        )

    @property
    def _connection(self) -> dict[str, str]:
        parts = _split(self.catalog.get_secret_value())
        login, _, hosts = parts.netloc.rpartition("@")
        user, _, password = login.partition(":")
        places = [_ADDRESS.fullmatch(each) for each in hosts.split(",")]
        named = [
            ("user", user),
            ("password", password),
            ("dbname", parts.path.removeprefix("/")),
            ("host", ",".join(place["host"].strip("[]") if place else "" for place in places)),
            ("port", ",".join(place["port"] or "" if place else "" for place in places)),
            *(each.partition("=")[::2] for each in parts.query.split("&") if each),
        ]
        return {name: unquote(value) for name, value in named if value}

    @property
    def folder(self) -> str:
        """Names the place of the data, a folder or a prefix of a bucket, as its user named it, not as the catalog does.

        Raises UsageError if the catalog is on Postgres and no place is named.
        """
        if not self.data and self.is_on_postgres:
            msg = "PROMPTAUDIT_LAKE_DATA: name the folder, or s3://bucket/prefix, of the lake's data"
            raise UsageError(msg)
        if self.data and "://" in self.data:
            return f"{self.data.rstrip('/')}/"
        return f"{Path(self.data or f'{self}.data').absolute()}{os.sep}"

    def __str__(self) -> str:
        """Writes the catalog's address without its password."""
        address = self.catalog.get_secret_value()
        if not self.is_on_postgres:
            return address
        parts = _split(address)
        login, _, hosts = parts.netloc.rpartition("@")
        user = login.partition(":")[0]
        query = "&".join(each for each in parts.query.split("&") if not each.startswith("password="))
        return parts._replace(netloc=f"{user}@{hosts}", query=query).geturl()


def _split(address: str) -> SplitResult:
    parts = _PARTS.fullmatch(address)
    named = {"scheme": "postgresql", "netloc": "", "path": "", "query": ""} if parts is None else parts.groupdict("")
    return SplitResult(**named, fragment="")


def lake_of_settings() -> Lake | None:
    """Makes the lake that PROMPTAUDIT_LAKE names; None without one.

    Raises UsageError for an address in another form.
    """
    settings = settings_of()
    if settings.lake is None:
        return None
    lake = Lake(settings.lake, settings.lake_data)
    if not lake.is_on_postgres and "password=" in settings.lake.get_secret_value().replace(" ", ""):
        msg = "PROMPTAUDIT_LAKE: a database of Postgres is named as postgresql://user:password@host/database"
        raise UsageError(msg)
    return lake


def vacuum(lake: Lake) -> None:
    """Has Postgres write a lake's catalog again, since deleted rows would remain in its files.

    Raises WarehouseError if a reader blocks it for longer than `CATALOG_WAIT_S`.
    """
    with _one_line(lake), duckdb.connect(config=_CLOSED) as con:
        _know_login(con, lake)
        address = f"{lake.connection} options='-c lock_timeout={CATALOG_WAIT_S:g}s'"
        con.execute(f"attach '{quoted(address)}' as catalog (type postgres{_login(lake, 'secret')})")
        con.execute("call postgres_execute('catalog', 'vacuum full', use_transaction => false)")


@contextmanager
def attached(
    lake: Lake, *, is_writer: bool, memory: str | None = None, also: Sequence[Path] = ()
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yields a connection with the lake attached and in use as database `lake`.

    Errors are one line without secrets. The connection reaches the lake's catalog and folder and the DuckDB files
    `also`, and nothing else; with `memory` it writes no temporary files either. A reader's queries name tables as in a
    published copy.
    """
    limits = {} if memory is None else {"memory_limit": memory, "temp_directory": ""}
    with _one_line(lake):
        con = duckdb.connect(config=_CLOSED | limits)
    try:
        with _one_line(lake):
            _attach(con, lake, is_writer=is_writer, also=also)
            con.execute("use lake")
        with _one_line(lake) if is_writer else nullcontext():
            yield con
    finally:
        con.close()


def _attach(con: duckdb.DuckDBPyConnection, lake: Lake, *, is_writer: bool, also: Sequence[Path]) -> None:
    con.execute(f"load '{quoted(_extension('ducklake'))}'")
    files = list(also)
    if lake.is_on_postgres:
        _know_login(con, lake)
    elif is_writer or Path(str(lake)).is_file():
        files.append(Path(str(lake)))
    else:
        msg = f"{lake}: no lake is there; who publishes with PROMPTAUDIT_LAKE makes it"
        raise WarehouseError(msg)
    _know_keys(con, lake)
    if not lake.is_on_postgres:
        # before anything of the catalog is read: it may be somebody else's, whose tables may be views that read files
        _close(con, lake, files)
    if is_writer:
        if "://" not in lake.folder:
            private_folder(Path(lake.folder))
        _attach_as(con, lake, "data_inlining_row_limit 0")
        if not lake.is_on_postgres:
            Path(str(lake)).chmod(PRIVATE)
    else:
        _attach_as(con, lake, "read_only")
        # else each query would see the publication that is newest by then
        ((newest,),) = con.execute("select max(snapshot_id) from ducklake_snapshots('lake')").fetchall()
        con.execute("detach lake")
        _attach_as(con, lake, f"read_only, snapshot_version {newest:d}")
    if lake.is_on_postgres:  # Postgres runs its own views, and can only be attached before external access is off
        _close(con, lake, files)
    _refuse_foreign(con, lake)


def _close(con: duckdb.DuckDBPyConnection, lake: Lake, files: Sequence[Path]) -> None:
    # from now on the connection reaches the folder of the lake and these DuckDB files, and nothing else
    con.execute("set allowed_directories = $folders", {"folders": [lake.folder]})
    names = [f"{file.absolute()}{ending}" for file in files for ending in _ENDINGS]
    con.execute("set allowed_paths = $names", {"names": names})
    con.execute("set enable_external_access = false")
    con.execute("set lock_configuration = true")


def _refuse_foreign(con: duckdb.DuckDBPyConnection, lake: Lake) -> None:
    # a catalog may lead to another folder or contain code, but publications consist of tables alone
    ((folder,),) = con.execute(f"select value from {_CATALOG}.ducklake_metadata where key = 'data_path'").fetchall()  # noqa: S608
    if folder != lake.folder:
        msg = (
            f"the lake {lake}: its catalog says that its data lie in {folder}, and {lake.folder} alone is read; where you trust "
            "that place, name it in PROMPTAUDIT_LAKE_DATA"
        )
        raise WarehouseError(msg)
    planted = con.execute(
        "select 'view ' || view_name from duckdb_views() where database_name = 'lake' and not internal "
        "union all select 'macro ' || function_name from duckdb_functions() where database_name = 'lake' and not internal"
    ).fetchall()
    if planted:
        msg = f"the lake {lake}: it has the {planted[0][0]}, and promptaudit publishes tables alone: it is not read"
        raise WarehouseError(msg)


def _attach_as(con: duckdb.DuckDBPyConnection, lake: Lake, how: str) -> None:
    catalog = f"postgres:{lake.connection}" if lake.is_on_postgres else str(Path(str(lake)).absolute())
    ends_at = time.monotonic() + CATALOG_WAIT_S
    while True:
        try:
            con.execute(
                f"attach 'ducklake:{quoted(catalog)}' as lake ({how}, data_path '{quoted(lake.folder)}', override_data_path true"
                f"{_login(lake, 'meta_secret')})"
            )
        except duckdb.IOException as error:
            if "Conflicting lock" not in str(error) or time.monotonic() > ends_at:
                raise
            time.sleep(0.2)
        else:
            return


def _know_login(con: duckdb.DuckDBPyConnection, lake: Lake) -> None:
    # the password is in a secret of its own, since errors and lists of databases show an address
    con.execute(f"load '{quoted(_extension('postgres_scanner'))}'")
    if lake.password is not None:
        con.execute(f"create secret {_LOGIN} (type postgres, password '{quoted(lake.password)}')")


def _login(lake: Lake, parameter: str) -> str:
    return "" if lake.password is None or not lake.is_on_postgres else f", {parameter} '{_LOGIN}'"


def _know_keys(con: duckdb.DuckDBPyConnection, lake: Lake) -> None:
    # Lets DuckDB reach the lake's bucket with the variables of AWS, if there are any. Keys are in secrets, for that
    # bucket alone: every query can read settings, where DuckDB itself puts them.
    ((proxy,),) = con.execute("select current_setting('http_proxy')").fetchall()
    # DuckDB takes the environment's, and none with a login in it
    con.execute("set http_proxy = $proxy", {"proxy": proxy.rpartition("@")[2]})
    found = {name: os.environ[variable] for name, variable in _AWS.items() if os.environ.get(variable)}
    if "://" not in lake.folder or "key_id" not in found or importlib.util.find_spec("duckdb_extension_httpfs") is None:
        return
    con.execute(f"load '{quoted(_extension('httpfs'))}'")
    for setting in ("s3_access_key_id", "s3_secret_access_key", "s3_session_token"):
        con.execute(f"set {setting} = ''")
    endpoint = urlsplit(os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or "")
    if endpoint.netloc:
        found |= {"endpoint": endpoint.netloc, "url_style": "path", "use_ssl": str(endpoint.scheme == "https").lower()}
    written = ", ".join(f"{name} '{quoted(value)}'" for name, value in {"scope": lake.folder, **found}.items())
    con.execute(f"create secret (type s3, {written})")


def _extension(name: str) -> str:
    # where a package has brought it: nothing is downloaded
    found = importlib.util.find_spec(f"duckdb_extension_{name}")
    if found is None or found.origin is None:
        raise UsageError(needs_extra("a lake", "lake"))
    return str(next(Path(found.origin).parent.glob(f"extensions/*/{name}.duckdb_extension")))


def quoted(text: str) -> str:
    """Escapes a text to stand between quotes: ATTACH, LOAD and CREATE SECRET take no parameter."""
    return text.replace("'", "''")


@contextmanager
def _one_line(lake: Lake) -> Iterator[None]:
    try:
        yield
    except duckdb.Error as error:
        text = " ".join(str(error).split())
        keys = [os.environ.get(_AWS[name]) for name in ("secret", "session_token", "key_id")]
        for secret in filter(None, (lake.password, quote(lake.password or "", safe=""), *keys)):
            text = text.replace(secret, "***")
        msg = f"the lake {lake}: {text[:300]}"
        raise WarehouseError(msg) from None
