"""The page about a comparison: its figures, its example, what is hostile, and that `verify`, `erase` and `view` know it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from promptaudit.audit.erase.erase import erase
from promptaudit.evidence.verify.checks import walk
from promptaudit.marts.comparison.result import run_comparison
from promptaudit.report import as_written as run_as_written
from promptaudit.report.blocks.cells import exact
from promptaudit.report.comparison_page.gather import ComparisonData, gather
from promptaudit.report.comparison_page.markdown import markdown
from promptaudit.report.comparison_page.page import as_written, page_of, write_again, write_page
from promptaudit.report.verify_file import check_page, figures_of, page_checks
from promptaudit.report.view import index_of
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.figure_names import figure_id
from tests.report.conftest import Compared
from tests.report.test_page import Seen
from tests.support.imported_runs import SCRIPT

SECTIONS = {"measures", "recorded", "flips", "guide"}  # recorded answers have no cost


def data_of(compared: Compared, text: Any = None) -> ComparisonData:
    warehouse = Warehouse(compared.warehouse)
    return gather(warehouse, run_comparison(warehouse, compared.comparison_id), text)


def copied(compared: Compared, folder: Path) -> Compared:
    """The same warehouse and pages in another folder, for one test to change."""
    shutil.copytree(compared.warehouse.parent, folder, dirs_exist_ok=True)
    return replace(compared, warehouse=folder / "audit.duckdb")


def test_every_measure_stands_with_its_figures_names_verdict_and_reason(compared: Compared) -> None:
    printed = {(each.figure, each.value) for each in figures_of(compared.html)}
    text = Seen(compared.html).text
    measures = run_comparison(Warehouse(compared.warehouse), compared.comparison_id).measures
    assert {row["measure"] for row in measures} >= {"sensitivity", "micro_f1", "pss_inter"}
    for row in measures:
        columns = ["base", "candidate", "difference", "p_value", "q_value"]
        columns += ["difference_low", "difference_high"] if row["difference_low"] is not None else []
        for column in columns:
            assert (figure_id("rpt_run_comparisons", row, column), exact(row[column])) in printed
        assert row["verdict"].replace("_", " ") in text
        assert row["reason"] in text


def test_two_strategies_of_one_run_are_paired_by_their_wordings(strategies_compared: Compared) -> None:
    measures = run_comparison(Warehouse(strategies_compared.warehouse), strategies_compared.comparison_id).measures
    assert {(row["base_strategy"], row["strategy"], row["cause"]) for row in measures if row["base_model_id"]} == {
        ("simple", "one_shot", "other_strategy")
    }
    right = [row for row in measures if (row["task_id"], row["measure"]) == ("colours", "micro_f1")]
    assert [row["model_id"] for row in right] == ["harbour-large-2025", "harbour-small", "لغة-mini"]
    for row in right:
        assert row["claim"] == "other samples and wordings"
        assert row["n_variants"] == 18  # an original and 5 wordings at each of 3 temperatures
        assert row["difference_low"] < row["difference"] < row["difference_high"]
    assert {row["task_id"] for row in measures} == {"colours"}  # moods are asked under one strategy
    assert "simple and one_shot compared" in Seen(strategies_compared.html).text


def test_the_first_screen_says_which_two_and_what_differs_most(compared: Compared) -> None:
    data, text = data_of(compared), Seen(compared.html).text
    assert "harbour-large-2025 and harbour-small compared" in text
    assert f"<code>{data.sides[0].run.audit_run_id[:12]}</code>" in compared.html
    news = [row for row in data.comparison.measures if row["verdict"] in ("regressed", "improved")]
    most = max(
        (row for row in news if row["measure"] not in ("cost_usd", "latency_ms")),
        key=lambda row: abs(row["difference"]),
    )
    assert data.largest is not None
    assert data.largest.row == most
    assert f'<b class="figure">{data.largest.moved}</b>' in compared.html
    assert [cause.kind for cause in data.causes] == ["regressed"]


def test_the_example_is_one_ask_that_the_two_answer_differently(compared: Compared) -> None:
    example, *others = data_of(compared).examples
    assert len({each.sample_id for each in (example, *others)}) == 3
    first, second = example.answers
    rows = Warehouse(compared.warehouse).published.read(
        "select * from marts.fct_predictions where list_contains($ids, prediction_id) order by model_id",
        ids=[first.prediction_id, second.prediction_id],
    )
    assert [row["model_id"] for row in rows] == [first.side, second.side] == ["harbour-large-2025", "harbour-small"]
    for same in ("task_id", "strategy", "sample_id", "prompt_variant_id", "repetition"):
        assert len({row[same] for row in rows}) == 1, same
    # the candidate regressed, and is wrong where the base is right
    assert [row["is_correct"] for row in rows] == [first.is_correct, second.is_correct] == [True, False]
    assert first.wording.instruction is not None
    assert second.wording.instruction is None  # it is the same, and told once
    for answer in (first, second):
        assert f"{answer.side}, the original wording" in Seen(compared.html).text
        assert f"<q>{answer.completion}</q>" in compared.html


def test_texts_that_are_left_out_are_none_and_labels_stay(compared: Compared) -> None:
    data = data_of(compared, "none")
    assert data.examples[0].is_left_out
    assert [answer.completion for answer in data.examples[0].answers] == [None, None]
    comparison = run_comparison(Warehouse(compared.warehouse), compared.comparison_id)
    comment = markdown(Warehouse(compared.warehouse), comparison, None, "none")
    assert comment.count("Sample `") == 3
    assert "Name the colour" not in comment
    page = page_of(data)
    assert "texts left out" in page
    assert "Name the colour" not in page
    assert "Name the colour" in compared.html


@pytest.mark.parametrize("name", ["compared", "hostile_compared"])
def test_the_page_is_complete_closed_and_accessible(name: str, request: pytest.FixtureRequest) -> None:
    page: str = request.getfixturevalue(name).html
    seen = Seen(page)
    ids = [value for _, attribute, value in seen.attributes if attribute == "id"]
    assert sorted(ids) == sorted(SECTIONS)
    policy = next(v for t, a, v in seen.attributes if t == "meta" and a == "content" and "default-src" in v)
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    assert not {"script", "img", "iframe", "object", "embed", "form", "base", "svg"} & set(seen.tags)
    assert not [attribute for _, attribute, _ in seen.attributes if attribute.startswith("on")]
    links = [value for _, attribute, value in seen.attributes if attribute in {"href", "src"}]
    assert all(value.startswith("#") or value == "data:," for value in links)
    assert seen.tags.count("th") == sum(1 for t, a, _ in seen.attributes if (t, a) == ("th", "scope"))
    assert seen.tags.count("table") == seen.tags.count("caption")


def test_what_is_hostile_is_readable_and_not_live(hostile_compared: Compared) -> None:
    text = Seen(hostile_compared.html).text
    assert f"plain and {SCRIPT} compared" in text
    assert "<i onclick=alert(4)>" in text
    assert "<b>hostile</b>\\x00\\u202e" in text
    assert not {chr(code) for code in (*range(9), 11, 12, *range(14, 32), 0x202E, 0xFFFF)} & set(hostile_compared.html)


def test_verify_knows_the_page_and_tells_what_was_altered(compared: Compared, tmp_path: Path) -> None:
    warehouse = Warehouse(compared.warehouse)
    differences, summary, run = check_page(warehouse, compared.page)
    assert differences == []
    assert f"{compared.page.name} is as it was written of run {run}" in summary
    largest = data_of(compared).largest
    assert largest is not None
    text = f'data-figure="{largest.figure_id}">{largest.moved.split(" ")[0]}'
    assert text in compared.html
    for altered, kind in (
        (compared.html.replace(text, f"{text[:-3]}999"), "figure"),
        (compared.html.replace("Largest difference", "Smallest difference"), "page"),
    ):
        file = tmp_path / "altered.html"
        file.write_text(altered, encoding="utf-8")
        assert {each.what for each in check_page(warehouse, file)[0]} == {kind}
    file.write_text(compared.html, encoding="utf-8")
    assert check_page(warehouse, file)[0] == []


def test_a_page_that_was_not_recorded_is_held_against_what_would_be_written(compared: Compared, tmp_path: Path) -> None:
    own = copied(compared, tmp_path)
    with Warehouse(own.warehouse).write() as con:
        con.execute("delete from raw.reports where name like 'reports/comparison-%'")
    assert own.page.read_text(encoding="utf-8") == compared.html
    differences, summary, _ = check_page(Warehouse(own.warehouse), own.page)
    assert differences == []
    assert f"{own.page.name} is not as any page was written" in summary


@pytest.mark.slow
def test_a_page_is_the_same_whichever_other_pages_are_there(compared: Compared, tmp_path: Path) -> None:
    own = copied(compared, tmp_path)
    warehouse = Warehouse(own.warehouse)
    run = data_of(own).sides[0].run.audit_run_id
    with duckdb.connect(str(warehouse.published.path)) as con:  # a comparison that the run's page tells of
        con.execute("update marts.rpt_run_comparisons set base_model_id = model_id")
        con.execute("update raw.comparisons set base_model_id = null, candidate_model_id = null")
    html = own.html
    page = as_written(warehouse, html)
    of_run = run_as_written(warehouse, run)
    assert "This run is compared with normal nights" in of_run
    warehouse.places.report(run).unlink()
    own.page.unlink()
    assert as_written(warehouse, html) == page
    assert run_as_written(warehouse, run) == of_run


def test_verify_of_a_run_looks_at_what_it_was_compared_with(compared: Compared, tmp_path: Path) -> None:
    own = copied(compared, tmp_path)
    warehouse = Warehouse(own.warehouse)
    run = data_of(own).sides[1].run.audit_run_id
    before = list(walk(page_checks(warehouse, run)))
    own.page.write_text(own.html.replace("Largest difference", "Smallest difference"), encoding="utf-8")
    assert [each.where for each in walk(page_checks(warehouse, run)) if each not in before] == [own.page.name]
    assert own.page.name not in [check.where for check in page_checks(warehouse, "0" * 32)]


@pytest.mark.soak  # tests/audit/erase ends an erasure that was cut short
def test_erase_that_is_cut_short_leaves_no_page_that_quotes(
    compared: Compared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = copied(compared, tmp_path)
    warehouse = Warehouse(own.warehouse)
    example = data_of(own).examples[0]
    assert example.lines is not None

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("promptaudit.audit.erase.erase.write_again", killed)
    of_run = warehouse.places.report(data_of(own).sides[1].run.audit_run_id)
    assert own.page.is_file()
    assert of_run.is_file()
    with pytest.raises(KeyboardInterrupt):
        erase(warehouse, example.sample_id, example.task_id)
    assert not own.page.exists()
    assert not of_run.exists()
    pages = [path.read_text(encoding="utf-8") for path in warehouse.places.published.rglob("*.html")]
    assert not [page for page in pages if example.lines[0] in Seen(page).text]


@pytest.mark.slow
def test_erase_writes_the_page_again_without_the_texts(compared: Compared, tmp_path: Path) -> None:
    own = copied(compared, tmp_path)
    example = data_of(own).examples[0]
    assert example.lines is not None
    assert example.lines[0] in Seen(own.html).text
    erased = erase(Warehouse(own.warehouse), example.sample_id, example.task_id)
    assert erased.still_quoting == ()
    assert example.lines[0] not in Seen(own.html).text
    assert check_page(Warehouse(own.warehouse), own.page)[0] == []


def test_the_index_of_pages_lists_it_and_no_other(
    compared: Compared, hostile_compared: Compared, tmp_path: Path
) -> None:
    index = index_of(Warehouse(compared.warehouse))
    assert f'href="reports/{compared.page.name}"' in index
    assert f'href="reports/{hostile_compared.page.name}"' in index
    assert SCRIPT not in index
    counts = run_comparison(Warehouse(compared.warehouse), compared.comparison_id).verdicts
    assert f'<td class="n">{counts["regressed"]}</td><td class="n">{counts.get("improved", 0)}</td>' in index
    own = copied(compared, tmp_path)
    own.page.unlink()
    assert own.page.name not in index_of(Warehouse(own.warehouse))


def test_it_is_written_again_where_it_is_there_and_goes_without_rows(compared: Compared, tmp_path: Path) -> None:
    own = copied(compared, tmp_path)
    warehouse = Warehouse(own.warehouse)
    own.page.write_text("cut short", encoding="utf-8")
    write_again(warehouse, [own.comparison_id, "0" * 32])
    assert own.html == compared.html
    with duckdb.connect(str(warehouse.published.path)) as con:
        con.execute("delete from marts.rpt_run_comparisons where comparison_id = ?", [own.comparison_id])
    for _ in range(2):  # the second time it is not there
        write_again(warehouse, [own.comparison_id])
        assert not own.page.exists()
    assert write_page(warehouse, run_comparison(warehouse, "0" * 32)) is None
