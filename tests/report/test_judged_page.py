from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from promptaudit.report import report
from promptaudit.report.contents import OF_JUDGES
from promptaudit.report.data import JudgingData
from promptaudit.report.gather import gather
from promptaudit.report.sections.judges import disagreements
from promptaudit.report.sections.scoring import correlation, drawn_methods, scoring
from promptaudit.system.display.figures import percent, shown, usd
from promptaudit.warehouse import Warehouse
from tests.report.conftest import Reported
from tests.report.test_page import JUDGED, Seen, published_without
from tests.support.imported_runs import HOSTILE, SCRIPT
from tests.support.judged_runs import MODELS
from tests.support.published_copy import table


def asked(run: Reported, query: str) -> list[dict[str, Any]]:
    names, rows = table(run.warehouse, query.replace("$run", f"'{run.audit_run_id}'"))
    return [dict(zip(names, row, strict=True)) for row in rows]


def section(run: Reported, anchor: str) -> str:
    """The text of a section."""
    return Seen(html_of(run, anchor)).text


def html_of(run: Reported, anchor: str) -> str:
    found = re.search(rf'<div class="inside" id="{anchor}">(.*?)</section>', run.html, re.DOTALL)
    assert found is not None
    return found[1]


def task(text: str, task_id: str, following: str = "") -> str:
    """The part of a section's text about a task."""
    return text.partition(f"\n{task_id}\n")[2].partition(f"\n{following}\n" if following else "\0")[0]


def test_what_a_run_with_judges_was_made_for_comes_first(judged: Reported) -> None:
    places = [judged.html.index(f'id="{name}">') for name in ("scoring", "scorecard", "rankings", "agreement")]
    assert places == sorted(places)


def test_the_three_models_are_told_apart(judged: Reported) -> None:
    facts = task(section(judged, "scoring"), "facts", "letters")
    phrases, answers, steady = MODELS
    assert f"Most of the spread is the rule's: {phrases}\n" in facts
    assert re.search(f"The spread stays under the judge: {answers} ", facts)
    assert f"No effect of the templates is shown: {steady}\n" in facts


def test_a_judge_is_unverified_until_people_have_ruled(judged: Reported) -> None:
    text = section(judged, "scoring")
    facts, letters = task(text, "facts", "letters"), task(text, "letters", "passages")
    assert facts.count("judge_unverified") == 3 + 9  # in the legend, and beside each model's figures
    assert "judge_unverified" not in letters
    assert len(re.findall(r"^verified", letters, re.MULTILINE)) == 9
    assert "rectified: share removed" in letters


def test_controls_stand_beside_every_figure_of_a_judge(judged: Reported) -> None:
    rates = asked(judged, "select * from marts.fct_judge_controls where audit_run_id = $run and task_id = 'letters'")
    assert {row["kind"] for row in rates} == {"right", "wrong", "blank", "injected"}
    assert any(row["error_rate"] > 0 for row in rates)
    order = ("right", "wrong", "blank", "injected")
    for judge in ("judge:hasty", "judge:close", "judge:both"):
        own = {row["kind"]: percent(row["error_rate"]) for row in rates if row["scoring_method"] == judge}
        said = ", ".join(f"{kind} {own[kind]}" for kind in order)
        for anchor in ("scoring", "rankings", "agreement", "disagreements"):
            assert said in task(section(judged, anchor), "letters"), (judge, anchor)
    counted = task(section(judged, "agreement"), "letters")
    for row in rates:
        cells = (row["scoring_method"], row["kind"], row["n_controls"], row["n_scored"], row["n_wrong"])
        assert "".join(str(cell) for cell in cells) + percent(row["error_rate"]) in counted


def test_a_correlation_that_is_missing_says_why() -> None:
    row = {"mean_spearman": None, "n_models": 5, "n_variants": 8, "is_of_few_models": False}
    assert correlation(row | {"n_models": 2}, "mean_spearman", 0) == "needs three models"
    assert correlation(row | {"n_variants": 1}, "mean_spearman", 0) == "needs two templates"
    assert correlation(row, "mean_spearman", 0) == "every pair undefined"
    assert correlation(row | {"mean_spearman": 0.5, "is_of_few_models": True}, "mean_spearman", 1) == "0.500 *"


