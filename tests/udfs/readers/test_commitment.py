"""What a text commits to: by hand, and held to the half of the recorded answers that the rules were made on."""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from typing import Any

import pytest

from promptaudit.udfs.readers.answer_end import answer_end
from promptaudit.udfs.readers.commitment import DENIED, HEDGED, NONE, OUT, OUTSIDE, TWO, committed, sign_of
from promptaudit.udfs.readers.reading import read_answer
from tests.support.recorded_answers import read

A, B = sign_of(0), sign_of(1)
MOODS = ("positive", "negative", "neutral")
STARS = ("1", "2", "3", "4", "5")

MOST_MISREAD = {
    "label": 0.005,
    "label_in_text": 0.025,
    "first_integer": 0.02,
    "json_field": 0.0,
    "regex": 0.0,
    "option_letter": 0.005,
    "math_equal": 0.25,
}
"""Share of the known texts that a reader may misread: what it reaches, and no more."""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"{A}", 0),
        (f"The answer is {A}.", 0),
        (f"not {A} but {B}", 1),
        (f"It is not {A}, it is {B}.", 1),
        (f"{A} at first sight, but I would say {B}.", 1),
        (f"I would say {A}. No, wait: {B}.", 1),
        (f"- {A}: the food\n- {B}: the service\n\nOverall: {B}", 1),
        (f"Options: {A}, {B}. The label is {A}.", 0),
        (f'The text says "so {A}", and I call it {B}.', 1),
        (f"If I had to choose, I'd say {A}.", 0),
        (f"There is no doubt that it is {A}.", 0),
        (f"Hard to tell, but I'd go with {A}.", 0),
        (f"It is {A}.", 0),
        (f"not {A}", DENIED),
        (f"{A} is it not.", DENIED),
        (f"It could be {A}, but I cannot say.", HEDGED),
        (f"If the guest likes spice it is {A}.", HEDGED),
        (f"Is it {A}?", HEDGED),
        (f"{A}, provided that the date is right.", HEDGED),
        (f"{A} or {B}", TWO),
        (f"The answer is {A}. The answer is {B}.", TWO),
        (f"I would give it {OUTSIDE}.", OUT),
        ("nothing", NONE),
    ],
)
def test_what_is_given_and_why_not(text: str, found: int | str) -> None:
    result = committed(text)
    assert found in (result.answer, result.reason), result


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("positive\n\nReview: It broke.\nSentiment: negative", "positive"),
        ("B\n\nQuestion: What is 1+1?\nAnswer: C", "B"),
        ("B\nQ: And 2+2? A: C", "B"),
        ("**Positive**\n\nReason: the tone", "**Positive**\n\nReason: the tone"),
        ("Question: Which?\nAnswer: B", "Question: Which?\nAnswer: B"),
    ],
)
def test_an_answer_ends_before_a_turn_that_the_model_invented(text: str, answer: str) -> None:
    assert text[: answer_end(text)].strip() == answer


