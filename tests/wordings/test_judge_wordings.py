"""A judge's rubric reworded: some answers are ruled on under further wordings, once, and earlier verdicts stay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from promptaudit.flows.audit.runs import open_run
from promptaudit.flows.cards.prices import CHARACTERS_A_TOKEN
from promptaudit.flows.plan.budget import Purse, budget_of
from promptaudit.flows.plan.design import design_audit
from promptaudit.flows.plan.estimate import estimate_audit
from promptaudit.flows.rephrasers.refusals import why_wording_refused
from promptaudit.flows.rephrasers.templates import rubric_wording
from promptaudit.flows.warehouse import Warehouse
from promptaudit.flows.wordings.judge_wordings import are_rubrics_made, reword_rubrics, rubric_key
from promptaudit.models_registry.cards import JudgeCard
from promptaudit.models_registry.errors import BudgetReached
from promptaudit.models_registry.placeholders import placeholders
from promptaudit.models_registry.registry import load_registry
from tests.support.http_audit import AUDIT, ask, have_judged, query, write_cards
from tests.support.openai_server import RunningServer, running_server

NO_CONTROLS = "{right: 2, wrong: 0, blank: 0, injected: 0, right_in_words: 0, wrong_in_words: 0, ruled: 0}"
N_CONTROLS, N_FURTHER = 2, 5
BY_KEY = "select judge_key, count(*) from raw.verdicts where is_settled group by all order by all"


def cards(folder: Path, server: RunningServer, judges: str = "[checker]", **fields: Any) -> Path:
    """An audit of 8 questions under 3 wordings with one judge, answered and judged by the same server."""
    card = f"checker: {{model: api, controls: {NO_CONTROLS}}}\n"
    return write_cards(folder, server.base_url, judges=card, audit=f"  judges: {judges}\n", n_samples=8, **fields)


def asked_for(wordings: int, answers: int = N_FURTHER) -> str:
    return f"{{checker: {{wordings: {wordings}, answers: {answers}}}}}"


def reworded_by_a_model(registry: Path, model: str, variants: str) -> None:
    """Has the audit's rephraser ask a model."""
    (registry / "rephrasers").mkdir(exist_ok=True)
    (registry / "rephrasers/asked.yml").write_text(f"asked: {{kind: model, model: {model}, max_rounds: 1}}\n")
    path = registry / f"audits/{AUDIT}.yml"
    path.write_text(path.read_text().replace("{rephraser: rules, variants: 3}", f"{{rephraser: asked, {variants}}}"))


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDIT_KEY", "sk-0123456789abcdef")


def test_further_wordings_are_ruled_on_some_answers_beside_what_was_ruled_before(tmp_path: Path) -> None:
    warehouse = tmp_path / "audit.duckdb"
    with running_server() as server:
        ask(warehouse, cards(tmp_path / "cards", server))
        have_judged(warehouse, tmp_path / "cards")
        before = query(warehouse, "select verdict_id from raw.verdicts order by all")
        assert query(warehouse, "select rephrasing_key, n_reworded_answers from raw.judges") == [(None, None)]
        registry = cards(tmp_path / "cards", server, asked_for(3))
        assert have_judged(warehouse, registry).n_landed == 2 * N_FURTHER
        # the verdicts under the rubric as it is written are the ones that they were
        as_written = (
            "select verdict_id from raw.verdicts where judge_key in (select judge_key from raw.judges) order by all"
        )
        assert query(warehouse, as_written) == before
        assert [n for _, n in query(warehouse, BY_KEY)].count(N_FURTHER) == 2
        same = "select count(distinct prediction_id) from raw.verdicts where judge_key not in (select judge_key from raw.judges)"
        assert query(warehouse, same) == [(N_FURTHER,)]
        assert query(warehouse, f"{same} and control_id is not null") == [(0,)]
        asked = server.counters()["requests"]
        assert have_judged(warehouse, registry).n_landed == 0
        assert server.counters()["requests"] == asked
        # fewer wordings are other ones; what was ruled under the same words is not asked for again
        assert have_judged(warehouse, cards(tmp_path / "cards", server, asked_for(2))).n_landed == 0
        assert have_judged(warehouse, cards(tmp_path / "cards", server, asked_for(2, 7))).n_landed == 2
        prompts = [seen["body"]["messages"][-1]["content"] for seen in server.requests()]
    rubrics = query(
        warehouse,
        "select wording_index, rubric, is_original, rephraser_id from raw.judge_wordings "
        "where refused_because is null order by rephrasing_key, wording_index",
    )
    assert len(rubrics) == 3 + 2
    assert {(index == 0, is_original, by) for index, _, is_original, by in rubrics} == {
        (True, True, None),
        (False, False, "rules"),
    }
    own = JudgeCard(model="api").rubric
    assert all(sorted(placeholders(text)) == sorted(placeholders(own)) for _, text, _, _ in rubrics)
    assert len({text for _, text, _, _ in rubrics}) == 3
    for _, text, _, _ in rubrics:
        assert any(prompt.startswith(text.partition("{")[0]) for prompt in prompts)


