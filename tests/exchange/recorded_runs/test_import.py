"""Recorded predictions of every shape become right figures; whatever a model says is kept as it is."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from promptaudit.audit.runs import close_run
from promptaudit.exchange.recorded_runs import import_run
from promptaudit.exchange.recorded_runs.check_rows import unread_gold_values
from promptaudit.exchange.recorded_runs.import_run import ImportOptions, import_predictions
from promptaudit.marts.publish import publish
from promptaudit.marts.transform import transform
from promptaudit.registry.cards import TaskCard
from promptaudit.registry.registry import load_registry
from promptaudit.warehouse import Warehouse
from tests.support.shell import promptaudit, sql

HUGE = "x" * 10_000_000
STRANGE = {
    "nul": "a\x00b",
    "html": "<script>alert(1)</script>",
    "sql": "'; drop table raw.predictions; --",
    "rtl": "\u202e\u0645\u0631\u062d\u0628\u0627",
    "empty": "",
    "template": "{{ 7 * 7 }} {0} %s {input}",
    "newlines": "a\nb\r\nc",
    "huge": HUGE,
    "na": "N/A",
    "none": "None",
    "null": "null",
    "spaced": "  yes\t\u00a0\n",
    "emoji": "👩‍👩‍👧‍👦",
}


def write_jsonl(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(scope="module")
def strange(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("strange")
    rows = [
        {"model": "m", "sample_id": name, "completion": text, "gold_label": "yes"} for name, text in STRANGE.items()
    ]
    rows.append({"model": "m", "sample_id": "surrogate", "completion": "bad \ud800 half", "gold_label": "no"})
    rows.append({"model": "m", "sample_id": "missing", "completion": None, "gold_label": "no"})
    rows.append({"model": "m", "sample_id": "../../etc/passwd'\"; --", "completion": "no", "gold_label": "no"})
    ended = promptaudit(folder, "import", write_jsonl(folder / "answers.jsonl", rows), "--labels", "yes,no,N/A")
    assert ended.code == 0, ended.err
    return folder


@pytest.mark.slow
def test_every_completion_is_kept_verbatim(strange: Path) -> None:
    rows = sql(strange, "select sample_id, completion from marts.fct_predictions")
    kept = {row["sample_id"]: row["completion"] for row in rows}
    for name, text in STRANGE.items():
        assert kept[name] == text, name
    assert kept["../../etc/passwd'\"; --"] == "no"


@pytest.mark.slow
def test_a_lone_surrogate_is_escaped_and_marked(strange: Path) -> None:
    rows = sql(strange, "select sample_id, completion from marts.fct_predictions where is_completion_escaped")
    assert rows == [{"sample_id": "surrogate", "completion": "bad \\ud800 half"}]


@pytest.mark.slow
def test_an_empty_answer_stands_beside_a_missing_one(strange: Path) -> None:
    rows = sql(
        strange, "select sample_id, answer_status from marts.fct_predictions where sample_id in ('empty', 'missing')"
    )
    assert rows == [{"sample_id": "empty", "answer_status": "empty"}]
    (scorecard,) = sql(strange, "select n_planned, n_landed from marts.rpt_audit")
    assert scorecard == {"n_planned": len(STRANGE) + 3, "n_landed": len(STRANGE) + 2}


@pytest.mark.slow
def test_a_task_may_own_the_label_na(strange: Path) -> None:
    rows = sql(
        strange, "select sample_id, label from marts.fct_predictions where answer_status = 'valid' order by sample_id"
    )
    assert rows == [
        {"sample_id": "../../etc/passwd'\"; --", "label": "no"},
        {"sample_id": "na", "label": "N/A"},
        {"sample_id": "spaced", "label": "yes"},
    ]
    classes = sql(strange, "select label, sum(p_tau) as n from marts.fct_p_tau group by all order by label nulls last")
    assert [row["label"] for row in classes] == ["N/A", "no", "yes", None]


@pytest.mark.slow
def test_the_report_of_it_opens(strange: Path) -> None:
    page = (strange / "warehouse/published/report.html").read_text()
    assert re.findall(r"<script(?! type=.application/json)[^>]*>", page.lower()) == ["<script>"] * 2  # the page's own
    assert len(page) < 5_000_000


@pytest.mark.slow
def test_the_same_bytes_again_do_nothing(strange: Path) -> None:
    before = Warehouse(strange / "warehouse/audit.duckdb").published.path.stat().st_mtime_ns
    again = promptaudit(strange, "import", strange / "answers.jsonl", "--labels", "yes,no,N/A")
    assert again.code == 0
    assert "nothing done" in again.out
    assert Warehouse(strange / "warehouse/audit.duckdb").published.path.stat().st_mtime_ns == before


# ---------------------------------------------------------------- one warehouse, many shapes
def shape(**columns: list[Any]) -> pl.DataFrame:
    return pl.DataFrame({"model": ["m"] * len(columns["completion"]), **columns})


SHAPES: dict[str, tuple[pl.DataFrame | str, dict[str, Any]]] = {
    "one_sample": (shape(sample_id=["1"] * 3, completion=["a", "a", "b"], repetition=[1, 2, 3]), {}),
    "one_repetition": (shape(sample_id=["1", "2"], completion=["a", "b"], repetition=[1, 1]), {}),
    "class_without_samples": (
        shape(
            sample_id=["1", "1", "2", "2"],
            variant_index=[0, 1, 0, 1],
            completion=["a", "b", "a", "a"],
            gold_label=["a"] * 4,
        ),
        {},
    ),
    "missing_cells": (
        shape(sample_id=["1", "1", "2", "3"], variant_index=[0, 1, 0, 1], completion=["a", "b", "a", "a"]),
        {},
    ),
    "double_cells": (shape(sample_id=["1", "1", "2"], completion=["a", "a", "b"]), {}),
    "na_answers": (
        shape(sample_id=["1", "1", "2", "2"], repetition=[1, 2, 1, 2], completion=["N/A", "None", "a", ""]),
        {},
    ),
    "interval": (
        shape(sample_id=["1", "1", "2", "2"], repetition=[1, 2, 1, 2], completion=["1", "2", "10", "9"]),
        {"labels": ("1", "2", "9", "10"), "level": "interval"},
    ),
    "never_valid": (
        shape(sample_id=["1", "1", "2", "2"], repetition=[1, 2, 1, 2], completion=["no", "idea", "at", "all"]),
        {"labels": ("1", "2", "3"), "level": "ordinal"},
    ),
    "no_gold": (shape(sample_id=["1", "2"], variant_index=[0, 0], completion=["a", "b"]), {}),
    # as text: read as CSV
    "quoted": ('model,sample_id,completion\nm,1,""\nm,2,\nm,3,a\n', {}),
    "plain": ("model,sample_id,completion\r\nm,1,\r\nm,2,a\r\n", {}),
    "as_written": (
        "model,sample_id,completion,gold_label\nm,1,no,no\nm,2,010,010\nm,3,1e3,1e3\nm,4,10,010\n",
        {"labels": ("no", "010", "1e3")},
    ),
}


@pytest.fixture(scope="module")
def shapes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of them as runs of one warehouse, whose marts are built once."""
    folder = tmp_path_factory.mktemp("shapes")
    warehouse, runs = folder / "warehouse/audit.duckdb", []
    Warehouse(warehouse).apply_schema()
    registry = load_registry()
    for name, (content, options) in SHAPES.items():
        if isinstance(content, str):
            file = folder / f"{name}.csv"
            file.write_bytes(content.encode())
        else:
            file = folder / f"{name}.parquet"
            content.write_parquet(file)
        taken = ImportOptions(**{"labels": ("a", "b"), **options}, resamples=20)
        runs.append(import_predictions(Warehouse(warehouse), [file], registry, taken).audit_run_id)
    transform(Warehouse(warehouse), runs, "up_to_formats")
    for run in runs:
        close_run(Warehouse(warehouse), run, "complete")
    transform(Warehouse(warehouse), runs, "after_formats")
    publish(Warehouse(warehouse), runs)
    return folder


