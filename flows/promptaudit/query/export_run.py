"""Exports a published run's answers: one flat Parquet file, or a folder that `datasets` loads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from promptaudit.prompts.as_sent import SentPrompts
from promptaudit.prompts.put_samples import json_of
from promptaudit.query.export_files import FORMS, refuse_filled, write_folder
from promptaudit.registry.errors import DataError, refuse_unknown
from promptaudit.system.settings import Settings
from promptaudit.warehouse import Row, Warehouse
from promptaudit.warehouse.duckdb_file import rows_of
from promptaudit.warehouse.run_names import resolve_id
from promptaudit.warehouse.sql import sql

TEXTS = (
    "input",
    "completion",
    "instruction",
    "setting",
    "output_format",
    "prompt",
    "messages",
    "choices",
    "references",
)
"""Columns that hold texts. They are left out for sensitive tasks unless asked for."""
POLICIES = ("none", "full")
AT_ONCE = 5_000  # rows whose prompts are put together and written at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportResult:
    """What was written, where, and how many rows. `left_out` names the tasks whose texts are not in it.

    `n_otherwise` counts the rows without messages because their messages cannot be put together again as they were
    sent.
    """

    audit_run_id: str
    format: str
    path: Path
    n_rows: int
    left_out: tuple[str, ...]
    n_otherwise: int


def export_run(settings: Settings, run: str | None, form: str, to: Path | None, text: str | None) -> ExportResult:
    """Writes the answers of a published run (the newest) to a new or empty folder.

    Raises UsageError for an unknown run, format or policy, with the nearest, and for a folder that holds anything.
    """
    refuse_unknown("--format", form, FORMS)
    refuse_unknown("--text", text, POLICIES)
    warehouse = Warehouse(settings.warehouse)
    audit_run_id = resolve_id(warehouse, run)
    folder = to or Path(f"export-{audit_run_id[:12]}-{form}")
    refuse_filled(folder)
    with warehouse.published.connect() as con:
        rows = rows_of(con, sql("query", "exported_answers"), run=audit_run_id)
        if not rows:
            msg = (
                f"{warehouse.published.path}: run {audit_run_id} has no answers there; of a retired run: "
                "rebuild RUN --restore"
            )
            raise DataError(msg)
        sensitive = sorted({row["task"] for row in rows if row["is_sensitive"]})
        for row in rows:
            row["messages"] = None
            row["has_texts"] = text == "full" or (text is None and not row["is_sensitive"])
            if not row["has_texts"]:
                row.update(dict.fromkeys(TEXTS))
        sent = SentPrompts(con, audit_run_id)
        n_rows = write_folder(folder, lambda draft: FORMS[form](draft, _with_messages(rows, sent), audit_run_id))
    left_out = tuple(sorted({row["task"] for row in rows})) if text == "none" else tuple(() if text else sensitive)
    return ExportResult(
        audit_run_id=audit_run_id,
        format=form,
        path=folder,
        n_rows=n_rows,
        left_out=left_out,
        n_otherwise=sent.n_otherwise,
    )


def _with_messages(rows: Sequence[Row], sent: SentPrompts) -> Iterator[list[Row]]:
    # messages are given where texts are shown and the messages are known as they were sent
    for first in range(0, len(rows), AT_ONCE):
        some = [{**row, "model_id": row["model"]} for row in rows[first : first + AT_ONCE]]
        with_texts = [row for row in some if row["has_texts"]]
        for row, shown in zip(with_texts, sent.shown(with_texts), strict=True):
            row["messages"] = None if shown is None else json_of(shown.messages)
        yield some
