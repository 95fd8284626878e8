"""A card of fields from `init` to the marts, its figures held against plain Python on the completions alone."""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from promptaudit.report.summary import summary_of
from promptaudit.report.terminal.closing import closing_lines
from promptaudit.warehouse import Warehouse
from tests.support.shell import promptaudit, sql

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
FIELDS = ("total", "day", "currency", "vendor")
MAKERS = ("Acme Tools", "Blue Sky", "Norden Paper", "Delta Freight", "Joe's Garage")
GOLD: dict[str, dict[str, str]] = {
    f"i{n}": {
        "total": f"1,{n:03}.50" if n % 2 else f"{n}",
        "day": "" if n == 3 else f"2024-03-{n + 10:02}",
        "currency": ("EUR", "USD")[n % 2],
        "vendor": MAKERS[n % 5],
    }
    for n in range(10)
}
AUDIT = """\
mine:
  tasks: [my_task]
  models: [swayed, both]
  strategies: [simple]
  rephrasing: {rephraser: rules, variants: 6}
  repetitions: {original: 3, variants: 2}
  format: {policy: warn, max_invalid_rate_at_first: 1}
  gate:
    - accuracy >= 0.01 at field = total
    - sensitivity_high <= 1 at field = all_fields
    - accuracy_mean >= 0.1 at scoring_method = field:total
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which `init` made the cards of ten invoices, and a run asked them."""
    folder = tmp_path_factory.mktemp("fields")
    rows = [
        ",".join([key, f"Invoice {key} of {gold['vendor']}", *(f'"{gold[name]}"' for name in FIELDS)])
        for key, gold in GOLD.items()
    ]
    (folder / "invoices.csv").write_text("\n".join([f"id,text,{','.join(FIELDS)}", *rows]), encoding="utf-8")
    made = promptaudit(folder, "init", "--data", "invoices.csv", "--fields", ",".join(FIELDS))
    assert "fields: total (number), day (date), currency (one of EUR, USD), vendor (exact)" in made.out
    (folder / "registry/audits/mine.yml").write_text(AUDIT, encoding="utf-8")
    ran = promptaudit(folder, "run", "mine")
    assert ran.code == 0, ran.err
    assert "fields: my_task" in ran.out
    return folder


def value_of(name: str, said: Any) -> str | None:
    """What a field says, as this test's own code reads the forms that the offline model writes; None of a day that is none."""
    text = "" if said is None else str(said).strip()
    if name == "day" and text and not re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        return None
    return f"{float(text.replace(',', '')):g}" if name == "total" and text else text


@pytest.fixture(scope="module")
def answers(folder: Path) -> list[dict[str, Any]]:
    """Every answer with its values by field; None where it has no object."""
    query = (
        "select model_id, prompt_variant_id, is_original, sample_id, repetition, completion, answer_status "
        "from marts.fct_predictions order by all"
    )
    rows = sql(folder, query)
    for row in rows:
        text = row["completion"]
        has_object = "{" in text
        said = json.loads(text[text.index("{") : text.rindex("}") + 1]) if has_object else {}
        row["values"] = {name: value_of(name, said.get(name)) for name in FIELDS} if has_object else None
        assert (row["answer_status"] == "valid") == has_object
    return rows


def plain_figures(rows: list[dict[str, Any]], name: str) -> dict[str, float]:
    """Accuracy and sensitivity of a field, from the answers of one group."""

    def value(row: dict[str, Any]) -> Any:
        if row["values"] is None:
            return None
        return tuple(sorted(row["values"].items())) if name == "all_fields" else row["values"][name]

    right = {key: {each: value_of(each, text) for each, text in gold.items()} for key, gold in GOLD.items()}
    cells: dict[tuple[str, str], list[bool]] = defaultdict(list)
    asks: dict[tuple[str, int], list[Any]] = defaultdict(list)
    for row in rows:
        gold = right[row["sample_id"]]
        wanted = tuple(sorted(gold.items())) if name == "all_fields" else gold[name]
        cells[row["prompt_variant_id"], row["sample_id"]].append(value(row) == wanted)
        if row["repetition"] <= 2:  # the asks that every wording has
            asks[row["sample_id"], row["repetition"]].append(value(row))
    by_variant: dict[str, list[float]] = defaultdict(list)
    for (variant, _), asked in cells.items():
        by_variant[variant].append(fmean(asked))
    by_sample: dict[str, list[float]] = defaultdict(list)
    for (sample, _), said in asks.items():
        counts = Counter(said)
        entropy = -sum(n / len(said) * math.log(n / len(said)) for n in counts.values())
        by_sample[sample].append(entropy / math.log(len(said)))
    return {"accuracy": fmean(map(fmean, by_variant.values())), "sensitivity": fmean(map(fmean, by_sample.values()))}


