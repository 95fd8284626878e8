"""Holds the warehouse for pages, and completes the publications that an earlier process left half done."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from promptaudit.marts.publication import Due, Publication, end, left_open
from promptaudit.marts.publish import publish
from promptaudit.registry.errors import UsageError, WarehouseError, WarehouseLocked, lines_of
from promptaudit.report import BELOW, report
from promptaudit.report.comparison_page.page import write_again, write_page
from promptaudit.warehouse import Warehouse

if TYPE_CHECKING:
    from promptaudit.marts.comparison.result import RunComparison
    from promptaudit.system.display.policy import Policy
    from promptaudit.system.display.progress import Progress

DRAFT = ".new"


def complete(warehouse: Warehouse, progress: Progress) -> None:
    """Publishes what was due, writes the pages, and removes drafts and empty folders. The caller holds the warehouse.

    What a seal covers already is not sealed again. An erasure that was cut short is named, and only `erase` completes
    it: until then no page of its runs is written, since they would quote the erased texts. If a page cannot be written,
    that is a warning and the next start tries again.
    """
    left = left_open(warehouse)
    for each in left:
        if each.due.sample:
            progress.warn(f"an erasure was interrupted: `{each.command}` completes it")
    found = [each for each in left if not each.due.sample]
    if not found:
        return
    of_runs = f" of run {found[-1].audit_run_id}" if found[-1].audit_run_id else ""
    progress.say(f"completing the publication{of_runs} that was interrupted at {found[-1].begun_at:%Y-%m-%d %H:%M} UTC")
    sealed = {
        row["audit_run_id"]: row["at"]
        for row in warehouse.read("select audit_run_id, max(sealed_at) as at from raw.seals group by all")
    }
    due = Due()
    for each in found:
        is_new = [run for run in each.due.derived if run not in sealed or sealed[run] < each.begun_at]
        due = due.joined(Due(**{name: getattr(each.due, name) for name in ("compared", "pages", "comparisons")}))
        due = due.joined(Due(derived=tuple(is_new)))
    publish(warehouse, due.derived, due.compared, warn=progress.warn)
    for run in due.pages:
        if run not in erasing(left):
            with _warned(progress, f"the page of run {run}", f"promptaudit report {run}"):
                report(warehouse, run, warn=progress.warn)
    with _warned(progress, "the page about a comparison", "promptaudit compare"):
        write_again(warehouse, due.comparisons)
    # also what a page that cannot be written has left open: no start would get further with it
    end(warehouse, [*found, *(each for each in left_open(warehouse) if not each.due.sample)])
    _sweep(warehouse)


@contextmanager
def _warned(progress: Progress, what: str, command: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # noqa: BLE001 - one page keeps no night from beginning
        progress.warn(f"{what} is not written: {'; '.join(lines_of(error))}; `{command}` tries again")


def erasing(publications: Collection[Publication]) -> set[str]:
    """Collects the runs of erasures that were cut short."""
    return {run for each in publications if each.due.sample for run in each.due.runs}


def refuse_erasing(warehouse: Warehouse, audit_run_id: str) -> None:
    """Raises UsageError for a run whose texts are being erased, which an interrupted `erase` has to complete."""
    for each in left_open(warehouse):
        if each.due.sample and audit_run_id in each.due.runs:
            msg = f"an erasure of texts of run {audit_run_id} was interrupted: `{each.command}` completes it first"
            raise UsageError(msg)


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
            if warehouse.exists():
                warehouse.apply_schema()
                complete(warehouse, progress)
        except WarehouseLocked:
            is_held = False
            progress.warn(
                "a run holds the warehouse: this page is not recorded, so `verify` looks at its figures alone"
            )
        yield is_held


def write_if_possible(
    warehouse: Warehouse, comparison: RunComparison, text: Policy | None, progress: Progress
) -> Path | None:
    """Writes the page, and records it if nobody else holds the warehouse.

    A page that cannot be written is only a warning.
    """
    try:
        with held_if_free(warehouse, progress) as is_held:
            return write_page(warehouse, comparison, text, is_held=is_held)
    except WarehouseError as error:
        progress.warn(f"the page about the comparison is not written: {error}")
        return None


def _sweep(warehouse: Warehouse) -> None:
    # drafts of its own, and folders that a stop left empty; the deepest first
    places = warehouse.places
    own = (places.marts, places.published / BELOW, places.published / "traces")
    found = [path for folder in own for path in sorted(folder.rglob("*"), reverse=True)]
    for path in (*found, warehouse.published.path.with_name(f"{warehouse.published.path.name}{DRAFT}")):
        with suppress(OSError):
            if path.suffix == DRAFT and path.is_file():
                path.unlink()
            elif path.is_dir() and not path.is_symlink() and not any(path.iterdir()):
                path.rmdir()
