"""One process opens a warehouse's file once, however many of its threads work with it, and lets go of it when asked to."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from pathlib import Path

import duckdb
import pytest

from promptaudit.marts.publish import publish
from promptaudit.registry.errors import WarehouseError, WarehouseLocked
from promptaudit.warehouse import Published, Warehouse

WRITES = "import duckdb, sys; duckdb.connect(sys.argv[1]).execute('create or replace table t as select 1')"


def can_write(path: Path) -> bool:
    """Whether another process can write to the file."""
    return subprocess.run([sys.executable, "-c", WRITES, str(path)], capture_output=True, check=False).returncode == 0


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    path = tmp_path / "audit.duckdb"
    Warehouse(path).apply_schema()
    return path


def test_threads_that_open_and_close_one_file_get_in_nobodys_way(warehouse: Path) -> None:
    failures: list[Exception] = []

    def work() -> None:
        try:
            for _ in range(100):
                assert Warehouse(warehouse).read("select 1 as n") == [{"n": 1}]
        except Exception as error:  # noqa: BLE001 - whatever a thread runs into
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_file_is_kept_open_until_it_is_let_go_of(warehouse: Path) -> None:
    with Warehouse(warehouse).kept_open():
        Warehouse(warehouse).read("select 1")
        assert not can_write(warehouse)
        with Warehouse(warehouse).write():
            Warehouse(warehouse).let_go()  # somebody works with it
            assert not can_write(warehouse)
        Warehouse(warehouse).let_go()
        assert can_write(warehouse)
        assert Warehouse(warehouse).read("select * from t") == [{"1": 1}]
    assert can_write(warehouse)


def test_publishing_leaves_the_lock_as_it_was(warehouse: Path) -> None:
    with Warehouse(warehouse).kept_open():  # to close the copied file's handle would end DuckDB's lock
        publish(Warehouse(warehouse))
        with Warehouse(warehouse).write():
            assert not can_write(warehouse)
        with Warehouse(warehouse).inspect() as con:
            assert con.execute("select count(*) from raw.audit_runs").fetchall() == [(0,)]
        with Warehouse(warehouse).write(), pytest.raises(WarehouseError, match="is open in this process"):
            Warehouse(warehouse).rewrite()


def test_a_connection_that_failed_is_no_obstacle(warehouse: Path) -> None:
    with pytest.raises(WarehouseError), Warehouse(warehouse).write() as con:
        con.execute("select error('no')")
    with Warehouse(warehouse).write() as con:
        con.close()  # by whoever had it
    assert Warehouse(warehouse).read("select 1 as n") == [{"n": 1}]
    assert can_write(warehouse)


def test_one_piece_of_work_does_not_see_what_another_has_not_committed(warehouse: Path) -> None:
    with Warehouse(warehouse).write() as first, Warehouse(warehouse).write() as second:
        first.execute("begin")
        first.execute("create table mine as select 1")
        with pytest.raises(duckdb.CatalogException):
            second.execute("from mine")
    assert not Warehouse(warehouse).read("select table_name from duckdb_tables() where table_name = 'mine'")


def test_a_folder_whose_name_has_disk_in_it_is_not_full(tmp_path: Path) -> None:
    folder = tmp_path / "disk1"
    folder.mkdir()
    path = folder / "audit.duckdb"
    path.mkdir()
    with pytest.raises(WarehouseError) as caught, Warehouse(path).write():
        pass
    assert "disk is full" not in str(caught.value)


def test_another_program_that_has_the_file_open_is_told_at_once_and_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "audit.duckdb"
    Warehouse(file).apply_schema()
    held = "import duckdb, sys; con = duckdb.connect(sys.argv[1]); print(flush=True); sys.stdin.read()"
    monkeypatch.setattr("promptaudit.warehouse.duckdb_file.WARN_AFTER_S", 0)
    line = [sys.executable, "-c", held, str(file)]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with (
            pytest.raises(WarehouseLocked, match=rf"{file} is open in .*\(PID {holder.pid}\)"),
            Warehouse(file).write(wait_s=0.5),
        ):
            pass
        assert capfd.readouterr().err.count(f"warning: {file} is open in ") == 1
        holder.communicate()
    with Warehouse(file).write(wait_s=0.5):
        pass
    assert capfd.readouterr().err == ""


CONTENT = "(select max(content) from read_text('{file}'))"


@pytest.mark.parametrize(
    ("planted", "name"),
    [
        ("drop table raw.samples; create view raw.samples as select 'r' as audit_run_id", "view raw.samples"),
        (f"create macro json_extract_string(a, b) as {CONTENT}", "macro main.json_extract_string"),
        ("create macro stolen() as table from read_text('{file}')", "table_macro main.stolen"),
        (
            f"create schema marts; create view marts.dim_nights as select {CONTENT} as audit_run_id",
            "view marts.dim_nights",
        ),
        ("create schema marts; create view marts.dim_nights as from '{file}'", "view marts.dim_nights"),
        ("create schema marts; create view marts.dim_nights as from query('select 1')", "view marts.dim_nights"),
    ],
)
def test_a_file_that_could_read_the_user_s_files_is_not_worked_with(tmp_path: Path, planted: str, name: str) -> None:
    made, path, secret = tmp_path / "made.duckdb", tmp_path / "cloned.duckdb", tmp_path / "secret.csv"
    secret.write_text("a key\n")
    Warehouse(made).apply_schema()
    with duckdb.connect(str(made)) as con:
        con.execute(planted.replace("{file}", str(secret)))
    made.rename(path)
    for work in (Warehouse(path).apply_schema, lambda: Warehouse(path).read("select 1")):
        with pytest.raises(WarehouseError, match=rf"cloned\.duckdb has the {name}, which promptaudit has not made"):
            work()
    assert can_write(path)


@pytest.mark.parametrize(("name", "is_read"), [("warehouse/archive/x.csv", True), ("x.csv", False)])
@pytest.mark.parametrize("file", ["warehouse/audit.duckdb", "warehouse/published/audit.duckdb"])
def test_what_is_inspected_reads_the_files_of_the_warehouse_s_folder_alone(
    tmp_path: Path, file: str, name: str, is_read: bool
) -> None:
    path, csv = tmp_path / file, tmp_path / name
    for each in (path, csv):
        each.parent.mkdir(parents=True, exist_ok=True)
    csv.write_text("a\n1\n")
    with duckdb.connect(str(path)) as con:
        con.execute(f"create view v as from read_csv('{csv}')")
    refused = contextlib.nullcontext() if is_read else pytest.raises(WarehouseError, match="a file elsewhere")
    with refused, Published(path).inspect() as con:
        assert con.execute("from v").fetchall() == [(1,)]
