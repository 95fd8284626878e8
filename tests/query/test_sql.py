"""`promptaudit sql`: every format holds what was asked, and nothing but the published copy can be reached."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import re
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest

import promptaudit as pa
from promptaudit.query.analyses import analyses, analysis
from promptaudit.query.sql import asks_for_tables, described, distinct_names
from promptaudit.registry.mart_columns import dbt_project
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.figure_names import begin_with
from tests.support.shell import environment, promptaudit, promptaudit_process


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A published copy of one small table, which is all that `sql` needs."""
    folder = tmp_path_factory.mktemp("sql")
    path = Warehouse(folder / "warehouse/audit.duckdb").published.path
    path.parent.mkdir(parents=True)
    with duckdb.connect(str(path)) as con:
        con.execute("create schema marts")
        con.execute(
            "create table marts.t as select 1 as n, 'a\"b' as text, 0.1::double + 0.2::double as real, null as nothing"
        )
    return folder


def test_json_has_full_precision_and_hides_no_column(folder: Path) -> None:
    ended = promptaudit(folder, "sql", "select *, n, 'x'::blob as raw, 'nan'::double as nan from marts.t", "--json")
    assert ended.json() == [
        {"n": 1, "text": 'a"b', "real": 0.30000000000000004, "nothing": None, "n_2": 1, "raw": "78", "nan": None}
    ]
    assert distinct_names(["a", "a", "a_2", "a"]) == ["a", "a_3", "a_2", "a_4"]


def test_csv(folder: Path) -> None:
    ended = promptaudit(folder, "--quiet", "sql", "select * from marts.t", "--format", "csv")
    assert list(csv.reader(io.StringIO(ended.out))) == [
        ["n", "text", "real", "nothing"],
        ["1", 'a"b', "0.30000000000000004", ""],
    ]


def test_csv_reads_back_as_the_same_records(folder: Path) -> None:
    texts = ["\r=1+1", "a\rb", "a\r\nb", "a\nb", 'a"b', "a,b", "", " a ", "\r", "\x1b]52;c;eA==\x07"]
    rows = ", ".join(f"({' || '.join(f'chr({ord(c)})' for c in text) or repr('')}, 1)" for text in texts)
    ended = promptaudit(folder, "sql", f"select * from (values {rows})", "--format", "csv")
    assert list(csv.reader(io.StringIO(ended.out, newline="")))[1:] == [[text, "1"] for text in texts]


@pytest.mark.parametrize("format_", ["csv", "json", "table"])
def test_nothing_that_is_shown_steers_a_terminal(folder: Path, format_: str) -> None:
    ours, theirs = pty.openpty()
    query = "select chr(27) || ']52;c;eA==' || chr(7) || chr(155) || '2J' as text"
    ended = subprocess.run(
        [sys.executable, "-m", "promptaudit.cli", "sql", query, "--format", format_],
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.PIPE,
        check=True,
        timeout=60,
    )
    shown = os.read(ours, 100_000).decode()
    os.close(ours)
    os.close(theirs)
    assert not ended.stderr
    assert "]52;c;eA==" in shown
    ours = {"\x1b[1m", "\x1b[0m"}  # the table's own head is bold
    assert not {"\x1b", "\x07", "\x9b"} & set(re.sub("|".join(map(re.escape, ours)), "", shown))
    if format_ == "json":
        assert json.loads(shown) == [{"text": "\x1b]52;c;eA==\x07\x9b2J"}]


def test_table_shows_control_characters(folder: Path) -> None:
    ended = promptaudit(folder, "sql", "select chr(27) || '[31mred' as text")
    assert "\\x1b[31mred" in ended.out


def test_show_tables_lists_the_marts_and_describe_a_mart(folder: Path) -> None:
    assert promptaudit(folder, "sql", "show tables", "--json").json() == [{"name": "t", "grain": None, "keys": None}]
    columns = promptaudit(folder, "sql", "describe marts.t", "--json").json()
    assert [column["column_name"] for column in columns] == ["n", "text", "real", "nothing"]


