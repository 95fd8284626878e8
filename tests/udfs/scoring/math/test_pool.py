"""The worker is replaced when it dies, ends with its parent and knows nothing of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from promptaudit.udfs.scoring.math.equal import MathEqual, MathReading
from tests.support.processes import have_ended

EQUAL = MathReading(is_equal=True, reason=None)


FRAIL = """#!{python}
import json, pathlib, sys
lives = pathlib.Path({folder!r})
life = len(list(lives.iterdir()))
(lives / str(life)).touch()
print("[]", flush=True)
for line in sys.stdin:
    number = json.loads(line)[0]
    if life < {n_deaths} and number == 3:
        sys.exit("out of breath")
    print(json.dumps([number, True, None]), flush=True)
"""


@pytest.mark.parametrize(("n_deaths", "lives"), [(0, 1), (1, 2), (2, 3)])
def test_a_worker_that_died_is_replaced(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, n_deaths: int, lives: int
) -> None:
    with frail_worker(monkeypatch, tmp_path, n_deaths) as maths:
        assert maths.equal_all([(f"x+{number}", ["x"]) for number in range(5)]) == [EQUAL] * 5
    assert len(list((tmp_path / "lives").iterdir())) == lives


def test_a_worker_that_dies_for_ever_is_an_error_in_its_own_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with frail_worker(monkeypatch, tmp_path, n_deaths=9) as maths, pytest.raises(OSError, match="out of breath"):
        maths.equal_all([(f"x+{number}", ["x"]) for number in range(5)])
    assert len(list((tmp_path / "lives").iterdir())) == 3


def frail_worker(monkeypatch: pytest.MonkeyPatch, folder: Path, n_deaths: int) -> MathEqual:
    lives, program = folder / "lives", folder / "frail"
    lives.mkdir()
    program.write_text(FRAIL.format(python=sys.executable, folder=str(lives), n_deaths=n_deaths))
    program.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(program))
    return MathEqual()


ORPHAN = """
import sys
from promptaudit.udfs.scoring.math.equal import MathEqual
maths = MathEqual(seconds_per_pair=60)
assert maths.equal("x + 1", ["1 + x"]).is_equal
print(maths._process._running.process.pid, flush=True)
maths.equal("\\\\binom{1000000000}{500000000}", ["7"])
"""


def test_a_worker_ends_with_its_parent_and_knows_nothing_of_it(tmp_path: Path) -> None:
    for name in (
        "sympy.py",
        "antlr4.py",
        "udfs.py",
        "json.py",
    ):  # what stands in the folder, or in PYTHONPATH, is not imported
        (tmp_path / name).write_text("raise SystemExit('imported')")
    script = tmp_path / "scripts" / "orphan.py"
    script.parent.mkdir()
    script.write_text(ORPHAN)
    with subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        cwd=tmp_path,
        env=os.environ | {"OPENAI_API_KEY": "secret", "PROMPTAUDIT_GUARD": "mark", "PYTHONSTARTUP": str(tmp_path)},
    ) as parent:
        assert parent.stdout is not None
        worker = psutil.Process(int(parent.stdout.readline()))
        environment = worker.environ()
        assert environment["PROMPTAUDIT_GUARD"] == "mark"  # by which a killed run's processes are found
        assert "OPENAI_API_KEY" not in environment
        assert "secret" not in str(environment)
        until = time.monotonic() + 10
        while not worker.children() and time.monotonic() < until:
            time.sleep(0.05)
        left = [worker, *worker.children()]
        assert len(left) > 1
        parent.send_signal(signal.SIGKILL)
        assert have_ended([process.pid for process in left])
