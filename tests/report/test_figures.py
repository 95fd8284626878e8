from __future__ import annotations

import csv
import io
import re
from html import unescape

import pytest

from promptaudit.report import report_as
from promptaudit.report.blocks.cells import Cell, Traced, cells_of, plain, rows_of
from promptaudit.report.contents import SECTIONS
from promptaudit.report.gather import gather
from promptaudit.report.page import render
from promptaudit.report.plain import markdown
from promptaudit.report.verify_file import is_printed_of
from promptaudit.system.display.figures import ABSENT, count, number, percent, share, usd
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.figure_names import parse_figure, row_id
from tests.report.conftest import Reported
from tests.report.test_page import PAGES
from tests.support.published_copy import table

DATA = re.compile(r'<data value="([^"]*)" data-figure="([^"]*)">([^<]*)</data>')
ROW = {
    "audit_run_id": "r",
    "model_id": "m",
    "task_id": "t",
    "strategy": "s",
    "cost_usd": None,
    "n_samples": 1234,
    "pss_intra": 1 / 3,
    "pss_intra_low": 0.1,
    "pss_intra_high": None,
}


def marts_of(run: Reported, names: set[str]) -> dict[str, dict[str, object]]:
    """Every row of the marts, by its name."""
    found = {}
    for mart in names:
        columns, rows = table(run.warehouse, f"select * from marts.{mart}")
        for values in rows:
            row = dict(zip(columns, values, strict=True))
            found[row_id(mart, row)] = row
    return found


@pytest.mark.parametrize("name", list(PAGES))
def test_every_figure_of_the_page_is_the_marts(name: str, request: pytest.FixtureRequest) -> None:
    run: Reported = request.getfixturevalue(name)
    printed = [(unescape(value), figure, unescape(text)) for value, figure, text in DATA.findall(run.html)]
    assert run.html.count("<data ") == len(printed) > 100
    marts = marts_of(run, {parse_figure(figure)[0] for _, figure, _ in printed})
    for value, figure, text in printed:
        mart, column, digits = parse_figure(figure)
        assert column is not None
        truth = marts[f"{mart}.{digits}"][column]
        if truth is None:
            assert value == ""
            continue
        assert value == (repr(truth) if isinstance(truth, float) else str(truth)), figure
        forms = {
            *(number(truth, digits) for digits in (1, 2, 3, 4)),
            percent(truth),
            share(truth),
            usd(truth),
            f"{truth:g}",
        }
        if isinstance(truth, int):
            forms.add(count(truth))
        assert any(text.startswith(form) for form in forms) or text[-2:] == " s" or text.endswith("ms"), (figure, text)


@pytest.mark.parametrize("name", list(PAGES))
def test_every_chart_draws_the_marts_figures(name: str, request: pytest.FixtureRequest) -> None:
    run: Reported = request.getfixturevalue(name)
    found = gather(Warehouse(run.warehouse), run.audit_run_id)
    panels = [panel for section in SECTIONS for block in section.drawn(found).blocks for panel in block.panels]
    drawn = [row for panel in panels for rows in panel.drawing.source.datasets.values() for row in rows]  # type: ignore[attr-defined]
    named = [(*parse_figure(row["figure"]), row) for row in drawn if row.get("figure")]
    assert len(named) > 10
    marts = marts_of(run, {mart for mart, *_ in named})
    assert all(marts[f"{mart}.{digits}"][column] in row.values() for mart, column, digits, row in named)


WHOLE = {
    "ordinary": (
        *("fct_consistency", "rpt_stability_by_share", "rpt_class_sensitivities"),
        *("rpt_answer_totals", "rpt_distinct_answers", "rpt_prompt_variants", "rpt_measures_by_wordings"),
        "rpt_accuracy_spreads",
    ),
    "judged": (
        *("rpt_rule_against_judge", "fct_scoring_sensitivity", "fct_ranking_consistency", "fct_judge_agreement"),
        "fct_judge_controls",
    ),
}


@pytest.mark.parametrize("name", list(WHOLE))
def test_every_row_of_these_marts_is_printed(name: str, request: pytest.FixtureRequest) -> None:
    run: Reported = request.getfixturevalue(name)
    printed = {figure.split(".")[0] + "." + figure.split(".")[2] for _, figure, _ in DATA.findall(run.html)}
    for mart in WHOLE[name]:
        own = {row for row, of in marts_of(run, {mart}).items() if of["audit_run_id"] == run.audit_run_id}
        assert own, mart
        assert own <= printed, mart


