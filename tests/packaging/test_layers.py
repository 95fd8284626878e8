"""The contracts of pyproject.toml hold, each would notice a breach, one room tests, and tests stand in folders as the code."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.support.package_tree import lay_out

ROOT = Path(__file__).parents[2]
NO_BYTECODE = shutil.ignore_patterns("__pycache__")
# folders of tests that are about no single room of flows
OF_NO_ROOM = {"benchmarks", "dbt", "docs", "end_to_end", "models_registry", "packaging", "udfs"}

MATHEMATICS = {"entr", "expit", "gammaln", "logit", "xlog1py", "xlogy"}
DISTRIBUTIONS = {
    "flows/promptaudit/udfs/differences/difference.py": {"stdtr"},  # p of a difference: every other one goes through it
    "flows/promptaudit/udfs/differences/detectable.py": {"nctdtrinc", "ndtri", "stdtrit"},  # the power of that test
    "flows/promptaudit/udfs/nights/lost_samples.py": {
        "bdtrc"
    },  # p of how many wordings of a sample turned: a count, no difference
    # a quantile becomes an interval
    "flows/promptaudit/udfs/resampling.py": {"ndtri", "stdtrit"},  # of one figure, and of the largest of several
    "flows/promptaudit/udfs/designs/widths.py": {"stdtrit"},  # of many designs at once
    "flows/promptaudit/udfs/measures/variation_spread.py": {"chdtri"},  # of a variance
    "flows/promptaudit/udfs/measures/wording_accuracies.py": {"ndtri"},  # of the worst and the best wording
}
"""What is imported of distributions, module by module: import-linter knows no names within scipy."""
IMPORTS = re.compile(
    r"^ *(?:from (?:scipy(?:\.special|\.stats)?|statistics) import|import (?:scipy|statistics)\b) *(.*)", re.MULTILINE
)


def test_one_room_tests_differences() -> None:
    sources = [
        path for room in ("flows/promptaudit/udfs", "flows", "models_registry") for path in (ROOT / room).rglob("*.py")
    ]
    imported = {str(path.relative_to(ROOT)): ", ".join(IMPORTS.findall(path.read_text("utf-8"))) for path in sources}
    found = {module: set(names.split(", ")) - MATHEMATICS for module, names in imported.items() if names}
    assert {module: names for module, names in found.items() if names} == DISTRIBUTIONS


def lint_imports(folder: Path, tree: Path) -> subprocess.CompletedProcess[str]:
    """import-linter on the package of a folder, laid out in `tree`, which comes before the installed one."""
    lay_out(tree, folder)
    return subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache", "--no-logo"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_layers_hold(tmp_path: Path) -> None:
    found = lint_imports(ROOT, tmp_path / "tree")
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("flows/promptaudit/registry/errors.py", "import promptaudit.system.keys"),
        ("flows/promptaudit/registry/errors.py", "import promptaudit.udfs.measures.entropy"),
        ("flows/promptaudit/registry/errors.py", "import prefect"),
        ("flows/promptaudit/udfs/measures/entropy.py", "import promptaudit.registry.errors"),
        ("flows/promptaudit/udfs/measures/entropy.py", "import duckdb"),
        ("flows/promptaudit/udfs/measures/entropy.py", "import promptaudit.udfs.stability.krippendorff"),
        ("flows/promptaudit/udfs/measures/pairs.py", "import promptaudit.udfs.measures.consistency"),
        ("flows/promptaudit/system/keys.py", "import duckdb"),
        ("flows/promptaudit/system/keys.py", "from prefect import task"),
        ("flows/promptaudit/system/keys.py", "import great_expectations"),
        ("flows/promptaudit/system/keys.py", "from promptaudit import runs"),
    ],
)
def test_a_breach_is_noticed(tmp_path: Path, module: str, line: str) -> None:
    for package in ("flows", "models_registry", "flows/promptaudit/udfs"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=NO_BYTECODE)
    shutil.copyfile(ROOT / "pyproject.toml", tmp_path / "pyproject.toml")
    with (tmp_path / module).open("a", encoding="utf-8") as file:
        file.write(f"\n{line}\n")
    found = lint_imports(tmp_path, tmp_path / "tree")
    assert found.returncode == 1, found.stderr
    assert re.search(r"[1-9] broken", found.stdout)
    assert str(Path(module).stem) in found.stdout


def folders_of(files: Iterable[Path], root: Path) -> set[Path]:
    """Returns the folders that hold these files, and the folders around them, below root."""
    return {folder for file in files for folder in file.relative_to(root).parents if folder.name}


def test_each_room_of_flows_has_its_folder_of_tests_and_no_other_has_one() -> None:
    rooms = folders_of((ROOT / "flows").rglob("*.py"), ROOT / "flows")
    tested = folders_of((ROOT / "tests").rglob("test_*.py"), ROOT / "tests")
    assert {room for room in rooms if len(room.parts) == 1} - tested == set()
    assert {folder for folder in tested if folder.parts[0] not in OF_NO_ROOM} - rooms == set()


def test_helpers_of_tests_stand_in_support() -> None:
    files = {path.relative_to(ROOT / "tests") for path in (ROOT / "tests").rglob("*.py")}
    helpers = {path for path in files if not path.name.startswith("test_") and path.name != "conftest.py"}
    of_programs = {
        path for path in helpers if path.parts[:2] == ("recorded_runs", "programs")
    }  # what others' programs load
    assert {path for path in helpers - of_programs if path.parts[0] not in {"support", "udfs"}} == set()
