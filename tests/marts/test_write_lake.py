"""A lake has what is published, the whole of one publication at a time, and is read within the limits of a published copy."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from pydantic import SecretStr

from promptaudit.marts import write_lake as writing
from promptaudit.marts.publish import publish
from promptaudit.marts.write_lake import SCHEMAS, write_lake
from promptaudit.registry.errors import UsageError, WarehouseError
from promptaudit.warehouse import Published, Warehouse
from promptaudit.warehouse.lake import Lake, attached, lake_of_settings
from tests.support.handmade_warehouse import Gated
from tests.support.lakes import KINDS, PlacedLake, placed_lake, rows_of
from tests.support.prefect_server import wait_for
from tests.support.published_copy import table

pytestmark = pytest.mark.slow

READER = """
import sys, time
from pathlib import Path
from promptaudit.warehouse import Warehouse
published = Warehouse(Path("warehouse/audit.duckdb")).published
Path(sys.argv[1]).touch()
while not Path(sys.argv[2]).exists():
    with published.connect() as con:
        runs = con.execute("select count(*) from raw.audit_runs").fetchall()
        time.sleep(0.5)  # nearly all of the time it is between two queries, and a publication too
        rows = con.execute("select count(*), min(n_variants) from marts.rpt_audit").fetchall()
    assert runs[0][0] == rows[0][0], (runs, rows)
    print(runs[0][0])
