"""A completion becomes a label by the task's reader, and only ever one of the task's labels as it is written."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs.reading import read_answer

LABELS = ("left", "far left", "right", "N/A", "3", "010")
REGEX = json.dumps({"regex": r"answer:\s*(\w+)"})
FIELD = json.dumps({"json_field": "result.label"})


@pytest.mark.parametrize(
    ("reader", "completion", "label"),
    [
        ('"exact"', " left\n", "left"),
        ('"exact"', "\u00a0left\u2003", "left"),  # all white space, not only the ASCII kind
        ('"exact"', "Left", None),
        ('"exact"', "40 left", None),
        ('"exact"', "N/A", "N/A"),
        ('"exact"', "010", "010"),
        ('"exact"', "10", None),
        ('"first_integer"', "I would say 3, or 4.", "3"),
        ('"first_integer"', "+3", "3"),
        ('"first_integer"', "no number", None),
        ('"first_integer"', "9" * 10_000, None),
        ('"label_in_text"', "It is clearly Left-leaning.", "left"),
        ('"label_in_text"', "far left", "far left"),  # the longer label is the one that is meant
        ('"label_in_text"', "left or right", None),
        ('"label_in_text"', "leftover", None),
        ('"label_in_text"', "left, yes: left", "left"),
        (REGEX, "Thought. answer: right", "right"),
        (REGEX, "answer: wrong", None),
        (json.dumps({"regex": "ri.ht"}), "so right", "right"),  # without a group, the whole match
        (FIELD, '```json\n{"result": {"label": "right"}}\n```', "right"),
        (FIELD, '{"result": {"label": 3}}', "3"),
        (FIELD, '{"result": "right"}', None),
        (FIELD, '{"result": {"label": null}}', None),
        (FIELD, "[" * 50 + "]" * 50, None),
        (FIELD, '{"result":' * 40 + "1" + "}" * 40, None),
    ],
)
def test_readers(reader: str, completion: str, label: str | None) -> None:
    assert read_answer(completion, reader, LABELS).label == label


def test_blank_is_not_a_refusal() -> None:
    assert read_answer(" \n\t", '"exact"', LABELS, ".*")[:4] == (None, True, False, False)


def test_a_refusal_is_an_answer_that_could_not_be_read() -> None:
    assert read_answer("I cannot help with that.", '"exact"', LABELS, "(?i)cannot help").is_refusal
    assert not read_answer("left", '"exact"', LABELS, "left").is_refusal


def test_a_hostile_pattern_is_over_at_once() -> None:
    started = time.process_time()
    read_answer("a" * 200_000 + "!", json.dumps({"regex": "(a+)+$"}), LABELS)
    assert time.process_time() - started < 2


@given(st.text(), st.sampled_from(['"exact"', '"first_integer"', '"label_in_text"', REGEX, FIELD]))
def test_whatever_is_said_it_is_a_label_or_none(completion: str, reader: str) -> None:
    reading = read_answer(completion, reader, LABELS, "sorry")
    assert reading.label is None or reading.label in LABELS
    assert reading.is_blank == (not completion.strip())
