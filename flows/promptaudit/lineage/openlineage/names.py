"""Names datasets and jobs for receivers: by the place of the warehouse, in the namespace that the user gives."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import quote

from promptaudit.system.scrub import scrub
from promptaudit.warehouse import Warehouse


def jobs() -> str:
    """Reads the namespace of every job: OPENLINEAGE_NAMESPACE, else `promptaudit`."""
    return os.environ.get("OPENLINEAGE_NAMESPACE") or "promptaudit"


def namespace_of(warehouse: Warehouse) -> str:
    """Names the warehouse: `duckdb:///audits/warehouse/audit.duckdb`; `duckdb://production/audits/…` in a namespace.

    Without OPENLINEAGE_NAMESPACE two machines that have a warehouse at the same place have the same datasets.
    """
    return f"duckdb://{_authority()}{quote(warehouse.path.absolute().as_posix())}"


def files() -> str:
    """Names the namespace of files: `file`, or `file://production`."""
    return f"file://{_authority()}" if _authority() else "file"


def _authority() -> str:
    return quote(os.environ.get("OPENLINEAGE_NAMESPACE") or "", safe="")


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