@pytest.mark.parametrize(
    ("reader", "labels", "text", "label"),
    [
        ("label_in_text", ("HR", "IT", "Finance"), "It asks for an invoice.", None),
        ("label_in_text", ("HR", "IT", "Finance"), "The laptop is broken; IT", "IT"),
        ("label_in_text", ("US", "UK"), "That tells us nothing.", None),
        ("label_in_text", ("yes", "no"), "I have no access to the file.", None),
        ("label_in_text", ("yes", "no"), "No, there is yes in the text.", "no"),
        ("label", MOODS, "**Positive**\n- warm bread\n\n**Overall:** negative", None),
        ("label", MOODS, "Not\npositive", None),
        ("label_in_text", MOODS, "Das ist nicht positive.", None),
        ("label_in_text", MOODS, "Service: positive\nFood: negative", None),
        ("label_in_text", MOODS, "Service: positive\nFood: negative\nOverall: negative", "negative"),
        ("label_in_text", MOODS, "To decide whether it is positive I need more text.", None),
        ("first_integer", STARS, "On a scale of 1 to 5, I would rate this a 4.", "4"),
        ("first_integer", STARS, "5点满分，我给4分", "4"),
        ("first_integer", STARS, "von 1 bis 5: 4", "4"),
        ("first_integer", STARS, "Out of 5, a 4", "4"),
        ("first_integer", STARS, "Step 1: read it. Step 2: count.\nScore: 4", "4"),
        ("first_integer", STARS, "1. clear\n2. short\nRating: 4", "4"),
        ("first_integer", STARS, "★★★★☆", "4"),
        ("first_integer", STARS, "3.6", None),
        ("first_integer", STARS, "3,5", None),
        ("first_integer", STARS, "3½", None),
        ("first_integer", STARS, "2-3", None),
        ("first_integer", STARS, "between 3 and 4", None),
        ("first_integer", STARS, "40 Environment", None),
        ("first_integer", ("40", "50"), "40 Environment", "40"),
        ({"json_field": "label"}, ("yes", "no"), '{"Label": "Yes.", "reason": "it is not no"}', "yes"),
        ({"json_field": "label"}, ("yes", "no"), '{"label": ["no"]} and {braces}', "no"),
        ({"json_field": "label"}, ("yes", "no"), '{"label": ["yes", "no"]}', None),
        ({"json_field": "label"}, ("yes", "no"), '{"label": "yes"}\nWait, no. {"label": "no"}', "no"),
        ({"json_field": "label"}, ("yes", "no"), '{"label": "yes"}\n{"label": "no"}', None),
        ({"json_field": "label"}, ("yes", "no"), "{'label': 'yes', 'why': 'it's so'}", "yes"),
        ({"json_field": "a.b"}, ("yes", "no"), '{"a": {"b": "no", "c": "yes', "no"),
        ({"regex": "(?i)answer: (.+)"}, ("yes", "no"), "Answer: **Yes.**", "yes"),
    ],
)
def test_readers_read_as_a_person_does(
    reader: str | dict[str, str], labels: tuple[str, ...], text: str, label: str | None
) -> None:
    assert read_answer(text, json.dumps(reader), labels).label == label


def test_the_known_answers_are_read_as_people_read_them() -> None:
    outcomes: dict[str, Counter[str]] = defaultdict(Counter)
    for each in read("known"):
        outcomes[each.reader][each.outcome] += 1
    misread = {reader: n["misread"] / n.total() for reader, n in outcomes.items()}
    assert misread.keys() == MOST_MISREAD.keys()
    assert {reader: share for reader, share in misread.items() if share > MOST_MISREAD[reader]} == {}
    for reader in ("json_field", "regex", "label_in_text"):
        assert outcomes[reader]["unread"] <= 0.1 * outcomes[reader].total()


