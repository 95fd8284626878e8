"""The analyst's first questions: each compiles, asks the marts alone and is answered on the published copy."""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from promptaudit.audit.runs import close_run
from promptaudit.exchange.recorded_runs.import_run import ImportOptions, import_predictions
from promptaudit.marts.publish import publish
from promptaudit.marts.transform import transform
from promptaudit.registry.mart_columns import dbt_project
from promptaudit.registry.registry import load_registry
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.dbt_project import dbt
from tests.support.awkward_answers import ABCD, Case, Variant, answered
from tests.support.judged_runs import Rulings
from tests.support.published_copy import table
from tests.support.slow_measures import Answer

pytestmark = pytest.mark.slow  # `make docs` compiles them as well

NAMES = sorted(path.stem for path in (dbt_project() / "analyses").glob("*/*.sql"))
VARIANTS = [
    Variant(0, (1, 2, 3), None, "Classify."),
    *(Variant(i, (1, 2), 0.1, f"Please classify, {i}.") for i in range(1, 4)),
    *(Variant(i, (1, 2), 1.0, f"Whatever it be, {i}.") for i in range(1, 4)),
]
OF_FIELDS = "fields_that_are_wrong"  # whose answer tests/end_to_end/test_fields.py looks at: these runs ask for labels
Row = dict[str, Any]


@dataclass(frozen=True)
class Published:
    """Compiled analyses beside a published warehouse."""

    warehouse: Path
    compiled: Path
    runs: list[str]

    def sql(self, name: str) -> str:
        """The compiled query."""
        (path,) = self.compiled.rglob(f"analyses/*/{name}.sql")
        return path.read_text()

    def ask(self, name: str) -> list[Row]:
        """Its answer."""
        columns, rows = table(self.warehouse, self.sql(name))
        assert len(set(columns)) == len(columns)
        return [dict(zip(columns, row, strict=True)) for row in rows]

    def figures(self, query: str) -> dict[tuple[Any, ...], Any]:
        """What a query of the marts gives: its last column by the others."""
        return {tuple(row[:-1]): row[-1] for row in table(self.warehouse, query)[1]}


def _answers(seed: int) -> list[Answer]:
    answers = answered(
        seed, ABCD, VARIANTS, models=("big", "small"), strategies=("simple", "detail"), n_samples=9, junk_rate=0.05
    )
    rng = random.Random(seed)
    # the small model loses its format under one wording
    broken = ("small", 1.0, 2)
    return [
        replace(a, completion="Let me think.")
        if (a.model, a.temperature, a.variant) == broken and rng.random() < 0.7
        else a
        for a in answers
    ]


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Published:
    folder = tmp_path_factory.mktemp("analyses")
    warehouse = folder / "audit.duckdb"
    Warehouse(warehouse).apply_schema()
    runs = []
    for night in (1, 2):
        path = folder / f"night{night}.parquet"
        Case("nightly", ABCD, _answers(night)).frame().write_parquet(path)
        options = ImportOptions(labels=ABCD, audit="nightly", resamples=10)
        runs.append(import_predictions(Warehouse(warehouse), [path], load_registry(), options).audit_run_id)
    with Warehouse(warehouse).write() as con:
        con.execute(
            "update raw.predictions set cost_usd = 0.001, prompt_tokens = 10, completion_tokens = 2, latency_ms = 5"
        )
    # on the first night a judge and a person rule too: they differ where the answer is D
    rulings = Rulings(
        judges={"lenient": lambda answer, _: json.dumps({"match": True, "reason": answer[2]})},
        people={"ada": lambda answer: answer[2] != "D"},
    )
    rulings.land(warehouse, runs[0])
    transform(Warehouse(warehouse), runs, "up_to_formats")
    for run in runs:
        close_run(Warehouse(warehouse), run, "complete")
    transform(Warehouse(warehouse), runs, "after_formats")
    publish(Warehouse(warehouse), runs)
    dbt(Warehouse(warehouse), "compile", "--select", "resource_type:analysis")
    return Published(warehouse, warehouse.parent / "dbt" / "target" / "compiled", runs)


@pytest.mark.parametrize("name", NAMES)
def test_asks_the_marts_alone(published: Published, name: str) -> None:
    query = published.sql(name)
    tables = re.findall(r'"\w+"\."(\w+)"\."\w+"', query)
    assert tables
    assert set(tables) == {"marts"}
    assert not re.search(r"\b(raw|staging|intermediate)\.", query)


