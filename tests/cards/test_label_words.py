"""Words that a prompt asks for and that are no labels."""

from __future__ import annotations

import pytest

from promptaudit.cards.label_words import truth_of, unlike_line, words_asked_for
from promptaudit.registry.registry import load_registry


@pytest.mark.parametrize(
    ("text", "labels", "words"),
    [
        ("Is it urgent? Answer yes or no.", ["TRUE", "FALSE"], ["yes", "no"]),
        ("Reply with 'yes'/'no' only.", ["1", "0"], ["yes", "no"]),
        ("Antworte mit ja oder nein.", ["TRUE", "FALSE"], ["ja", "nein"]),
        ("Classify the review as positive or negative.", ["0", "1"], ["positive", "negative"]),
        ("Classify: negative, neutral or positive.", ["0", "1", "2"], ["negative", "neutral", "positive"]),
        ("Is the review or comment good or bad?", ["0", "1"], ["good", "bad"]),
        ("Answer positive or negative. Do not use quotes or periods.", ["0", "1"], ["positive", "negative"]),
        ("Positive or negative?", ["0", "1"], ["Positive", "negative"]),
        # labels that are named, whole numbers that are ends of a scale, and words that answer nothing
        ("Answer yes or no.", ["Yes", "No"], []),
        ("Rate from 1 to 3, higher or lower.", ["1", "2", "3"], []),
        ("Decide which emotion the tweet or post shows.", ["joy", "anger"], []),
        ("Reply with the label alone. Give no reasons or thoughts.", ["x", "y"], []),
        ("Answer in one or two words.", ["x", "y"], []),
        ("Reply briefly or politely.", ["x", "y"], []),
        ("Classify the movie or book review.", ["0", "1"], []),
        ("Classify the tweet or message.", ["0", "1"], []),
        ("Tweet or message: {input}", ["0", "1"], []),
        ("Classify the ticket by web/phone.", ["0", "1"], []),
        ("Use the channel, such as web or phone.", ["0", "1"], []),
        ("Answer in English or German.", ["pos", "neg"], []),
        ("Return JSON or XML.", ["pos", "neg"], []),
        ("Answer in lowercase or uppercase.", ["pos", "neg"], []),
        ("Classify the review as positive or negative.", ["0", "1", "2"], []),
    ],
)
def test_words_are_found_where_a_prompt_asks_for_them_and_for_no_label(
    text: str, labels: list[str], words: list[str]
) -> None:
    assert list(words_asked_for(text, labels)) == words


def test_truth_has_words_and_other_labels_have_none() -> None:
    assert truth_of(["yes", "no"], ["FALSE", "TRUE"]) == {"FALSE": "no", "TRUE": "yes"}
    assert truth_of(["Ja", "Nein"], ["0", "1"]) == {"0": "Nein", "1": "Ja"}
    assert truth_of(["yes", "no"], ["a", "b"]) == {}
    assert truth_of(["good", "bad"], ["0", "1"]) == {}
    assert truth_of(["yes", "no"], ["TRUE", "true"]) == {}


def test_the_line_names_both_and_what_to_write() -> None:
    assert unlike_line(["negative", "positive"], ["0", "1"], "tasks/mine.yml") == (
        "the prompt asks for 'negative' or 'positive', and the labels are '0', '1': an answer as asked would be no label; in "
        "tasks/mine.yml write labels: ['negative', 'positive'], and below data gold_labels: {'0': '...', '1': '...'}, each "
        "value with its label"
    )


def test_no_card_that_ships_asks_for_other_words() -> None:
    registry = load_registry()
    for name in registry.entries["tasks"]:
        task = registry.task(name)
        text = "\n".join((task.instruction, task.output_format, *(each.content for each in task.messages)))
        assert task.kind != "classification" or words_asked_for(text, task.label_names) == ()
