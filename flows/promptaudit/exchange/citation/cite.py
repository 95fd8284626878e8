"""Cites a run: writes the folder that goes with a paper."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from promptaudit.evidence.verify import verify
from promptaudit.exchange.citation.copy_of_run import copy_run
from promptaudit.exchange.citation.files import CHECKSUMS, METHODS, checksum_lines, checksums, warehouse_of, write_files
from promptaudit.marts.publish import newest_published
from promptaudit.query.export_files import refuse_filled, write_folder
from promptaudit.registry.errors import MeasureError, UsageError, WarehouseError, refuse_unknown
from promptaudit.udfs.retired import RETIRED_RUNS
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.run_names import resolve

POLICIES = ("full",)


@dataclass(frozen=True, slots=True, kw_only=True)
class CiteResult:
    """Where a run's folder and methods are, with its newest seal and the number of answers in the folder."""

    audit_run_id: str
    path: Path
    methods: Path
    seal: str
    n_answers: int


def cite(warehouse: Warehouse, run: str, to: Path | None = None, text: str | None = None) -> CiteResult:
    """Writes the folder of a published run: methods, cards, data, prompts, answers, a copy of its rows, checksums.

    The folder must be new or empty. Every file follows from the copy, and the copy is checked against its seals before
    the folder is put in place.

    Raises:
        UsageError: no run has this name, it is retired, the folder holds anything, `text` is neither None nor full, or
            a task is sensitive and `text` is None.
        MeasureError: the run is not complete.
        WarehouseError: nothing is published, the run differs from its seals, or the folder cannot be written.
    """
    audit_run_id = _complete(warehouse, run)
    if not warehouse.published.path.is_file():
        msg = f"{warehouse.published.path} is not there: a run is cited where its warehouse is, and not from a lake"
        raise WarehouseError(msg)
    folder = to or Path(f"cite-{audit_run_id[:12]}")
    refuse_filled(folder)
    _refuse_retired(warehouse, audit_run_id)
    _refuse_sensitive(warehouse, audit_run_id, text)
    n_answers = write_folder(folder, lambda draft: _fill(draft, warehouse, audit_run_id))
    seal = newest_published(warehouse_of(folder), audit_run_id)
    return CiteResult(
        audit_run_id=audit_run_id,
        path=folder,
        methods=folder / METHODS,
        seal="" if seal is None else seal.seal,
        n_answers=n_answers,
    )


def _fill(draft: Path, published: Warehouse, audit_run_id: str) -> int:
    warehouse = warehouse_of(draft)
    copy_run(published, audit_run_id, warehouse)
    held = verify(warehouse, audit_run_id)
    if held.exit_code:
        first = held.findings[0].line
        msg = f"run {audit_run_id} is not as it was sealed, `promptaudit verify {audit_run_id}` lists why: {first}"
        raise WarehouseError(msg)
    n_answers = write_files(draft, warehouse, audit_run_id)
    (draft / CHECKSUMS).write_text(checksum_lines(checksums(draft)), encoding="utf-8")
    # the copy gets an ordinary file's mode, since the folder is made to be passed on
    shutil.copymode(draft / CHECKSUMS, warehouse.published.path)
    return n_answers


def _complete(warehouse: Warehouse, run: str) -> str:
    try:
        named = resolve(warehouse, run)
    except UsageError:
        query = "select audit_run_id, state from marts.dim_audit_runs where starts_with(audit_run_id, $name)"
        begins = warehouse.published.read(query, name=run)
        if [row["state"] for row in begins] in (["running"], ["failed"]):
            msg = f"run {begins[0]['audit_run_id']} is {begins[0]['state']}: a complete run is cited; `promptaudit run` goes on"
            raise MeasureError(msg) from None
        raise
    if named.model_id is not None:
        msg = f"{run!r}: a run is cited with all its models; name it without {named.model_id!r}"
        raise UsageError(msg)
    return named.audit_run_id


def _refuse_retired(warehouse: Warehouse, audit_run_id: str) -> None:
    if audit_run_id in {row["audit_run_id"] for row in warehouse.published.read(RETIRED_RUNS)}:
        msg = f"run {audit_run_id} is retired; `promptaudit rebuild {audit_run_id} --restore` lands its answers again"
        raise UsageError(msg)


def _refuse_sensitive(warehouse: Warehouse, audit_run_id: str, text: str | None) -> None:
    # nobody could verify the folder without the texts, so they are in it or it is not written
    refuse_unknown("--text", text, POLICIES)
    query = "select task_id from marts.dim_tasks where audit_run_id = $run and is_sensitive order by task_id"
    tasks = [row["task_id"] for row in warehouse.published.read(query, run=audit_run_id)]
    if tasks and text is None:
        msg = f"task {tasks[0]!r} is sensitive, and a folder that verifies holds its texts: --text full writes them"
        raise UsageError(msg)
