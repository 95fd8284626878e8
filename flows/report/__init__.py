"""Reports on a run: a page for people and a scorecard for the terminal, both from the published copy's marts."""

from __future__ import annotations

from pathlib import Path

from flows.report.scorecard import scorecard, scorecard_rows

__all__ = ["REPORT", "report", "scorecard", "scorecard_rows"]

REPORT = "report.html"


def report(warehouse: Path, audit_run_id: str) -> Path:
    """Writes `<warehouse folder>/published/report.html` about a run and returns its path.

    Raises WarehouseError where nothing, or not this run, is published, or the page cannot be written.
    """
    from flows.report.gather import gather
    from flows.report.page import render, write
    from flows.warehouse import published_path

    return write(render(gather(warehouse, audit_run_id)), published_path(warehouse).with_name(REPORT))
