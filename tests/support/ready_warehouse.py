"""An empty warehouse whose views and marts stand already: a first build makes them, which takes 2 s of each test that has one."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from flows.marts.transform import transform
from flows.system.files import private_folder, write_bytes
from flows.warehouse import Warehouse
from flows.warehouse.schema import apply_schema
from tests.support.prebuilt_folders import shape

NAME = "audit.duckdb"
"""The one file name it is kept under: views hold the name of the catalog that they are made in."""
_kept: list[bytes] = []


def _build(folder: Path) -> None:
    warehouse = Warehouse(folder / NAME)
    apply_schema(warehouse)
    transform(warehouse, [], "up_to_formats", command="run")
    transform(warehouse, [], "after_formats", command="run")
    shutil.rmtree(warehouse.places.dbt)


def make_ready(path: Path) -> None:
    """Puts it where no warehouse is yet; does nothing under another file name."""
    if path.name != NAME or path.exists():
        return
    if not _kept:
        with tempfile.TemporaryDirectory() as folder:
            shape("ready", _build, Path(folder))
            _kept.append((Path(folder) / NAME).read_bytes())
    private_folder(path.parent)
    write_bytes(_kept[0], path)