def test_the_tables_to_begin_with_come_first_with_grain_and_keys() -> None:
    first = begin_with()
    assert (len(first), first[0], first[-1]) == (10, "dim_audit_runs", "rpt_run_comparisons")
    rows = described(["rpt_latest", *reversed(first), "aside"])
    assert [name for name, *_ in rows] == [*first, "aside", "rpt_latest"]
    assert rows[0] == ("dim_audit_runs", "One row per run.", "audit_run_id")
    assert rows[10] == ("aside", None, None)
    assert all(grain.startswith("One row per ") and keys for _, grain, keys in (*rows[:10], rows[11]) if grain)
    assert [
        asks_for_tables(query)
        for query in ("show tables", " SHOW  TABLES ; ", "show all tables", "show tables from main")
    ] == [True, True, False, False]


@pytest.mark.parametrize("comment", ["-- how many\n", "--how = many\n", "/* how many */ ", "\n-- how many\n"])
def test_a_query_may_begin_with_a_comment(folder: Path, comment: str) -> None:
    assert promptaudit(folder, "sql", f"{comment}select n from marts.t", "--json").json() == [{"n": 1}]
    assert promptaudit(folder, "sql", "--json", f"{comment}select n from marts.t").json() == [{"n": 1}]


def test_half_of_a_character_is_no_query(folder: Path) -> None:
    ended = promptaudit(folder, "sql", "select '\udced'")
    assert (ended.code, ended.out) == (2, "")
    assert ended.one_line() == "WarehouseError: the query is no UTF-8 at character 9"


def test_a_wrong_option_is_no_query(folder: Path) -> None:
    ended = promptaudit(folder, "sql", "--fmt", "json", "select 1")
    assert (ended.code, ended.out) == (2, "")
    assert "No such option: --fmt" in ended.one_line()


def test_the_queries_that_ship_are_listed_with_what_they_say(folder: Path) -> None:
    groups = [group.splitlines() for group in promptaudit(folder, "sql", "--list").out.split("\n\n")]
    names = {path.stem for path in (dbt_project() / "analyses").glob("*/*.sql")}
    assert [heading for heading, *_ in groups] == [
        "judges",
        "models and tasks",
        "nights and costs",
        "samples",
        "wordings",
    ]
    assert {line.split()[0] for _, *lines in groups for line in lines} == names
    assert all(line.endswith(".") for _, *lines in groups for line in lines)
    assert promptaudit(folder, "sql", "--list", "--json").json().keys() == set(names)


def test_a_query_that_ships_is_shown_as_it_can_be_asked(folder: Path) -> None:
    shown = promptaudit(folder, "sql", "--analysis", "cost_per_audit", "--print")
    assert shown.out.rstrip() == analysis("cost_per_audit").rstrip()
    assert "from marts.fct_predictions" in shown.out


def test_a_query_that_ships_asks_the_marts(tmp_path: Path) -> None:
    path = Warehouse(tmp_path / "warehouse/audit.duckdb").published.path
    path.parent.mkdir(parents=True)
    with duckdb.connect(str(path)) as con:
        con.execute("create schema marts")
        con.execute("create table marts.dim_nights as select 'r' as audit_run_id, 'a' as audit_id, true as is_newest")
    ended = promptaudit(tmp_path, "sql", "--analysis", "labels_confused")
    assert ended.one_line().startswith("WarehouseError: Catalog Error: Table with name fct_p_tau does not exist!")


