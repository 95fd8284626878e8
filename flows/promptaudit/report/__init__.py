"""Reports on a run: a page for people and a scorecard for the terminal, both from published tables."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from promptaudit.registry.errors import UsageError
from promptaudit.registry.extras import is_installed, needs_extra
from promptaudit.report.terminal.scorecard import comparison_rows, scorecard, scorecard_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptaudit.report.data import ReportData
    from promptaudit.system.display.policy import Policy
    from promptaudit.warehouse import Warehouse

__all__ = [
    "BELOW",
    "FORMS",
    "REPORT",
    "Form",
    "charts_of",
    "comparison_rows",
    "report",
    "report_as",
    "scorecard",
    "scorecard_rows",
]

REPORT, BELOW = "report.html", "reports"
Form = Literal["html", "md", "csv"]
FORMS: tuple[Form, ...] = get_args(Form)


def report(
    warehouse: Warehouse,
    audit_run_id: str,
    text: Policy | None = None,
    *,
    is_held: bool = True,
    warn: Callable[[str], None] | None = None,
) -> Path:
    """Writes `report.html` about a run beside the published copy, and `reports/<run>.html`.

    Gives the path of the first.

    The runbooks are written beside them. A run of a held warehouse also gets `reports/<run>.formats.html`. If that page
    or the runbooks cannot be written, `warn` gets the reason.

    With `is_held` (the caller holds the warehouse) the pages' hashes land and are sealed, so that `verify` recognises
    the pages.
    text: none, excerpt or full; default: PROMPTAUDIT_TEXT, else excerpts, and none of tasks marked sensitive.
    Raises WarehouseError if nothing is published, or not this run, or if the page cannot be written.
    """
    from promptaudit.marts.publication import Due, publication
    from promptaudit.report.formats_page import write_formats_page
    from promptaudit.report.record import record
    from promptaudit.report.runbooks import write_runbooks
    from promptaudit.report.trace_pages import write_pages
    from promptaudit.system.files import private_folder, write_text

    is_recorded = is_held and warehouse.exists()
    with publication(warehouse, Due(pages=(audit_run_id,))) if is_recorded else nullcontext():
        # what is read without the lock keeps the pages that the run was published with
        written = write_pages(warehouse, audit_run_id, text) if is_held else {}
        written |= write_formats_page(warehouse, audit_run_id, warn) if is_held else {}
        pages = _as_pages(warehouse, audit_run_id, text)
        kept = {
            warehouse.places.report(audit_run_id, part): from_below(page) for part, page in enumerate(pages, start=1)
        }
        private_folder(warehouse.places.reports)
        for path, page in kept.items():
            write_text(page, path)
        for path in set(warehouse.places.reports.glob(f"{audit_run_id}-*.html")) - set(kept):
            path.unlink()
        newest = write_text(pages[0], warehouse.places.newest_report)
        if is_recorded:
            home = warehouse.places.published
            below = {path.relative_to(home).as_posix(): page for path, page in (kept | written).items()}
            record(warehouse, audit_run_id, {REPORT: pages[0]} | below)
    write_runbooks(warehouse.places, warn)
    return newest


def _as_pages(warehouse: Warehouse, audit_run_id: str, text: Policy | None) -> list[str]:
    from promptaudit.report.page import render_parts
    from promptaudit.report.trace_pages import pages_of

    return render_parts(_data(warehouse, audit_run_id, text), traces=pages_of(warehouse, audit_run_id))


def _data(warehouse: Warehouse, audit_run_id: str, text: Policy | None) -> ReportData:
    from promptaudit.report.gather import gather
    from promptaudit.system.settings import Settings

    return gather(warehouse, audit_run_id, text or Settings().text)


def as_written(
    warehouse: Warehouse, audit_run_id: str, text: Policy | None = None, *, is_below: bool = False, part: int = 1
) -> str:
    """Renders a page of the report as `report` writes it. With `is_below` it is the page kept in `reports/`."""
    pages = _as_pages(warehouse, audit_run_id, text)
    page = pages[min(part, len(pages)) - 1]
    return from_below(page) if is_below else page


def from_below(page: str) -> str:
    """Changes the page's links to work from a folder below.

    Quotes in recorded texts are escaped, so no text is changed.
    """
    return page.replace('href="traces/', 'href="../traces/').replace('href="reports/', 'href="')


def charts_of(warehouse: Warehouse, audit_run_id: str, folder: Path, only: Sequence[str] = ()) -> list[Path]:
    """Writes the papers' figures of a run, or the sections named in `only`, into a folder as SVG, PDF, PNG and CSV.

    Raises WarehouseError as `report` does, and UsageError for a section without charts or without the extra `charts`.
    """
    if not is_installed("charts"):
        raise UsageError(needs_extra("report --charts", "charts"))
    from promptaudit.report.chart_files import write_charts

    return write_charts(_data(warehouse, audit_run_id, None), folder, only)


def report_as(warehouse: Warehouse, audit_run_id: str, form: Form, text: Policy | None = None) -> str:
    """Renders the report on a run as text: html (one page), md (for chat) or csv (a line per figure).

    Raises WarehouseError as `report` does.
    """
    from promptaudit.report.page import render
    from promptaudit.report.plain import figures_csv, markdown
    from promptaudit.report.trace_pages import pages_of

    data = _data(warehouse, audit_run_id, text)
    if form == "html":
        return render(data, traces=pages_of(warehouse, audit_run_id))
    return markdown(data) if form == "md" else figures_csv(data)
