"""A template is reworded around what it must keep: placeholders, lines of layout, enumerators, the form of the answer."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptaudit.prompts.rephrasers.by_rules import RulesRephraser
from promptaudit.prompts.rephrasers.refusals import why_wording_refused
from promptaudit.prompts.rephrasers.templates import ByStretch, stretches, wording_of
from promptaudit.registry.cards import RephraserCard, TaskCard, Template
from promptaudit.registry.registry import load_registry

TEXT = """\
Read the question, then choose one of the options from A to D.

Question: {question}
{options}

Please close with "The answer is" and \\boxed{} around the letter."""
DATA = {"path": "d.csv", "input": "q", "options": ["a", "b", "c", "d"], "gold_label": "g"}
TASK = TaskCard.model_validate({"kind": "multiple_choice", "templates": "t", "data": DATA, "protected": ["close"]})
TEMPLATE = Template(text=TEXT, option="({enumerator}) {option}", answer="({enumerator})")


def test_what_must_come_through() -> None:
    wording = wording_of("t", TASK, TEMPLATE, is_given=False)
    assert wording.lines == ("Question: {question}", "{options}")
    assert set(wording.protected) == {
        "close",
        "{question}",
        "{options}",
        "Question: {question}",
        '"The answer is"',
        "\\boxed{}",
        "letter",
        "A",
        "D",
    }
    # a person's own words need keep the placeholders, and what the card says
    of_person = wording_of("t", TASK, TEMPLATE, is_given=True)
    assert (of_person.lines, of_person.protected) == ((), ("close", "{question}", "{options}"))


def test_an_article_is_no_enumerator() -> None:
    lower = Template(text="Give a letter.\n{question}\n{options}", enumerators="lower")
    assert "a" not in wording_of("t", TASK, lower, is_given=False).protected


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("Question: {question}\n{options}", "{question}\n{options}", "protected word 'Question: {question}' is lost"),
        ("{options}\n\n", "{options} ", "line '{options}' is no line of its own any more"),
        ("one of", "one ({options}) of", "placeholder {options} stands 2 times, 1 in the original"),
        ("A to D", "the first to the last", "protected word 'A' is lost"),
        ("\\boxed{}", "a box", "protected word '\\\\boxed{}' is lost"),
        ("letter", "sign", "protected word 'letter' is lost"),
        ("options from", "options, {hint}, from", "placeholder {hint} is new"),
        ("Read the question", "Take the question in", None),
    ],
)
def test_a_rewording_that_loses_it_is_refused(old: str, new: str, reason: str | None) -> None:
    assert old in TEXT
    assert why_wording_refused(wording_of("t", TASK, TEMPLATE, is_given=False), TEXT.replace(old, new)) == reason


def test_rules_reword_the_prose_of_every_shipped_template_and_nothing_else() -> None:
    registry, rules = load_registry([]), ByStretch(RulesRephraser(RephraserCard(kind="rules")))
    for name, task_id in (
        ("multiple_choice", "general_knowledge"),
        ("arithmetic", "arithmetic"),
        ("reading", "reading"),
    ):
        for template in registry.templates(name).templates:
            wording = wording_of(task_id, registry.task(task_id), template, is_given=False)
            texts = asyncio.run(rules.rephrase(wording, 5, None, 0))
            has_prose = any(is_prose for _, is_prose in stretches(template.text))
            assert (len(set(texts)) == 5) == has_prose, template.text
            assert [why_wording_refused(wording, text) for text in texts] == [None] * len(texts)


@given(st.text(alphabet=st.sampled_from("ab \n\r{}q选.") | st.characters(exclude_categories=["Cs"]), max_size=60))
def test_the_stretches_make_the_text_up_again(text: str) -> None:
    assert "".join(piece for piece, _ in stretches(text)) == text