def test_accuracy_and_sensitivity_are_those_of_the_answers(folder: Path, answers: list[dict[str, Any]]) -> None:
    stability = sql(folder, "select * from marts.fct_field_stability order by all")
    assert len(stability) == 2 * (len(FIELDS) + 1)
    for row in stability:
        own = [each for each in answers if each["model_id"] == row["model_id"]]
        figures = plain_figures(own, row["field"])
        for name, figure in figures.items():
            assert row[name] == pytest.approx(figure, abs=1e-9), (row, name)
            assert row[f"{name}_low"] <= row[name] <= row[f"{name}_high"]
        assert (row["n_samples"], row["n_variants"], row["n_predictions"]) == (10, 6, 10 * (3 + 5 * 2))
        assert row["pss_inter_low"] <= row["pss_inter"] <= row["pss_inter_high"]
    swayed = {row["field"]: row for row in stability if row["model_id"] == "swayed"}
    assert 0 < swayed["all_fields"]["sensitivity"] < 1
    assert swayed["all_fields"]["accuracy"] < swayed["total"]["accuracy"]
    assert {row["pss_intra"] for row in stability if row["model_id"] == "swayed"} == {
        1
    }  # it says the same when asked again
    assert any(row["unread_rate"] > 0 for row in stability if row["model_id"] == "both")  # which answers in prose too


def test_scores_by_field_are_the_values(folder: Path) -> None:
    scored = sql(
        folder,
        "select scoring_method, count(*) as n, count(*) filter (is_correct) as n_right, "
        "count(*) filter (score_state = 'unscored') as n_unscored from marts.fct_scores group by all order by all",
    )
    values = sql(
        folder,
        "select 'field:' || field as scoring_method, count(*) as n, count(*) filter (is_correct) as n_right, "
        "count(*) filter (value is null) as n_unscored from marts.fct_field_values group by all order by all",
    )
    assert [row for row in scored if row["scoring_method"] != "all_fields"] == values
    (together,) = (row for row in scored if row["scoring_method"] == "all_fields")
    (whole,) = sql(
        folder,
        "select count(*) as n, count(*) filter (is_right) as n_right from "
        "(select bool_and(is_correct) as is_right from marts.fct_field_values group by prediction_id)",
    )
    assert (together["n"], together["n_right"]) == (whole["n"], whole["n_right"])


def test_an_analysis_names_what_is_said_instead(folder: Path, answers: list[dict[str, Any]]) -> None:
    rows = promptaudit(folder, "sql", "--analysis", "fields_that_are_wrong", "--format", "json").json()
    wrong = Counter(
        (row["model_id"], row["values"]["currency"])
        for row in answers
        if row["values"] is not None and row["values"]["currency"] != GOLD[row["sample_id"]]["currency"]
    )
    listed = {
        (row["model_id"], row["value"]): row["n_answers"] for row in rows if row["field"] == "currency" and row["value"]
    }
    assert listed == wrong
    assert all(row["value"] != row["gold_value"] for row in rows)


def test_the_gate_the_page_and_the_seal_know_fields(folder: Path) -> None:
    checked = promptaudit(folder, "check")
    assert checked.code == 0, checked.out
    assert checked.out.count("PASSED") == 3
    assert "; marts.fct_field_stability says how" in promptaudit(folder, "diagnose").err
    page = next((folder / "warehouse/published").glob("report*.html")).read_text(encoding="utf-8")
    assert "The field that changes most with the wording is" in page
    assert promptaudit(folder, "verify").code == 0


def test_the_worst_is_a_field_with_its_wording_and_an_example(folder: Path) -> None:
    summary = summary_of(
        Warehouse(folder / "warehouse/audit.duckdb"), sql(folder, "from marts.rpt_latest")[0]["audit_run_id"]
    )
    worst, example = summary.worst, summary.example
    fields = sql(folder, "select * from marts.fct_field_stability where field != 'all_fields' order by accuracy")
    assert worst is not None
    assert worst.figure == pytest.approx(fields[0]["accuracy"])
    assert worst.of_many == f"the lowest of {len(fields)}"
    assert worst.low is not None
    assert worst.low < fields[0]["accuracy_low"]
    assert worst.field is not None
    assert worst.wording is not None
    assert example is not None
    assert example.field == worst.field
    assert {answer.is_correct for answer in example.answers} == {True, False}
    gold = value_of(worst.field, GOLD[example.sample_id][worst.field]) or "nothing"
    (said,) = (answer.completion for answer in example.answers if answer.is_correct)
    assert example.gold_label == gold == (value_of(worst.field, said) or "nothing")
    closing = " ".join(" ".join(closing_lines(summary, 80)).split())
    assert f"worst {worst.group}: accuracy of field {worst.field} {worst.figure:.3f} [" in closing
    assert f"example sample {example.sample_id}, field {worst.field}, is " in closing
    assert closing.endswith(f"next promptaudit trace {worst.figure_id}")


def test_exported_answers_have_the_same_figures_when_they_are_imported(folder: Path, tmp_path: Path) -> None:
    assert promptaudit(folder, "export", "--format", "parquet", "--to", tmp_path / "answers").code == 0
    (exported,) = (tmp_path / "answers").glob("*.parquet")
    imported = promptaudit(tmp_path, "import", exported)
    assert imported.code == 0, imported.err
    assert "task 'my_task' is read as the file says: extraction" in imported.out
    query = "select model_id, field, accuracy, sensitivity, pss_inter from marts.fct_field_stability order by all"
    for ours, theirs in zip(sql(folder, query), sql(tmp_path, query), strict=True):
        assert theirs == pytest.approx(ours, abs=1e-9)
