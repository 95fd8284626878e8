"""The child that runs dbt: it imports dbt and reads the project once, then takes one build after the other.

Its argument is the file name of the warehouses it will build. It lets go of DuckDB after each build.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptaudit.flows.system import user_cache
from promptaudit.flows.system.helper_processes import serve
from promptaudit.models_registry.mart_columns import dbt_project
from promptaudit.udfs import COMPARISON_IDS, RUN_IDS, TRUSTED_READERS

if TYPE_CHECKING:
    from dbt.contracts.graph.manifest import Manifest

    from promptaudit.udfs.readers.own_code import TrustedReader

QUIET = ("--no-use-colors", "--log-level", "none", "--log-level-file", "none", "--no-write-json")
PARSED = "partial_parse.msgpack"
SPILL = "PROMPTAUDIT_DBT_SPILL"
"""The variable that tells the profile where DuckDB puts what does not fit into memory."""
RESULTS, MANIFEST = "run_results.json", "manifest.json"
FAILED = ("error", "fail")
_described: dict[str, bytes] = {}
"""The project as `manifest.json`, by the file name of its warehouses: dbt takes half a second to write it."""


def ready(name: str) -> Callable[[dict[str, Any]], str | None]:
    """Returns what builds warehouses of this file name, once dbt has read the project."""
    manifest = read_project(name)
    return lambda request: build(manifest, **request)


def read_project(name: str) -> Manifest:
    """Returns the project as dbt reads it for warehouses of this file name.

    What dbt keeps of an earlier reading comes from the user's cache and goes back there. It never comes from the warehouse's
    folder, which may be somebody else's, since a kept reading holds SQL and macros.
    """
    from dbt.cli.main import dbtRunner

    os.environ["PROMPTAUDIT_WAREHOUSE"] = f"./{name}"
    here, kept = Path.cwd(), f"{name}.msgpack"
    known = user_cache.read(kept)
    if known is not None:
        (here / PARSED).write_bytes(known)
    done = dbtRunner().invoke([*QUIET, "parse", *_places(here)])
    if done.exception is not None or done.result is None:
        raise SystemExit(_line(done.exception))
    with contextlib.suppress(OSError):
        parsed = (here / PARSED).read_bytes()
        (here / PARSED).unlink()
        if parsed != known:
            user_cache.keep(kept, parsed)
        elif (described := user_cache.read(f"{name}.{MANIFEST}")) is not None:
            _described[name] = described
    manifest: Manifest = done.result  # type: ignore[assignment]
    return manifest


def build(
    manifest: Manifest,
    warehouse: str,
    target: str,
    memory: str,
    arguments: list[str],
    runs: list[str],
    comparisons: list[str],
    readers: list[TrustedReader],
) -> str | None:
    """Runs one dbt command on a warehouse, about these runs and comparisons; returns what failed, in one line, or None.

    DuckDB takes this much memory at most; what does not fit waits in the folder `spill` beside `target`. Of readers that are the
    user's own code it calls `readers` alone. `run_results.json` and `manifest.json` are left in `target`.
    """
    from dbt.adapters.duckdb.connections import DuckDBConnectionManager
    from dbt.cli.main import dbtRunner

    folder = Path(target)
    os.environ |= {
        "PROMPTAUDIT_WAREHOUSE": warehouse, "PROMPTAUDIT_MEMORY": memory, SPILL: str(folder.with_name("spill")),
        RUN_IDS: ",".join(runs), COMPARISON_IDS: ",".join(comparisons), TRUSTED_READERS: json.dumps(readers),
    }  # fmt: skip
    try:
        done = dbtRunner(manifest=manifest).invoke([*QUIET, *arguments, *_places(folder)])
    finally:
        DuckDBConnectionManager.close_all_connections()  # type: ignore[no-untyped-call]
    result: Any = done.result
    if hasattr(result, "write"):
        result.write(str(folder / RESULTS))
    describe(manifest, Path(warehouse).name, folder / MANIFEST)
    if done.success:
        return None
    for node in getattr(result, "results", ()):
        if str(node.status) in FAILED:
            return f"transform: {node.node.name} failed: {_line(node.message)}"
    return f"transform: dbt ended with an error: {_line(done.exception)}"


def describe(manifest: Manifest, name: str, path: Path) -> None:
    """Writes the project's `manifest.json`, which is the same for every warehouse of one file name, unless it is there."""
    if name not in _described:
        manifest.write(str(path))  # type: ignore[no-untyped-call]
        _described[name] = path.read_bytes()
        user_cache.keep(f"{name}.{MANIFEST}", _described[name])
    elif not path.is_file() or path.read_bytes() != _described[name]:
        path.write_bytes(_described[name])


def _places(target: Path) -> list[str]:
    project = str(dbt_project())
    return [
        "--project-dir",
        project,
        "--profiles-dir",
        project,
        "--target-path",
        str(target),
        "--log-path",
        str(target),
    ]


def _line(message: object) -> str:
    return " ".join(str(message or "").split())[:400]


if __name__ == "__main__":
    serve(lambda: ready(sys.argv[1]))
