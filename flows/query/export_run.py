"""Exports a published run's answers: one flat Parquet file, a folder that `datasets` loads, or rows of DOVE's schema."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from flows.query.dove_rows import dove_rows
from flows.settings import Settings
from flows.warehouse import Published, Warehouse
from flows.warehouse.run_names import resolve_id
from flows.warehouse.schema import TABLES
from flows.warehouse.sql import sql
from models_registry.errors import DataError, UsageError, WarehouseError, nearest

TEXTS = ("input", "completion", "instruction", "setting", "output_format", "prompt", "choices", "references")
"""Columns that hold texts, which are left out of sensitive tasks unless asked for."""
POLICIES = ("none", "full")
_TEXT, _REAL, _WHOLE, _LIST = pl.String(), pl.Float64(), pl.Int64(), pl.List(pl.String)
SCHEMA: dict[str, pl.DataType] = {
    "prediction_id": _TEXT, "model": _TEXT, "task": _TEXT, "kind": _TEXT, "level": _TEXT, "labels": _LIST, "reader": _TEXT,
    "scoring": _LIST, "token_f1_threshold": _REAL, "refusal_pattern": _TEXT, "strategy": _TEXT,
    "paraphrase_temperature": _REAL, "variant_index": _WHOLE, "is_original": pl.Boolean(), "instruction": _TEXT,
    "variation": _TEXT, "setting": _TEXT, "output_format": _TEXT, "prompt": _TEXT, "option_signs": _LIST, "sample_id": _TEXT,
    "input": _TEXT, "choices": _LIST, "option_order": pl.List(_WHOLE), "option_loglikelihoods": _TEXT,
    "references": _LIST, "repetition": _WHOLE, "completion": _TEXT, "finish_reason": _TEXT, "prompt_tokens": _WHOLE,
    "completion_tokens": _WHOLE, "cost_usd": _REAL, "latency_ms": _REAL, "gold_label": _TEXT, "label": _TEXT,
    "answer_status": _TEXT, "is_refused": pl.Boolean(), "is_correct": pl.Boolean(), "is_quarantined": pl.Boolean(),
}  # fmt: skip
_ABOUT = {
    "variation": "in which respect the prompt differs from the original",
    "setting": "by kind of variation what the prompt has in place of the original's, JSON",
    "prompt": "the variant's messages, JSON, with {placeholders} where each sample's parts were put in; nothing for a template",
    "input": "the sample's text as the data has it; under input_noise the model was shown another spelling",
    "choices": "the options in the order of the data",
    "option_order": "for each place as shown the option's place in the data, from 0; nothing where that is the data's order",
    "option_loglikelihoods": "how likely each option is as the reply, JSON in the data's order: nats, n_tokens, n_characters",
    "gold_label": "what is right",
    "label": "what the completion was read as; nothing where it gave no label",
    "answer_status": "what became of the answer",
    "is_correct": "whether the label is the gold label",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportResult:
    """What was written where, how many rows; `left_out` names the tasks whose texts are not in it.

    `n_without` is the number of answers that the format has no row for.
    """

    audit_run_id: str
    format: str
    path: Path
    n_rows: int
    n_without: int
    left_out: tuple[str, ...]


def export_run(settings: Settings, run: str | None, form: str, to: Path | None, text: str | None) -> ExportResult:
    """Writes the answers of a published run (the newest) to a new or empty folder.

    Raises UsageError for an unknown run, format or policy, with the nearest, and for a folder that holds anything.
    """
    if form not in FORMS:
        msg = f"--format {form}{nearest(form, FORMS)}"
        raise UsageError(msg)
    if text is not None and text not in POLICIES:
        msg = f"--text {text}{nearest(text, POLICIES) or ': none or full'}"
        raise UsageError(msg)
    warehouse = Warehouse(settings.warehouse)
    audit_run_id = resolve_id(warehouse, run)
    folder = to or Path(f"export-{audit_run_id[:12]}-{form}")
    refuse_filled(folder)
    rows = warehouse.published.read(sql("query", "exported_answers"), run=audit_run_id)
    if not rows:
        msg = f"{warehouse.published.path}: run {audit_run_id} has no answers there; of a retired run: rebuild RUN --restore"
        raise DataError(msg)
    tables = {row["name"] for row in warehouse.published.read(TABLES)}
    orders = {} if "raw.option_orders" not in tables else _option_orders(warehouse.published, audit_run_id)
    weights = _by_prediction(warehouse.published, "option_loglikelihoods", audit_run_id)
    details = _by_prediction(warehouse.published, "dove_details", audit_run_id) if form == "dove" else {}
    for row in rows:
        row["option_order"] = orders.get((row["prompt_variant_id"], row["sample_id"]))
        row["option_loglikelihoods"] = weights.get(row["prediction_id"], {}).get("option_loglikelihoods")
        row.update(details.get(row["prediction_id"], {}))
    sensitive = sorted({row["task"] for row in rows if row["is_sensitive"]})
    for row in rows:
        if text == "none" or (text is None and row["is_sensitive"]):
            row.update(dict.fromkeys(TEXTS))
    n_rows = _write(folder, lambda draft: FORMS[form](draft, rows, audit_run_id))
    left_out = tuple(sorted({row["task"] for row in rows})) if text == "none" else tuple(() if text else sensitive)
    return ExportResult(
        audit_run_id=audit_run_id,
        format=form,
        path=folder,
        n_rows=n_rows,
        n_without=len(rows) - n_rows,
        left_out=left_out,
    )


def _option_orders(published: Published, run: str) -> dict[tuple[str, str], list[int]]:
    """Returns the orders in which options were shown where it was not the data's, by prompt variant and sample."""
    orders = published.read(sql("query", "option_orders"), run=run)
    return {(row["prompt_variant_id"], row["sample_id"]): row["option_order"] for row in orders}