def test_a_budget_stops_in_the_middle_and_nothing_is_ruled_on_twice(tmp_path: Path) -> None:
    warehouse = tmp_path / "audit.duckdb"
    with running_server() as server:
        registry = cards(tmp_path / "cards", server, asked_for(3), limits="{max_connections: 1}")
        ask(warehouse, registry)
        ((n_answers,),) = query(warehouse, "select count(distinct (sample_id, completion)) from raw.predictions")
        n_asked = int(server.counters()["requests"])
        with pytest.raises(BudgetReached):
            have_judged(warehouse, registry, max_requests=n_asked + n_answers + N_CONTROLS + 3)
        # the rubric as it is written comes first
        counts = sorted(n for _, n in query(warehouse, BY_KEY))
        assert counts[-1] == n_answers + N_CONTROLS
        assert sum(counts) == n_answers + N_CONTROLS + 3
        have_judged(warehouse, registry)
        assert sorted(n for _, n in query(warehouse, BY_KEY)) == [N_FURTHER, N_FURTHER, n_answers + N_CONTROLS]
        assert server.counters()["requests"] == n_asked + n_answers + N_CONTROLS + 2 * N_FURTHER


def test_a_model_rewords_a_rubric_once_and_later_runs_have_its_wordings(tmp_path: Path) -> None:
    warehouse = tmp_path / "audit.duckdb"
    with running_server() as server:
        registry = cards(tmp_path / "cards", server, asked_for(3))
        reworded_by_a_model(registry, "api", "variants: 1")
        ask(warehouse, registry)
        assert query(warehouse, "select count(*) from raw.rephrasings") == [(0,)]
        said = have_judged(warehouse, registry).notes
        ((task_id, n, cost),) = query(
            warehouse, "select task_id, count(*), min(cost_usd) > 0 from raw.rephrasings group by all"
        )
        assert (task_id, n, cost) == ("judge:checker", 1, True)
        design = design_audit(load_registry([registry]), AUDIT)
        assert are_rubrics_made(Warehouse(warehouse), design, anew=False)
        assert not are_rubrics_made(Warehouse(warehouse), design, anew=True)
        open_run(Warehouse(warehouse), design)
        ask(warehouse, registry)
        have_judged(warehouse, registry)
        assert query(warehouse, "select count(*) from raw.rephrasings") == [(1,)]
        # unless they are made anew, as `--rephrase` has them
        run = open_run(Warehouse(warehouse), design)
        purse = Purse(Warehouse(warehouse), run, budget_of(Warehouse(warehouse), run, design.audit.budget))
        reword_rubrics(purse, design, anew=True)
        reword_rubrics(purse, design, anew=True)
        assert query(warehouse, "select count(*) from raw.rephrasings") == [(2,)]
    by_run = query(
        warehouse, "select audit_run_id, list(rubric order by wording_index) from raw.judge_wordings group by all"
    )
    assert len(by_run) == 3
    assert by_run[0][1] == by_run[1][1] == by_run[2][1]  # this server's model says the same to the same
    assert any(note.startswith("judge 'checker': ") for note in said) == (len(by_run[0][1]) < 3)


