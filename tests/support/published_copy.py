"""The published copy as a test reads it: column names, and rows as tuples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from promptaudit.warehouse import Warehouse


def table(warehouse: Path, query: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Returns the column names and all rows of a query on the published copy."""
    with Warehouse(warehouse).published.query(query, give_up=lambda: None) as (names, rows):
        return names, list(rows)