def _by_prediction(published: Published, query: str, run: str) -> dict[str, dict[str, Any]]:
    return {row["prediction_id"]: row for row in published.read(sql("query", query), run=run)}


def refuse_filled(folder: Path) -> None:
    """Raises UsageError for a folder that holds anything, and for the one that the command runs in."""
    if folder.resolve() == Path.cwd():
        msg = f"--to {folder}: it is the folder that the command runs in; name a new or an empty one"
        raise UsageError(msg)
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        what = "is a file" if folder.is_file() else "holds files already"
        msg = f"--to {folder}: it {what}; name a new or an empty folder"
        raise UsageError(msg)


def _write(folder: Path, fill: Callable[[Path], int]) -> int:
    """Fills a draft beside the folder and renames it, so that a folder is there whole or not at all; returns the rows in it."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
        try:
            n_rows = fill(draft)
            draft.chmod(0o777 & ~_umask())
            if folder.is_dir():
                folder.rmdir()
            draft.rename(folder)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    except OSError as error:
        msg = f"{folder}: cannot be written: {error.strerror or error}"
        raise WarehouseError(msg) from None
    return n_rows


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _flat(rows: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(
        {name: pl.Series(name, [row[name] for row in rows], dtype=dtype) for name, dtype in SCHEMA.items()}
    )


def _write_parquet(folder: Path, rows: list[dict[str, Any]], _run: str) -> int:
    _flat(rows).write_parquet(folder / "predictions.parquet")
    return len(rows)


def _write_hf(folder: Path, rows: list[dict[str, Any]], run: str) -> int:
    (folder / "data").mkdir()
    _flat(rows).write_parquet(folder / "data/predictions.parquet")
    columns = "\n".join(f"- `{name}`: {_ABOUT[name]}" if name in _ABOUT else f"- `{name}`" for name in SCHEMA)
    (folder / "README.md").write_text(
        "---\nconfigs:\n- config_name: default\n  data_files:\n  - split: predictions\n    path: data/*.parquet\n---\n\n"
        f"# Answers of run {run}\n\nOne row is one answer: {len(rows):,} of them, exported by promptaudit.\n\n{columns}\n",
        encoding="utf-8",
    )
    return len(rows)


def _write_dove(folder: Path, rows: list[dict[str, Any]], run: str) -> int:
    nested = dove_rows(rows)
    if nested.is_empty():
        msg = f"run {run}: none of its answers has a completion and a score, which rows of DOVE need"
        raise DataError(msg)
    nested.write_parquet(folder / "predictions.parquet")
    return nested.height


FORMS: dict[str, Callable[[Path, list[dict[str, Any]], str], int]] = {
    "parquet": _write_parquet, "hf": _write_hf, "dove": _write_dove,
}  # fmt: skip
