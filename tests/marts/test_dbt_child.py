"""The process that runs dbt for a command: what it is told, what it leaves, and what its end leaves behind."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import duckdb
import polars as pl
import psutil
import pytest
import yaml

from promptaudit.audit.runs import close_run
from promptaudit.evidence.retain import retire_again
from promptaudit.exchange.recorded_runs.import_run import ImportOptions, import_predictions
from promptaudit.marts.publish import publish
from promptaudit.marts.relations import relations
from promptaudit.marts.transform import transform
from promptaudit.registry.errors import WarehouseError
from promptaudit.registry.mart_columns import dbt_project
from promptaudit.registry.registry import load_registry
from promptaudit.system import user_cache
from promptaudit.system.helper_processes import DBT, end_children, start
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.dbt_project import compiled, dbt

ANSWERS = """\
model,sample_id,completion,gold_label,variant_index,repetition
m,a,yes,yes,0,1
m,b,no,no,0,1
m,c,no,yes,0,1
m,d,yes,yes,0,1
m,a,yes,yes,0,2
m,b,yes,no,0,2
m,a,yes,yes,1,1
m,b,yes,no,1,1
m,c,yes,yes,1,1
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A published warehouse of a few answers, and its run."""
    folder = tmp_path_factory.mktemp("built")
    (folder / "few.csv").write_text(ANSWERS)
    warehouse = folder / "audit.duckdb"
    Warehouse(warehouse).apply_schema()
    options = ImportOptions(labels=("yes", "no"), resamples=10)
    run = import_predictions(Warehouse(warehouse), [folder / "few.csv"], load_registry([]), options).audit_run_id
    close_run(Warehouse(warehouse), run, "complete")
    derive(warehouse, run)
    publish(Warehouse(warehouse), [run])
    return warehouse, run


def derive(warehouse: Path, run: str) -> None:
    transform(Warehouse(warehouse), [run], "up_to_formats")
    transform(Warehouse(warehouse), [run], "after_formats")


def process_for(warehouse: Path) -> psutil.Process:
    return psutil.Process(start(DBT, warehouse.name).process.pid)


def models_built(warehouse: Path) -> set[str]:
    results = json.loads((warehouse.parent / "dbt" / "target" / "run_results.json").read_text())["results"]
    return {result["unique_id"].rpartition(".")[2] for result in results}


def test_generic_tests_are_grouped_each_once() -> None:
    tested = set()
    for path in (dbt_project() / "models").rglob("*.yml"):
        for model in yaml.safe_load(path.read_text()).get("models", []):
            if model.get("data_tests") or any(column.get("data_tests") for column in model.get("columns", [])):
                tested.add(model["name"])
    files = sorted((dbt_project() / "data-tests").glob("rules_of_*.sql"))
    listed = [name for path in files for name in re.findall(r"'(\w+)'", path.read_text())]
    assert sorted(listed) == sorted(tested)
    named = yaml.safe_load((dbt_project() / "dbt_project.yml").read_text())["data_tests"]["promptaudit"]
    assert sorted(named) == [path.stem for path in files]


@pytest.mark.slow
def test_a_broken_rule_fails_the_build_and_is_named(built: tuple[Path, str], tmp_path: Path) -> None:
    warehouse, run = tmp_path / "audit.duckdb", built[1]
    shutil.copyfile(built[0], warehouse)
    with Warehouse(warehouse).write() as con:
        con.execute("insert into marts.dim_models select * from marts.dim_models")
        con.execute("update marts.fct_p_tau set p_tau = p_tau + 0.5")
        con.execute("update marts.dim_tasks set level = 'odd'")
        con.execute("delete from marts.dim_samples where sample_index = 0")
    with pytest.raises(WarehouseError, match=r"rules_of_answers failed: .*1 rows break unique_grain of dim_models"):
        dbt(Warehouse(warehouse), "test", "--select", "rules_of_answers", audit_run_ids=[run])
    for rule in ("accepted_values of dim_tasks.level", "relationships of fct_predictions.sample_id"):
        with pytest.raises(WarehouseError, match=f"rows break {rule}"):
            dbt(Warehouse(warehouse), "test", "--select", "rules_of_answers", audit_run_ids=[run])
    # nobody takes figures back here, so that a rule about them fails too
    with pytest.raises(WarehouseError, match="rules_of_stability failed"):
        dbt(Warehouse(warehouse), "test", "--select", "rules_of_stability", audit_run_ids=[run])


def rows_of_marts(warehouse: Path) -> dict[str, list[tuple[object, ...]]]:
    with Warehouse(warehouse).write() as con:
        names = con.execute(
            "select table_name from duckdb_tables() where schema_name = 'marts' order by all"
        ).fetchall()
        return {name: con.execute(f"select * from marts.{name} order by all").fetchall() for (name,) in names}


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("build",), marks=pytest.mark.soak),
        pytest.param(("run", "--full-refresh"), marks=pytest.mark.soak),
        pytest.param(("run", "--full-refresh", "--select", "fct_sensitivity", "rpt_audit"), marks=pytest.mark.slow),
    ],
)
def test_an_analysts_own_build_leaves_what_it_cannot_derive(
    built: tuple[Path, str], tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    warehouse, run = tmp_path / "audit.duckdb", built[1]
    shutil.copyfile(built[0], warehouse)
    retire_again(Warehouse(warehouse), run)
    before = rows_of_marts(warehouse)
    assert all(before[mart] for mart in ("rpt_audit", "rpt_stability_by_share", "rpt_sample_similarities"))
    dbt(Warehouse(warehouse), *arguments)
    assert rows_of_marts(warehouse) == before


@pytest.mark.slow
def test_what_stands_or_has_no_rows_is_left_and_other_views_are_made_again(built: tuple[Path, str]) -> None:
    warehouse, run = built
    transform(Warehouse(warehouse), [run], "up_to_formats")
    assert "int_predictions_labelled" in models_built(warehouse)
    assert "stg_predictions" not in models_built(warehouse)
    before = rows_of_marts(warehouse)
    transform(Warehouse(warehouse), [run], "after_formats")
    assert rows_of_marts(warehouse) == before
    left_out = {
        "fct_field_values",
        "dim_groups",
        "rpt_night_states",
        "int_streams_tested",
        "fct_verdicts",
        "rpt_run_comparisons",
    }  # of an import
    assert not left_out & models_built(warehouse)
    assert "rpt_audit" in models_built(warehouse)
    assert not any(before[mart] for mart in left_out & before.keys())
    with Warehouse(warehouse).write() as con:
        con.execute("create or replace view marts.rpt_latest as select 1 as forged")
    derive(warehouse, run)
    assert "rpt_latest" in models_built(warehouse)
    assert "forged" not in {row["column_name"] for row in Warehouse(warehouse).read("describe marts.rpt_latest")}


@pytest.mark.slow
def test_a_warehouse_without_tables_is_given_those_that_dbt_makes(built: tuple[Path, str], tmp_path: Path) -> None:
    warehouse, run = tmp_path / "audit.duckdb", built[1]
    shutil.copyfile(built[0], warehouse)
    before = rows_of_marts(warehouse)
    with Warehouse(warehouse).write() as con:
        made = relations(con)
        for schema in ("staging", "intermediate", "marts"):
            con.execute(f"drop schema {schema} cascade")
    derive(warehouse, run)
    assert "stg_tasks" not in models_built(warehouse)
    with Warehouse(warehouse).write() as con:
        assert relations(con) == made
    assert rows_of_marts(warehouse) == before
    transform(Warehouse(warehouse), [run], "up_to_formats")
    assert "stg_predictions" not in models_built(warehouse)  # it is as dbt made it


@pytest.mark.slow
def test_a_struct_of_an_older_version_is_given_its_new_fields(built: tuple[Path, str], tmp_path: Path) -> None:
    warehouse, older = tmp_path / "audit.duckdb", "struct(state varchar, normal bigint[])"
    shutil.copyfile(built[0], warehouse)
    of_memory = (
        "select data_type from duckdb_columns() where table_name = 'rpt_night_states' and column_name = 'memory'"
    )
    before = Warehouse(warehouse).read(of_memory)
    with Warehouse(warehouse).write() as con:
        con.execute(f"alter table marts.rpt_night_states alter memory type {older}")
        con.execute(
            "insert into marts.rpt_night_states by name select 'r' as audit_run_id, "
            "{'state': 'normal', 'normal': [1, 2]} as memory"
        )
    transform(Warehouse(warehouse), [], "up_to_formats", command="run")
    transform(Warehouse(warehouse), [], "after_formats", command="run")
    assert Warehouse(warehouse).read(of_memory) == before
    (row,) = Warehouse(warehouse).read("select memory from marts.rpt_night_states")
    known = {name: value for name, value in row["memory"].items() if value is not None}
    assert known == {"state": "normal", "normal": [1, 2]}


@pytest.mark.slow
def test_what_a_strangers_file_holds_is_made_nowhere_else(built: tuple[Path, str], tmp_path: Path) -> None:
    warehouse, run = tmp_path / "audit.duckdb", built[1]
    shutil.copyfile(built[0], warehouse)
    with Warehouse(warehouse).write() as con:
        con.execute("alter table marts.rpt_audit add column planted varchar default 'no figure'")
        con.execute("create table marts.stg_tasks as select 1 as planted")
    derive(warehouse, run)
    kept = user_cache.kept("")
    assert kept is not None
    assert [b"planted" in path.read_bytes() for path in kept.glob("*.relations")] == [False]
    assert [path.read_bytes().count(b"planted") for path in kept.glob("audit.duckdb.*.shape")] == [1]  # to compare with
    for schema in ("staging", "intermediate", "marts"):
        with Warehouse(warehouse).write() as con:
            con.execute(f"drop schema {schema} cascade")
    with Warehouse(warehouse).write() as con:
        con.execute("alter table raw.tasks alter column refusal_pattern set default 'planted'")
    derive(warehouse, run)  # by dbt: its raw tables are not as they are here
    assert [b"planted" in path.read_bytes() for path in kept.glob("*.relations")] == [False]


def test_every_view_answers_in_a_copy_of_any_name(built: tuple[Path, str], tmp_path: Path) -> None:
    renamed = tmp_path / "figures of may.duckdb"
    shutil.copyfile(Warehouse(built[0]).published.path, renamed)
    with duckdb.connect(renamed, read_only=True) as con:
        views = con.execute("select view_name from duckdb_views() where schema_name = 'marts' order by all").fetchall()
        rows = {name: con.execute(f"select * from marts.{name} order by all").fetchall() for (name,) in views}
        assert pl.read_database("select * from marts.rpt_latest", con).height == 1
    assert rows.keys() >= {"dim_baselines", "dim_latest_samples", "dim_nights", "rpt_latest", "rpt_alarms"}
    with duckdb.connect() as con:
        con.execute(f"attach '{Warehouse(built[0]).published.path}' as tonight (read_only)")
        con.execute(f"attach '{renamed}' as may (read_only)")
        for name, found in rows.items():
            for attached in ("tonight", "may"):
                assert con.execute(f"select * from {attached}.marts.{name} order by all").fetchall() == found, name


@pytest.mark.soak  # every run that is derived again has its rows once
def test_rows_of_a_run_are_replaced_and_those_of_others_stay(built: tuple[Path, str]) -> None:
    warehouse, run = built
    count = "select audit_run_id, count(*) as n from marts.rpt_audit group by all order by all"
    before = Warehouse(warehouse).read(count)
    with Warehouse(warehouse).write() as con:
        con.execute("insert into marts.rpt_audit select * replace ('other' as audit_run_id) from marts.rpt_audit")
    derive(warehouse, run)
    assert Warehouse(warehouse).read(count) == sorted(
        [*before, {"audit_run_id": "other", "n": 1}], key=lambda row: row["audit_run_id"]
    )
    with Warehouse(warehouse).write() as con:
        con.execute("delete from marts.rpt_audit where audit_run_id = 'other'")


@pytest.mark.slow
@pytest.mark.parametrize("moment", [pytest.param("idle", marks=pytest.mark.soak), "in a build"])
def test_a_killed_child_leaves_no_lock_and_the_next_build_goes_on(built: tuple[Path, str], moment: str) -> None:
    warehouse, run = built
    child = process_for(warehouse)
    if moment == "idle":
        child.kill()
        child.wait()
    else:
        killing = threading.Thread(target=_kill_at_work, args=(child, warehouse))
        killing.start()
        with pytest.raises(WarehouseError, match="the process that runs dbt failed"):
            derive(warehouse, run)
        killing.join()
    with Warehouse(warehouse).write(wait_s=0):
        assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE
    derive(warehouse, run)


def _kill_at_work(child: psutil.Process, warehouse: Path) -> None:
    while not any(file.path == str(warehouse) for file in child.open_files()):
        time.sleep(0.005)
    child.kill()


@pytest.mark.slow
def test_a_build_has_the_memory_that_it_is_given_and_leaves_nothing_beside_the_warehouse(
    built: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warehouse, run = built
    folder = warehouse.parent / "dbt"
    of_a_killed_one, link = folder / "spill-999999999-killed", folder / "spill-999999998-linked"
    of_a_killed_one.mkdir()
    (tmp_path / "kept").write_text("kept")
    link.symlink_to(tmp_path)
    monkeypatch.setattr("promptaudit.warehouse.dbt_project.duckdb_memory", lambda _: "24MiB")
    with pytest.raises(WarehouseError) as error:
        derive(warehouse, run)
    too_little = r"transform: \w+ failed: DuckDB's 24MiB of memory are too little; PROMPTAUDIT_MEMORY gives it more"
    assert re.search(too_little, str(error.value))
    assert list(folder.glob("spill-*")) == []
    assert (tmp_path / "kept").read_text() == "kept"
    monkeypatch.undo()
    derive(warehouse, run)


@pytest.mark.slow
def test_the_child_ends_with_whoever_started_it_in_the_middle_of_a_build(built: tuple[Path, str]) -> None:
    warehouse, run = built
    script = (
        "import sys; from pathlib import Path; from promptaudit.marts.transform import transform\n"
        "from promptaudit.system.helper_processes import start\n"
        "from promptaudit.warehouse import Warehouse\n"
        "w = Path(sys.argv[1]); print(start('promptaudit.marts.dbt_child', w.name).process.pid, flush=True)\n"
        "transform(Warehouse(w), [sys.argv[2]], 'after_formats')"
    )
    line = [sys.executable, "-P", "-c", script, str(warehouse), run]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        folder = Path(child.cwd())
        while not any(file.path == str(warehouse) for file in child.open_files()):
            time.sleep(0.005)
        os.kill(parent.pid, signal.SIGKILL)
    child.wait(timeout=30)
    assert not folder.exists()
    with Warehouse(warehouse).write(wait_s=0):
        pass
    derive(warehouse, run)


def test_it_knows_no_key_and_nothing_that_would_configure_dbt(monkeypatch: pytest.MonkeyPatch) -> None:
    planted = {
        "OPENAI_API_KEY": "sk-1",
        "DBT_PROFILES_DIR": "/nowhere",
        "MY_SECRET": "s",
        "PROMPTAUDIT_NOTIFY": "json://x",
    }
    for name, value in planted.items():
        monkeypatch.setenv(name, value)
    end_children()
    known = process_for(Path("audit.duckdb")).environ()
    assert not planted.keys() & known.keys()


@pytest.mark.slow
def test_what_a_folder_brings_as_a_reading_of_the_project_is_not_read(built: tuple[Path, str], tmp_path: Path) -> None:
    warehouse, run = built
    target = warehouse.parent / "dbt" / "target"
    for name in ("partial_parse.msgpack", "dbt_project.yml", "profiles.yml", ".env"):
        (target / name).write_bytes(b"not what dbt would take")
        (warehouse.parent / name).write_bytes(b"not what dbt would take")
    kept = user_cache.kept("")
    assert kept is not None
    (reading,) = kept.glob("audit.duckdb.*.pickle")
    user_cache.keep(reading.name, b"of classes that are gone")
    end_children()
    derive(warehouse, run)
    assert (target / "partial_parse.msgpack").read_bytes() == b"not what dbt would take"
    assert Path(process_for(warehouse).cwd()) not in (warehouse.parent, target, tmp_path)


@pytest.mark.parametrize("module", ["promptaudit.audit.formats.expectations", "promptaudit.marts.dbt_child"])
def test_a_child_that_nobody_gave_a_folder_removes_none(tmp_path: Path, module: str) -> None:
    (tmp_path / "mine").write_text("kept")
    line = [sys.executable, "-P", "-m", module, "audit.duckdb"]
    subprocess.run(
        line, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, start_new_session=True, check=False
    )
    assert (tmp_path / "mine").read_text() == "kept"


@pytest.mark.slow
def test_what_is_left_out_of_a_build_is_read_by_what_is_built_as_a_mart_or_of_its_runs_alone() -> None:
    """A table of intermediate results holds the last build's rows, of whichever run."""
    manifest = compiled()
    models = {name: node for name, node in manifest["nodes"].items() if node["resource_type"] == "model"}

    def readers(name: str) -> set[str]:
        stem = name.rpartition(".")[2]
        direct = {other for other, node in models.items() if name in node["depends_on"]["nodes"]}
        # whoever takes the rows of the build's runs alone may be built without it
        direct = {other for other in direct if re.search(rf"(?:ref|all_of)\('{stem}'", models[other]["raw_code"])}
        views = {other for other in direct if models[other]["config"]["materialized"] == "view"}
        return (direct - views).union(*map(readers, views))

    for tag in ("comparisons", "nights", "judges", "fields"):
        left_out = {name for name, node in models.items() if tag in node["tags"]}
        assert left_out, tag
        tables = {name for name in left_out if models[name]["config"]["materialized"] == "table"}
        assert {other for name in tables for other in readers(name)} <= left_out, tag