def test_what_parts_rule_and_judge_most_comes_with_both_reasons(judged: Reported) -> None:
    found = gather(Warehouse(judged.warehouse), judged.audit_run_id)
    answers = [row for row in found.judging.disagreements if row["task_id"] == "facts"]
    assert len({row["rank"] for row in answers}) == 12
    text = task(section(judged, "disagreements"), "facts", "letters")
    assert "It names what is wanted." in text
    assert "wrong: score 0." in text  # one word in common of many: F1 is no 0
    assert "unscored: tie" in text  # a judge that says yes once and no once
    # wrong by the rule and right by the judge: whole sentences with the right town at their end
    most = max(
        (row for row in answers if row["completion"].startswith("As far as")), key=lambda row: row["n_predictions"]
    )
    assert most["completion"] in text
    assert f"12 of {answers[0]['n_answers']} different answers are shown." in text


def test_what_rule_and_judge_make_of_predictions_is_counted(judged: Reported) -> None:
    rows = asked(
        judged,
        """
        select rules.score_state, rules.is_correct, judges.is_correct as judges, count(*) as n
        from marts.fct_scores as rules
        inner join marts.fct_scores as judges using (audit_run_id, prediction_id)
        where audit_run_id = $run and rules.task_id = 'letters' and rules.scoring_method = 'option_letter'
            and judges.scoring_method = 'judge:close'
        group by all
        """,
    )
    counts = {(row["score_state"], row["is_correct"], row["judges"]): row["n"] for row in rows}
    right = counts.get(("scored", True, True), 0), counts.get(("scored", True, False), 0)
    unread = counts["unscored", None, True], counts["unscored", None, False]
    text = re.sub(r"\s+", " ", task(section(judged, "disagreements"), "letters"))
    # each row: rule, judge, its controls, what the rule says, then what the judge says: right, wrong, unscored
    for ruling, (n_right, n_wrong) in {"right": right, "unscored": unread}.items():
        assert re.search(rf"option_letter ?judge:close ?right [^·]*? ?{ruling} ?{n_right} ?{n_wrong} ?0", text), ruling
    assert "read as" in text


def test_partly_right_answers_are_their_own_kind(judged: Reported) -> None:
    passages = task(section(judged, "disagreements"), "passages")
    # "a heron" against "a grey heron": of the words heron, and grey heron, F1 is 2 x 1 x .5 / 1.5 = .667
    assert "partly right: score 0.667" in passages
    assert "token_f1" in passages


def test_judges_and_their_cost_are_identified(judged: Reported) -> None:
    text = section(judged, "identity")
    verdicts = asked(
        judged,
        "select * from marts.fct_verdicts where audit_run_id = $run and starts_with(rater, 'judge:') and is_current",
    )
    unread = sum(row["is_match"] is None for row in verdicts)
    assert unread > 0
    assert f"{len(verdicts):,}, of which {unread:,} could not be read" in text
    assert usd(sum(row["cost_usd"] for row in verdicts)) in text
    assert "panel of close, hasty" in text


def test_what_is_hostile_is_readable(hostile_judged: Reported) -> None:
    text = section(hostile_judged, "disagreements")
    found = {
        row["completion"]
        for row in gather(Warehouse(hostile_judged.warehouse), hostile_judged.audit_run_id).judging.disagreements
    }
    assert all(shown(words) in text for words in found if len(words) < 300)
    assert len(found & {*HOSTILE, *(f"{words} abc\u202edef" for words in HOSTILE)}) > 4
    because = f"because {SCRIPT} {{{{7*7}}}}"
    for words in (f"judge:j{SCRIPT}\\x00", "judge:</td></table>", "judge:<img src=x onerror=alert(6)>", because):
        assert words in text, words
    assert "needs three models" in section(hostile_judged, "rankings")
    assert len(hostile_judged.html) < 1_000_000
    assert "x" * 301 not in hostile_judged.html
    assert "y" * 301 not in hostile_judged.html


