"""Builds the dbt project for the runs it is given, in a child process that frees DuckDB's lock when it ends."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from flows import cache
from flows.lineage.follow import built
from flows.settings import SILENT, dbt_project
from models_registry.errors import WarehouseError
from udfs import COMPARISON_IDS, RUN_IDS

Command = Literal["build", "run"]
Part = Literal["up_to_formats", "after_formats", "comparisons"]
_HIDDEN = (
    "_KEY", "_TOKEN", "_SECRET", "PASSWORD", "AUTH_STRING", "PROMPTAUDIT_NOTIFY", "PROMPTAUDIT_HEARTBEAT_URL", "OPENLINEAGE",
)  # fmt: skip


def transform(
    warehouse: Path,
    audit_run_ids: Sequence[str],
    part: Part,
    comparison_ids: Sequence[str] = (),
    *,
    command: Command = "build",
) -> None:
    """Builds one part of the project for these runs, and comparisons; raises WarehouseError naming the model that failed.

    `run` leaves out the tests, which are about whole runs, and the events, which are about this warehouse's.
    """
    try:
        dbt(warehouse, command, "--selector", part, audit_run_ids=audit_run_ids, comparison_ids=comparison_ids)
    finally:
        if command == "build":
            built(warehouse, audit_run_ids, comparison_ids)


def dbt(
    warehouse: Path,
    command: str,
    *arguments: str,
    audit_run_ids: Sequence[str] = (),
    comparison_ids: Sequence[str] = (),
) -> None:
    """One dbt command on this warehouse, about these runs or all; what it writes goes beside the warehouse."""
    warehouse, project = warehouse.resolve(), dbt_project()
    place = warehouse.parent / "dbt"
    target = place / "target"
    target.mkdir(parents=True, exist_ok=True, mode=0o700)
    (target / "run_results.json").unlink(missing_ok=True)
    # to parse the project takes 7 s; dbt sees what of it has changed since, and asks that the database has the same name
    parsed, kept = target / "partial_parse.msgpack", f"{warehouse.name}.msgpack"
    is_ours = not parsed.exists()  # a folder may be somebody else's
    if is_ours and (known := cache.read(kept)) is not None:
        with contextlib.suppress(OSError):
            parsed.write_bytes(known)
    # dbt writes its environment into no artefact, and has no business with a key
    environment = {
        name: value
        for name, value in os.environ.items()
        if not (name.startswith("DBT_") or any(word in name.upper() for word in _HIDDEN))
    }
    paths = [str(Path(part).absolute()) for part in environment.pop("PYTHONPATH", "").split(os.pathsep) if part]
    environment |= {"PYTHONPATH": os.pathsep.join(paths)} if paths else {}
    # "./": a name such as `md:x.duckdb` is a file's
    environment |= SILENT | {"PROMPTAUDIT_WAREHOUSE": f"./{warehouse.name}", RUN_IDS: ",".join(audit_run_ids)}
    environment[COMPARISON_IDS] = ",".join(comparison_ids)
    line = [
        sys.executable, "-P", "-m", "dbt.cli.main", "--no-use-colors", "--log-level", "warn", "--log-level-file", "none", command,
        "--project-dir", str(project), "--profiles-dir", str(project), "--target-path", str(target),
        "--log-path", str(place), *arguments,
    ]  # fmt: skip
    child = subprocess.Popen(  # noqa: S603 - our own words, no shell
        line, cwd=warehouse.parent, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
    )  # fmt: skip
    try:
        output, _ = child.communicate()
    except BaseException:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        raise
    if child.returncode:
        raise WarehouseError(_failure(target / "run_results.json", output))
    if is_ours:
        with contextlib.suppress(OSError):
            cache.keep(kept, parsed.read_bytes())


def compiled() -> dict[str, Any]:
    """The manifest dbt makes of the whole project, with the SQL of every model; in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="promptaudit-dbt-") as folder:
        dbt(Path(folder) / "audit.duckdb", "compile")
        file = Path(folder) / "dbt" / "target" / "manifest.json"
        manifest: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return manifest


def _failure(results: Path, output: str) -> str:
    try:
        nodes = json.loads(results.read_text(encoding="utf-8"))["results"]
    except (OSError, ValueError, KeyError):
        nodes = []
    for node in nodes:
        if node["status"] in ("error", "fail"):
            message = " ".join(str(node.get("message") or "").split())
            return f"transform: {node['unique_id'].split('.')[2]} failed: {message[:300]}"
    said = [part.strip() for part in output.splitlines() if part.strip()]
    return f"transform: dbt ended with an error: {' '.join(said[-4:])[:400]}"
