"""A closed reasoning block is no part of the answer; anything else is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs.reading import read_answer
from udfs.reasoning import parted
from udfs.scoring.verdict import read_verdict

LABELS = ("0", "1")


@pytest.mark.parametrize(
    ("completion", "reasoning", "answer"),
    [
        ("<think>\nIt is about tax.\n</think>\n\n1", "It is about tax.", "\n\n1"),
        ("<THINK>a</Think>1", "a", "1"),
        ("<think></think>1", "", "1"),
        (" <think>a</think> <reasoning>b</reasoning>1", "a\nb", "1"),
        ("the template opened it</think>\n1", "the template opened it", "\n1"),
        ("<think>a <think> b</think>1", "a <think> b", "1"),
        ("<thinking>no </think> yet</thinking>0", "no </think> yet", "0"),
        ("<think>it never ends", None, None),
        ("<think>a</thinking>1", None, None),
        ("1 <think>why</think>", None, None),
        ("1</b>", None, None),
        ("", None, None),
    ],
)
def test_what_is_reasoning(completion: str, reasoning: str | None, answer: str | None) -> None:
    assert parted(completion) == (reasoning, completion if answer is None else answer)


@given(st.text(st.sampled_from("<>/think 1\n"), max_size=60))
def test_the_answer_ends_the_completion_and_nothing_is_read_twice(text: str) -> None:
    shown = parted(text)
    assert text.endswith(shown.answer)
    assert (shown.reasoning is None) == (shown.answer == text)


def test_readers_and_judges_replies_skip_it() -> None:
    completion = "<think>Is it 0? No.</think>\n1"
    for reader in ('"exact"', '"first_integer"', '"label_in_text"', '{"regex": "^[01]$"}'):
        assert read_answer(completion, reader, LABELS).label == "1"
    assert read_answer("<think>1</think>", '"exact"', LABELS).is_blank
    assert read_answer("<think>1", '"exact"', LABELS).label is None
    assert read_verdict('<think>{"match": false}</think>{"match": true}')[:2] == (True, None)
    assert read_verdict('<think>hm{"match": true}')[:2] == (None, None)
