"""Reports on a run: a page for people and a scorecard for the terminal, both from the published copy's marts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from flows.report.scorecard import comparison_rows, scorecard, scorecard_rows

if TYPE_CHECKING:
    from flows.report.texts import Policy

__all__ = ["FORMS", "REPORT", "Form", "comparison_rows", "report", "report_as", "report_of", "scorecard", "scorecard_rows"]

REPORT = "report.html"
Form = Literal["html", "md", "csv"]
FORMS: tuple[Form, ...] = get_args(Form)


def report(warehouse: Path, audit_run_id: str, text: Policy | None = None) -> Path:
    """Writes `<warehouse folder>/published/report.html` about a run, kept as `reports/<run>.html` too; returns the first.

    text: none, excerpt or full; default: PROMPTAUDIT_TEXT, else excerpts, and none of tasks marked sensitive.
    Raises WarehouseError where nothing, or not this run, is published, or the page cannot be written.
    """
    from flows.files import write_text
    from flows.warehouse import private_folder, published_path

    page = report_as(warehouse, audit_run_id, "html", text)
    kept = report_of(warehouse, audit_run_id)
    private_folder(kept.parent)
    write_text(page, kept)
    return write_text(page, published_path(warehouse).with_name(REPORT))


def report_as(warehouse: Path, audit_run_id: str, form: Form, text: Policy | None = None) -> str:
    """The report on a run as text: html (the page), md (for chat), csv (a line a figure). Raises WarehouseError likewise."""
    from flows.report.gather import gather
    from flows.report.page import render
    from flows.report.plain import figures_csv, markdown
    from flows.settings import Settings

    make = {"html": render, "md": markdown, "csv": figures_csv}[form]
    return make(gather(warehouse, audit_run_id, text or Settings().text))


def report_of(warehouse: Path, audit_run_id: str) -> Path:
    """Where the report of one run stays when another run is reported."""
    from flows.warehouse import published_path

    return published_path(warehouse).parent / "reports" / f"{audit_run_id}.html"
