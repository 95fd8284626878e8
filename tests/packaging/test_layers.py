"""The contracts of pyproject.toml hold, each would notice a breach, one room tests, and tests stand in folders as the code."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import jedi
import pytest

import promptaudit

ROOT = Path(__file__).parents[2]
OURS = re.compile(r"^from promptaudit(?:\.\w+)+ import (\w+)", re.MULTILINE)
NO_BYTECODE = shutil.ignore_patterns("__pycache__")
PACKAGE = ROOT / "flows/promptaudit"
OF_NO_ROOM = {"benchmarks", "dbt", "docs", "end_to_end", "packaging"}

MATHEMATICS = {"entr", "expit", "gammaln", "logit", "xlog1py", "xlogy"}
DISTRIBUTIONS = {
    "udfs/differences/difference.py": {"stdtr"},  # p of a difference: every other one goes through it
    "udfs/differences/detectable.py": {"nctdtrinc", "ndtri", "stdtrit"},  # the power of that test
    "udfs/nights/lost_samples.py": {"bdtrc"},  # p of how many wordings of a sample turned: a count, no difference
    # a quantile becomes an interval
    "udfs/resampling.py": {"ndtri", "stdtrit"},  # of one figure, and of the largest of several
    "udfs/designs/widths.py": {"stdtrit"},  # of many designs at once
    "udfs/measures/variation_spread.py": {"chdtri"},  # of a variance
    "udfs/measures/wording_accuracies.py": {"ndtri"},  # of the worst and the best wording
}
"""What is imported of distributions, module by module: import-linter knows no names within scipy."""
IMPORTS = re.compile(
    r"^ *(?:from (?:scipy(?:\.special|\.stats)?|statistics) import|import (?:scipy|statistics)\b) *(.*)", re.MULTILINE
)


def test_one_room_tests_differences() -> None:
    sources = PACKAGE.rglob("*.py")
    imported = {str(path.relative_to(PACKAGE)): ", ".join(IMPORTS.findall(path.read_text("utf-8"))) for path in sources}
    found = {module: set(names.split(", ")) - MATHEMATICS for module, names in imported.items() if names}
    assert {module: names for module, names in found.items() if names} == DISTRIBUTIONS


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    """import-linter on the package of a folder, which comes before the installed one."""
    return subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache", "--no-logo"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder / "flows"), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_layers_hold() -> None:
    found = lint_imports(ROOT)
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("registry/errors.py", "import promptaudit.system.keys"),
        ("registry/errors.py", "import promptaudit.udfs.measures.entropy"),
        ("registry/errors.py", "import prefect"),
        ("udfs/measures/entropy.py", "import promptaudit.registry.errors"),
        ("udfs/measures/entropy.py", "import duckdb"),
        ("udfs/measures/entropy.py", "import promptaudit.udfs.stability.krippendorff"),
        ("udfs/measures/pairs.py", "import promptaudit.udfs.measures.consistency"),
        ("system/keys.py", "import duckdb"),
        ("system/keys.py", "from prefect import task"),
        ("system/keys.py", "import great_expectations"),
        ("system/keys.py", "import promptaudit.warehouse.rows"),
        ("audit/steps.py", "from promptaudit.python import runs"),
    ],
)
def test_a_breach_is_noticed(tmp_path: Path, module: str, line: str) -> None:
    package = tmp_path / "flows/promptaudit"
    shutil.copytree(PACKAGE, package, ignore=NO_BYTECODE)
    shutil.copyfile(ROOT / "pyproject.toml", tmp_path / "pyproject.toml")
    with (package / module).open("a", encoding="utf-8") as file:
        file.write(f"\n{line}\n")
    found = lint_imports(tmp_path)
    assert found.returncode == 1, found.stderr
    assert re.search(r"[1-9] broken", found.stdout)
    assert str(Path(module).stem) in found.stdout


@pytest.mark.parametrize("room", sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py")))
def test_an_editor_finds_each_import(room: str) -> None:
    """In the module of a room that imports most, in a checkout, whatever is installed."""
    found = {path: list(OURS.finditer(path.read_text("utf-8"))) for path in (PACKAGE / room).rglob("*.py")}
    path, imports = max(found.items(), key=lambda item: len(item[1]))
    script = jedi.Script(path=path, project=jedi.Project(ROOT, sys_path=[]))
    text = path.read_text("utf-8")
    for name in imports:
        places = script.goto(
            text.count("\n", 0, name.start(1)) + 1, name.start(1) - name.start() + 1, follow_imports=True
        )
        assert [place.module_path for place in places if place.module_path != path], name[0]


def test_readme_and_the_package_list_each_room_by_its_first_line() -> None:
    rooms = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))
    listed = {room: importlib.import_module(f"promptaudit.{room}").__doc__.partition("\n")[0] for room in rooms}
    for text in (promptaudit.__doc__, (ROOT / "README.md").read_text(encoding="utf-8")):
        found = dict(re.findall(r"^    (\w+) +(\S.*)$", text, re.MULTILINE))
        assert {room: found.get(room) for room in rooms} == listed


def folders_of(files: Iterable[Path], root: Path) -> set[Path]:
    """Returns the folders that hold these files, and the folders around them, below root."""
    return {folder for file in files for folder in file.relative_to(root).parents if folder.name}


def test_each_room_has_its_folder_of_tests_and_no_other_has_one() -> None:
    rooms = folders_of(PACKAGE.rglob("*.py"), PACKAGE)
    tested = folders_of((ROOT / "tests").rglob("test_*.py"), ROOT / "tests")
    assert {room for room in rooms if len(room.parts) == 1} - tested == set()
    assert {folder for folder in tested if folder.parts[0] not in OF_NO_ROOM} - rooms == set()


def test_helpers_of_tests_stand_in_support() -> None:
    files = {path.relative_to(ROOT / "tests") for path in (ROOT / "tests").rglob("*.py")}
    helpers = {path for path in files if not path.name.startswith("test_") and path.name != "conftest.py"}
    of_programs = {
        path for path in helpers if path.parts[:3] == ("exchange", "recorded_runs", "programs")
    }  # what others' programs load
    assert {path for path in helpers - of_programs if path.parts[0] not in {"support", "udfs"}} == set()