def scorecard(folder: Path, name: str) -> dict[str, Any]:
    (row,) = sql(folder, f"select * from marts.rpt_audit where audit_id = '{name}'")
    return row


@pytest.mark.slow
@pytest.mark.timeout(900)
class TestShapes:
    def test_one_sample(self, shapes: Path) -> None:
        row = scorecard(shapes, "one_sample")
        # values a, a, b of one unit: n = 3, 2 of 3 pairs differ as they must by chance: alpha = 1 - 1 = 0
        assert row["pss_intra"] == pytest.approx(0)
        assert row["sensitivity"] is None

    def test_one_repetition(self, shapes: Path) -> None:
        assert scorecard(shapes, "one_repetition")["pss_intra"] is None

    def test_class_without_samples_has_no_row(self, shapes: Path) -> None:
        rows = sql(
            shapes,
            "select gold_label from marts.fct_consistency inner join marts.dim_audit_runs using (audit_run_id) "
            "where audit_id = 'class_without_samples'",
        )
        assert rows == [{"gold_label": "a"}]

    def test_missing_cells_are_counted(self, shapes: Path) -> None:
        row = scorecard(shapes, "missing_cells")
        assert (row["n_planned"], row["n_landed"]) == (6, 4)

    def test_double_cells_count_once(self, shapes: Path) -> None:
        row = scorecard(shapes, "double_cells")
        assert (row["n_planned"], row["n_landed"]) == (2, 2)

    def test_na_and_none_are_answers(self, shapes: Path) -> None:
        assert scorecard(shapes, "na_answers")["invalid_rate"] == pytest.approx(0.75)
        rows = sql(
            shapes,
            "select answer_status from marts.fct_predictions inner join marts.dim_audit_runs using (audit_run_id) "
            "where audit_id = 'na_answers' order by sample_id, repetition",
        )
        assert [row["answer_status"] for row in rows] == ["unparsed", "unparsed", "valid", "empty"]

    def test_interval_labels_are_numbers(self, shapes: Path) -> None:
        # D_o = (1 + 1) / 2 = 1; all ordered pairs of 1, 2, 10, 9: 2 (1 + 81 + 64 + 64 + 49 + 1) / 12 = 520 / 12
        assert scorecard(shapes, "interval")["pss_intra"] == pytest.approx(1 - 12 / 520)

    def test_a_model_that_never_gives_a_label_is_measured_as_that(self, shapes: Path) -> None:
        row = scorecard(shapes, "never_valid")
        assert (row["invalid_rate"], row["pss_intra"]) == (1, None)

    def test_without_gold_only_gold_measures_are_null(self, shapes: Path) -> None:
        row = scorecard(shapes, "no_gold")
        assert row["consistency"] is None
        assert row["micro_f1"] is None
        assert row["n_landed"] == 2

    def test_csv_tells_an_empty_answer_from_a_missing_one_only_where_it_quotes(self, shapes: Path) -> None:
        plain, quoted = (scorecard(shapes, name) for name in ("plain", "quoted"))
        assert (plain["n_planned"], plain["n_landed"]) == (2, 2)
        assert (quoted["n_planned"], quoted["n_landed"]) == (3, 2)

    def test_labels_are_kept_as_written(self, shapes: Path) -> None:
        rows = sql(
            shapes,
            "select label, is_correct from marts.fct_predictions inner join marts.dim_audit_runs using (audit_run_id) "
            "where audit_id = 'as_written' order by sample_id",
        )
        assert [(row["label"], row["is_correct"]) for row in rows] == [
            ("no", True),
            ("010", True),
            ("1e3", True),
            (None, False),
        ]


