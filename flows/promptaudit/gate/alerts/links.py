"""Links to pages of the published folder: reports and runbooks."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from promptaudit.system.settings import Settings
from promptaudit.warehouse import Warehouse

MessageKind = Literal["regression", "gate_failed", "unmeasured", "recovered"]

RUNBOOKS_OF: Mapping[MessageKind | Literal["budget"], tuple[str, ...]] = {
    "regression": ("gate_failed", "alarm_is_false"),
    "gate_failed": ("gate_failed",),
    "unmeasured": ("could_not_measure",),
    "budget": ("budget_reached",),
}
"""The runbooks that each kind of message links to, of those in `infra/runbooks`; a reached budget has its own."""


def runbook_links(warehouse: Warehouse, settings: Settings) -> dict[str, str]:
    """Links to the pages of the runbooks that are there, by the names of the runbooks."""
    links = {}
    for name in {name for names in RUNBOOKS_OF.values() for name in names}:
        with contextlib.suppress(OSError):  # a folder that is somebody else's
            if (page := warehouse.places.runbook(name)).is_file():
                links[name] = page_link(warehouse, page, settings)
    return links


def page_link(warehouse: Warehouse, page: Path, settings: Settings) -> str:
    """Links to a page of the published folder: under PROMPTAUDIT_REPORT_URL, which serves it, else its file."""
    if not settings.report_url:
        return page.absolute().as_uri()
    return f"{settings.report_url.rstrip('/')}/{quote(page.relative_to(warehouse.published.path.parent).as_posix())}"