@pytest.mark.parametrize("name", [name for name in NAMES if name != OF_FIELDS])
def test_has_an_answer_the_same_twice(published: Published, name: str) -> None:
    rows = published.ask(name)
    assert rows
    assert published.ask(name) == rows


def test_each_is_described() -> None:
    listed = yaml.safe_load((dbt_project() / "analyses" / "analyses.yml").read_text())["analyses"]
    assert sorted(entry["name"] for entry in listed) == NAMES
    assert all(len(entry["description"]) > 40 for entry in listed)


def test_most_sensitive_samples(published: Published) -> None:
    rows = published.ask("most_sensitive_samples")
    assert len(rows) == 20
    figures = [row["sensitivity"] for row in rows]
    assert figures == sorted(figures, reverse=True)
    assert all("%" in row["answers"] and row["answers"].count(",") >= 1 for row in rows)


def test_the_broken_wording_comes_first(published: Published) -> None:
    first = published.ask("wordings_that_break_format")[0]
    assert (first["model_id"], first["paraphrase_temperature"], first["variant_index"]) == ("small", 1.0, 2)
    assert first["instruction"] == "Whatever it be, 2."
    assert first["difference"] > 0.3
    assert first["n_answers"] == 18


def test_does_a_description_help(published: Published) -> None:
    rows = published.ask("does_a_description_help")
    assert [(row["model_id"], row["strategy"]) for row in rows] == [("big", "detail"), ("small", "detail")]
    assert all(abs(row["micro_f1_difference"]) < 1 for row in rows)


def test_models_side_by_side(published: Published) -> None:
    rows = published.ask("models_side_by_side")
    assert [(row["strategy"], row["place"]) for row in rows] == [
        ("detail", 1),
        ("detail", 2),
        ("simple", 1),
        ("simple", 2),
    ]
    assert len({row["pss_inter_model"] for row in rows}) == 2
    for first, second in (rows[:2], rows[2:]):
        assert first["sensitivity"] <= second["sensitivity"]


def test_stability_by_paraphrase_temperature(published: Published) -> None:
    rows = published.ask("stability_by_paraphrase_temperature")
    assert len(rows) == 2 * 2 * 2
    for row in rows:
        assert row["n_variants"] == 4  # the original joins each temperature
        if row["paraphrase_temperature"] == 0.1:
            assert row["difference_from_coolest"] == 0


def test_answers_behind_a_figure(published: Published) -> None:
    rows = published.ask("answers_behind_a_figure")
    assert len(rows) == 3 + 2 * 6  # the original three times, six rephrasings twice
    assert {row["audit_run_id"] for row in rows} == {published.runs[-1]}
    assert len({row["label"] for row in rows}) > 1
    assert [row["repetition"] for row in rows[:3]] == [1, 2, 3]


def test_cost_per_audit(published: Published) -> None:
    rows = published.ask("cost_per_audit")
    assert [row["audit_run_id"] for row in rows] == [published.runs[1]] * 2 + [published.runs[0]] * 2
    for row in rows:
        assert row["cost_usd"] == pytest.approx(0.001 * row["n_predictions"])
        assert row["usd_per_thousand"] == pytest.approx(1)
        assert row["prompt_tokens"] == 10 * row["n_predictions"]


def test_labels_confused(published: Published) -> None:
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in published.ask("labels_confused"):
        key = tuple(row[c] for c in ("model_id", "task_id", "strategy", "gold_label"))
        groups.setdefault(key, []).append(row)
    for key, rows in groups.items():
        assert sum(row["mean_share"] for row in rows) == pytest.approx(1), key
        assert [row["is_right"] for row in rows] == [row["answered"] == key[-1] for row in rows]


def test_disagreement_by_wording_noise_item(published: Published) -> None:
    rows = published.ask("disagreement_by_wording_noise_item")
    assert len(rows) == 4
    for row in rows:
        assert row["wording_share"] + row["noise_share"] + row["item_share"] == pytest.approx(1)
        assert row["reading"] in ("prompt matters", "prompt hardly matters", "undecided")


def grain_is_unique(rows: list[Row], *grain: str) -> bool:
    return len({tuple(row[name] for name in grain) for row in rows}) == len(rows)


