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


@pytest.mark.slow
def test_a_wording_that_breaks_its_format_is_named_and_counts(tmp_path: Path) -> None:
    path = answers(tmp_path / "one.parquet", n_bad_variants=1)
    ended = promptaudit(tmp_path, "import", path, "--labels", "a,b", "--policy", "quarantine", "--resamples", "0")
    assert ended.code == 0, ended.err
    assert "1 of 4 model × variant pairs break their format, and count in every figure" in ended.out
    assert "policy quarantine means warn now" in ended.out
    (row,) = sql(tmp_path, "select n_variants, n_variants_breaking, n_landed, invalid_rate from marts.rpt_audit")
    assert row == {"n_variants": 4, "n_variants_breaking": 1, "n_landed": 24, "invalid_rate": 0.25}
    kept = sql(
        tmp_path,
        "select variant_index, is_breaking, any_value(breaking_reason) as reason from marts.fct_answer_formats "
        "inner join marts.dim_prompt_variants using (audit_run_id, prompt_variant_id) group by all order by variant_index",
    )
    assert [row["is_breaking"] for row in kept] == [False, False, False, True]
    assert kept[3]["reason"] == "invalid rate 1, allowed 0.1"
    assert sql(tmp_path, "select max(n_variants) as n from marts.fct_p_tau") == [{"n": 4}]
    checks = sql(tmp_path, "select count(*) as n, count(*) filter (not is_success) as bad from raw.format_checks")
    assert checks == [{"n": 20, "bad": 1}]

    # a run that fails leaves this publication as it is
    before = (tmp_path / "warehouse/published/audit.duckdb").read_bytes()
    worse = answers(tmp_path / "two.parquet", n_bad_variants=2)
    failed = promptaudit(tmp_path, "import", worse, "--labels", "a,b", "--policy", "fail", "--resamples", "0")
    assert failed.code == 3
    assert failed.one_line().startswith("MeasureError: the format gate failed: model 'm'")
    assert (tmp_path / "warehouse/published/audit.duckdb").read_bytes() == before


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
