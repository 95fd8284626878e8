"""Names datasets and jobs for receivers by the warehouse's file, never by a path of this machine."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote

from promptaudit.system.scrub import scrub
from promptaudit.warehouse import Warehouse

JOBS = "promptaudit"
"""The namespace of every job."""


def namespace_of(warehouse: Warehouse) -> str:
    """Names the warehouse by its file: `duckdb://audit.duckdb`."""
    return f"duckdb://{quote(warehouse.path.name, safe='')}"


def dataset_of(warehouse: Warehouse, schema: str, table: str) -> str:
    """Names a table as dbt does: `audit.raw.predictions`."""
    return f"{warehouse.path.stem}.{schema}.{table}"


def asset_of(warehouse: Warehouse, schema: str, table: str) -> str:
    """Makes the key of an asset of Prefect, which takes few signs: `duckdb://audit.duckdb/raw/predictions`."""
    return f"duckdb://{re.sub(r'[^A-Za-z0-9._-]', '_', warehouse.path.name)}/{schema}/{table}"


def endpoints_of(hosts: str) -> list[str]:
    """Lists where a model answers, as namespaces: `model://api.openai.com`, one for each host between commas.

    What could be a credential is left out.
    """
    plain = [re.split(r"[?#]", host.strip())[0].rpartition("@")[2] for host in scrub(hosts).split(",")]
    return [f"model://{host.rpartition('://')[2].rstrip('/')}" for host in plain if host]


def file_of(path: str) -> str:
    """Names a data file as its card does, or an absolute path by its last part."""
    plain = Path(scrub(path))
    return plain.name if plain.is_absolute() else plain.as_posix()
