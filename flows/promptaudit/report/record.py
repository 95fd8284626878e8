"""Lands and seals the hashes of a report's pages, so that `verify` recognises a page after the marts have changed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from promptaudit.marts.seal import seal_runs
from promptaudit.registry.errors import WarehouseLocked
from promptaudit.system.clock import now
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.insert import insert_new
from promptaudit.warehouse.rows import frame_of

if TYPE_CHECKING:
    from promptaudit.system.display.progress import Progress


@contextmanager
def held_if_free(warehouse: Warehouse, progress: Progress) -> Iterator[bool]:
    """Tries to hold the warehouse while a page is written, and yields whether it does.

    It does not hold a lake, or a warehouse that a run holds already.
    """
    if warehouse.published.lake is not None:
        yield False
        return
    with ExitStack() as stack:
        try:
            stack.enter_context(warehouse.hold(wait_s=0))
            is_held = True
        except WarehouseLocked:
            is_held = False
            progress.warn(
                "a run holds the warehouse: this page is not recorded, so `verify` looks at its figures alone"
            )
        yield is_held


def record(warehouse: Warehouse, audit_run_id: str, pages: Mapping[str, str]) -> None:
    """Lands a row for each page under its name. Does nothing if there is only a published copy."""
    if not warehouse.exists():
        return
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