def test_what_a_rewording_of_a_rubric_must_keep() -> None:
    card = JudgeCard(model="api")
    wording = rubric_wording("checker", card, is_given=False)
    assert wording.task_id == "judge:checker"
    assert why_wording_refused(wording, card.rubric.replace("You check", "Please check")) is None
    for lost, reason in (
        ("{references}", "placeholder {references} is lost"),
        ('"match": true or false', "protected word"),
        ("{mark}\n{completion}", "placeholder {mark} stands 2 times, 3 in the original"),
    ):
        text = card.rubric.replace(lost, "{completion}" if "{completion}" in lost else "what it says", 1)
        assert (why_wording_refused(wording, text) or "").startswith(reason)
    graded = JudgeCard.model_validate(
        {
            "model": "api",
            "rubric": "{question} {references} {completion}\nReply with CORRECT or WRONG as the grade.",
            "reply": {"grades": {"CORRECT": True, "WRONG": False}},
        }
    )
    refused = why_wording_refused(rubric_wording("j", graded, is_given=True), graded.rubric.replace("WRONG", "FALSE"))
    assert refused == "protected word 'WRONG' is lost"


def test_the_key_of_a_rubrics_wordings_is_of_what_decides_them(tmp_path: Path) -> None:
    with running_server() as server:
        url = server

        def key(judges: str) -> str | None:
            design = design_audit(load_registry([cards(tmp_path / "cards", url, judges)]), AUDIT)
            return rubric_key(design, "checker")

        assert key("[checker]") is key("{checker: }") is None
        assert key(asked_for(3)) == key(asked_for(3, 50)) != key(asked_for(4))


def test_plan_counts_the_further_rulings(tmp_path: Path) -> None:
    with running_server() as server:
        alone = estimate_audit(load_registry([cards(tmp_path / "cards", server)]), AUDIT)
        worded = estimate_audit(load_registry([cards(tmp_path / "cards", server, asked_for(6))]), AUDIT)
        many = estimate_audit(load_registry([cards(tmp_path / "cards", server, asked_for(6, 100))]), AUDIT)
    judge, more, most = (estimate.lines[-1] for estimate in (alone, worded, many))
    n_answers = 8 * 3
    assert judge.requests == n_answers + N_CONTROLS
    assert more.requests == n_answers + N_CONTROLS + 5 * N_FURTHER
    assert most.requests == n_answers + N_CONTROLS + 5 * n_answers
    assert more.usd == pytest.approx((judge.usd or 0) * more.requests / judge.requests, rel=0.01)


@pytest.mark.parametrize("model", ["api", "self"])
def test_plan_counts_who_rewords_the_rubric(tmp_path: Path, model: str) -> None:
    with running_server() as server:
        registry = cards(tmp_path / "cards", server, asked_for(31))
        reworded_by_a_model(registry, model, "variants: 3")
        lines = estimate_audit(load_registry([registry]), AUDIT).lines
    (line,) = [line for line in lines if line.name == "asked, rubric of checker"]
    rubric = round(len(JudgeCard(model="api").rubric) / CHARACTERS_A_TOKEN)
    # thirty rewordings are asked for in two lists
    assert (line.what, line.requests, line.completion_tokens) == ("rephraser", 2, 30 * rubric)
    assert line.usd == pytest.approx((line.prompt_tokens + 2 * line.completion_tokens) / 1e6)


def test_the_model_of_a_judge_rewords_its_rubric_where_each_rewords_its_own(tmp_path: Path) -> None:
    warehouse = tmp_path / "audit.duckdb"
    with running_server() as server:
        registry = cards(tmp_path / "cards", server, asked_for(2))
        reworded_by_a_model(registry, "self", "variants: 2")
        ask(warehouse, registry)
        have_judged(warehouse, registry)
    asked = query(warehouse, "select task_id, model_id from raw.rephrasings order by all")
    assert asked == [("judge:checker", "api"), ("questions", "api")]
