"""The wheel alone, where the checkout cannot be imported: everything ships, nothing is written beside the code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[2]
PACKAGE = "promptaudit"


def called(*command: str | Path, cwd: Path, environment: dict[str, str] | None = None) -> str:
    """What a program printed on stdout; fails with all it said."""
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    folder = tmp_path_factory.mktemp("dist")
    called(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder, cwd=ROOT)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel, which borrows the libraries of this one but not its link to the checkout."""
    folder = tmp_path_factory.mktemp("installed") / "env"
    called(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder.parent)
    # a folder named in a .pth file is searched, the .pth files in it are not read
    (site_packages(folder) / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    # the pip of this environment, as that of the other: its commands begin with the python that they are for
    pip = (sys.executable, "-m", "pip", "--python", folder / "bin" / "python", "--disable-pip-version-check")
    install = ("install", "--quiet", "--no-index", "--no-deps", "--ignore-installed")
    called(*pip, *install, wheel, cwd=folder.parent)
    return folder


def site_packages(environment: Path) -> Path:
    return Path(sysconfig.get_path("purelib", vars={"base": str(environment), "platbase": str(environment)}))


def installed_files(environment: Path) -> dict[str, tuple[int, int]]:
    """Size and time of every installed file of ours, compiled ones aside."""
    top = site_packages(environment)
    return {
        str(path.relative_to(top)): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in (top / PACKAGE).rglob("*")
        if "__pycache__" not in path.parts
    }


def placed(name: str) -> str:
    """Where a file of the checkout lies in the wheel."""
    return f"{PACKAGE}/{name.removeprefix('flows/promptaudit/')}"


def test_the_wheel_holds_every_file_of_the_packages_and_of_the_dbt_project(wheel: Path) -> None:
    folders = ("flows", "models_registry", "dbt", "infra/runbooks")
    listed = called("git", "ls-files", "--cached", "--others", "--exclude-standard", *folders, cwd=ROOT)
    expected = {placed(name) for name in listed.splitlines() if (ROOT / name).is_file()}
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
        text = archive.read(next(name for name in archive.namelist() if name.endswith("/entry_points.txt"))).decode()
    assert held == expected
    assert "promptaudit = promptaudit.cli:main" in text
    assert {name.partition("/")[0] for name in held} == {PACKAGE}, "nothing else at the top of site-packages"


def test_init_and_run_work_from_an_empty_folder(environment: Path, tmp_path: Path) -> None:
    here, home = tmp_path / "here", tmp_path / "home"
    here.mkdir()
    home.mkdir()
    variables = {"PATH": f"{environment / 'bin'}{os.pathsep}{os.defpath}", "HOME": str(home), "LANG": "C.UTF-8"}
    promptaudit = environment / "bin" / "promptaudit"

    looked = "import json, sys, promptaudit; print(json.dumps([promptaudit.__file__, sys.path]))"
    file, path = json.loads(called(environment / "bin" / "python", "-c", looked, cwd=here, environment=variables))
    assert Path(file).is_relative_to(site_packages(environment))
    assert not {str(ROOT), str(ROOT / "flows")} & set(path), "the checkout must not be importable"

    program = "from promptaudit.marts.manifest import made_by; print(made_by())"
    here_made, there_made = (
        called(python, "-c", program, cwd=here, environment=variables)
        for python in (sys.executable, environment / "bin" / "python")
    )
    assert here_made == there_made, "a checkout and its wheel are one code"

    before = installed_files(environment)
    assert "registry" in called(promptaudit, "init", cwd=here, environment=variables)
    card = here / "registry/audits/mine.yml"  # of fewer samples: as many are measured as well elsewhere
    text = card.read_text().replace("limit: 200", "limit: 12").replace("variants: 10", "variants: 4")
    card.write_text(f"{text}  resamples: 50\n")
    nowhere = variables | {"PREFECT_API_URL": "http://127.0.0.1:9/api"}  # a server of its own costs as much as the rest
    first = called(promptaudit, "run", "mine", cwd=here, environment=nowhere)
    published = here / "warehouse" / "published"
    assert (published / "audit.duckdb").is_file()
    assert (published / "report.html").is_file()
    assert (published / "runbooks/gate_failed.html").is_file()
    assert list((published / "marts" / "rpt_audit").glob("audit_run_id=*/data.parquet"))
    assert "my_task" in first

    query = "select count(*) as n from marts.rpt_audit"
    rows = json.loads(called(promptaudit, "sql", "--format", "json", query, cwd=here, environment=variables))
    assert rows[0]["n"] > 0
    assert installed_files(environment) == before, "nothing is written beside the installed code"
    assert {entry.name for entry in here.iterdir()} == {"registry", "warehouse"}
