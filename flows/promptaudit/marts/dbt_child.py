"""Runs dbt in a child process, which imports dbt and reads the project once, then does one build after the other.

Its argument is the file name of the warehouses it will build. It closes DuckDB after each build.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import pickle
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mashumaro.config import BaseConfig

from promptaudit.marts.manifest import project_sha256
from promptaudit.marts.settle import Found, of_failures, settle
from promptaudit.registry.mart_columns import dbt_project
from promptaudit.system import user_cache
from promptaudit.system.files import write_bytes, writing
from promptaudit.system.helper_processes import serve
from promptaudit.system.keys import sha256_of
from promptaudit.udfs import COMPARISON_IDS, RUN_IDS, TRUSTED_READERS, attempts
from promptaudit.warehouse.duckdb_file import connect

if TYPE_CHECKING:
    from dbt.contracts.graph.manifest import Manifest

    from promptaudit.udfs.readers.own_code import TrustedReader

QUIET = ("--no-use-colors", "--log-level", "none", "--log-level-file", "none", "--no-write-json")
DBT = ("dbt-core", "dbt-adapters", "dbt-common", "dbt-duckdb")
"""The packages whose macros and classes are part of the project as dbt has read it."""
RESULTS, MANIFEST = "run_results.json", "manifest.json"
FAILED, SETTLED = ("error", "fail"), "warn"


def ready(name: str) -> Callable[[dict[str, Any]], Built]:
    """Reads the dbt project and gives back a function that builds warehouses of this file name."""
    # dbt's classes then make their code for reading and writing on first use, not for hundreds of classes at import
    BaseConfig.lazy_compilation = True
    project = read_project(name)
    return lambda request: build(project, **request)


class Built(NamedTuple):
    """The outcome of a build: its failure in one line, or the measures that a successful build did not derive."""

    failure: str | None = None
    not_derived: Sequence[Found] = ()


class Project(NamedTuple):
    """The project as dbt has read it, and the same as the bytes of `manifest.json`."""

    manifest: Manifest
    described: bytes


def read_project(name: str) -> Project:
    """Reads the project with dbt for warehouses of this file name, or takes it from the user's cache.

    Both forms stay in the cache while the project, dbt and Python are the same. They never come from the warehouse's
    folder, which may belong to somebody else, since they hold SQL and macros.
    """
    from dbt.cli.main import dbtRunner
    from dbt.contracts.graph.manifest import Manifest

    os.environ["PROMPTAUDIT_WAREHOUSE"] = f"./{name}"
    place = f"{name}.{sha256_of(project_sha256(), *map(version, DBT), sys.version)[:16]}"
    known, described = (user_cache.read(f"{place}.{part}") for part in ("pickle", MANIFEST))
    if known is not None and described is not None:
        with contextlib.suppress(Exception):  # classes of another version of what dbt itself needs
            return Project(Manifest(**pickle.loads(known)), described)  # noqa: S301 - nobody else writes to the user's cache
    here = Path.cwd()
    done = dbtRunner().invoke([*QUIET, "parse", *_places(here)])
    if done.exception is not None or done.result is None:
        raise SystemExit(_line(done.exception))
    manifest: Manifest = done.result  # type: ignore[assignment]
    manifest.write(str(here / MANIFEST))  # type: ignore[no-untyped-call]
    described = (here / MANIFEST).read_bytes()
    # by its parts: as a whole dbt 1.11 gives it back with some of them in the places of others
    parts = {part.name: getattr(manifest, part.name) for part in fields(manifest) if not part.name.startswith("_")}
    user_cache.keep(f"{place}.pickle", pickle.dumps(parts), instead_of=f"{glob.escape(name)}.*.pickle")
    user_cache.keep(f"{place}.{MANIFEST}", described, instead_of=f"{glob.escape(name)}.*.{MANIFEST}")
    return Project(manifest, described)


def build(
    project: Project,
    warehouse: str,
    target: str,
    duckdb: dict[str, str],
    arguments: list[str],
    runs: list[str],
    comparisons: list[str],
    readers: list[TrustedReader],
) -> Built:
    """Runs one dbt command on a warehouse for these runs and comparisons.

    A build sets figures that break a rule to NULL.

    `duckdb` has the variables by which the profile limits DuckDB's memory. It calls no code of the user's but the
    readers in `readers`. `run_results.json` and `manifest.json` are left in `target`.
    """
    from dbt.adapters.duckdb.connections import DuckDBConnectionManager
    from dbt.cli.main import dbtRunner

    from promptaudit.udfs.plugin import set_runs

    folder = Path(target)
    os.environ |= {
        **duckdb,
        "PROMPTAUDIT_WAREHOUSE": warehouse,
        RUN_IDS: ",".join(runs),
        COMPARISON_IDS: ",".join(comparisons),
        TRUSTED_READERS: json.dumps(readers),
    }
    attempts.take()
    try:
        done = dbtRunner(manifest=project.manifest).invoke([*QUIET, *arguments, *_places(folder)])
    finally:
        DuckDBConnectionManager.close_all_connections()  # type: ignore[no-untyped-call]
    result: Any = done.result
    if hasattr(result, "write"):
        draft = folder / f"{RESULTS}.new"
        with writing(folder / RESULTS, draft):
            result.write(str(draft))
            draft.replace(folder / RESULTS)
    write_bytes(project.described, folder / MANIFEST)
    failures = of_failures(attempts.take())
    results = getattr(result, "results", ())
    is_build = arguments[0] == "build"
    for node in results:
        if str(node.status) in FAILED or (str(node.status) == SETTLED and not is_build):
            return Built(f"transform: {node.node.name} failed: {_line(node.message)}")
    if not done.success:
        return Built(f"transform: dbt ended with an error: {_line(done.exception)}")
    broken = [node.node for node in results if str(node.status) == SETTLED]
    if not broken:
        return Built(None, failures)
    with connect(Path(warehouse)) as con:
        set_runs(con)
        return Built(None, [*failures, *settle(con, broken)])


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
