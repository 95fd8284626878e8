"""Lands the hashes of a report's pages, sealed, so that `verify` knows a page again however the marts have changed since."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from flows.marts.seal import seal_runs
from flows.warehouse import Warehouse, now
from flows.warehouse.insert import insert_new
from flows.warehouse.rows import frame_of


def record(warehouse: Warehouse, audit_run_id: str, pages: Mapping[str, str]) -> None:
    """Lands a row for each page by its name; nothing where there is a published copy alone."""
    if not warehouse.exists():
        return
    rows = [
        {"audit_run_id": audit_run_id, "sha256": page_sha256(page.encode()), "name": name, "written_at": now()}
        for name, page in pages.items()
    ]
    with warehouse.write() as con:
        insert_new(con, "reports", frame_of("reports", rows))
        seal_runs(con)


def page_sha256(page: bytes) -> str:
    """Returns the hash that a page is known by."""
    return hashlib.sha256(page).hexdigest()
