"""An import with gaps: what was measured, and the bounds of its figures, from the file to the page."""

from __future__ import annotations

import math
from pathlib import Path

import polars as pl
import pytest

from tests.support.shell import promptaudit, sql

pytestmark = pytest.mark.slow


def test_recorded_answers_with_gaps(tmp_path: Path) -> None:
    # every answer is a, but for s0 under the last of four wordings; s1 lacks that one, s4 has no answer at all
    rows = [
        {
            "model": "m",
            "sample_id": f"s{sample}",
            "variant_index": variant,
            "gold_label": "a",
            "completion": None if sample == 4 else "b" if (sample, variant) == (0, 3) else "a",
        }
        for sample in range(5)
        for variant in range(4)
        if (sample, variant) != (1, 3)
    ]
    pl.DataFrame(rows).write_parquet(tmp_path / "gaps.parquet")
    ended = promptaudit(tmp_path, "import", "gaps.parquet", "--labels", "a,b", "--resamples", "0")
    assert ended.code == 0, ended.err
    (row,) = sql(tmp_path, "select * from marts.rpt_audit")
    assert (row["n_samples"], row["n_samples_planned"], row["n_planned"], row["n_landed"]) == (4, 5, 20, 15)

    split = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25)) / math.log(3)  # three of one class and one of another
    wanted = {
        "sensitivity": (split / 4, 2 * split / 5, split / 5),
        # 16 ordered pairs, six of them s0 with others at .25; 25 pairs, as N/A 2 x 5.0 apart, as a 2 x 4 x .25
        "consistency": (1 - 1.5 / 16, 1 - 10 / 25, 1 - 2 / 25),
        # three wordings right throughout, the last in two of three; of 20 cells 14, and 19
        "micro_f1": (11 / 12, 14 / 20, 19 / 20),
        "invalid_rate": (0, 5 / 20, 0),
    }
    for measure, figures in wanted.items():
        found = [row[measure], row[f"{measure}_if_missing_na"], row[f"{measure}_if_missing_modal"]]
        assert found == pytest.approx(figures, abs=1e-12), measure

    report = promptaudit(tmp_path, "report", "--format", "md")
    assert report.code == 0, report.err
    assert "4 of 5 × 4" in report.out
    assert "Missing answers" in report.out
    assert f"{2 * split / 5:.3f}" in report.out
    page = (tmp_path / "warehouse/published/report.html").read_text(encoding="utf-8")
    assert 'id="missing_answers"' in page
