"""Spread and ranking consistency of published accuracies: predictions rebuilt from them, imported, read by SQL, to 1e-9."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from promptaudit.exchange.recorded_runs.import_run import ImportOptions, import_predictions
from promptaudit.marts.publish import publish
from promptaudit.marts.transform import transform
from promptaudit.registry.registry import load_registry
from promptaudit.warehouse import Warehouse
from tests.support.published_copy import table

TOLERANCE = 1e-9
N_QUESTIONS = 100  # every accuracy is a whole number of hundredths


def predictions(accuracies: pl.DataFrame) -> pl.DataFrame:
    """A row a question of every template, as many right as the accuracy says."""
    questions = pl.DataFrame({"question": range(N_QUESTIONS)})
    return (
        accuracies.join(questions, how="cross")
        .with_columns(
            pl.when(pl.col("question") < (pl.col("accuracy") * N_QUESTIONS).round())
            .then(pl.lit("right"))
            .otherwise(pl.lit("wrong"))
            .alias("completion"),
            pl.lit("right").alias("gold_label"),
            pl.format("q{}", "question").alias("sample_id"),
            pl.format("template {}", "template_id").alias("instruction"),
            pl.col("template_id").cast(pl.String).alias("variant_index"),
            (pl.col("template_id") == pl.col("template_id").min().over("task")).cast(pl.String).alias("is_original"),
        )
        .select("model", "task", "sample_id", "completion", "gold_label", "instruction", "variant_index", "is_original")
    )


def derived(folder: Path, accuracies: pl.DataFrame) -> tuple[Path, str]:
    """The published warehouse of an import, and its run."""
    file, warehouse = folder / "templates.parquet", folder / "audit.duckdb"
    predictions(accuracies).write_parquet(file)
    Warehouse(warehouse).apply_schema()
    options = ImportOptions(labels=("right", "wrong"))
    run = import_predictions(Warehouse(warehouse), [file], load_registry(), options).audit_run_id
    for part in ("up_to_formats", "after_formats"):
        transform(Warehouse(warehouse), [run], part)  # type: ignore[arg-type]
    publish(Warehouse(warehouse), [run])
    return warehouse, run


def spreads(warehouse: Path, run: str) -> dict[tuple[str, str], tuple[float, float, float]]:
    _, rows = table(
        warehouse,
        "select task_id, model_id, accuracy_mean, accuracy_std, accuracy_std_sample from marts.fct_scoring_sensitivity "
        f"where audit_run_id = '{run}' and scoring_method = 'label_match'",
    )
    return {(task, model): tuple(figures) for task, model, *figures in rows}  # type: ignore[misc]


def rankings(warehouse: Path, run: str) -> dict[str, Sequence[Any]]:
    _, rows = table(
        warehouse,
        "select task_id, mean_spearman, mean_spearman_textbook, n_pairs, n_undefined_pairs, n_models, n_variants "
        f"from marts.fct_ranking_consistency where audit_run_id = '{run}' and model_set = 'all'",
    )
    return {task: figures for task, *figures in rows}


@pytest.fixture
def truth(ground_truth: Path) -> tuple[dict[str, Any], pl.DataFrame]:
    expected = json.loads((ground_truth / "expected.json").read_text())["template_accuracies"]
    return expected["tasks"], pl.read_parquet(ground_truth / expected["file"])


@pytest.mark.parametrize(
    "one_of",
    [pytest.param(4, marks=pytest.mark.slow, id="a fourth"), pytest.param(1, marks=pytest.mark.soak, id="all")],
)
def test_twelve_templates_of_tasks(truth: tuple[dict[str, Any], pl.DataFrame], tmp_path: Path, one_of: int) -> None:
    tasks, accuracies = dict(list(truth[0].items())[::one_of]), truth[1]
    first = pl.concat(
        accuracies.filter((pl.col("task") == task) & pl.col("template_id").is_in(figures["first12_template_ids"]))
        for task, figures in tasks.items()
    )
    warehouse, run = derived(tmp_path, first)
    found = rankings(warehouse, run)
    assert found.keys() == tasks.keys()
    for task, figures in tasks.items():
        assert found[task][0] == pytest.approx(figures["first12_mean_spearman_tie_corrected"], abs=TOLERANCE)
        assert found[task][4:] == [figures["n_models"], 12]
    measured = spreads(warehouse, run)
    for (task, model), rows in first.group_by("task", "model"):
        given = rows["accuracy"].to_numpy()
        wanted = (given.mean(), given.std(), given.std(ddof=1))
        assert measured[str(task), str(model)] == pytest.approx(wanted, abs=TOLERANCE)
    # every method of an import without judges is its rule
    _, methods = table(warehouse, "select distinct scoring_method from marts.fct_scores")
    assert methods == [("label_match",)]


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_all_templates(truth: tuple[dict[str, Any], pl.DataFrame], tmp_path: Path) -> None:
    # of two tasks: one with templates under which all models are alike, one without
    tasks = {task: truth[0][task] for task in ("LMentry/any_words_from_category", "BBH/causal_judgement")}
    warehouse, run = derived(tmp_path, truth[1].filter(pl.col("task").is_in(list(tasks))))
    found, measured = rankings(warehouse, run), spreads(warehouse, run)
    for task, figures in tasks.items():
        n_pairs = figures["n_templates"] * (figures["n_templates"] - 1) // 2
        assert found[task][0] == pytest.approx(figures["mean_spearman_tie_corrected"], abs=TOLERANCE)
        assert found[task][1] == pytest.approx(figures["mean_spearman_textbook_formula_avg_ranks"], abs=TOLERANCE)
        n_undefined = figures["nan_pairs"]
        assert found[task][2:] == [n_pairs - n_undefined, n_undefined, figures["n_models"], figures["n_templates"]]
        for model in figures["models"]:
            _, std, std_sample = measured[task, model]
            assert std == pytest.approx(figures["std_ddof0"][model], abs=TOLERANCE)
            assert std_sample == pytest.approx(figures["std_ddof1"][model], abs=TOLERANCE)
