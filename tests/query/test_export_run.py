"""What is exported is what was asked and said: read back it gives the same figures, and `datasets` opens it."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from promptaudit.audit.runs import close_run
from promptaudit.exchange.recorded_runs.import_run import ImportOptions, import_predictions
from promptaudit.marts.publish import publish
from promptaudit.marts.transform import transform
from promptaudit.query.export_files import SCHEMA
from promptaudit.query.export_run import TEXTS
from promptaudit.registry.cards import FormatLimits
from promptaudit.registry.registry import load_registry
from promptaudit.warehouse import Warehouse
from tests.support.imported_runs import COLOURS, Recorded, ordinary_rows, published
from tests.support.shell import Ended, promptaudit, sql

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
FIGURES = (
    "n_samples",
    "n_variants",
    "n_planned",
    "n_landed",
    "sensitivity",
    "sensitivity_corrected",
    "consistency",
    "micro_f1",
    "pss_intra",
    "pss_inter",
    "invalid_rate",
)
CARD = """
moods:
  sensitive: true
  labels: [red, green, blue, none of these]
  reader: label_in_text
  instruction: Name the mood as a colour.
  data: {path: nowhere.csv, rows: 1}
"""


ORDERS = {1: ("gold_first", None), 2: ("reversed", [3, 2, 1, 0]), 3: ("seeded 1", [2, 0, 3, 1])}


def weighed(gold: int, variant: int) -> str:
    """The right option is the likeliest, by 1 nat less a variant."""
    options = [
        {"nats": -0.5 - variant if place == gold else -9.0, "n_tokens": 2, "n_characters": 6} for place in range(4)
    ]
    return json.dumps(options)


def quiz_rows(n_samples: int = 8) -> list[dict[str, Any]]:
    """Two models asked the same questions with their options in four orders: one knows them, one says the second place."""
    rows = []
    for sample in range(n_samples):
        gold = sample % 4
        for variant in range(4):
            level, order = ORDERS.get(variant, (None, None))
            if level == "gold_first":
                order = [gold, *(place for place in range(4) if place != gold)]
            knowing = "ABCD"[(order or [0, 1, 2, 3]).index(gold)]
            rows += [
                {
                    "model": model,
                    "task": "quiz",
                    "variant_index": variant,
                    "sample_id": f"q{sample}",
                    "completion": said,
                    "variation": "option_order" if level else "original",
                    "setting": json.dumps({"option_order": level}) if level else None,
                    "option_order": order,
                    "gold_label": "ABCD"[gold],
                    "input": f"Which comes after {sample}?",
                    "instruction": "{question} {options}",
                    "choices": [f"{name} {sample}" for name in ("red", "blue", "grey", "pink")],
                    "option_loglikelihoods": weighed(gold, variant),
                }
                for model, said in (("knowing", knowing), ("second", "B"))
            ]
    return rows


@dataclasses.dataclass(frozen=True)
class Exported:
    """A folder with a published run, what was exported of it, and the runs that these were imported as."""

    folder: Path
    run: str
    quiz: str
    ended: dict[str, Ended]
    again: dict[str, str]

    def out(self, name: str) -> Path:
        """The folder of an export."""
        return self.folder / f"out-{name}"

    def figures(self, run: str, *, task: str) -> list[dict[str, Any]]:
        """The scorecard of a run."""
        return sql(
            self.folder,
            f"select {', '.join(FIGURES)} from marts.rpt_audit where audit_run_id = '{run}' and task_id = '{task}' "
            "order by model_id, strategy",
        )


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    folder = tmp_path_factory.mktemp("exported")
    (folder / "registry/tasks").mkdir(parents=True)
    (folder / "registry/tasks/moods.yml").write_text(CARD)
    recorded = Recorded(
        audit="colours",
        rows=ordinary_rows(n_samples=6, n_variants=3),
        labels=COLOURS,
        limits=FormatLimits(policy="warn"),
        registry=load_registry([folder / "registry"]),
    )
    (folder / "warehouse").mkdir()
    asked = Recorded(audit="quiz", rows=quiz_rows(), labels=(), limits=FormatLimits(policy="warn"))
    path, (run, quiz) = published(folder / "warehouse", [recorded, asked])
    warehouse = Warehouse(path)
    ended = {
        name: promptaudit(folder, "export", run[:8], "--format", name, "--to", f"out-{name}", *options)
        for name, options in (("parquet", ("--text", "full")), ("hf", ()))
    }
    for form in ("parquet", "hf"):
        ended[f"quiz-{form}"] = promptaudit(folder, "export", quiz[:8], "--format", form, "--to", f"out-quiz-{form}")
    again = {}
    for name in ("parquet", "quiz-parquet"):
        file = folder / f"out-{name}/predictions.parquet"
        options = ImportOptions(audit=name, resamples=20)
        again[name] = import_predictions(warehouse, [file], load_registry(), options).audit_run_id
    transform(warehouse, list(again.values()), "up_to_formats")
    for each in again.values():
        close_run(warehouse, each, "complete")
    transform(warehouse, list(again.values()), "after_formats")
    publish(warehouse, list(again.values()))
    return Exported(folder, run, quiz, ended, again)


def test_each_export_ends_well(exported: Exported) -> None:
    for name, ended in exported.ended.items():
        assert ended.code == 0, ended.err
        run = exported.quiz if name.startswith("quiz") else exported.run
        assert f"answers of run {run} in out-{name}" in ended.out


@pytest.mark.parametrize("task", ["colours", "moods"])
def test_the_flat_file_is_imported_to_the_same_figures(exported: Exported, task: str) -> None:
    before, after = (exported.figures(run, task=task) for run in (exported.run, exported.again["parquet"]))
    assert len(before) == (6 if task == "colours" else 3)
    assert after == [pytest.approx(row) for row in before]


def test_answers_to_reordered_options_mean_the_same_options_again(exported: Exported) -> None:
    def answers(run: str) -> list[dict[str, Any]]:
        query = (
            "select model_id, variant_index, sample_id, label, gold_label, is_correct from marts.fct_predictions "
            f"where audit_run_id = '{run}' order by all"
        )
        return sql(exported.folder, query)

    before, after = (answers(run) for run in (exported.quiz, exported.again["quiz-parquet"]))
    assert len(before) == 2 * 4 * 8
    # the letters that stood for the right option in each order; a reader that ignores orders gives B to all of `second`
    assert all(row["is_correct"] for row in before if row["model_id"] == "knowing")
    assert {row["label"] for row in before if row["model_id"] == "second"} == {"A", "B", "C"}
    assert after == before
    figures = [exported.figures(run, task="quiz") for run in (exported.quiz, exported.again["quiz-parquet"])]
    assert figures[1] == [pytest.approx(row) for row in figures[0]]


def test_kinds_and_settings_of_variants_are_imported_again(exported: Exported) -> None:
    def variants(run: str) -> list[dict[str, Any]]:
        query = "select variant_index, variation, setting from marts.dim_prompt_variants"
        return sql(exported.folder, f"{query} where audit_run_id = '{run}' order by variant_index")

    assert variants(exported.again["quiz-parquet"]) == variants(exported.quiz)
    assert [row["variation"] for row in variants(exported.quiz)] == ["original", *["option_order"] * 3]


def test_loglikelihoods_of_options_come_back_and_posix_with_them(exported: Exported) -> None:
    runs = (exported.quiz, exported.again["quiz-parquet"])
    query = "select distinct posix from marts.rpt_audit where audit_run_id = "
    posix = [row["posix"] for run in runs for row in sql(exported.folder, f"{query}'{run}'")]
    # of ordered pairs of four variants the answers' nats are 1, 2 or 3 apart, 20 in all over 12 pairs, of two tokens each
    assert posix == [pytest.approx(20 / 12 / 2)] * 2
    frames = [pl.read_parquet(exported.out("quiz-parquet") / "predictions.parquet")]
    frames.append(pl.read_parquet(exported.out("quiz-hf") / "data/predictions.parquet"))
    for frame in frames:
        assert frame["option_loglikelihoods"].unique().sort().to_list() == sorted(
            {weighed(gold, variant) for gold in range(4) for variant in range(4)}
        )
    assert "- `option_loglikelihoods`: how likely each option is as the reply" in (
        exported.out("quiz-hf") / "README.md"
    ).read_text("utf-8")


def test_texts_of_a_sensitive_task_are_left_out_unless_asked_for(exported: Exported) -> None:
    assert "without the texts of moods; --text full writes them" in exported.ended["hf"].out
    frame = pl.read_parquet(exported.out("hf") / "data/predictions.parquet")
    moods, colours = (frame.filter(pl.col("task") == task) for task in ("moods", "colours"))
    assert all(moods[name].null_count() == moods.height for name in TEXTS)
    assert moods["label"].null_count() < moods.height
    assert colours["completion"].null_count() == 0
    full = pl.read_parquet(exported.out("parquet") / "predictions.parquet")
    assert full.filter(pl.col("task") == "moods")["completion"].null_count() == 0


def test_datasets_opens_the_folder(exported: Exported, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    loaded = datasets.load_dataset(str(exported.out("hf")), cache_dir=str(tmp_path))
    (row,) = sql(
        exported.folder, f"select count(*) as n from marts.fct_predictions where audit_run_id = '{exported.run}'"
    )
    assert loaded["predictions"].num_rows == row["n"]
    assert loaded["predictions"].column_names == list(SCHEMA)
    assert loaded["predictions"][0]["labels"] == list(COLOURS)


def test_a_folder_that_holds_anything_and_unknown_names_are_refused(exported: Exported) -> None:
    folder = exported.folder
    before = sorted(exported.out("parquet").iterdir())
    filled = promptaudit(folder, "export", "--to", "out-parquet")
    assert (filled.code, filled.one_line()) == (
        2,
        "UsageError: --to out-parquet: it holds files already; name a new or an empty folder",
    )
    assert sorted(exported.out("parquet").iterdir()) == before
    form = promptaudit(folder, "export", "--format", "parket")
    assert (form.code, form.one_line()) == (2, "UsageError: --format parket; nearest: parquet")
    unknown = promptaudit(folder, "export", exported.run[:-1] + "x")
    assert unknown.code == 2
    assert f"nearest: {exported.run}" in unknown.one_line()
    assert not list(folder.glob(".out*"))
