"""Who may import whom: the contracts of pyproject.toml hold, and each of them would notice a breach."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NO_BYTECODE = shutil.ignore_patterns("__pycache__")


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    """import-linter on the packages of a folder, which come before the installed ones."""
    return subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache", "--no-logo"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": f"{folder}{os.pathsep}{folder / 'dbt'}", "PYTHONDONTWRITEBYTECODE": "1"},
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
        ("models_registry/errors.py", "import flows.keys"),
        ("models_registry/errors.py", "import udfs.measures.entropy"),
        ("models_registry/errors.py", "import prefect"),
        ("dbt/udfs/measures/entropy.py", "import models_registry.errors"),
        ("dbt/udfs/measures/entropy.py", "import duckdb"),
        ("dbt/udfs/measures/entropy.py", "import udfs.stability.agreement"),
        ("dbt/udfs/measures/pairs.py", "import udfs.measures.consistency"),
        ("flows/keys.py", "import duckdb"),
        ("flows/keys.py", "from prefect import task"),
        ("flows/keys.py", "import great_expectations"),
    ],
)
def test_a_breach_is_noticed(tmp_path: Path, module: str, line: str) -> None:
    for package in ("flows", "models_registry", "dbt/udfs"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=NO_BYTECODE)
    shutil.copyfile(ROOT / "pyproject.toml", tmp_path / "pyproject.toml")
    with (tmp_path / module).open("a", encoding="utf-8") as file:
        file.write(f"\n{line}\n")
    found = lint_imports(tmp_path)
    assert found.returncode == 1, found.stderr
    assert "1 broken" in found.stdout
    assert str(Path(module).stem) in found.stdout
