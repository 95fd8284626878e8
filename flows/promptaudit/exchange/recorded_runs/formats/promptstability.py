"""Recognises what the published package `promptstability` writes, and renames its columns to ours."""

from __future__ import annotations

import polars as pl

MODEL = "promptstability"
"""The model's name, which the package does not write."""
FIGURES = ("ss_mean", "ss_lower", "ss_upper", "ka_mean", "ka_lower", "ka_upper", "Unnamed: 0", "")
"""Columns of the package that `import` derives itself, and the index that pandas writes."""
_NAMES = {
    "id": "sample_id",
    "annotation": "completion",
    "text": "input",
    "prompt": "instruction",
    "original": "is_original",
    "temperature": "paraphrase_temperature",
    "gold": "gold_label",
}


def is_of_promptstability(frame: pl.DataFrame) -> bool:
    """Checks that a file has the columns of the package's results and no column `completion`."""
    columns = set(frame.columns)
    return (
        {"id", "annotation"} <= columns and bool({"iteration", "prompt_id"} & columns) and "completion" not in columns
    )


def as_recorded(frame: pl.DataFrame) -> pl.DataFrame:
    """Renames the columns to ours. An iteration, from 0, becomes a repetition, from 1; the original is variant 0.

    Other prompts are numbered within their temperature in the order of `prompt_id`. The package writes no iteration for
    rephrasings, so the rows of one prompt and text are its repetitions in their order.
    """
    if "iteration" in frame.columns:
        number = pl.col("iteration").cast(pl.Float64, strict=False)
        frame = frame.with_columns(repetition=(number - number.min() + 1).cast(pl.Int64).cast(pl.String))
    else:
        cell = [name for name in ("model", "temperature", "prompt_id", "id") if name in frame.columns]
        frame = frame.with_columns(repetition=(pl.int_range(pl.len()).over(cell) + 1).cast(pl.String))
    if "prompt_id" in frame.columns:
        place = pl.col("prompt_id").cast(pl.Float64, strict=False)
        if "original" in frame.columns:
            is_original = pl.col("original").cast(pl.String).str.to_lowercase().is_in(["true", "1", "1.0"])
            others = pl.when(~is_original).then(place).rank("dense")
            within = others.over("temperature") if "temperature" in frame.columns else others
            place = pl.when(is_original).then(0).otherwise(within)
        frame = frame.with_columns(variant_index=place.cast(pl.Int64).cast(pl.String))
    if "model" not in frame.columns:
        frame = frame.with_columns(model=pl.lit(MODEL))
    known = {theirs: ours for theirs, ours in _NAMES.items() if theirs in frame.columns and ours not in frame.columns}
    return frame.drop(*FIGURES, "iteration", "prompt_id", strict=False).rename(known)
