"""What is a refusal in the usual words, and what only sounds like one."""

from __future__ import annotations

import pytest

from promptaudit.udfs.readers.reading import read_answer

LABELS = ("billing", "delivery")


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "I\u2019m sorry, I cannot assist with this request.",
        "Sorry, I can't answer that.",
        "I cannot classify this message.",
        "I can not provide an answer.",
        "I am unable to determine the category.",
        "Unfortunately, I am not able to help.",
        "As an AI language model, I have no opinion.",
        "As an artificial intelligence I do not judge people.",
        "I must respectfully decline.",
        "I'm afraid I can't do that.",
        "My apologies, I cannot help with this.",
        "Apologies, but I cannot comply.",
        "I'm an AI and cannot judge people.",
        "Désolé, je ne peux pas répondre.",
        "**I won't engage with this.**",
        "Es tut mir leid, dabei kann ich nicht helfen.",
        "Je suis désolé, mais je ne peux pas répondre.",
        "Lo siento, no puedo ayudar con eso.",
        "抱歉,我无法回答这个问题。",
        "申し訳ありませんが、お答えできません。",
    ],
)
def test_a_refusal(text: str) -> None:
    reading = read_answer(text, '"exact"', LABELS)
    assert reading.is_refusal
    assert reading.label is None


@pytest.mark.parametrize(
    "text",
    [
        "The customer is sorry.",
        "Unfortunately, the parcel is late.",
        "I can see two problems here.",
        "It says: I cannot help you.",
        "I think it is about a bill",
        "An AI could answer this",
        "Sorry about the parcel",
        "I am sorry the parcel came late, it is a shipping problem",
        "As an airline passenger the writer is upset",
        "As an aid to the reader: no label",
        "I cannot download my invoice",
        "I can't donate again",
        "no puedox",
        "\u5ba2\u6237\u8bf4\u6211\u4e0d\u80fd\u767b\u5f55",  # the customer says: I cannot log in
        "\u041f\u0438\u0448\u0435\u0442: I cannot help",
    ],
)
def test_no_refusal(text: str) -> None:
    assert not read_answer(text, '"exact"', LABELS).is_refusal


def test_a_label_is_read_before_anything_is_a_refusal() -> None:
    reading = read_answer("I'm sorry, but I can't tell for sure: billing", '"label_in_text"', LABELS)
    assert reading.label == "billing"
    assert not reading.is_refusal


def test_a_tasks_own_pattern_stands_in_their_place() -> None:
    assert not read_answer("I'm sorry, I can't help.", '"exact"', LABELS, "^NO$").is_refusal
    assert read_answer("NO", '"exact"', LABELS, "^NO$").is_refusal


def test_an_open_answer_is_no_refusal_of_itself() -> None:
    assert not read_answer("I'm sorry, I can't help.", '"open"', ()).is_refusal
