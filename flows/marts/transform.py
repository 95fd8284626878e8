"""Builds the dbt project for the runs it is given, in a child process that reads the project once a command.

The child (`flows.marts.dbt_child`) lets go of DuckDB after each build. A command that will build starts it early, else the first
build does.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from flows.lineage.openlineage.tell import built
from flows.marts.manifest import made_by
from flows.marts.seal import views
from flows.settings import dbt_project
from flows.system import user_cache
from flows.system.files import private_folder
from flows.system.helper_processes import DBT, ChildEnded, start
from flows.system.keys import as_json
from flows.warehouse import Warehouse
from models_registry.errors import WarehouseError

Command = Literal["build", "run"]
Part = Literal["up_to_formats", "after_formats", "comparisons"]


def transform(
    warehouse: Warehouse,
    audit_run_ids: Sequence[str],
    part: Part,
    comparison_ids: Sequence[str] = (),
    *,
    command: Command = "build",
) -> None:
    """Builds one part of the project for these runs, and comparisons; raises WarehouseError naming the model that failed.

    `run` leaves out the tests, which are about whole runs, and the events, which are about this warehouse's. Where views and
    marts are as this very code makes them, views are left as they are and contracts are not checked again.
    """
    known = user_cache.read(_built_by(warehouse))
    stands = known is not None and known == _shape(warehouse)
    how = (f"{part}_without_views", "--vars", "{marts_stand: true}") if stands else (part,)
    try:
        dbt(warehouse, command, "--selector", *how, audit_run_ids=audit_run_ids, comparison_ids=comparison_ids)
        if part == "after_formats" and not stands:
            user_cache.keep(_built_by(warehouse), _shape(warehouse), instead_of=f"{warehouse.places.file.name}.*.shape")
    finally:
        if command == "build":
            built(warehouse, audit_run_ids, comparison_ids)


def _built_by(warehouse: Warehouse) -> str:
    """Where the user's cache keeps what this very code makes of a warehouse of this file name.

    A warehouse may be somebody else's, so what it says of itself, its seals too, proves nothing here.
    """
    made = "".join(digest[:16] for digest in made_by().values())
    return f"{warehouse.places.file.name}.{made}.{version('duckdb')}.shape"


def _shape(warehouse: Warehouse) -> bytes:
    """Returns the project's views as hashes of their SQL, and the columns of its marts with their types."""
    names = {path.stem for path in (dbt_project() / "models").rglob("*.sql")}
    with warehouse.write() as con:
        seen = {name: digest for name, digest in views(con).items() if name.partition(".")[2] in names}
        columns = con.execute(
            "select table_name, column_name, data_type from duckdb_columns() where schema_name = 'marts' order by all"
        ).fetchall()
    return as_json([seen, [row for row in columns if row[0] in names]]).encode()


def dbt(
    warehouse: Warehouse,
    command: str,
    *arguments: str,
    audit_run_ids: Sequence[str] = (),
    comparison_ids: Sequence[str] = (),
) -> None:
    """One dbt command on this warehouse, about these runs or all; what it writes goes beside the warehouse."""
    warehouse = Warehouse(warehouse.places.file)
    target = warehouse.places.dbt / "target"
    private_folder(target)
    (target / "run_results.json").unlink(missing_ok=True)
    request = {
        "warehouse": str(warehouse), "target": str(target), "arguments": [command, *arguments],
        "runs": list(audit_run_ids), "comparisons": list(comparison_ids),
    }  # fmt: skip
    if not warehouse.let_go():
        msg = f"transform: {warehouse} is open in this process, and dbt runs in another"
        raise WarehouseError(msg)
    try:
        failure = start(DBT, warehouse.path.name).ask(request)
    except ChildEnded as error:
        failure = f"transform: the process that runs dbt ended: {error}"
    if failure is not None:
        raise WarehouseError(failure)


def compiled() -> dict[str, Any]:
    """Returns the manifest of the whole project with the SQL of every model, as dbt makes it in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="promptaudit-dbt-") as folder:
        dbt(Warehouse(Path(folder) / "audit.duckdb"), "compile")
        return manifest_of_build(Path(folder) / "dbt" / "target")


def manifest_of_build(target: Path) -> dict[str, Any]:
    """Returns the manifest that dbt left in a folder, with the SQL of the models that its last command compiled."""
    manifest: dict[str, Any] = json.loads((target / "manifest.json").read_text(encoding="utf-8"))
    for result in json.loads((target / "run_results.json").read_text(encoding="utf-8"))["results"]:
        if result["unique_id"] in manifest["nodes"]:
            manifest["nodes"][result["unique_id"]]["compiled_code"] = result["compiled_code"]
    return manifest
