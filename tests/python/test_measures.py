"""The measures from Python: published figures, the warehouse's own, and what is no table told in one line."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import promptaudit as pa

GROUND_TRUTH = Path(__file__).parents[2].parent / "shared" / "ground_truth"
EXPECTED: dict[str, Any] = json.loads((GROUND_TRUTH / "expected.json").read_text()) if GROUND_TRUTH.is_dir() else {}
published = pytest.mark.skipif(not EXPECTED, reason=f"reference data are not at {GROUND_TRUTH}")
NOTHING = [("none", "none")]


def read(name: str) -> pl.DataFrame:
    return pl.read_parquet(GROUND_TRUTH / name)


@published
@pytest.mark.parametrize("name", list(EXPECTED.get("robustness", {})))
def test_sensitivity_and_consistency_are_the_published_ones(name: str) -> None:
    expected = EXPECTED["robustness"][name]
    labels = [label for label in expected["labels"] if label != "N/A"]
    completion = pl.col("completion")
    answers = read(expected["file"]).with_columns(label=pl.when(completion.is_in(labels)).then(completion))
    found = pa.measures.sensitivity(answers, labels=labels)
    assert found.sensitivity == pytest.approx(expected["sensitivity_mean"], abs=1e-9)
    assert found.sensitivity_std == pytest.approx(expected["sensitivity_std_ddof0"], abs=1e-9)
    alike = pa.measures.consistency(answers, n_resamples=0)
    assert alike.consistency == pytest.approx(expected["consistency_pooled_mean_printed"], abs=1e-9)
    assert alike.consistency_std == pytest.approx(expected["consistency_pooled_std_printed"], abs=1e-9)
    by_class = dict(alike.by_class.select("gold_label", "consistency").iter_rows())
    published_by_class = dict(zip(labels, expected["consistency_per_class_mean_incl_diagonal"], strict=True))
    assert by_class == pytest.approx(published_by_class, abs=1e-9)


@published
@pytest.mark.parametrize("name", list(EXPECTED.get("pss_intra", {})))
def test_stability_of_repetitions_is_the_published_one(name: str) -> None:
    expected = EXPECTED["pss_intra"][name]
    labels = [str(label) for label in expected["labels"]]
    text = pl.col("completion").str.strip_chars()
    answers = read(expected["file"]).select(
        "sample_id", variant_index="repetition", label=pl.when(text.is_in(labels)).then(text)
    )
    found = pa.measures.prompt_stability(answers, level=expected["level"], n_resamples=0)
    figures = found.filter(series="cumulative")["pss"].to_list()
    assert figures == pytest.approx(expected["pss_cumulative_valid"], abs=1e-9)
    adjacent = found.filter(series="adjacent")["pss"].to_list()
    assert adjacent == pytest.approx(expected["pss_adjacent_valid"], abs=1e-9)
    every = pa.measures.krippendorff_alpha(answers, level=expected["level"])
    assert every.alpha == pytest.approx(figures[-1], abs=1e-12)
    assert every.low <= every.alpha <= every.high


@published
@pytest.mark.parametrize("name", list(EXPECTED.get("pss_inter", {})))
def test_stability_over_wordings_is_the_published_one(name: str) -> None:
    expected = EXPECTED["pss_inter"][name]
    answers = read(expected["file"]).with_columns(label=pl.col("completion").str.strip_chars())
    assert set(expected["per_temperature"]) == {str(each) for each in answers["paraphrase_temperature"].unique()}
    for temperature, published_figures in expected["per_temperature"].items():
        own = answers.filter(paraphrase_temperature=float(temperature)).select("sample_id", "variant_index", "label")
        found = pa.measures.prompt_stability(own, level=expected["level"], n_resamples=0).row(-1, named=True)
        assert found["pss"] == pytest.approx(published_figures["pss_verbatim"], abs=1e-9)
        assert found["n_annotators"] == published_figures["n_variants"]


@published
@pytest.mark.parametrize("name", list(EXPECTED.get("template_accuracies", {}).get("tasks", {})))
def test_spread_and_ranking_over_templates_are_the_published_ones(name: str) -> None:
    expected = EXPECTED["template_accuracies"]["tasks"][name]
    rows = read(EXPECTED["template_accuracies"]["file"]).filter(pl.col("task") == name)
    table = rows.pivot("template_id", index="model", values="accuracy").drop("model")  # noqa: PD010 - of polars
    found = pa.measures.ranking_consistency(table)
    assert found.mean_spearman == pytest.approx(expected["mean_spearman_tie_corrected"], abs=1e-9)
    assert (found.n_undefined_pairs, found.n_models) == (expected["nan_pairs"], expected["n_models"])
    assert found.mean_spearman_textbook == pytest.approx(expected["mean_spearman_textbook_formula_avg_ranks"], abs=1e-9)
    for (model,), own in rows.group_by("model"):
        # an accuracy is of one hundred questions: so many ones, then noughts, give it again
        right = [np.arange(100) < round(100 * accuracy) for accuracy in own["accuracy"]]
        of_model = pa.measures.spread(np.array(right, float).T, n_resamples=0)
        assert of_model.std == pytest.approx(expected["std_ddof0"][model], abs=1e-9)
        assert of_model.std_sample == pytest.approx(expected["std_ddof1"][model], abs=1e-9)


def test_one_table_in_every_form_gives_the_same() -> None:
    rows = [["a", "a", "b"], ["b", "a", None], ["a", "a", "a"], ["b", "b", "b"]]
    frame = pl.DataFrame(rows, schema=["first", "second", "third"], orient="row")
    single = [
        {"sample_id": f"s{sample}", "variant_index": place, "label": label}
        for sample, row in enumerate(rows)
        for place, label in enumerate(row)
    ]
    forms: list[Any] = [
        rows,
        np.array(rows, object),
        frame,
        frame.lazy(),
        frame.to_arrow(),
        pd.DataFrame(rows),
        duckdb.sql("select * from frame"),
        pl.DataFrame(single),
        pl.DataFrame(single).reverse(),
    ]
    alphas = {pa.measures.krippendorff_alpha(form) for form in forms}
    assert len(alphas) == 1
    sensitivities = {pa.measures.sensitivity(form, labels=["a", "b"]).sensitivity for form in forms}
    assert len({round(each, 12) for each in sensitivities}) == 1
    gold = ["x", "x", "y", "y"]
    assert len({round(pa.measures.consistency(form, gold).consistency, 12) for form in forms}) == 1


def test_gold_labels_belong_to_samples_in_the_order_in_which_these_come() -> None:
    golds = ["yes" if n % 3 else "no" for n in range(12)]
    rows = [{"sample_id": f"s{n}", "variant_index": v, "label": golds[n]} for v in range(2) for n in range(12)]
    assert pa.measures.consistency(pl.DataFrame(rows), golds).consistency == 1


def test_worked_examples() -> None:
    # of two wordings that differ on one of two samples: p_tau (1/2, 1/2) and (1), over a, b and N/A
    found = pa.measures.sensitivity([["a", "b"], ["a", "a"]], labels=["a", "b"])
    assert found.by_sample["sensitivity"].to_list() == pytest.approx([math.log(2) / math.log(3), 0])
    # a wording asked twice counts once: p_tau of it is (1/2, 1/2), of the other (1)
    twice = {"sample_id": [0, 0, 0], "variant_index": [0, 0, 1], "label": ["a", "b", "a"]}
    entropy = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25)) / math.log(3)
    assert pa.measures.sensitivity(pl.DataFrame(twice), labels=["a", "b"]).sensitivity == pytest.approx(entropy)
    assert math.isnan(pa.measures.sensitivity([["a"], ["b"]]).sensitivity)
    assert math.isnan(pa.measures.krippendorff_alpha([["a"], ["b"]]).alpha)
    assert pa.measures.krippendorff_alpha([["a", "a"], ["a", "a"]]).alpha == 1
    assert pa.measures.krippendorff_alpha([[1.0, 2.0], [3.0, math.nan], [2.0, 2.0]], level="interval").n_units == 2
    assert pa.measures.spread([[1, 0], [1, 0], [True, False]]).std == 0.5
    assert math.isnan(pa.measures.consistency([["a", "a"]], ["x"]).consistency_distinct)


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (lambda m: m.sensitivity(3), "DataError: a table is wanted, got int"),
        (lambda m: m.sensitivity([]), "DataError: there is no answer"),
        (lambda m: m.sensitivity([["a"], ["b", "c"]]), "DataError: rows of 1 and of 2 values make no table"),
        (lambda m: m.sensitivity([["a", "c"]], labels=["a", "b"]), "DataError: label 'c' is not among the labels"),
        (
            lambda m: m.sensitivity(pl.DataFrame({"sample_id": [1], "labels": ["a"]})),
            "DataError: no column 'variant_index'",
        ),
        (lambda m: m.consistency([["a", "b"]]), "DataError: no gold labels: a column 'gold_label' of the frame"),
        (lambda m: m.consistency([["a", "b"]], ["x", "y"]), "DataError: gold: 2 labels for 1 samples"),
        (lambda m: m.krippendorff_alpha([["a", "b"]], level="nomina"), "DataError: level 'nomina': one of nominal"),
        (lambda m: m.krippendorff_alpha([["1", "x"]], level="ordinal"), "DataError: label 'x' is no number"),
        (lambda m: m.spread([["a"]]), "DataError: scores 'a' is no number"),
    ],
)
def test_what_is_no_table_is_one_line(call: Callable[[Any], object], line: str) -> None:
    with pytest.raises(pa.PromptauditError) as raised:
        call(pa.measures)
    assert str(raised.value).startswith(line)


def test_to_import_it_is_instant() -> None:
    heavy = "{'polars', 'numpy', 'duckdb', 'pydantic'}"
    code = f"import promptaudit, sys; print(sorted({heavy} & set(sys.modules)), dir(promptaudit))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("[] ['Audits', 'PromptauditError', 'Run',")
