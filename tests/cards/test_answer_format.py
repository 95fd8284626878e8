"""Whether a prompt says how to answer is told by plain rules."""

from __future__ import annotations

import time

import pytest

from promptaudit.cards.answer_format import how_to_answer, json_field

LABELS = ("positive", "negative")
SAYS = (
    "Reply with the label alone.",
    "Classify it. Answer only with the category.",
    "Output just the sentiment.",
    "Answer yes or no.",
    "Is it kind? Respond with either 'positive' or 'negative'.",
    "Reply positive if it is kind.",
    "Respond in JSON.",
    'Return a JSON object: {"label": "..."}',
    "Judge the review in one word: print a single word.",
    "Only output the label.",
    "Judge the review. No explanation.",
    "Classify the review as Positive or Negative.",
    "Decide which of positive and negative fits best.",
)
SAYS_NOTHING = (
    "Classify the review by sentiment.",
    "Decide which label fits the text.",
    "Say whether the writer is pleased.",
    "Is the review positive?",
    "Does this JSON object describe a person?",
    "Give the category of the question.",
    "Decide whether the answer is right.",
    "Is this answer positive?",
    "You are given a review and the reply of the store.",
    "Sort the nonnegative and the positively minded reviews.",
)


@pytest.mark.parametrize("text", SAYS)
def test_a_prompt_that_says_how_to_answer_is_known(text: str) -> None:
    assert how_to_answer(text, LABELS) is not None


@pytest.mark.parametrize("text", SAYS_NOTHING)
def test_a_prompt_that_does_not_is_none(text: str) -> None:
    assert how_to_answer(text, LABELS) is None


def test_the_sentence_that_says_it_is_shown() -> None:
    assert how_to_answer("Classify it.\n\nReply with the\nlabel.", LABELS) == '"Reply with the"'
    assert how_to_answer("positive, negative (?)", LABELS) == "it names every label"
    assert how_to_answer(f"Reply with {'x' * 200}", LABELS) == f'"Reply with {"x" * 69}..."'


def test_short_labels_are_named_as_they_are_written() -> None:
    assert how_to_answer("Is this an A or a B?", ("A", "B")) is not None
    assert how_to_answer("Is this a big b?", ("A", "B")) is None


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ('Respond in JSON: {"label": "..."}', "label"),
        ('Respond in JSON. {"why": "it is kind", "mood": "positive"}', "mood"),
        ('Respond in JSON: {"mood": "positive|negative", "label": "x"}', "mood"),
        ('Respond in JSON: {"why": "...", "answer": "..."}', "answer"),
        ('Respond in JSON: {"result": {"why": "...", "mood": "negative"}}', "result.mood"),
        ('Respond in JSON: {"mood": <positive or negative>}', "mood"),
        ('Output format:\n{"mood": "..."}', "mood"),
        ("Respond in JSON.", None),
        ('Respond in JSON: {"why": "...", "mood": "..."}', None),
        ('Does {"label": "positive"} hold?', None),
    ],
)
def test_the_field_of_the_label_is_read_from_the_prompts_example(text: str, field: str | None) -> None:
    assert json_field(text, LABELS) == field


def test_examples_of_answers_show_the_field_too() -> None:
    assert json_field("Judge it.", LABELS, ["positive"]) is None
    assert json_field("Judge it.", LABELS, ['{"why": "kind", "mood": "positive"}']) == "mood"


def test_a_hostile_text_takes_no_time() -> None:
    started = time.monotonic()
    for text in (
        "reply " * 20_000,
        "reply" + " " * 100_000,
        "{" * 100_000,
        '"a"' * 50_000,
        "answer, the " * 10_000,
        '{"a":' * 20_000,
    ):
        how_to_answer(text, LABELS)
        json_field(f"Respond in JSON. {text}", LABELS)
    assert time.monotonic() - started < 10


@pytest.mark.parametrize("text", ["Give no reasons.", "Write no more than ten words about it."])
def test_no_before_a_noun_is_no_label(text: str) -> None:
    assert how_to_answer(text, ("yes", "no")) is None


def test_the_field_whose_whole_value_is_a_label_is_the_labels() -> None:
    prompt = 'Reply in JSON: {"reason": "there is no outage", "urgent": "yes"}'
    assert json_field(prompt, ("yes", "no")) == "urgent"
