"""Grades of a program count as shares of the scale that `import --scale` declares, and of no other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from promptaudit.exchange.recorded_runs.program_scores import Scale, scales_of
from promptaudit.registry.errors import UsageError
from promptaudit.warehouse.figure_names import figure_id
from tests.support.inspect_logs import inspect_log, inspect_sample
from tests.support.shell import promptaudit, sql

GRADES = {
    ("Answer.", "lab/good"): (10, 7, 10, 4, 1, 10),
    ("Please answer.", "lab/good"): (7, 7, 10, 1, 1, 10),
    ("Answer.", "lab/bad"): (4, 1, 1, 4, 1, 4),
    ("Please answer.", "lab/bad"): (4, 4, 1, 7, 1, 4),
    ("Answer.", "lab/fair"): (4, 4, 4, 4, 4, 10),
    ("Please answer.", "lab/fair"): (7, 4, 4, 1, 4, 7),
}
"""By wording and model: in steps of a ninth 36, 30, 9, 15, 24 and 21 of 54."""


def scored(**tasks: Sequence[float]) -> pl.DataFrame:
    rows = [
        {"program": "p", "task": task, "program_score": float(each), "file": "a.json", "sample_id": str(n)}
        for task, scores in tasks.items()
        for n, each in enumerate(scores)
    ]
    return pl.DataFrame(rows, schema_overrides={"program_score": pl.Float64})


@pytest.mark.parametrize("text", ["", "1", "1,2,3", "a,b", "3,3", "1,inf", "nan,1", "1;10", "-1e308,1e308"])
def test_what_is_no_scale_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"--scale .*: two numbers are wanted, the worst score and the best, as 1,10$"):
        Scale.of(text)


@pytest.mark.parametrize(
    ("text", "score", "share"), [("1,10", 10, 1), ("1, 10", 4, 1 / 3), ("5,1", 4, 0.25), ("-1,1", 0, 0.5)]
)
def test_a_score_is_a_share_of_the_way_to_the_best(text: str, score: float, share: float) -> None:
    assert Scale.of(text).share(score) == pytest.approx(share)


def test_a_declared_scale_is_that_of_all_scores() -> None:
    """Of answers that are all graded 1 of 10, none is right."""
    scale = Scale.of("1,10")
    scales, notes = scales_of(scored(easy=[10, 7], hard=[1, 1, 1]), scale)
    assert scales == {("p", "easy"): scale, ("p", "hard"): scale}
    assert notes[1] == (
        "task 'hard': 3 scores of p are grades from 1 to 1 with mean 1: no verdicts, and accuracy by judge:p is their mean "
        "as shares of the scale 1 to 10"
    )
    with pytest.raises(UsageError, match=r"score 0 lies outside of --scale 1,10"):
        scales_of(scored(easy=[10, 7], ruled=[0, 1]), scale)


def test_grades_that_are_not_on_the_scale_are_refused() -> None:
    outside = (
        r"a\.json: sample '1' of task 'b': score 70 lies outside of --scale 10,1; scores on several .* imported apart$"
    )
    with pytest.raises(UsageError, match=outside):
        scales_of(scored(a=[1, 7], b=[5, 70]), Scale.of("10,1"))
    with pytest.raises(
        UsageError, match=r"^UsageError: --scale 1,10: no answer has a score of the program that recorded it$"
    ):
        scales_of(scored(a=[1]).clear(), Scale.of("1,10"))


@pytest.mark.slow
@pytest.mark.timeout(280)
def test_grades_on_a_declared_scale_have_what_open_answers_have(tmp_path: Path) -> None:
    logs = []
    for place, ((wording, model), grades) in enumerate(GRADES.items()):
        samples = [inspect_sample(n, f"{place} on {n}", f"{wording} What is {n}?", target=f"{n}") for n in range(6)]
        of_log = [{**each, "scores": {"judge": {"value": grade}}} for each, grade in zip(samples, grades, strict=True)]
        logs.append(inspect_log(tmp_path / f"{place}.json", of_log, model=model, eval_id=f"{place}").name)
    refused = promptaudit(tmp_path, "import", *logs, "--scale", "1,9")
    assert refused.code == 2
    assert refused.err.strip().endswith(
        "0.json: sample '0' of task 'odd': score 10 lies outside of --scale 1,9; scores on several scales are imported apart"
    )

    done = promptaudit(tmp_path, "import", *logs, "--scale", "1,10", "--resamples", "50")
    assert done.code == 0, done.err
    assert "accuracy by judge:inspect_ai is their mean as shares of the scale 1 to 10" in " ".join(done.out.split())
    by_judge = "scoring_method = 'judge:inspect_ai'"
    grades = sql(tmp_path, "select distinct grade, score, is_match from marts.fct_verdicts order by score")
    assert [tuple(row.values()) for row in grades] == [(f"{1 + 3 * n}.0", pytest.approx(n / 3), None) for n in range(4)]
    accuracies = sql(tmp_path, f"select accuracy, n_scored from marts.fct_variant_accuracy where {by_judge}")
    assert sorted(row["accuracy"] for row in accuracies) == pytest.approx([n / 54 for n in (9, 15, 21, 24, 30, 36)])
    assert {row["n_scored"] for row in accuracies} == {6}
    spreads = sql(tmp_path, f"select * from marts.fct_scoring_sensitivity where {by_judge} order by model_id")
    assert [row["accuracy_mean"] for row in spreads] == pytest.approx([12 / 54, 22.5 / 54, 33 / 54])
    assert [row["accuracy_range"] for row in spreads] == pytest.approx([6 / 54, 3 / 54, 6 / 54])
    for row in spreads:
        assert row["accuracy_std_corrected_low"] <= row["accuracy_std_corrected"] <= row["accuracy_std_corrected_high"]
    (ranked,) = sql(tmp_path, f"select mean_spearman from marts.fct_ranking_consistency where {by_judge}")
    assert ranked["mean_spearman"] == pytest.approx(1)
    (row, *_) = sql(tmp_path, "select n_samples, n_variants, n_landed, invalid_rate from marts.rpt_audit")
    assert row == {"n_samples": 6, "n_variants": 2, "n_landed": 12, "invalid_rate": 0.0}
    page = (tmp_path / "warehouse/published/report.html").read_text()
    assert "are on 1 to 10, shown as shares of that scale." in page
    assert promptaudit(tmp_path, "verify").code == 0
    name = figure_id("fct_scoring_sensitivity", spreads[0], "accuracy_mean")
    traced = promptaudit(tmp_path, "trace", name, "--recompute")
    assert traced.code == 0, traced.err
    assert '"share": 0.3333333333333333' in traced.out, traced.out

    again = promptaudit(tmp_path, "import", *logs, "--scale", "1.0,10", "--resamples", "50")
    assert "nothing done" in again.out
    other = promptaudit(tmp_path, "import", *logs, "--scale", "10,1", "--resamples", "50")
    assert "36 answers imported" in other.out
