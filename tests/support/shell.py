"""The command line as a user has it, in a folder of its own: in this process, which saves the imports, or in its own."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from promptaudit.cli import main

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 280


@dataclass(frozen=True)
class Ended:
    """What a command left: its exit code and both streams."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """Standard output read as JSON."""
        return json.loads(self.out)

    def one_line(self) -> str:
        """The one line an error is; what goes on before it is progress."""
        lines = self.err.strip().splitlines()
        assert lines, f"nothing on stderr, code {self.code}: {self.out}"
        assert "Traceback" not in self.err, self.err
        return lines[-1]


def environment(**extra: str) -> dict[str, str]:
    """The test's environment, without whatever could reach outside."""
    return {**os.environ, "COLUMNS": "120", "NO_COLOR": "1", **extra}


def _of_a_process(extra: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment().items() if name != "PROMPTAUDIT_PREFECT"} | extra


def promptaudit(folder: Path, *arguments: str | Path, **extra: str) -> Ended:
    """Runs one command in `folder` to its end, in this process, without what a run is only shown by.

    It is no flow run of Prefect, whose server is a third of a small run's time, and a first run finds views and marts made.
    Commands in processes of their own do both, as a user's do.
    """
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(folder),
        mock.patch.dict(os.environ, environment(**extra)),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as left:
            code = left.code
    assert isinstance(code, int)
    return Ended(code, out.getvalue(), err.getvalue())


def promptaudit_process(folder: Path, *arguments: str | Path, **extra: str) -> Ended:
    """Runs one command in `folder` to its end, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "promptaudit.cli", *map(str, arguments)],
        cwd=folder,
        env=_of_a_process(extra),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def start(folder: Path, *arguments: str | Path, has_server: bool = True, **extra: str) -> subprocess.Popen[str]:
    """Starts one command in `folder` and leaves it running; it is shown by Prefect unless it has no server."""
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "promptaudit.cli", *map(str, arguments)],
        cwd=folder,
        env=_of_a_process(extra if has_server else {"PROMPTAUDIT_PREFECT": "off"} | extra),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def sql(folder: Path, query: str) -> list[dict[str, Any]]:
    """Rows of a query through `promptaudit sql --format json`."""
    ended = promptaudit(folder, "sql", query, "--format", "json")
    assert ended.code == 0, ended.err
    rows: list[dict[str, Any]] = ended.json()
    return rows


def outputs_by_hash_seed(code: str) -> list[str]:
    """What two processes print that run the same code, each with hashes of its own."""
    outputs = []
    for seed in ("1", "2"):
        environment = {"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        outputs.append(done.stdout)
    return outputs
