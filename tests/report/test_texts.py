from __future__ import annotations

import json
from dataclasses import replace

import pytest

from promptaudit.registry.cards import Data, TaskCard
from promptaudit.report import report_as
from promptaudit.report.gather import gather
from promptaudit.report.page import render
from promptaudit.system.display.policy import LEFT_OUT, MOST, MOST_IN_ALL, Texts
from promptaudit.warehouse import Warehouse
from tests.report.conftest import Reported
from tests.support.published_copy import table

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

CARD = TaskCard(labels=("a", "b"), instruction="Say a or b.", data=Data(path="x.csv"))  # type: ignore[arg-type]


def test_a_card_that_is_not_sensitive_is_the_card_it_was() -> None:
    written = TaskCard(labels=("a", "b"), instruction="Say a or b.", data=Data(path="x.csv"), sensitive=False)  # type: ignore[arg-type]
    assert written.fingerprint() == CARD.fingerprint()
    assert "sensitive" not in json.loads(CARD.canonical_json())
    assert json.loads(CARD.model_copy(update={"sensitive": True}).canonical_json())["sensitive"] is True


def test_being_sensitive_changes_nothing_that_is_sent() -> None:
    from promptaudit.plan.design import NOT_SENT

    sent = [
        card.model_dump(mode="json", exclude=NOT_SENT) for card in (CARD, CARD.model_copy(update={"sensitive": True}))
    ]
    assert sent[0] == sent[1]


@pytest.mark.parametrize(
    ("asked", "of_secret", "of_open"),
    [(None, "none", "excerpt"), ("none", "none", "none"), ("excerpt", "excerpt", "excerpt"), ("full", "full", "full")],
)
def test_what_is_asked_for_goes_before_the_tasks_own(asked: None, of_secret: str, of_open: str) -> None:
    texts = Texts(asked, frozenset({"secret"}))
    assert (texts.of("secret"), texts.of("open")) == (of_secret, of_open)


def test_texts_are_told_by_their_columns_names() -> None:
    texts = Texts(None, frozenset({"secret"}))
    rows = [
        {"task_id": task, "input": "in", "completion": None, "reference_answers": ["a", "b"], "label": "red", "n": 1}
        for task in ("secret", "open")
    ]
    left_out, kept = texts.kept(rows)
    assert left_out == rows[0] | {"input": LEFT_OUT, "reference_answers": [LEFT_OUT, LEFT_OUT]}
    assert kept == rows[1]
    (ruled,) = texts.kept([{"task_id": "secret", "ruling": "right", "reason": "words", "label": "words"}])
    assert (ruled["reason"], ruled["label"]) == (LEFT_OUT, LEFT_OUT)
    assert texts.kept([{"task_id": "secret", "reason": "3 of 4 are invalid"}])[0]["reason"] == "3 of 4 are invalid"


def test_full_texts_share_their_room() -> None:
    texts = Texts("full")
    rows = [{"task_id": "t", "completion": "x" * MOST} for _ in range(200)]
    kept = [row["completion"] for row in texts.kept(rows)]
    assert {len(text) for text in kept} == {MOST, 301}
    assert sum(len(text) - 300 for text in kept if len(text) == MOST) <= MOST_IN_ALL
    assert texts.n_cut == sum(len(text) == 301 for text in kept) > 90
    assert f"{texts.n_cut} are cut to 300 characters" in texts.summary


def texts_of(run: Reported) -> set[str]:
    """What nobody may read in a report without texts: inputs, completions and prompts that are no label or name."""
    known = f"where audit_run_id = '{run.audit_run_id}'"
    queries = (
        f"select distinct input from marts.dim_samples {known}",
        f"select distinct instruction from marts.dim_prompt_variants {known}",
        f"select distinct completion from marts.fct_predictions {known} and label is distinct from completion",
        f"select distinct unnest(reference_answers) from marts.dim_samples {known}",
    )
    rows = [row for query in queries for row in table(run.warehouse, query)[1]]
    return {text.strip().split("\n")[0][:40] for (text,) in rows if text and len(text.strip()) > 12}


@pytest.mark.parametrize("name", ["ordinary", "judged"])
def test_without_texts_no_text_is_in_the_page(name: str, request: pytest.FixtureRequest) -> None:
    from promptaudit.report.charts.drawing import undrawn

    run: Reported = request.getfixturevalue(name)
    secret = texts_of(run)
    in_excerpts = {text for text in secret if text in run.html.replace("&#39;", "'")}
    assert len(in_excerpts) > 5
    with undrawn():
        page = render(gather(Warehouse(run.warehouse), run.audit_run_id, "none"))
    assert {text for text in secret if text in page.replace("&#39;", "'")} == set()
    assert "Its texts are left out of this report." in page or name == "judged"
    assert "<dt>Texts</dt><dd>left out</dd>" in page
    for form in ("md", "csv"):
        made = report_as(Warehouse(run.warehouse), run.audit_run_id, form, "none")  # type: ignore[arg-type]
        assert {text for text in secret if text in made} == set()


def test_a_sensitive_task_keeps_its_texts_and_an_open_one_does_not(judged: Reported) -> None:
    from promptaudit.report.charts.drawing import undrawn

    found = gather(Warehouse(judged.warehouse), judged.audit_run_id)
    assert found.texts.summary == "excerpts of 300 characters"
    names = sorted({row["task_id"] for row in found.judging.disagreements})
    texts = Texts(None, frozenset(names[:1]))
    kept = texts.kept(found.judging.disagreements)
    by_task = {row["task_id"]: row["completion"] for row in kept}
    assert by_task[names[0]] == LEFT_OUT
    assert LEFT_OUT not in [by_task[name] for name in names[1:]]
    data = replace(found, texts=texts, judging=replace(found.judging, disagreements=kept))
    with undrawn():
        page = render(data)
    assert f"left out for tasks marked sensitive: {names[0]}" in page


def test_whole_texts_go_beyond_an_excerpt(hostile: Reported) -> None:
    from promptaudit.report.charts.drawing import undrawn

    with undrawn():
        page = render(gather(Warehouse(hostile.warehouse), hostile.audit_run_id, "full"))
    assert "in full, up to 20,000 characters each and 2 MB in all" in page
    longest = max(map(len, __import__("re").findall(r"x{50,}|z{50,}", page)), default=0)
    assert longest == 0 or 301 < longest <= MOST