def test_a_run_without_judges_shows_what_it_showed(ordinary: Reported) -> None:
    text = Seen(ordinary.html).text
    assert not [name for name in JUDGED if f'id="{name}"' in ordinary.html]
    for words in ("judge", "Spearman", "Corrected spread", "scoring method"):
        assert words not in text, words
    assert gather(Warehouse(ordinary.warehouse), ordinary.audit_run_id).judging == JudgingData()


def test_a_run_without_rows_of_these_marts_is_reported_without_them(judged: Reported, tmp_path: Path) -> None:
    emptied = (
        "fct_scoring_sensitivity",
        "rpt_rule_against_judge",
        "fct_judge_agreement",
        "fct_judge_controls",
        "fct_verdicts",
    )
    warehouse = published_without(judged, tmp_path, *(f"delete from marts.{mart}" for mart in emptied))
    page = report(warehouse, judged.audit_run_id).read_text(encoding="utf-8")
    assert 'id="scoring"' not in page
    assert 'id="accuracy_by_variant"' in page


def test_a_run_of_several_rules_without_judges_shows_their_spreads(judged: Reported) -> None:
    found = gather(Warehouse(judged.warehouse), judged.audit_run_id)
    rules = [row for row in found.judging.spreads if not row["scoring_method"].startswith("judge:")]
    of_rules = replace(found, judging=JudgingData(spreads=rules, rankings=found.judging.rankings))
    sections = [drawn for section in OF_JUDGES if (drawn := section.drawn(of_rules)).blocks]
    assert [(section.anchor, section.title) for section in sections] == [
        ("scoring", "Accuracy by scoring method"),
        ("scoring_across_tasks", "Scoring across tasks"),
        ("rankings", "Rankings of models"),
        ("agreement", "Agreement and controls"),
    ]
    assert [len(block.panels) for block in sections[0].blocks] == [2, 2, 2]
    assert not any(block.comparisons or block.findings for block in sections[0].blocks)
    assert not any(block.absent for block in sections[2].blocks)


def test_many_tasks_and_comparisons_are_bounded_and_the_rest_is_named(
    judged: Reported, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("promptaudit.report.sections.scoring.MOST_DRAWN_TASKS", 1)
    monkeypatch.setattr("promptaudit.report.sections.scoring.MOST_COMPARED", 4)
    found = gather(Warehouse(judged.warehouse), judged.audit_run_id)
    first, second, _ = scoring.drawn(found).blocks
    assert (len(first.panels), len(second.panels)) == (2, 0)
    assert second.notes[0] == "Charts are drawn of the first 1 tasks; the figures below hold all."
    assert len(first.comparisons) == 4
    assert first.notes[-1].startswith("The first 4 of 9 comparisons;")
    rulings, answers = (
        [row | {"task_id": f"t{n}"} for n in range(60) for row in rows if row["task_id"] == "facts"]
        for rows in (found.judging.rulings, found.judging.disagreements)
    )
    many = disagreements.drawn(replace(found, judging=JudgingData(rulings=rulings, disagreements=answers)))
    assert {len(block.disagreements) for block in many.blocks} == {2}  # 120 in all


def test_a_chart_holds_rules_and_judges() -> None:
    rules, judges = [f"rule{n}" for n in range(5)], [f"judge:{n}" for n in range(5)]
    assert drawn_methods(rules + judges) == ["rule0", "rule1", "judge:0", "judge:1"]
    assert drawn_methods([*rules, "judge:0"]) == ["rule0", "rule1", "rule2", "judge:0"]
    assert drawn_methods(["rule0", *judges]) == ["rule0", "judge:0", "judge:1", "judge:2"]
    assert drawn_methods(rules) == rules[:4]


def test_controls_without_a_readable_verdict_say_so() -> None:
    row = {"task_id": "t", "scoring_method": "judge:j", "n_scored": 4, "error_rate": 0.25}
    rows = [row | {"kind": "right"}, row | {"kind": "wrong", "n_scored": 0, "error_rate": None}]
    assert JudgingData(controls=rows).errors == {("t", "judge:j"): "right 25.0 %, wrong none read"}