def test_gold_values_that_cannot_be_read_are_counted() -> None:
    fields = {"total": "number", "day": "date"}
    data = {"path": "i.csv", "input": "text"}
    card = TaskCard.model_validate({"kind": "extraction", "instruction": "Read it.", "fields": fields, "data": data})
    golds = ['{"total": "5", "day": "03/04/2024"}', "not an object", '{"total": "5", "day": null}']
    listed = [*(json.dumps([gold]) for gold in golds), '[{"total": 5, "day": "2024-03-05"}]', None]
    samples = pl.DataFrame({"task_id": ["t"] * 5, "reference_answers": listed})
    assert unread_gold_values(samples, {"t": card}) == [
        "task 't': gold values that are absent or cannot be read are taken for unknown: 2 of 'day', 1 of 'total'"
    ]
    assert unread_gold_values(samples[3:], {"t": card}) == []


def test_answers_land_in_batches_and_all_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        {"model": "m", "sample_id": str(sample), "variant_index": variant, "completion": "yes", "gold_label": "yes"}
        for sample in range(5)
        for variant in range(2)
    ]
    file = write_jsonl(tmp_path / "answers.jsonl", rows)
    landed = {}
    for size in (100, 3):
        monkeypatch.setattr(import_run, "_ROWS_A_BATCH", size)
        warehouse = Warehouse(tmp_path / f"{size}.duckdb")
        warehouse.apply_schema()
        taken = import_predictions(warehouse, [file], load_registry([]), ImportOptions(labels=("yes", "no")))
        assert taken.n_landed == 10
        landed[size] = warehouse.read("select * exclude (landed_at) from raw.predictions order by prediction_id")
    assert landed[3] == landed[100]

    def ends(*_: object) -> pl.DataFrame:
        raise KeyboardInterrupt

    warehouse = Warehouse(tmp_path / "none.duckdb")
    warehouse.apply_schema()
    monkeypatch.setattr(import_run, "verdicts_of", ends)
    with pytest.raises(KeyboardInterrupt):
        import_predictions(warehouse, [file], load_registry([]), ImportOptions(labels=("yes", "no")))
    assert warehouse.read("select * from raw.audit_runs") == []
