"""Reports on a run: a page for people and a scorecard for the terminal, both from the published copy's marts."""

from __future__ import annotations

from pathlib import Path

from flows.report.scorecard import comparison_rows, scorecard, scorecard_rows

__all__ = ["REPORT", "comparison_rows", "report", "scorecard", "scorecard_rows"]

REPORT = "report.html"


def report(warehouse: Path, audit_run_id: str) -> Path:
    """Writes `<warehouse folder>/published/report.html` about a run, kept as `reports/<run>.html` too; returns the first.

    Raises WarehouseError where nothing, or not this run, is published, or the page cannot be written.
    """
    from flows.report.gather import gather
    from flows.report.page import render, write
    from flows.warehouse import private_folder, published_path

    page = render(gather(warehouse, audit_run_id))
    kept = report_of(warehouse, audit_run_id)
    private_folder(kept.parent)
    write(page, kept)
    return write(page, published_path(warehouse).with_name(REPORT))


def report_of(warehouse: Path, audit_run_id: str) -> Path:
    """Where the report of one run stays when another run is reported."""
    from flows.warehouse import published_path

    return published_path(warehouse).parent / "reports" / f"{audit_run_id}.html"
