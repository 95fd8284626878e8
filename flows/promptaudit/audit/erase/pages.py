"""Deletes the pages that may quote a sample before its texts are erased, and writes them again afterwards.

An interruption in between leaves no page that quotes the sample: nobody would find it any more.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from promptaudit.marts.comparison.result import run_comparison
from promptaudit.report import from_below, report
from promptaudit.report.comparison_page.page import write_page
from promptaudit.warehouse import Warehouse


@dataclass(frozen=True, slots=True)
class Pages:
    """Names the runs and the comparisons that have a page."""

    runs: frozenset[str]
    comparisons: frozenset[str]


def compared_runs(warehouse: Warehouse) -> dict[str, list[str]]:
    """Reads the two runs of each comparison."""
    rows = warehouse.read("select comparison_id, [base_run_id, candidate_run_id] as runs from raw.comparisons")
    return {row["comparison_id"]: row["runs"] for row in rows}


def pages_of(warehouse: Warehouse, runs: Collection[str], compared: Mapping[str, Collection[str]]) -> Pages:
    """Finds which of these runs, and which comparisons that one of them takes part in, have a page."""
    places = warehouse.places
    of_runs = {each for each, own in compared.items() if not set(own).isdisjoint(runs)}
    return Pages(
        frozenset(run for run in runs if places.report(run).is_file()),
        frozenset(each for each in of_runs if places.comparison(each).is_file()),
    )


def newest_shown(warehouse: Warehouse) -> str | None:
    """Finds the run that the newest report is about; None if there is no such report."""
    newest = warehouse.places.newest_report
    if not newest.is_file():
        return None
    page = newest.read_text(encoding="utf-8")
    for path in sorted(warehouse.places.reports.glob("*.html")):
        if path.read_text(encoding="utf-8") == from_below(page):
            return path.stem
    return None


def delete(warehouse: Warehouse, pages: Pages, newest: str | None) -> None:
    """Deletes these pages, and the newest report unless it is about another run."""
    places = warehouse.places
    for run in pages.runs:
        for path in (places.report(run), *places.reports.glob(f"{run}-*.html")):
            path.unlink(missing_ok=True)
    for each in pages.comparisons:
        places.comparison(each).unlink(missing_ok=True)
    if pages.runs and (newest is None or newest in pages.runs):
        places.newest_report.unlink(missing_ok=True)


def write_again(warehouse: Warehouse, pages: Pages, newest: str | None) -> None:
    """Writes these pages again. The newest report is about the same run as before."""
    others = sorted(run for run in pages.runs if run != newest)
    for run in (*others, *([newest] if newest and pages.runs else [])):
        report(warehouse, run)
    for each in sorted(pages.comparisons):
        write_page(warehouse, run_comparison(warehouse, each))
