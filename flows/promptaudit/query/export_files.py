"""Writes exported answers to a folder: one flat Parquet file, or files that `datasets` loads."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq

from promptaudit.registry.errors import UsageError
from promptaudit.system.files import writing
from promptaudit.warehouse import Row

_TEXT, _REAL, _WHOLE, _LIST = pl.String(), pl.Float64(), pl.Int64(), pl.List(pl.String)
SCHEMA: dict[str, pl.DataType] = {
    "prediction_id": _TEXT,
    "model": _TEXT,
    "task": _TEXT,
    "kind": _TEXT,
    "level": _TEXT,
    "labels": _LIST,
    "reader": _TEXT,
    "scoring": _LIST,
    "token_f1_threshold": _REAL,
    "refusal_pattern": _TEXT,
    "strategy": _TEXT,
    "paraphrase_temperature": _REAL,
    "variant_index": _WHOLE,
    "is_original": pl.Boolean(),
    "instruction": _TEXT,
    "variation": _TEXT,
    "setting": _TEXT,
    "output_format": _TEXT,
    "prompt": _TEXT,
    "messages": _TEXT,
    "option_signs": _LIST,
    "sample_id": _TEXT,
    "input": _TEXT,
    "choices": _LIST,
    "option_order": pl.List(_WHOLE),
    "option_loglikelihoods": _TEXT,
    "references": _LIST,
    "repetition": _WHOLE,
    "completion": _TEXT,
    "finish_reason": _TEXT,
    "prompt_tokens": _WHOLE,
    "completion_tokens": _WHOLE,
    "cost_usd": _REAL,
    "latency_ms": _REAL,
    "gold_label": _TEXT,
    "label": _TEXT,
    "answer_status": _TEXT,
    "is_refused": pl.Boolean(),
    "is_correct": pl.Boolean(),
}
ABOUT = {
    "variation": "in which respect the prompt differs from the original",
    "setting": "by kind of variation what the prompt has in place of the original's, JSON",
    "prompt": "the variant's messages, JSON, with {placeholders} where each sample's parts were put in; nothing for a template",
    "messages": "the messages as they were sent, JSON; nothing where that is not recorded",
    "input": "the sample's text as the data has it; under input_noise the model was shown another spelling",
    "choices": "the options in the order of the data",
    "option_order": "for each place as shown the option's place in the data, from 0; nothing where that is the data's order",
    "option_loglikelihoods": "how likely each option is as the reply, JSON in the data's order: nats, n_tokens, n_characters",
    "gold_label": "what is right",
    "label": "what the completion was read as; nothing where it gave no label",
    "answer_status": "what became of the answer",
    "is_correct": "whether the label is the gold label",
}


def refuse_filled(folder: Path) -> None:
    """Raises UsageError for a folder that holds anything, and for the one that the command runs in."""
    if folder.resolve() == Path.cwd():
        msg = f"--to {folder}: it is the folder that the command runs in; name a new or an empty one"
        raise UsageError(msg)
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        what = "is a file" if folder.is_file() else "holds files already"
        msg = f"--to {folder}: it {what}; name a new or an empty folder"
        raise UsageError(msg)


Rows = Iterable[Sequence[Row]]
"""Rows of an export, some at a time: all prompts of a large run are more than memory holds."""


def write_folder(folder: Path, fill: Callable[[Path], int]) -> int:
    """Fills a draft beside the folder and renames it: the folder exists whole or not at all. Counts its rows."""
    with writing(folder):
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
    return n_rows


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _flat(rows: Sequence[Row]) -> pl.DataFrame:
    return pl.DataFrame(
        {name: pl.Series(name, [row[name] for row in rows], dtype=dtype) for name, dtype in SCHEMA.items()}
    )


def _write(path: Path, frames: Iterable[pl.DataFrame]) -> int:
    # each frame is a row group; there is at least one
    n_rows, writer = 0, None
    try:
        for frame in frames:
            table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
            writer = writer or pq.ParquetWriter(path, table.schema, compression="zstd")
            writer.write_table(table)
            n_rows += frame.height
    finally:
        if writer is not None:
            writer.close()
    return n_rows


def _write_parquet(folder: Path, rows: Rows, _run: str) -> int:
    return _write(folder / "predictions.parquet", map(_flat, rows))


def _write_hf(folder: Path, rows: Rows, run: str) -> int:
    (folder / "data").mkdir()
    n_rows = _write(folder / "data/predictions.parquet", map(_flat, rows))
    columns = "\n".join(f"- `{name}`: {ABOUT[name]}" if name in ABOUT else f"- `{name}`" for name in SCHEMA)
    (folder / "README.md").write_text(
        "---\nconfigs:\n- config_name: default\n  data_files:\n  - split: predictions\n    path: data/*.parquet\n---\n\n"
        f"# Answers of run {run}\n\nOne row is one answer: {n_rows:,} of them, exported by promptaudit.\n\n{columns}\n",
        encoding="utf-8",
    )
    return n_rows


FORMS: dict[str, Callable[[Path, Rows, str], int]] = {"parquet": _write_parquet, "hf": _write_hf}