CONFIDENCE = tuple(map(str, range(101)))
PLAIN: list[tuple[Any, tuple[str, ...], str, str | None]] = [
    ("first_integer", ("1", "2", "3", "4", "5"), "3\nReason: fine", "3"),
    ("first_integer", ("1", "2", "3", "4", "5"), "Score: 4\nReason: two typos, 3 missing points", "4"),
    ("first_integer", ("0", "1"), "0\nReason: the text has 1 insult", "0"),
    ("first_integer", ("1", "2", "3", "4", "5"), "Score: 4\nAnswer: fine", "4"),
    ("first_integer", ("1", "2", "3", "4", "5"), "4\nErrors: 2", "4"),
    ("first_integer", ("1", "2", "3", "4", "5"), "Bewertung: 4\nFehler: 1", "4"),
    ("label", ("0", "1"), "1\nReason: toxic", "1"),
    ("first_integer", ("1", "2", "3", "4", "5"), "3. Neutral", "3"),
    ("first_integer", ("1", "2", "3", "4", "5"), "2) Disagree", "2"),
    ("first_integer", ("1", "2", "3", "4", "5"), "**4. Agree**", "4"),
    ("first_integer", ("1", "2", "3", "4", "5"), "Answer:\n4. Agree", "4"),
    ("first_integer", ("1", "2", "3", "4", "5"), "4、同意", "4"),
    ("first_integer", ("10", "20", "30"), "30. Economy", "30"),
    ({"json_field": "score"}, ("1", "2", "3", "4", "5"), '{"score":"4. Agree"}', "4"),
    ("first_integer", ("1", "2", "3", "4", "5"), "4) Agree because it has 2 merits", "4"),
    ("label_in_text", ("low", "medium", "high"), "The risk is high.", "high"),
    ("label_in_text", ("low", "medium", "high"), "low-medium", None),
    ("label_in_text", ("good", "bad"), "The product is good", "good"),
    ("label_in_text", ("good", "bad"), "It was not good, it was bad", "bad"),
    ("label_in_text", ("May", "June"), "It was in May", "May"),
    ({"regex": "([1-5])"}, ("1", "2", "3", "4", "5"), "4/5", "4"),
    (
        {"regex": "(positive|negative|neutral)"},
        ("positive", "negative", "neutral"),
        "positive, because it is not negative",
        "positive",
    ),
    ({"regex": "Rating: (\\d)"}, ("1", "2", "3", "4", "5"), "Rating: 4\nRating: 5", "4"),
    (
        {"option_letter": ("A", "B", "C", "D")},
        ("A", "B", "C", "D"),
        "The answer is B. Actually this is well known. A famous example is Paris.",
        "B",
    ),
    ({"option_letter": ("A", "B", "C", "D")}, ("A", "B", "C", "D"), "Answer: B. Look at option C: it is wrong.", "B"),
    ({"option_letter": ("A", "B", "C", "D")}, ("A", "B", "C", "D"), "B. Sorry, I cannot say why A fails", "B"),
    ({"option_letter": ("A", "B", "C", "D")}, ("A", "B", "C", "D"), "The answer is B. Oh, and D is a distractor.", "B"),
    ({"option_letter": ("A", "B", "C", "D")}, ("A", "B", "C", "D"), "Answer: B. To edit the file, press C.", "B"),
    ({"option_letter": ("A", "B", "C", "D")}, ("A", "B", "C", "D"), "The answer is B. Wait, I mean C.", "C"),
    ("first_integer", ("0", "25", "50", "75", "100"), "75%", "75"),
    ("first_integer", CONFIDENCE, "Confidence: 80%", "80"),
    ("first_integer", CONFIDENCE, "about 80 percent", "80"),
    ("first_integer", ("1", "2"), "Option 2", "2"),
    ("first_integer", ("1", "2", "3", "4", "5", "6", "7", "8", "9", "10"), "seven out of ten", "7"),
    (
        "label_in_text",
        ("entailment", "contradiction", "neutral"),
        "If the premise is true, the hypothesis is definitely false, so the label is contradiction.",
        "contradiction",
    ),
    ("label_in_text", ("entailment", "contradiction", "neutral"), "The hypothesis may be true, so neutral", "neutral"),
    ("label_in_text", ("spam", "ham"), "This would be considered spam.", "spam"),
    ("label_in_text", ("entailment", "contradiction", "neutral"), "This would be a contradiction.", "contradiction"),
    ("label_in_text", ("yes", "no"), "There is no evidence, so no", "no"),
    ("label_in_text", ("A*", "A", "B"), "A*", "A*"),
    ("label_in_text", ("__init__", "x"), "__init__", "__init__"),
    (
        {"json_field": "label"},
        ("positive", "negative", "neutral"),
        '{"label": null, "rejected": {"label": "negative"}}',
        None,
    ),
    ({"json_field": "label"}, ("positive", "negative", "neutral"), '{"result":{"label":"positive"}}', None),
    ("label_in_text", ("positive", "negative", "neutral"), "The sentiment is positive.", "positive"),
    ("label_in_text", ("positive", "negative", "neutral"), "Label: positive\nReason: not negative at all", "positive"),
    ({"option_letter": ["A", "B", "C", "D"]}, ("A", "B", "C", "D"), "\u2192 B", "B"),
    ({"option_letter": ["A", "B", "C", "D"]}, ("A", "B", "C", "D"), "=> B", "B"),
    ({"option_letter": ["A", "B", "C", "D"]}, ("A", "B", "C", "D"), "\u21d2 B", "B"),
    ({"option_letter": ["A", "B", "C", "D"]}, ("A", "B", "C", "D"), "> B", None),
]
"""Answers of every day, which a rule for the harder ones must not take away."""


@pytest.mark.parametrize(("reader", "labels", "text", "label"), PLAIN)
def test_plain_answers_are_read(reader: Any, labels: tuple[str, ...], text: str, label: str | None) -> None:
    assert read_answer(text, json.dumps(reader), labels).label == label


@pytest.mark.parametrize(
    "piece",
    [
        "1 - x, ",
        "1 (",
        "1=a, ",
        "\n\n" + "-" * 3000,
        "⭐ ",
        "answer the ",
        "if i had to choose ",
        '"positive ',
        "positive, ",
    ],
)
def test_no_text_takes_long(piece: str) -> None:
    text = piece * (50_000 // len(piece))
    for reader, labels in (("label_in_text", MOODS), ("first_integer", STARS), ({"json_field": "a"}, MOODS)):
        read_answer("x", json.dumps(reader), labels)  # what is compiled once
        started = time.process_time()
        read_answer(text, json.dumps(reader), labels)
        assert time.process_time() - started < 3
