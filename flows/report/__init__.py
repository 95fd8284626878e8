"""Reports on a run: a page for people and a scorecard for the terminal, both from the published copy's marts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from flows.report.scorecard import comparison_rows, scorecard, scorecard_rows

if TYPE_CHECKING:
    from flows.report.texts import Policy

__all__ = [
    "FORMS",
    "REPORT",
    "Form",
    "comparison_rows",
    "report",
    "report_as",
    "report_of",
    "scorecard",
    "scorecard_rows",
]

REPORT = "report.html"
Form = Literal["html", "md", "csv"]
FORMS: tuple[Form, ...] = get_args(Form)


def report(warehouse: Path, audit_run_id: str, text: Policy | None = None, *, is_held: bool = True) -> Path:
    """Writes `<warehouse folder>/published/report.html` about a run, kept as `reports/<run>.html` too; returns the first.

    The pages' hashes land and are sealed where the warehouse is held by the caller, so that `verify` knows them again.
    text: none, excerpt or full; default: PROMPTAUDIT_TEXT, else excerpts, and none of tasks marked sensitive.
    Raises WarehouseError where nothing, or not this run, is published, or the page cannot be written.
    """
    from flows.files import private_folder, write_text
    from flows.report.record import record
    from flows.trace.page import write_pages
    from flows.warehouse import published_path

    write_pages(warehouse, audit_run_id, text)
    page = as_written(warehouse, audit_run_id, text)
    kept, below = report_of(warehouse, audit_run_id), from_below(page)
    private_folder(kept.parent)
    write_text(below, kept)
    path = write_text(page, published_path(warehouse).with_name(REPORT))
    if is_held:
        record(warehouse, audit_run_id, {REPORT: page, f"reports/{kept.name}": below})
    return path


def as_written(warehouse: Path, audit_run_id: str, text: Policy | None = None, *, is_below: bool = False) -> str:
    """The page with links to the pages about its rows that are there; `is_below`: as it is kept in `reports/`."""
    from flows.report.gather import gather
    from flows.report.page import render
    from flows.settings import Settings
    from flows.trace.page import pages_of

    page = render(gather(warehouse, audit_run_id, text or Settings().text), traces=pages_of(warehouse, audit_run_id))
    return from_below(page) if is_below else page


def from_below(page: str) -> str:
    """The page's links, from a folder below: what people said has no quote of its own, since it is escaped."""
    return page.replace('href="traces/', 'href="../traces/')


def report_as(warehouse: Path, audit_run_id: str, form: Form, text: Policy | None = None) -> str:
    """The report on a run as text: html (the page), md (for chat), csv (a line a figure). Raises WarehouseError likewise."""
    from flows.report.gather import gather
    from flows.report.plain import figures_csv, markdown
    from flows.settings import Settings

    if form == "html":
        return as_written(warehouse, audit_run_id, text)
    make = markdown if form == "md" else figures_csv
    return make(gather(warehouse, audit_run_id, text or Settings().text))


def report_of(warehouse: Path, audit_run_id: str) -> Path:
    """Where the report of one run stays when another run is reported."""
    from flows.warehouse import published_path

    return published_path(warehouse).parent / "reports" / f"{audit_run_id}.html"
