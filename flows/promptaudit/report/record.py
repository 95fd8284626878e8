"""Lands and seals the hashes of a report's pages, so that `verify` recognises a page after the marts have changed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from promptaudit.marts.seal import seal_runs
from promptaudit.system.clock import now
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.insert import insert_new
from promptaudit.warehouse.rows import frame_of


def record(warehouse: Warehouse, audit_run_id: str, pages: Mapping[str, str]) -> None:
    """Lands a row for each page under its name."""
    rows = [
        {"audit_run_id": audit_run_id, "sha256": page_sha256(page.encode()), "name": name, "written_at": now()}
        for name, page in pages.items()
    ]
    with warehouse.write() as con:
        if insert_new(con, "reports", frame_of("reports", rows)):
            seal_runs(con)


def page_sha256(page: bytes) -> str:
    """Hashes a page with SHA-256, as hex."""
    return hashlib.sha256(page).hexdigest()
