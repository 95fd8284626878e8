"""What a command imports before its work: nothing heavy that it does not use, so that it starts in a fraction of a second."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from promptaudit.system.child_processes import WATCHER

# what takes longest to import, of all that this project installs
HEAVY = {
    "pandas",
    "scipy",
    "prefect",
    "dbt",
    "great_expectations",
    "altair",
    "openai",
    "genai_prices",
    "sqlglot",
    "openlineage",
    "jinja2",
    "apprise",
    "pydantic_settings",
    "polars",
    "numpy",
    "pyarrow",
    "duckdb",
    "lark",
    "yaml",
}
CARDS = {"yaml", "lark"}
PROGRAM = """
import json, sys
from promptaudit.cli import main
try:
    main(json.loads(sys.argv[1]))
except SystemExit as ended:
    code = ended.code
print(json.dumps([code, sorted({name.partition(".")[0] for name in sys.modules}), len(sys.modules)]))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a published copy that has the one table which resolving a run's name reads, empty."""
    folder = tmp_path_factory.mktemp("imports")
    (folder / "warehouse" / "published").mkdir(parents=True)
    with duckdb.connect(str(folder / "warehouse" / "published" / "audit.duckdb")) as con:
        con.execute("create schema marts")
        con.execute(
            "create table marts.dim_audit_runs "
            "(audit_run_id varchar, audit_id varchar, started_at timestamp, state varchar, origin varchar)"
        )
    return folder


@pytest.mark.parametrize(
    ("arguments", "code", "used", "most"),
    [
        (["--help"], 0, set(), 200),
        (["sql", "select 1"], 0, {"duckdb"}, 400),
        (["history", "sensitivity"], 2, {"duckdb"}, 400),
        (["check"], 2, {"duckdb", *CARDS}, 480),
        (["plan"], 0, {"polars", *CARDS}, 659),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_command_imports_what_it_uses(
    folder: Path, arguments: list[str], code: int, used: set[str], most: int
) -> None:
    ran = subprocess.run(
        [sys.executable, "-P", "-c", PROGRAM, json.dumps(arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    ended, modules, n_modules = json.loads(ran.stdout.splitlines()[-1])
    assert ended == code, ran.stderr
    assert set(modules) & HEAVY <= used
    assert n_modules < most


@pytest.mark.parametrize(
    "module", ["promptaudit.audit.run", "promptaudit.evidence.verify", "promptaudit.exchange.recorded_runs.import_run"]
)
def test_what_makes_and_checks_runs_is_imported_without_the_libraries_of_single_steps(module: str) -> None:
    program = f"import sys, {module}; print({{name.partition('.')[0] for name in sys.modules}})"
    ran = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)
    found = {name for name in HEAVY if f"'{name}'" in ran.stdout}
    assert found <= {"polars", "numpy", "duckdb", *CARDS}


def test_a_bound_value_brings_no_pandas_and_who_needs_it_finds_it(tmp_path: Path) -> None:
    program = (
        "import sys, types, duckdb\n"
        "from promptaudit.cli import sparing_pandas\n"
        "with sparing_pandas():\n"
        "    assert duckdb.execute('select ?', ['a']).fetchall() == [('a',)]\n"
        "    assert 'pandas' not in sys.modules\n"
        "    sys.modules['great_expectations'] = types.ModuleType('great_expectations')\n"
        "    import pandas\n"
    )
    subprocess.run([sys.executable, "-P", "-c", program], cwd=tmp_path, check=True)


def test_the_watcher_imports_neither_the_package_nor_the_folder_it_is_started_in(tmp_path: Path) -> None:
    for name in ("os", "site", "psutil", "contextlib", "promptaudit"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(9)", encoding="utf-8")
    for said in (b".", b""):  # the run ended; the run was killed
        ran = subprocess.run(
            [sys.executable, "-P", "-S", "-X", "importtime", str(WATCHER), "a mark that nothing carries"],
            cwd=tmp_path,
            input=said,
            capture_output=True,
            check=True,
        )
        imported = {line.rpartition("|")[2].strip() for line in ran.stderr.decode().splitlines()}
        assert not {name for name in imported if name.partition(".")[0] == "promptaudit"}
        assert ("psutil" in imported) == (said == b"")
