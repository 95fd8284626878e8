"""Which reader would take more of the first answers: by the readers themselves, and none that reads another label."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from promptaudit.registry.task_cards import TaskCard
from promptaudit.system.keys import as_json
from promptaudit.udfs.readers.better_reader import SeenAnswer, better_reader, in_yaml
from promptaudit.udfs.readers.reading import read_answer

JSON = ('{"verdict": "positive", "other": "negative"}', '{"verdict": "negative", "not": "positive"}')
WORDS, MARKS = ("positive", "negative"), ("0", "1")


def answers(*completions: str, labels: tuple[str, ...] = WORDS, reader: str = "exact") -> list[SeenAnswer]:
    return [SeenAnswer(each, labels, read_answer(each, as_json(reader), labels).label) for each in completions]


@pytest.mark.parametrize(
    ("first", "reader", "n_more"),
    [
        (answers("positive", "Negative.", "**positive**"), "label", 2),
        (answers("positive", "It is negative.", "Positive!"), "label_in_text", 2),
        (answers("1", "1, yes", "00, I am sure", labels=MARKS), "first_integer", 2),
        (answers(*JSON), {"json_field": "verdict"}, 2),
        (answers("I say \u2212 1", "It is 0", "1, I think", labels=("-1", "0", "1")), "first_integer", 3),
        # a sentence about the score holds a number, too
        (
            answers(*(f'{{"why": "it keeps {n} of 5", "score": {n + 1}}}' for n in range(3)), labels=("1", "2", "3")),
            {"json_field": "score"},
            3,
        ),
        (answers("<think>negative?</think> It is positive."), "label_in_text", 1),
    ],
)
def test_the_reader_that_takes_the_most_is_named(first: list[SeenAnswer], reader: object, n_more: int) -> None:
    found = better_reader(first)
    assert found is not None
    assert found[:2] == (reader, n_more)
    text = as_json(reader)
    assert all(read_answer(each, text, first[0].labels).label == label for each, label in found.examples)


def test_a_pattern_is_named_where_two_labels_stand_and_one_is_the_answer() -> None:
    first = answers("Not negative. Answer: positive", "Neither positive, so the label is **negative**")
    found = better_reader(first)
    assert found is not None
    reader, n_more, _ = found
    assert n_more == 2
    text = as_json(reader)
    assert [read_answer(each.completion, text, WORDS).label for each in first] == ["positive", "negative"]
    card: Any = yaml.safe_load(f"reader: {in_yaml(reader)}")
    assert card == {"reader": reader}


@pytest.mark.parametrize(
    "first",
    [
        answers("hm", "I cannot say"),  # nobody reads these
        answers("positive", "negative"),  # all are read
        answers("It is positive and negative"),  # two labels, and none is committed to
        # the first number is another label than the one that is read already
        [SeenAnswer("0 or 1: 1", MARKS, "1"), SeenAnswer("0.", MARKS, None), SeenAnswer("1 or 0", MARKS, "0")],
    ],
)
def test_no_reader_is_named_that_takes_none_or_reads_another_label(first: list[SeenAnswer]) -> None:
    assert better_reader(first) is None


@pytest.mark.parametrize("reader", ["label_in_text", {"json_field": "verdict"}, {"regex": r"it's (\w+)\b"}])
def test_a_reader_is_written_as_a_card_takes_it(reader: str | dict[str, str]) -> None:
    text = f"data: {{path: rows.csv}}\nlabels: [positive, negative]\ninstruction: Say it.\nreader: {in_yaml(reader)}\n"
    card = TaskCard.model_validate(yaml.safe_load(text))
    read = card.reader if isinstance(card.reader, str) else card.reader.model_dump()
    assert read == reader