def test_wordings_that_cost_accuracy(published: Published) -> None:
    rows = published.ask("wordings_that_cost_accuracy")
    assert grain_is_unique(rows, "model_id", "task_id", "strategy", "scoring_method", "prompt_variant_id")
    by_label = [row for row in rows if row["scoring_method"] == "label_match"]
    assert by_label[0]["instruction"] == "Whatever it be, 2."  # of the small model: most of its answers are none
    means = published.figures(
        "select model_id, strategy, prompt_variant_id, avg(accuracy) from marts.fct_variant_accuracy "
        "where scoring_method = 'label_match' group by all"
    )
    for row in by_label:
        assert row["n_nights"] == 2
        assert row["accuracy"] == pytest.approx(means[row["model_id"], row["strategy"], row["prompt_variant_id"]])
        assert row["cost_in_accuracy"] == pytest.approx(row["accuracy_original"] - row["accuracy"])


def test_samples_that_flip_most(published: Published) -> None:
    rows = published.ask("samples_that_flip_most")
    assert grain_is_unique(rows, "model_id", "task_id", "strategy", "sample_id")
    assert {(row["n_flips"], row["n_nights"]) for row in rows} == {(1, 1)}  # of two nights one has a night before it
    assert all(row["label"] != row["label_before"] for row in rows)


def test_cost_by_model_and_week(published: Published) -> None:
    rows = published.ask("cost_by_model_and_week")
    assert grain_is_unique(rows, "model_id", "week")
    counts = published.figures("select model_id, count(*) from marts.fct_predictions group by all")
    assert {(row["model_id"],): row["n_predictions"] for row in rows} == counts
    assert {row["n_runs"] for row in rows} == {2}
    assert all(row["cost_usd"] == pytest.approx(0.001 * row["n_predictions"]) for row in rows)
    assert all(row["week"].weekday() == 0 for row in rows)


def test_judge_against_people_by_template(published: Published) -> None:
    rows = published.ask("judge_against_people_by_template")
    assert grain_is_unique(rows, "model_id", "task_id", "strategy", "judge", "prompt_variant_id")
    (n_ruled,) = published.figures(
        f"select count(*) from marts.fct_scores where scoring_method = 'people' and is_correct is not null "
        f"and audit_run_id = '{published.runs[0]}'"
    ).values()
    assert sum(row["n_answers"] for row in rows) == n_ruled
    for row in rows:
        assert (row["accuracy_by_judge"], row["n_too_harsh"]) == (1, 0)
        assert row["agreement_rate"] == pytest.approx(row["accuracy_by_people"])


def test_what_changed_since_last_run(published: Published) -> None:
    rows = published.ask("what_changed_since_last_run")
    assert len(rows) == 2 * 2 * 8
    for row in rows:
        assert (row["base_run_id"], row["candidate_run_id"]) == tuple(published.runs)
        assert row["difference"] == row["candidate"] - row["base"]


def test_tables_across_tasks_have_a_row_a_cell(published: Published) -> None:
    rows = published.ask("table_of_tasks_and_models")
    of_task: dict[str, list[Row]] = {}
    for row in rows:
        of_task.setdefault(row["measure"], []).append(row)
    # of too few wordings for a corrected figure
    assert set(of_task) == {"sensitivity", "consistency", "micro_f1", "pss_intra", "pss_inter"}
    for measure, own in of_task.items():  # the best of a task is so over its models and strategies
        best = (min if measure == "sensitivity" else max)(row["value"] for row in own)
        assert [row["mark"] for row in own] == ["best" if row["value"] == best else None for row in own]
    of_audit, of_all = published.ask("sensitivity_against_consistency")
    assert (of_audit["audit_id"], of_all["audit_id"]) == ("nightly", None)
    assert of_audit["n_cells"] == of_all["n_cells"] == 4
    assert -1 <= of_audit["pearson"] == of_all["pearson"] <= 1


def test_tables_of_stability_and_scoring(published: Published) -> None:
    stability = published.ask("stability_across_tasks")
    assert {(row["scope"], row["place"]) for row in stability} == {("intra", 1), ("inter", 1)}  # one task
    assert len(stability) == 2 * 4
    spreads = published.ask("scoring_spread_by_task")
    assert [(row["model_id"], row["rule"], row["mean_difference"]) for row in spreads] == [
        (model, "label_match", None) for model in ("big", "small")
    ]
    (ranking,) = published.ask("ranking_consistency_by_task")
    assert (ranking["mean_spearman"], ranking["n_models"], ranking["is_of_few_models"]) == (None, 2, True)
    assert {row["between_whom"] for row in published.ask("agreement_by_task")} == {"templates"}  # nobody ruled
