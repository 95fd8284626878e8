"""The format gate: what it keeps out, what it stops, and that the last good publication stays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.support.shell import promptaudit, sql


def answers(path: Path, *, n_bad_variants: int, n_samples: int = 6) -> Path:
    """Four variants of three labels, the last ones answering in prose."""
    rows: list[dict[str, Any]] = [
        {
            "model": "m",
            "sample_id": f"s{sample}",
            "variant_index": variant,
            "completion": "The answer is a." if variant >= 4 - n_bad_variants else "ab"[(sample + variant) % 2],
            "gold_label": "a",
        }
        for variant in range(4)
        for sample in range(n_samples)
    ]
    pl.DataFrame(rows).write_parquet(path)
    return path


@pytest.mark.soak
def test_a_person_edits_the_variants_before_the_run(tmp_path: Path) -> None:
    ended = promptaudit(tmp_path, "init")
    assert ended.code == 0, ended.err
    ended = promptaudit(tmp_path, "plan", "mine", "--export-prompts", "prompts.csv")
    assert ended.out == "10 prompt variants in prompts.csv\n"
    frame = pl.read_csv(tmp_path / "prompts.csv", infer_schema=False)
    edited = pl.when(pl.col("variant_index") == "3").then(pl.lit("Say what the writer feels.")).otherwise("instruction")
    frame.with_columns(edited.alias("instruction")).write_csv(tmp_path / "edited.csv")
    ended = promptaudit(tmp_path, "run", "mine", "--prompts", "edited.csv", "--quiet")
    assert ended.code == 0, ended.err
    rows = sql(tmp_path, "select distinct variant_index, instruction from marts.dim_prompt_variants where is_edited")
    assert rows == [{"variant_index": 3, "instruction": "Say what the writer feels."}]
    again = promptaudit(tmp_path, "run", "mine", "--prompts", "edited.csv", "--quiet")
    assert "nothing asked" in again.out

    lost = frame.with_columns(
        pl.when(pl.col("variant_index") == "2").then(pl.lit("???")).otherwise("instruction").alias("instruction")
    )
    lost.write_csv(tmp_path / "lost.csv")
    refused = promptaudit(tmp_path, "run", "mine", "--prompts", "lost.csv")
    assert refused.code == 2
    assert "lost.csv row 3: the wording is refused: it has no letter or digit" in refused.one_line()
