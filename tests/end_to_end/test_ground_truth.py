"""Every published figure comes out of `import` followed by SQL on the published marts, to 1e-9."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from promptaudit.exchange.recorded_runs.import_run import ImportOptions, import_predictions
from promptaudit.marts.publish import publish
from promptaudit.marts.transform import transform
from promptaudit.registry.registry import load_registry
from promptaudit.warehouse import Warehouse
from tests.support.published_copy import table

pytestmark = pytest.mark.slow  # tests/udfs/test_ground_truth.py holds the measures themselves against the same figures

TOLERANCE = 1e-9


@dataclass(frozen=True)
class Imported:
    """All files of the ground truth in one warehouse."""

    expected: dict[str, Any]
    runs: dict[str, str]
    warehouse: Path

    def rows(self, name: str, query: str) -> list[tuple[Any, ...]]:
        """Rows of a query with {run} put in."""
        return table(self.warehouse, query.replace("{run}", f"'{self.runs[name]}'"))[1]


@pytest.fixture(scope="module")
def imported(ground_truth: Path, tmp_path_factory: pytest.TempPathFactory) -> Imported:
    expected = json.loads((ground_truth / "expected.json").read_text())
    warehouse = tmp_path_factory.mktemp("truth") / "audit.duckdb"
    Warehouse(warehouse).apply_schema()
    registry = load_registry()
    runs = {}
    for kind in ("pss_intra", "pss_inter", "robustness"):
        for name, figures in expected[kind].items():
            labels = tuple(figures.get("labels", ["0", "1"]))
            if kind == "robustness":  # there N/A stands among the classes, here it always is one
                labels = tuple(label for label in labels if label != "N/A")
            options = ImportOptions(labels=labels, level=figures.get("level", "nominal"), resamples=50)
            taken = import_predictions(Warehouse(warehouse), [ground_truth / figures["file"]], registry, options)
            runs[name] = taken.audit_run_id
    for part in ("up_to_formats", "after_formats"):
        transform(Warehouse(warehouse), list(runs.values()), part)  # type: ignore[arg-type]
    publish(Warehouse(warehouse), list(runs.values()))
    return Imported(expected, runs, warehouse)


def series(imported: Imported, name: str, series: str, annotation_filter: str) -> list[float]:
    """Pss by number of annotators, from 2."""
    rows = imported.rows(
        name,
        "select n_annotators, pss from marts.fct_prompt_stability where audit_run_id = {run} and scope = 'intra' "
        f"and series = '{series}' and annotation_filter = '{annotation_filter}' order by n_annotators",
    )
    assert [k for k, _ in rows] == list(range(2, len(rows) + 2))
    return [pss for _, pss in rows]


INTRA = ["tweets_rd", "news_short", "mii_long", "synth_short", "manifestos_multi"]


@pytest.mark.parametrize("name", INTRA)
@pytest.mark.parametrize(
    ("key", "series_name", "annotation_filter"),
    [
        ("pss_cumulative_valid", "cumulative", "valid"),
        ("pss_cumulative_verbatim", "cumulative", "verbatim"),
        ("pss_adjacent_valid", "adjacent", "valid"),
    ],
)
def test_intra(imported: Imported, name: str, key: str, series_name: str, annotation_filter: str) -> None:
    figures = imported.expected["pss_intra"][name]
    if key not in figures:
        pytest.skip(f"{name} has no {key}")
    assert series(imported, name, series_name, annotation_filter) == pytest.approx(figures[key], abs=TOLERANCE)


@pytest.mark.parametrize("name", INTRA)
def test_intra_counts(imported: Imported, name: str) -> None:
    figures = imported.expected["pss_intra"][name]
    scorecard = imported.rows(
        name, "select n_samples, n_repetitions, n_landed, n_valid from marts.rpt_audit where audit_run_id = {run}"
    )
    wanted = (figures["n_samples"], figures["n_repetitions"], figures["rows"], figures["rows_valid"])
    assert scorecard == [wanted]
    distinct = imported.rows(
        name, "select count(distinct completion) from marts.fct_predictions where audit_run_id = {run}"
    )
    assert distinct == [(figures["distinct_completions"],)]


@pytest.mark.parametrize("name", ["gpt4o", "tweets_2024"])
def test_inter(imported: Imported, name: str) -> None:
    rows = imported.rows(
        name,
        "select paraphrase_temperature, pss, n_samples, n_annotators, n_distinct_wordings "
        "from marts.fct_prompt_stability where audit_run_id = {run} and scope = 'inter' and series = 'all' "
        "and annotation_filter = 'verbatim' order by paraphrase_temperature",
    )
    wanted = imported.expected["pss_inter"][name]["per_temperature"]
    assert {str(row[0]) for row in rows} == set(wanted)
    for temperature, pss, *counts in rows:
        figures = wanted[str(temperature)]
        assert pss == pytest.approx(figures["pss_verbatim"], abs=TOLERANCE)
        assert counts == [figures["n_samples"], figures["n_variants"], figures["n_distinct_instructions"]]


@pytest.mark.parametrize("name", ["toy3", "trec500"])
class TestRobustness:
    def test_sensitivity(self, imported: Imported, name: str) -> None:
        figures = imported.expected["robustness"][name]
        (mean, std) = imported.rows(
            name, "select sensitivity, sensitivity_std from marts.rpt_audit where audit_run_id = {run}"
        )[0]
        assert mean == pytest.approx(figures["sensitivity_mean"], abs=TOLERANCE)
        assert std == pytest.approx(figures["sensitivity_std_ddof0"], abs=TOLERANCE)
        first = imported.rows(
            name,
            "select sensitivity from marts.fct_sensitivity where audit_run_id = {run} order by sample_id::int limit 10",
        )
        assert [value for (value,) in first] == pytest.approx(figures["sensitivity_first10"], abs=TOLERANCE)
        per_class = dict(
            imported.rows(
                name,
                "select gold_label, avg(sensitivity) from marts.fct_sensitivity where audit_run_id = {run} group by all",
            )
        )
        labels = [label for label in figures["labels"] if label != "N/A"]
        wanted = [figure for figure in figures["sensitivity_per_class_mean"] if figure is not None]
        assert [per_class[label] for label in labels] == pytest.approx(wanted, abs=TOLERANCE)

    def test_consistency(self, imported: Imported, name: str) -> None:
        figures = imported.expected["robustness"][name]
        pooled = imported.rows(
            name, "select consistency, consistency_std from marts.rpt_audit where audit_run_id = {run}"
        )[0]
        printed = (figures["consistency_pooled_mean_printed"], figures["consistency_pooled_std_printed"])
        assert pooled == pytest.approx(printed, abs=TOLERANCE)
        rows = imported.rows(
            name,
            "select gold_label, consistency, consistency_distinct, n_samples from marts.fct_consistency "
            "where audit_run_id = {run}",
        )
        by_label = {label: figures for label, *figures in rows}
        labels = [label for label in figures["labels"] if label != "N/A"]
        column: Callable[[int], list[Any]] = lambda index: [by_label[label][index] for label in labels]  # noqa: E731
        assert column(0) == pytest.approx(figures["consistency_per_class_mean_incl_diagonal"], abs=TOLERANCE)
        assert column(1) == pytest.approx(figures["derived_consistency_per_class_excl_diagonal"], abs=TOLERANCE)
        assert column(2) == figures["class_counts"]
        macro = sum(column(0)) / len(labels)
        assert macro == pytest.approx(figures["consistency_macro_mean_incl_diagonal_all_classes"], abs=TOLERANCE)

    def test_accuracy(self, imported: Imported, name: str) -> None:
        figures = imported.expected["robustness"][name]
        scorecard = imported.rows(
            name, "select micro_f1, micro_f1_std from marts.rpt_audit where audit_run_id = {run}"
        )[0]
        wanted = (
            figures["derived_micro_f1_mean_over_rephrasings"],
            figures["std_micro_f1_over_rephrasings_ddof0_printed"],
        )
        assert scorecard == pytest.approx(wanted, abs=TOLERANCE)
        last = imported.rows(
            name,
            "select accuracy from marts.fct_variant_accuracy inner join marts.dim_prompt_variants "
            "using (audit_run_id, prompt_variant_id) where audit_run_id = {run} order by variant_index desc limit 1",
        )[0]
        assert last == pytest.approx((figures["accuracy_last_rephrasing"],), abs=TOLERANCE)