def test_the_scorecard_names_all_its_figures_and_rows(ordinary: Reported) -> None:
    _, rows = table(
        ordinary.warehouse, f"select count(*) from marts.rpt_audit where audit_run_id = '{ordinary.audit_run_id}'"
    )
    card = ordinary.html.partition('id="scorecard">')[2].partition("</section>")[0]
    names = [parse_figure(figure)[1] for _, figure, _ in DATA.findall(card)]
    measures = "sensitivity sensitivity_corrected consistency micro_f1 pss_intra pss_inter wording_share invalid_rate"
    for column in (*measures.split(), "cost_usd", "n_samples", "n_variants"):
        assert names.count(column) == rows[0][0], column
    assert len(set(re.findall(r'class="trace">(rpt_audit\.[0-9a-f]{12})<', card))) == rows[0][0]
    assert "promptaudit trace NAME" in ordinary.html


def test_a_row_links_to_its_page_only_where_there_is_one(hostile_judged: Reported) -> None:
    found = gather(Warehouse(hostile_judged.warehouse), hostile_judged.audit_run_id)
    first, second = (row_id("rpt_audit", row) for row in found.scorecard[:2])
    page = render(found, traces=frozenset({first}))
    link = f"traces/{hostile_judged.audit_run_id}/{first}.html"
    assert f'<a href="{link}"><code class="trace">{first}</code></a>' in page
    assert f"{second}.html" not in page
    assert "traces/" not in render(found)


def test_the_seal_stands_in_the_heading_of_the_run_and_in_full(hostile_judged: Reported) -> None:
    found = gather(Warehouse(hostile_judged.warehouse), hostile_judged.audit_run_id)
    seal = "3f2a" * 16
    found.run["seal"] = seal
    page = render(found)
    assert f"UTC, seal {seal[:12]}</h2>" in page
    assert f"Seal <code>{seal}</code>" in page
    assert "Without a copy of it kept elsewhere the chain proves order only." in page
    assert f"Seal `{seal}`" in markdown(found)


def test_a_figure_keeps_its_name_and_its_value() -> None:
    of = Traced("rpt_audit", ROW)
    cell = of.number("pss_intra")
    assert (cell.text, cell.exact, cell.value) == ("0.333", "0.3333333333333333", 1 / 3)
    assert cell.figure == row_id("rpt_audit", ROW).replace(".", ".pss_intra.")
    assert cell.row == row_id("rpt_audit", ROW)
    assert (of.measure("cost_usd").text, of.measure("cost_usd").exact) == (ABSENT, "")
    assert (of.count("n_samples").text, of.count("n_samples").exact) == ("1,234", "1234")
    bounds = of.bounds("pss_intra")
    assert plain(bounds) == f"[0.100, {ABSENT}]"
    assert [each.figure.split(".")[1] for each in cells_of([bounds])] == ["pss_intra_low", "pss_intra_high"]
    assert plain(of.ranged("pss_intra")) == f"0.333 [0.100, {ABSENT}]"
    assert rows_of(["a", cell, bounds]) == [cell.row]
    assert Traced("rpt_audit", {**ROW, "pss_intra_low": None}).bounds("pss_intra") == ""
    assert Cell("x", "rpt_audit.a.4f1c2a9b0d3e", 2).exact == "2"


def test_the_csv_holds_the_figures_of_the_page(ordinary: Reported) -> None:
    lines = list(csv.DictReader(io.StringIO(report_as(Warehouse(ordinary.warehouse), ordinary.audit_run_id, "csv"))))
    by_figure = {line["figure"]: line for line in lines}
    assert len(by_figure) == len(lines) > 300
    marts = marts_of(ordinary, {parse_figure(figure)[0] for figure in by_figure})
    for figure, line in by_figure.items():
        mart, column, digits = parse_figure(figure)
        row = marts[f"{mart}.{digits}"]
        for name, end in ((column, "value"), (f"{column}_low", "low"), (f"{column}_high", "high")):
            truth = row.get(str(name))
            assert line[end] == ("" if truth is None else repr(truth) if isinstance(truth, float) else str(truth)), (
                figure
            )
        assert line["run"] == row["audit_run_id"]
        assert line["task"] == row.get("task_id", line["task"])
        assert line["measure"] == f"{mart}.{column}"
    on_page = {figure for _, figure, _ in DATA.findall(ordinary.html.partition('id="samples">')[0])}
    left_out = {figure for figure in on_page - by_figure.keys() if not figure.split(".")[1].endswith(("_low", "_high"))}
    assert left_out == set()


@pytest.mark.parametrize(
    ("value", "text", "is_printed"),
    [
        (0.123, "0.123", True),
        (0.123, "0.124", False),
        (2.0246, "6.6 characters", True),
        (-0.0043, "× 1.00", True),
        (5000.0, "5,000 ms", True),
        (None, "every pair undefined", True),
        (None, "0.3", False),
    ],
)
def test_a_report_prints_a_value_in_its_unit_or_in_words(value: float | None, text: str, is_printed: bool) -> None:
    assert is_printed_of(value, text) is is_printed
