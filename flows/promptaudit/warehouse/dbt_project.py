"""Runs commands of the dbt project on a warehouse, in a child process that reads the project once per command."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from promptaudit.registry.errors import WarehouseError
from promptaudit.system.files import private_folder
from promptaudit.system.helper_processes import DBT, ChildFailed, start
from promptaudit.system.memory import duckdb_memory
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.duckdb_file import DISK_FULL, is_full

if TYPE_CHECKING:
    from promptaudit.udfs.readers.own_code import TrustedReader

MEMORY, SPILL_FOLDER = "PROMPTAUDIT_MEMORY", "PROMPTAUDIT_DBT_SPILL"  # as the profile reads them
SPILL = "spill-"
OUT_OF_MEMORY = ("Out of Memory Error", "could not allocate block", "failed to allocate")


def dbt(
    warehouse: Warehouse,
    command: str,
    *arguments: str,
    audit_run_ids: Sequence[str] = (),
    comparison_ids: Sequence[str] = (),
    readers: Sequence[TrustedReader] = (),
    n_values: int = 0,
) -> list[dict[str, str | None]]:
    """Runs one dbt command on this warehouse, for these runs or all, and lists the measures that it did not derive.

    The form of the list is `promptaudit.marts.settle.Found`. Its files go beside the warehouse. `readers` lists the
    user's own code that it may call. `n_values` is the number of answers that it processes; each field of extraction
    counts as one.
    """
    warehouse = Warehouse(warehouse.places.file)
    target = warehouse.places.dbt / "target"
    private_folder(target)
    (target / "run_results.json").unlink(missing_ok=True)
    if not warehouse.let_go():
        msg = f"transform: {warehouse} is open in this process, and dbt runs in another"
        raise WarehouseError(msg)
    sweep_spills(warehouse)
    memory, spill = (
        duckdb_memory(n_values),
        tempfile.mkdtemp(prefix=f"{SPILL}{os.getpid()}-", dir=warehouse.places.dbt),
    )
    request = {
        "warehouse": str(warehouse),
        "target": str(target),
        "duckdb": {MEMORY: memory, SPILL_FOLDER: spill},
        "arguments": [command, *arguments],
        "runs": list(audit_run_ids),
        "comparisons": list(comparison_ids),
        "readers": list(readers),
    }
    not_derived: list[dict[str, str | None]] = []
    try:
        failure, not_derived = start(DBT, warehouse.path.name).ask(request)
    except ChildFailed as error:
        failure = f"transform: the process that runs dbt failed: {error}"
    finally:
        shutil.rmtree(spill, ignore_errors=True)
    if failure is not None:
        if any(words in failure for words in OUT_OF_MEMORY):
            what = ": ".join(failure.split(": ")[:2])
            failure = f"{what}: DuckDB's {memory} of memory are too little; {MEMORY} gives it more"
        if is_full(failure):
            failure = f"{warehouse}: {DISK_FULL}: {failure}"
        raise WarehouseError(failure)
    return not_derived


def sweep_spills(warehouse: Warehouse) -> None:
    """Removes the files that DuckDB wrote beside this warehouse, for lack of memory, in builds that were killed.

    They hold answers.
    """
    for path in warehouse.places.dbt.glob(f"{SPILL}*"):
        owner = path.name.removeprefix(SPILL).partition("-")[0]
        if owner.isdecimal() and psutil.pid_exists(int(owner)):
            continue
        if path.is_symlink():
            path.unlink()
        else:
            shutil.rmtree(path, ignore_errors=True)


def compiled() -> dict[str, Any]:
    """Compiles the whole project in a folder of its own and gives its manifest with the SQL of every model."""
    with tempfile.TemporaryDirectory(prefix="promptaudit-dbt-") as folder:
        dbt(Warehouse(Path(folder) / "audit.duckdb"), "compile")
        return manifest_of_build(Path(folder) / "dbt" / "target")


def results_of_build(target: Path) -> list[str]:
    """Lists the ids of what dbt's last command in a folder built; empty if it never came to building."""
    if not (target / "run_results.json").exists():
        return []
    results = json.loads((target / "run_results.json").read_text(encoding="utf-8"))["results"]
    return [result["unique_id"] for result in results if result["status"] == "success"]


def manifest_of_build(target: Path) -> dict[str, Any]:
    """Reads the manifest that dbt left in a folder, with the SQL of the models that its last command compiled."""
    manifest: dict[str, Any] = json.loads((target / "manifest.json").read_text(encoding="utf-8"))
    for result in json.loads((target / "run_results.json").read_text(encoding="utf-8"))["results"]:
        if result["unique_id"] in manifest["nodes"]:
            manifest["nodes"][result["unique_id"]]["compiled_code"] = result["compiled_code"]
    return manifest
