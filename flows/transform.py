"""Builds the dbt project for the runs it is given, in a child process that reads the project once a command.

The child (`flows.dbt_child`) lets go of DuckDB after each build. It is started by `warm`, while the command does other things,
or by the first build.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from flows.lineage.follow import built
from flows.seal import views_stand
from flows.settings import SILENT
from flows.warehouse import connect
from models_registry.errors import WarehouseError

Command = Literal["build", "run"]
Part = Literal["up_to_formats", "after_formats", "comparisons"]
_HIDDEN = (
    "_KEY", "_TOKEN", "_SECRET", "PASSWORD", "AUTH_STRING", "PROMPTAUDIT_NOTIFY", "PROMPTAUDIT_HEARTBEAT_URL", "OPENLINEAGE",
)  # fmt: skip


def transform(  # noqa: PLR0913 - what a build is about
    warehouse: Path,
    audit_run_ids: Sequence[str],
    part: Part,
    comparison_ids: Sequence[str] = (),
    *,
    command: Command = "build",
    meanwhile: Callable[[], object] | None = None,
) -> None:
    """Builds one part of the project for these runs, and comparisons; raises WarehouseError naming the model that failed.

    `run` leaves out the tests, which are about whole runs, and the events, which are about this warehouse's. Views that are as
    this version of the project made them are left as they are. `meanwhile` is called while dbt builds.
    """
    with connect(warehouse) as con:
        selector = f"{part}_without_views" if views_stand(con) else part
    try:
        dbt(
            warehouse, command, "--selector", selector,
            audit_run_ids=audit_run_ids, comparison_ids=comparison_ids, meanwhile=meanwhile,
        )  # fmt: skip
    finally:
        if command == "build":
            built(warehouse, audit_run_ids, comparison_ids)


def warm(warehouse: Path) -> None:
    """Starts the child that will build this warehouse, and returns at once."""
    _child_of(warehouse.name)


def dbt(  # noqa: PLR0913 - what a command is about
    warehouse: Path,
    command: str,
    *arguments: str,
    audit_run_ids: Sequence[str] = (),
    comparison_ids: Sequence[str] = (),
    meanwhile: Callable[[], object] | None = None,
) -> None:
    """One dbt command on this warehouse, about these runs or all; what it writes goes beside the warehouse."""
    warehouse = warehouse.resolve()
    target = warehouse.parent / "dbt" / "target"
    target.mkdir(parents=True, exist_ok=True, mode=0o700)
    (target / "run_results.json").unlink(missing_ok=True)
    failure = _child_of(warehouse.name).ask(
        {
            "warehouse": str(warehouse), "target": str(target), "arguments": [command, *arguments],
            "runs": list(audit_run_ids), "comparisons": list(comparison_ids),
        },
        meanwhile,
    )  # fmt: skip
    if failure is not None:
        raise WarehouseError(failure)


def compiled() -> dict[str, Any]:
    """Returns the manifest of the whole project with the SQL of every model, as dbt makes it in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="promptaudit-dbt-") as folder:
        dbt(Path(folder) / "audit.duckdb", "compile")
        return manifest_of_build(Path(folder) / "dbt" / "target")


def manifest_of_build(target: Path) -> dict[str, Any]:
    """Returns the manifest that dbt left in a folder, with the SQL of the models that its last command compiled."""
    manifest: dict[str, Any] = json.loads((target / "manifest.json").read_text(encoding="utf-8"))
    for result in json.loads((target / "run_results.json").read_text(encoding="utf-8"))["results"]:
        if result["unique_id"] in manifest["nodes"]:
            manifest["nodes"][result["unique_id"]]["compiled_code"] = result["compiled_code"]
    return manifest


class _Child:
    """The process that runs dbt for warehouses of one file name, in a private folder of its own."""

    def __init__(self, name: str) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="promptaudit-dbt-"))
        self._said = (self._folder / "said").open("w+", encoding="utf-8", errors="replace")
        self._process = subprocess.Popen(  # noqa: S603 - this interpreter, our own words
            [sys.executable, "-P", "-m", "flows.dbt_child", name],
            cwd=self._folder, env=_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said,
            text=True, start_new_session=True,
        )  # fmt: skip

    @property
    def is_alive(self) -> bool:
        """Whether it can be asked."""
        return self._process.poll() is None

    def ask(self, request: dict[str, Any], meanwhile: Callable[[], object] | None = None) -> str | None:
        """Has it carry out a request; returns what failed, in one line, or None. Whatever interrupts this ends the child."""
        assert self._process.stdin is not None and self._process.stdout is not None  # noqa: S101, PT018 - pipes were asked for
        try:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.write(json.dumps(request) + "\n")
                self._process.stdin.flush()
            if meanwhile is not None:
                meanwhile()
            reply = self._process.stdout.readline()
        except BaseException:
            self.end()
            raise
        if reply:
            failure: str | None = json.loads(reply)["error"]
            return failure
        said = self._last_words()
        self.end()
        return f"transform: the process that runs dbt ended: {said}"

    def _last_words(self) -> str:
        code = self._process.wait()
        self._said.seek(0)
        lines = [part.strip() for part in self._said.read()[-4000:].splitlines() if part.strip()]
        return " ".join(lines[-4:])[:400] or f"exit code {code}"

    def end(self) -> None:
        """Ends it and whatever it started, and removes its folder."""
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._said):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()
        shutil.rmtree(self._folder, ignore_errors=True)


_children: dict[str, _Child] = {}


def _child_of(name: str) -> _Child:
    child = _children.get(name)
    if child is not None and not child.is_alive:
        child.end()
    if child is None or not child.is_alive:
        child = _children[name] = _Child(name)
    return child


@atexit.register
def _end_all() -> None:
    for child in _children.values():
        child.end()
    _children.clear()


def _environment() -> dict[str, str]:
    """The environment for dbt: no key, since dbt has no business with one, and no variable that would configure dbt."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not (name.startswith("DBT_") or any(word in name.upper() for word in _HIDDEN))
    }
    paths = [str(Path(part).absolute()) for part in environment.pop("PYTHONPATH", "").split(os.pathsep) if part]
    environment |= {"PYTHONPATH": os.pathsep.join(paths)} if paths else {}
    return environment | SILENT
