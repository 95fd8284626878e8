"""What is written in two places agrees: DDL, frames and dbt sources; variables and their list; the locks."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import jinja2
import polars as pl
import pytest
import typer.main
import yaml

from promptaudit.cli import app
from promptaudit.marts.of_landed import Relation
from promptaudit.registry.task_cards import SCORED_BY
from promptaudit.system.settings import Settings
from promptaudit.warehouse.raw_tables import SCHEMA_SQL, TABLES
from tests.support.files import tracked

ROOT = Path(__file__).parents[2]
DBT = ROOT / "dbt"
STAGING = ROOT / "dbt" / "models" / "staging"
STAGED = sorted(path.stem.removeprefix("stg_") for path in STAGING.glob("stg_*.sql"))
SQL_TYPES: dict[pl.DataType, str] = {
    pl.String(): "VARCHAR",
    pl.Int32(): "INTEGER",
    pl.Int64(): "BIGINT",
    pl.Float64(): "DOUBLE",
    pl.Boolean(): "BOOLEAN",
    pl.Datetime("us"): "TIMESTAMP",
    pl.List(pl.Int32()): "INTEGER[]",
    pl.List(pl.String()): "VARCHAR[]",
    pl.Binary(): "BLOB",
}


@pytest.fixture(scope="module")
def raw() -> duckdb.DuckDBPyConnection:
    """A database in memory with schema raw."""
    con = duckdb.connect()
    con.execute(SCHEMA_SQL)
    return con


def columns(con: duckdb.DuckDBPyConnection, table: str) -> dict[str, str]:
    return {row[0]: row[1] for row in con.execute(f"describe raw.{table}").fetchall()}


def tables(con: duckdb.DuckDBPyConnection) -> set[str]:
    found = con.execute("select table_name from information_schema.tables where table_schema = 'raw'").fetchall()
    return {row[0] for row in found} - {"schema_versions"}


def test_frames_sources_and_keys_cover_the_same_tables(raw: duckdb.DuckDBPyConnection) -> None:
    sources = yaml.safe_load((STAGING / "sources.yml").read_text(encoding="utf-8"))["sources"]
    assert {table["name"] for table in sources[0]["tables"]} == tables(raw)
    assert set(STAGED) <= tables(raw)
    assert set(TABLES) == tables(raw)


@pytest.mark.parametrize("table", sorted(TABLES))
def test_frames_have_the_columns_and_types_of_the_ddl(raw: duckdb.DuckDBPyConnection, table: str) -> None:
    framed = {name: SQL_TYPES[dtype] for name, dtype in TABLES[table].columns.items()}
    assert framed == columns(raw, table)
    needed = "select column_name from duckdb_columns() where schema_name = 'raw' and table_name = ? and not is_nullable"
    assert set(TABLES[table].required) == {name for (name,) in raw.execute(needed, [table]).fetchall()}


def test_every_staging_model_is_read_by_another() -> None:
    read = {
        name
        for path in DBT.rglob("*.sql")
        for name in re.findall(r"(?:ref|all_of|of_this_build)\('stg_(\w+)'", path.read_text("utf-8"))
    }
    assert read == set(STAGED)


@pytest.mark.parametrize("table", STAGED)
def test_staging_reads_every_column_and_no_other(raw: duckdb.DuckDBPyConnection, table: str) -> None:
    text = (STAGING / f"stg_{table}.sql").read_text(encoding="utf-8")
    model = jinja2.Environment(autoescape=False).from_string(text)  # noqa: S701 - SQL, not HTML
    query = model.render(source=lambda schema, name: Relation(f"{schema}.{name}"))
    raw.execute(query)  # a column that is not there fails here
    select = query.partition("renamed as")[2].partition("from source")[0]
    left_out = [name for name in columns(raw, table) if not re.search(rf"\b{name}\b", select)]
    assert left_out == []


@pytest.mark.parametrize("table", sorted(TABLES))
def test_keys_name_columns_that_are_there(raw: duckdb.DuckDBPyConnection, table: str) -> None:
    assert set(TABLES[table].key) <= set(columns(raw, table))


def test_env_example_lists_every_variable() -> None:
    listed = re.findall(r"^#(\w+)=$", (ROOT / "infra" / "env.example").read_text(encoding="utf-8"), re.MULTILINE)
    read = {f"PROMPTAUDIT_{name.upper()}" for name in Settings.model_fields}
    group = typer.main.get_command(app)
    for command in (group, *getattr(group, "commands", {}).values()):
        for parameter in command.params:
            found = parameter.envvar or ()
            read |= {found} if isinstance(found, str) else set(found)
    assert {name for name in listed if name.startswith("PROMPTAUDIT_")} == read
    assert len(listed) == len(set(listed))


# ---------------------------------------------------------------- the tree
def test_dbt_is_no_package() -> None:
    assert not (ROOT / "dbt" / "__init__.py").exists(), "it would shadow the dbt library"


def test_no_file_names_a_registry_host_or_a_folder_of_one_machine() -> None:
    hosts = ["pypi." + "org", "python" + "hosted.org", "conda." + "anaconda.org"]
    folders = [f"/{name}/" for name in ("work", "farm", "home", "root", "Users")]
    pattern = re.compile("|".join(map(re.escape, hosts)) + r"|(?<![\w.-])(?:" + "|".join(folders) + ")")
    found = []
    for path in tracked(ROOT):
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found += [
            f"{path.relative_to(ROOT)}:{number}: {match.group()}"
            for number, line in enumerate(text.splitlines(), 1)
            if (match := pattern.search(line))
        ]
    assert found == []


def test_locks_hold_names_versions_and_hashes_alone() -> None:
    pins = {}
    for name in ("uv", "run", "dev"):
        text = (ROOT / "infra" / "locks" / f"{name}.txt").read_text(encoding="utf-8")
        assert "://" not in text
        entries = re.split(r"\n(?=\S)", text.strip())
        assert all(re.match(r"[\w.-]+==\S+", entry) and "--hash=sha256:" in entry for entry in entries)
        pins[name] = {entry.splitlines()[0].rstrip(" \\") for entry in entries}
    assert pins["run"] <= pins["dev"], "a set-up for tests is one for audits too"
    assert not [path for path in tracked(ROOT) if path.name in {"uv.lock", "poetry.lock", "pdm.lock"}]


# ---------------------------------------------------------------- scoring methods
def test_every_scoring_method_has_a_version() -> None:
    macro = (ROOT / "dbt/macros/scoring_version.sql").read_text(encoding="utf-8")
    written = set(re.findall(r"'(\w+)': \d+,", macro))
    named_in_cards = {method for methods in SCORED_BY.values() for method in methods}
    assert written == named_in_cards | {"field", "all_fields", "judge", "people"}