"""


@pytest.fixture(params=KINDS)
def lake(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PlacedLake:
    """Where a lake will be."""
    return placed_lake(request.param, tmp_path, monkeypatch)


@pytest.fixture
def gated(tmp_path: Path) -> Gated:
    """A warehouse with one run."""
    made = Gated(tmp_path / "made" if (tmp_path / "made").mkdir() is None else tmp_path)
    night(made, 0)
    return made


def night(gated: Gated, number: int) -> None:
    """One more run is published."""
    run = gated.run(f"{number:x}", hours=100 - number)
    gated.row("rpt_audit", run, audit_id="nightly", sensitivity=0.1 + number / 3, n_variants=number)
    gated.published() if number == 0 else (gated.written(), publish(Warehouse(gated.warehouse)))


def known() -> Lake:
    lake = lake_of_settings()
    assert lake is not None
    return lake


def same(copy: Published) -> None:
    """Whether lake and copy have equal tables with equal rows."""
    with copy.connect() as source, attached(known(), is_writer=False, memory="1GB") as con:
        tables = "select table_schema || '.' || table_name from information_schema.tables where list_contains($1, table_schema)"
        names = sorted(name for (name,) in source.execute(tables, [list(SCHEMAS)]).fetchall())
        assert sorted(name for (name,) in con.execute(tables, [list(SCHEMAS)]).fetchall()) == names
        for name in names:
            assert rows_of(con, name) == rows_of(source, name), name


@pytest.mark.parametrize("lake", ["file", pytest.param("postgres", marks=pytest.mark.soak)], indirect=True)
def test_a_publication_brings_the_lake_up_and_exchanges_what_changed_alone(lake: PlacedLake, gated: Gated) -> None:
    warehouse = Warehouse(gated.warehouse)
    same(warehouse.published)
    assert write_lake(known(), warehouse.published.path) == 0
    night(gated, 1)
    same(warehouse.published)
    with warehouse.write() as con:
        con.execute("update marts.rpt_audit set sensitivity = 0.5 where n_variants = 1")
        con.execute("delete from marts.rpt_audit where n_variants = 0")
        con.execute("alter table marts.dim_audit_runs add column later integer")
    publish(warehouse)
    same(warehouse.published)
    assert lake.files()


@pytest.mark.soak
@pytest.mark.parametrize("lake", ["postgres"], indirect=True)
def test_snapshots_and_files_stay_as_many_however_many_nights(
    lake: PlacedLake, gated: Gated, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "KEPT_S", 0)
    counts = []
    for number in range(1, 11):
        night(gated, number)
        counts.append((lake.n_snapshots(), len(lake.files())))
    assert len(set(counts[1:])) <= 2
    assert counts[-1][0] <= 3
    same(Warehouse(gated.warehouse).published)


@pytest.mark.soak  # that a reader sees one publication is tested in a query of its own
@pytest.mark.parametrize("lake", ["postgres"], indirect=True)
def test_two_readers_with_the_catalog_s_address_see_whole_publications(
    lake: PlacedLake, gated: Gated, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    environment = {**os.environ, **lake.variables}
    reader_file = tmp_path / "reader.py"
    reader_file.write_text(READER)
    enough = tmp_path / "enough"
    readers = [
        subprocess.Popen(
            [sys.executable, str(reader_file), str(tmp_path / f"ready {number}"), str(enough)],
            cwd=elsewhere,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(2)
    ]
    wait_for(lambda: all((tmp_path / f"ready {number}").exists() for number in range(2)), "two readers")
    for number in (1, 2):
        night(gated, number)
    enough.touch()
    seen = set()
    for reader in readers:
        out, err = reader.communicate(timeout=200)
        assert reader.returncode == 0, err
        seen |= set(out.split())
    assert len(seen) > 1  # they read while nights were published
    assert seen <= {"1", "2", "3"}


@pytest.mark.parametrize("lake", ["postgres"], indirect=True)
def test_the_queries_of_a_reader_see_one_publication(lake: PlacedLake, gated: Gated) -> None:
    assert lake.variables
    counted = "select (select count(*) from raw.audit_runs) as n, (select count(*) from marts.rpt_audit) as n_rows"
    with attached(known(), is_writer=False, memory="1GB") as con:
        ((n_before,),) = con.execute("select count(*) from raw.audit_runs").fetchall()
        night(gated, 1)
        assert con.execute(counted).fetchall() == [(n_before, n_before)]
    with attached(known(), is_writer=False, memory="1GB") as con:
        assert con.execute(counted).fetchall() == [(n_before + 1, n_before + 1)]
    same(Warehouse(gated.warehouse).published)


@pytest.mark.parametrize("lake", ["postgres"], indirect=True)
def test_the_command_line_answers_from_a_lake_as_from_the_copy(lake: PlacedLake, gated: Gated, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    query = (
        "select audit_run_id, sensitivity from marts.rpt_audit union all select 'landed', count(*) from raw.audit_runs"
    )

    def answer(*line: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, **lake.variables, **variables}
        command = [sys.executable, "-m", "promptaudit.cli", *line]
        return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)

    here = answer("sql", query, "--format", "csv", cwd=gated.warehouse.parents[1])
    there = answer("sql", query, "--format", "csv", cwd=elsewhere)
    assert (there.returncode, there.stdout) == (0, here.stdout), there.stderr
    refused = answer("sql", "copy (select 1) to 'x.csv'", cwd=elsewhere)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert refused.stderr.startswith("WarehouseError: a query reads: SELECT")
    unnamed = answer("sql", query, cwd=elsewhere, PROMPTAUDIT_LAKE_DATA="")
    assert (unnamed.returncode, "PROMPTAUDIT_LAKE_DATA: name the folder" in unnamed.stderr) == (2, True)
    secrets = answer("sql", "select current_setting('s3_secret_access_key')", cwd=elsewhere)
    assert (secrets.returncode, lake.variables["AWS_SECRET_ACCESS_KEY"] in secrets.stdout + secrets.stderr) == (
        2,
        False,
    )
    assert "pass" not in here.stderr + there.stderr + refused.stderr


@pytest.mark.parametrize("lake", ["file"], indirect=True)
@pytest.mark.usefixtures("lake", "gated")
def test_a_query_of_a_lake_reads_its_tables_and_reaches_nothing_else(tmp_path: Path) -> None:
    warehouse = tmp_path / "nowhere/audit.duckdb"
    with pytest.raises(WarehouseError, match=r"current_setting\(\): a query calls no function that reads"):
        table(warehouse, "select current_setting('s3_secret_access_key')")
    assert table(warehouse, "select count(*) from rpt_audit")[1] == [(1,)]


@pytest.mark.parametrize("lake", ["file"], indirect=True)
def test_another_warehouse_does_not_replace_a_lake(
    lake: PlacedLake, gated: Gated, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = lake.files()
    (tmp_path / "other").mkdir()
    other = Gated(tmp_path / "other")
    run = other.run("e", hours=1)
    other.row("rpt_audit", run, audit_id="another", sensitivity=0.5, n_variants=1)
    other.published()
    refusal = f"the lake {lake.variables['PROMPTAUDIT_LAKE']} holds 1 runs of another warehouse"
    with pytest.raises(UsageError, match=re.escape(refusal)):
        write_lake(known(), Warehouse(other.warehouse).published.path)
    said = capfd.readouterr().err
    assert refusal in said
    assert "catches up" not in said
    assert lake.files() == before
    same(Warehouse(gated.warehouse).published)


@pytest.mark.parametrize("lake", ["file"], indirect=True)
def test_the_files_of_others_beside_the_data_stay(
    lake: PlacedLake, gated: Gated, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert lake.folder is not None
    catalog = Path(lake.variables["PROMPTAUDIT_LAKE"])
    assert stat.S_IMODE(catalog.stat().st_mode) == 0o600
    foreign = Path(f"{catalog}.data") / "theirs.parquet"
    pl.DataFrame({"x": [1]}).write_parquet(foreign)
    os.utime(foreign, (1, 1))
    monkeypatch.setattr(writing, "KEPT_S", 0)
    night(gated, 1)
    assert foreign.is_file()
    with pytest.raises(WarehouseError, match=r"1 files beside its data are of none of its tables, .*theirs\.parquet"):
        write_lake(known(), Warehouse(gated.warehouse).published.path, is_erasure=True)
    assert foreign.is_file()
    foreign.unlink()
    write_lake(known(), Warehouse(gated.warehouse).published.path, is_erasure=True)
    same(Warehouse(gated.warehouse).published)


@pytest.mark.parametrize("lake", ["file"], indirect=True)
@pytest.mark.usefixtures("lake")
def test_a_warehouse_may_have_dots_in_its_name(gated: Gated) -> None:
    path = gated.warehouse.with_name("night.2026.duckdb")
    night(gated, 1)
    shutil.copy(Warehouse(gated.warehouse).published.path, path)
    assert write_lake(known(), path) == 0


@pytest.mark.parametrize("lake", ["file"], indirect=True)
@pytest.mark.usefixtures("lake")
def test_a_copy_may_be_named_from_the_folder_one_stands_in(gated: Gated, monkeypatch: pytest.MonkeyPatch) -> None:
    night(gated, 1)
    copy = Warehouse(gated.warehouse).published.path
    monkeypatch.chdir(copy.parent)
    assert write_lake(known(), Path(copy.name)) == 0


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://me:s3cr%40t@host:1/db", "postgresql://me@host:1/db"),
        ("postgresql://me@host/db?sslmode=require&password=s3cr%40t", "postgresql://me@host/db?sslmode=require"),
    ],
)
def test_an_address_is_shown_without_its_password(address: str, shown: str) -> None:
    lake = Lake(SecretStr(address), None)
    assert (str(lake), lake.password) == (shown, "s3cr@t")


@pytest.mark.parametrize(
    ("address", "connection"),
    [
        ("postgresql://me:s3cr%40t@host:1/db", "user='me' dbname='db' host='host' port='1'"),
        ("postgresql://host/db?sslmode=require&password=s3cr%40t", "dbname='db' host='host' sslmode='require'"),
        ("postgresql://me@[::1],two:5433/db", "user='me' dbname='db' host='::1,two' port=',5433'"),
        ("postgresql:///db?host=/run/it's", r"dbname='db' host='/run/it\'s'"),
    ],
)
def test_libpq_is_told_an_address_without_its_password(address: str, connection: str) -> None:
    assert Lake(SecretStr(address), None).connection == connection


def test_an_address_of_another_form_is_refused_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMPTAUDIT_LAKE", "host=there password=s3cr3t")
    with pytest.raises(
        UsageError, match=r"PROMPTAUDIT_LAKE: a database of Postgres is named as postgresql://user"
    ) as refused:
        lake_of_settings()
    assert "s3cr3t" not in str(refused.value)


def test_a_lake_that_cannot_be_reached_stops_no_publication_and_shows_no_password(
    gated: Gated, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("duckdb_extension_ducklake", reason="the extra lake is not installed")
    monkeypatch.setenv("PGPASSWORD", "")
    monkeypatch.setenv("PROMPTAUDIT_LAKE", "postgresql://me:s3cr%40t@127.0.0.1:9/audits")
    monkeypatch.setenv("PROMPTAUDIT_LAKE_DATA", str(gated.warehouse.parent / "data"))
    night(gated, 1)
    said = capfd.readouterr().err
    assert said.startswith("warning: WarehouseError: the lake postgresql://me@127.0.0.1:9/audits: ")
    assert "; the next publication catches up\n" in said
    assert "s3cr" not in said
    copy = Warehouse(gated.warehouse).published
    assert copy.read("select count(*) as n from marts.rpt_audit") == [{"n": 2}]
    monkeypatch.delenv("PROMPTAUDIT_LAKE_DATA")
    night(gated, 2)
    assert "PROMPTAUDIT_LAKE_DATA: name the folder" in capfd.readouterr().err
