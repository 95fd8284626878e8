"""Which part of a chat prompt is reworded."""

from __future__ import annotations

import time

import pytest

from promptaudit.cards.reworded_part import candidates, named_part, placed
from promptaudit.prompts.messages import Messages
from promptaudit.registry.errors import UsageError

LABELS = ("positive", "negative")
SHOT = (("user", "Review: Great."), ("assistant", "positive"))


def first(*messages: tuple[str, str]) -> str:
    return candidates(messages, LABELS)[0].of(messages)


@pytest.mark.parametrize(
    ("system", "asked", "reworded"),
    [
        ("Classify the review.", "{input}", "Classify the review."),
        ("Classify the review.\n\nReply with the label alone.", "Review: {input}", "Classify the review."),
        ("You are helpful. Judge the mood.\nRules:\n- be kind", "{input}", "Judge the mood."),
        ("You are a helpful assistant.", 'Judge this review: "{input}"', "Judge this review:"),
        ("You are a helpful assistant.", "Store: Hill, review: {input}", "You are a helpful assistant."),
        ("Judge the review of {store} by mood.", "{input}", "Judge the review of {store} by mood."),
        ("You are a judge of moods.", "Store: {store}\nText: {input}", "You are a judge of moods."),
        ("You are a judge.", 'Use the form {"a": 1} {input}', "You are a judge."),
        ("You are a helpful assistant.", "Judge its mood.\n\nText: {input}", "Judge its mood."),
        ("You are a judge of moods.", "Here is the review:\n{input}", "You are a judge of moods."),
        ("Labels: positive, negative", "## Review\n{input}\n\nIs the writer pleased?", "Is the writer pleased?"),
        ("Answer positive or negative.", "{input}", "Answer positive or negative."),
        ('Judge it.\n{"mood":\n "positive"}', "{input}", "Judge it."),
        ('Judge the mood, and then answer with JSON: {"mood": "good"}', "Review:\n{input}", "Judge the mood"),
        ('Read the review and reply with JSON: {"mood": "good"}', "Review:\n{input}", "Read the review"),
        (
            'Read it, decide and say who wins and reply with JSON: {"a": 1}',
            "{input}",
            "Read it, decide and say who wins",
        ),
        ('Give the mood as JSON: {"mood": "good"}', "{input}", "Give the mood as JSON:"),
        ("判断情感。 评论：", "{input}", "判断情感。"),  # noqa: RUF001
    ],
)
def test_what_says_what_to_do_is_reworded(system: str, asked: str, reworded: str) -> None:
    assert first(("system", system), *SHOT, ("user", asked)) == reworded


def test_turns_that_are_examples_are_not_reworded() -> None:
    messages = (("user", "Judge the review of a friend."), ("assistant", "positive"), ("user", "{input}"))
    assert candidates(messages, LABELS) == []


@pytest.mark.parametrize("asked", ['- Give the mood as: {"mood": 1}', 'Its form: {"mood": 1}', 'As {"mood": 1}'])
def test_lists_captions_and_short_beginnings_are_not_reworded(asked: str) -> None:
    assert candidates((("user", f"{asked}\n{{input}}"),), LABELS) == []


CHAT: Messages = (
    ("system", "Judge {store} kindly.\nSay why."),
    ("user", "Say why: {input}"),
    ("assistant", "Judge it."),
)


def test_a_part_is_named_by_its_text_and_stands_once() -> None:
    part = named_part(CHAT, "Judge {store} kindly.", "p.json")
    assert placed(CHAT, part, "p.json")[0] == ("system", "{instruction}\nSay why.")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "Judge the store.",
            "'Judge the store.' does not stand in a system or user turn of p.json; nearest: 'Judge {store}",
        ),
        ("Judge it.", "'Judge it.' does not stand in a system or user turn"),
        ("Say why", "'Say why' stands 2 times in p.json, in messages.0, messages.1; give more of the text around it"),
        ("", "does not stand"),
    ],
)
def test_a_text_that_does_not_stand_in_one_place_is_told_with_the_nearest(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        named_part(CHAT, text, "p.json")
    assert message in str(caught.value)


def test_a_placeholder_is_not_cut_in_two() -> None:
    with pytest.raises(UsageError, match="'store' begins or ends inside a placeholder"):
        placed(CHAT, named_part(CHAT, "store", "p.json"), "p.json")


def test_a_hostile_text_takes_no_time() -> None:
    started = time.monotonic()
    for text in ("#" * 100_000 + "x", "a: " * 30_000, "x. " * 30_000, "<" * 100_000, "\n " * 50_000 + "x"):
        candidates((("system", text), ("user", "{input}")), LABELS)
        with pytest.raises(UsageError):
            named_part((("system", text),), "y" * 10_000, "p.json")
    assert time.monotonic() - started < 20
