from __future__ import annotations

import io
import json
import re

import pytest
from rich.console import Console

from promptaudit.report import comparison_rows, scorecard_rows
from promptaudit.report.terminal.scorecard import drawn, scorecard
from promptaudit.system.display.figures import number, percent, share
from promptaudit.warehouse import Warehouse
from tests.report.conftest import Reported
from tests.support.published_copy import table


def printed(run: Reported, width: int) -> str:
    out = io.StringIO()
    Console(file=out, width=width, force_terminal=True, color_system=None).print(
        scorecard(Warehouse(run.warehouse), run.audit_run_id, width)
    )
    return out.getvalue()


def test_rows_are_the_marts_rows_of_this_run(ordinary: Reported) -> None:
    query = f"select count(*) from marts.rpt_audit where audit_run_id = '{ordinary.audit_run_id}'"
    rows = scorecard_rows(Warehouse(ordinary.warehouse), ordinary.audit_run_id)
    assert len(rows) == table(ordinary.warehouse, query)[1][0][0] == 9
    assert {row["audit_run_id"] for row in rows} == {ordinary.audit_run_id}
    json.dumps(rows)


@pytest.mark.parametrize("width", [200, 120, 80, 60])
def test_every_figure_is_printed_at_every_width(ordinary: Reported, width: int) -> None:
    text = printed(ordinary, width)
    assert max(len(line) for line in text.splitlines()) <= width
    for row in scorecard_rows(Warehouse(ordinary.warehouse), ordinary.audit_run_id):
        for name in ("sensitivity", "sensitivity_low", "consistency", "micro_f1", "pss_intra", "pss_inter_high"):
            assert number(row[name]) in text, (name, row[name])
        assert percent(row["invalid_rate"]) in text


def test_a_row_takes_a_line_of_each_table(ordinary: Reported) -> None:
    for width, n_tables in ((170, 1), (80, 3)):
        lines = printed(ordinary, width).splitlines()
        assert (
            sum(line.startswith("  harbour-small ") for line in lines) == 3 * n_tables
        )  # two strategies, and another task
        assert sum(set(line) == {"─"} for line in lines) == n_tables
    assert len(lines) < 60  # of nine rows; 75 before each took one line


def test_a_dash_has_its_reason_below(ordinary: Reported, judged: Reported) -> None:
    text = printed(ordinary, 80)
    (moods,) = {
        " ".join(line.split())
        for line in text.partition("moods · simple")[2].splitlines()
        if line.startswith("  harbour-small") and "20 × 1" in line
    }
    assert moods == "harbour-small 20 × 1 –¹ –²"
    assert "\n¹ Only one prompt variant was asked, and sensitivity needs two.\n" in text
    assert "\n² No sample of this task has a gold label, so there are no classes to compare.\n" in text
    assert "\nIn every row: cost –⁷.\n" in text
    assert "\n⁷ No price of these answers is known.\n" in text
    assert set(re.findall("–(.)", text)) == set("¹²³⁴⁵⁶⁷")
    assert "An open-ended task has no labels to measure this by." in printed(judged, 80)


@pytest.mark.parametrize("width", [200, 100, 60])
def test_rule_against_judge_is_printed_at_every_width(judged: Reported, width: int) -> None:
    text = printed(judged, width)
    assert max(len(line) for line in text.splitlines()) <= width
    rows = comparison_rows(Warehouse(judged.warehouse), judged.audit_run_id)
    json.dumps(rows)
    for row in rows:
        for name in ("accuracy_rule", "accuracy_judge", "accuracy_std_judge", "spread_rule", "spread_judge_high"):
            assert number(row[name]) in text, (name, row[name])
        assert row["share_removed"] is None or share(row["share_removed"]) in text
    assert text.count("rule against judge: ") == 3


def test_the_scorecard_says_what_is_found_and_how_far_judges_are_known(judged: Reported) -> None:
    text = printed(judged, 200)
    facts, letters = text.split("rule against judge: ")[1:3]
    assert "\nMost of the spread is the rule's: phrases-otherwise\n" in facts
    assert "\nNo effect of the templates is shown: steady\n" in facts
    assert facts.count(" unverified\n") == 9  # models, judges
    assert "judge:close: wrong on controls: right 0 %, wrong 0 %, blank 0 %, injected 0 %; judge_unverified" in facts
    assert "unverified" not in letters
    assert " answers that people ruled on take its own errors out" in letters
    assert " rectified " in letters


def test_a_run_without_judges_has_its_scorecard_alone(ordinary: Reported) -> None:
    assert comparison_rows(Warehouse(ordinary.warehouse), ordinary.audit_run_id) == []
    assert "judge" not in printed(ordinary, 120)


@pytest.mark.parametrize("name", ["hostile", "hostile_judged"])
def test_names_are_neither_markup_nor_control(name: str, request: pytest.FixtureRequest) -> None:
    text = printed(request.getfixturevalue(name), 200)
    assert "[bold red]m[/] \\x1b[2J\\x00" in text
    assert not set(text) & {"\x00", "\x1b", "\u202e"}


def test_an_unknown_run_has_no_rows_and_says_so(ordinary: Reported) -> None:
    assert scorecard_rows(Warehouse(ordinary.warehouse), "x' or true --") == []
    (line,) = drawn([], [], 80)
    assert "no figures yet" in str(line)