@pytest.mark.parametrize("name", sorted(analyses()))
def test_no_query_that_ships_is_left_with_a_template(name: str) -> None:
    assert "marts." in analysis(name)
    assert not re.search(r"[{}]", analysis(name))


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ("--analysis", "label_confused"),
            "UsageError: no analysis is called 'label_confused'; nearest: labels_confused; ",
        ),
        (("--analysis", "labels_confused", "select 1"), "UsageError: give one of a query, --analysis and --list"),
        (("select 1", "--print"), "UsageError: --print shows the SQL of --analysis NAME"),
        ((), "UsageError: give one of a query, --analysis and --list"),
    ],
)
def test_what_is_no_query_ends_in_one_line(folder: Path, arguments: tuple[str, ...], line: str) -> None:
    ended = promptaudit(folder, "sql", *arguments)
    assert ended.code == 2
    assert ended.one_line().startswith(line)


@pytest.mark.parametrize(
    "query",
    [
        "select * from read_csv('/etc/passwd')",
        "select * from glob('/*')",
        "copy (select 1) to 'stolen.csv'",
        "attach 'other.duckdb'",
        "install httpfs",
        "load httpfs",
        "create table marts.u (n int)",
        "delete from marts.t",
        "set memory_limit = '1TB'",
        "reset enable_external_access",
        "choose 1",
        "select 1; select 2",
        "",
    ],
)
def test_what_reaches_out_is_refused_in_one_line(folder: Path, query: str) -> None:
    before = sorted(path.name for path in folder.rglob("*"))
    ended = promptaudit(folder, "sql", query)
    assert ended.code == 2
    assert len(ended.err.strip().splitlines()) == 1
    assert sorted(path.name for path in folder.rglob("*")) == before


def test_time_is_limited(folder: Path) -> None:
    started = time.monotonic()
    query = "select sum(a.range * b.range) from range(10000000) as a, range(10000000) as b"
    ended = promptaudit(folder, "sql", query, PROMPTAUDIT_SQL_SECONDS="1")
    assert ended.code == 2
    assert "stopped after 1 s" in ended.err
    assert time.monotonic() - started < 20


@pytest.mark.slow
def test_a_query_that_duckdb_does_not_stop_ends_the_process(folder: Path) -> None:
    started = time.monotonic()
    query = "select length(repeat('a', 2000000000) || repeat('b', 2000000000))"
    ended = promptaudit_process(folder, "sql", query, PROMPTAUDIT_SQL_SECONDS="1")
    assert ended.code == 2
    assert ended.err == "WarehouseError: the query was stopped after 1 s\n"
    assert time.monotonic() - started < 20


@pytest.mark.slow
def test_reading_slowly_is_no_slow_query(folder: Path) -> None:
    read = subprocess.Popen(
        [sys.executable, "-m", "promptaudit.cli", "sql", "select range as n from range(300000)", "--format", "csv"],
        cwd=folder,
        env=environment(PROMPTAUDIT_SQL_SECONDS="4"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(8)
    out, err = read.communicate(timeout=60)
    assert (read.returncode, err) == (0, "")
    assert len(out.splitlines()) == 300_001


def test_memory_is_limited(folder: Path) -> None:
    query = "select list(range) from range(100000000)"
    ended = promptaudit(folder, "sql", query, PROMPTAUDIT_SQL_MEMORY="100MB")
    assert ended.code == 2
    assert "Out of Memory" in ended.err


@pytest.mark.slow
def test_the_door_from_python_keeps_the_limits_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = pa.open(folder / "warehouse")
    row = opened.sql(
        "select n, '00000000-0000-0000-0000-000000000001'::uuid as id, [n] as l, null as nothing from t"
    ).row(0)
    assert row == (1, "00000000-0000-0000-0000-000000000001", [1], None)
    with pytest.raises(
        pa.PromptauditError, match=r"WarehouseError: current_setting\(\): a query calls no function that"
    ):
        opened.sql("select current_setting('memory_limit')")
    monkeypatch.setenv("PROMPTAUDIT_SQL_SECONDS", "1")
    started = time.monotonic()
    with pytest.raises(pa.PromptauditError, match=r"^WarehouseError: the query was stopped after 1 s$"):
        opened.sql("select sum(a.range * b.range) from range(10000000) as a, range(10000000) as b")
    assert time.monotonic() - started < 40
