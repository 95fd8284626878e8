"""What failed once in `.ci/run` runs again, alone, and is named; what fails again fails the run. Its end lists what took long."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2] / ".ci" / "tests"
MAKEFILE = "test:\n\t@{python} -m pytest -q -n $(WORKERS) -p no:hypothesispytest $(PYTEST_ARGS)\n"
PASSES = "def test_passes(): pass\n"
FAILS_ONCE = """
from pathlib import Path

def test_fails_once():
    mark = Path("failed")
    seen, _ = mark.exists(), mark.touch()
    assert seen
"""
FAILS = "def test_fails(): assert False\n"
DOES_NOT_IMPORT = "import no_such_module\n"
SLOW = "import time\n\ndef test_slow(): time.sleep(.02)\n"


@pytest.mark.parametrize(
    ("code", "ends_well", "flaky", "runs_again"),
    [
        (PASSES, True, False, False),
        (PASSES + FAILS_ONCE, True, True, True),
        (FAILS + FAILS_ONCE, False, True, True),
        (PASSES + DOES_NOT_IMPORT, False, False, False),
    ],
)
def test_what_passes_alone_is_named_and_what_fails_again_fails(
    tmp_path: Path, code: str, ends_well: bool, flaky: bool, runs_again: bool
) -> None:
    (tmp_path / "Makefile").write_text(MAKEFILE.format(python=sys.executable))
    (tmp_path / "test_code.py").write_text(code)
    environment = {"PATH": os.environ["PATH"], "PYTHON": sys.executable}
    done = subprocess.run(
        [TESTS, "WORKERS=0", "PYTEST_ARGS=-rs"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode == 0) == ends_well, done.stdout
    assert ("FLAKY: test_code.py::test_fails_once" in done.stdout.splitlines()) == flaky
    assert ("once more, alone" in done.stdout) == runs_again
    assert "FLAKY: test_code.py::test_fails\n" not in done.stdout


def test_a_run_ends_with_its_slowest_tests_and_the_minutes_of_its_steps(tmp_path: Path) -> None:
    shutil.copytree(TESTS.parent, tmp_path / ".ci")
    steps = "\n".join(f"{step}:\n\t@true" for step in (".venv/dev.stamp", "lint", "docs", "build"))
    (tmp_path / "Makefile").write_text(f"{MAKEFILE.format(python=sys.executable).replace('$(WORKERS)', '0')}{steps}\n")
    (tmp_path / "test_code.py").write_text(SLOW)
    for folder in ("dist", "bin"):
        (tmp_path / folder).mkdir()
    (tmp_path / "bin" / "chromium").symlink_to("/bin/true")  # nothing is installed
    environment = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "PYTHON": sys.executable}
    done = subprocess.run([tmp_path / ".ci" / "run"], env=environment, capture_output=True, text=True, check=True)
    closing = done.stdout.partition("== done")[2]
    assert re.search(r"^1 passed in ", closing, re.MULTILINE)
    assert re.search(r"^0\.0\ds call +test_code\.py::test_slow$", closing, re.MULTILINE)
    assert re.search(r"^  0:\d\d min  make lint$", closing, re.MULTILINE)
    assert re.search(r"^  0:\d\d min  in all$", closing, re.MULTILINE)
