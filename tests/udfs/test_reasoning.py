"""A reasoning block before the answer is no part of it, and one that never ends is no answer."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptaudit.udfs.readers.reading import read_answer
from promptaudit.udfs.reasoning import parted
from promptaudit.udfs.scoring.verdict import read_verdict

LABELS = ("0", "1")
OPENINGS = (
    *("<think>", "<thinking>", "<reasoning>", "<seed:think>", "[THINK]", "\u25c1think\u25b7", "<|begin_of_thought|>"),
    *("<|start_thinking|>", "<unused94>thought", "<|channel|>analysis<|message|>"),
)


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
        ("<think>a</thinking>1", "a", "1"),  # closed by another tag of its kind
        ('<think budget="3">a</think>1', "a", "1"),
        ("<seed:think>a</seed:think>1", "a", "1"),
        ("[THINK]a[/THINK]1", "a", "1"),
        ("\u25c1think\u25b7a\u25c1/think\u25b71", "a", "1"),
        ("<|begin_of_thought|>a<|end_of_thought|>\n1", "a", "\n1"),
        ("<|START_THINKING|>a<|END_THINKING|>1", "a", "1"),
        ("<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>1", "a", "1"),
        ("analysisWe need 0.assistantfinal1", "We need 0.", "1"),
        ("\ufeff<think>a</think>1", "a", "1"),  # behind what a chat template writes
        ("<s> <think>a</think> 1", "a", " 1"),
        ("<|im_start|>assistant\n<think>a</think>1", "a", "1"),
        ("<\uff5cbegin\u2581of\u2581sentence\uff5c><think>a</think>1", "a", "1"),
        ("<think>as <reasoning>b</reasoning> has it</thinking>1", "as <reasoning>b</reasoning> has it", "1"),
        ("<think />1", None, None),
        ("<no_think>1", None, None),
        ("<thought experiment>1", None, None),
        ("<analysis of text>1", None, None),
        ("Because:\n[Reasoning] so\n1", None, None),
        ("1\n<think>why</think>", None, None),
        ("analysis", None, None),
        ("1 <think>why</think>", None, None),
        ("1</b>", None, None),
        ("", None, None),
    ],
)
def test_what_is_reasoning(completion: str, reasoning: str | None, answer: str | None) -> None:
    assert parted(completion) == (reasoning, completion if answer is None else answer, False)


@pytest.mark.parametrize("opening", OPENINGS)
def test_reasoning_that_never_ends_is_no_answer(opening: str) -> None:
    """It was read as the answer: "yes" of "The text might be yes, but"."""
    for completion in (
        f"{opening}It might be 0, but",
        f"\n{opening.upper()}0",
        f"<think>a</think>\n{opening}1",
        opening,
    ):
        assert (parted(completion).answer, parted(completion).is_cut) == ("", True)
        for reader in (
            '"exact"',
            '"label"',
            '"first_integer"',
            '"label_in_text"',
            '"open"',
            '{"option_letter": ["0", "1"]}',
        ):
            label, is_blank, _, is_read, reason = read_answer(completion, reader, LABELS)
            assert (label, is_blank, is_read, reason) == (None, False, False, "its reasoning never ends")


@pytest.mark.parametrize(
    "before",
    [
        *("\ufeff", "\u200b", "<s>", "<bos>", "<|im_start|>assistant\n", "<|assistant|>", "assistant\n", "Sure!\n"),
        *("<|begin\u2581of\u2581sentence|>", "<\uff5cbegin\u2581of\u2581sentence\uff5c>", "<think>a</think>Well:\n"),
        "<think>It has <reasoning>...</reasoning>. ",
    ],
)
def test_reasoning_that_never_ends_is_no_answer_behind_other_text_either(before: str) -> None:
    reading = read_answer(f"{before}<think>\nIt might be 0", '"label_in_text"', LABELS)
    assert (reading.label, reading.reason) == (None, "its reasoning never ends")


def test_an_answer_before_reasoning_that_never_ends_is_one() -> None:
    completion = "1\n<think>It might be 0"
    assert parted(completion) == ("It might be 0", "1\n", True)
    assert read_answer(completion, '"label_in_text"', LABELS).label == "1"


@pytest.mark.parametrize(
    "piece", ["\n<think>", "<s>", "<reasoning></reasoning>", "<think></think>", "<think>a</thinking>", "[think"]
)
def test_a_hostile_completion_of_many_tags_is_over_at_once(piece: str) -> None:
    started = time.process_time()
    parted("<think>" + piece * (300_000 // len(piece)))
    assert time.process_time() - started < 2


@given(st.text(st.sampled_from("<>/think 1\n"), max_size=60))
def test_the_answer_ends_the_completion_and_nothing_is_read_twice(text: str) -> None:
    shown = parted(text)
    assert text.endswith(shown.answer) or (shown.is_cut and shown.answer in text)
    assert (shown.reasoning is None) == (shown.answer == text)


def test_readers_and_judges_replies_skip_it() -> None:
    completion = "<think>Is it 0? No.</think>\n1"
    for reader in ('"exact"', '"first_integer"', '"label_in_text"', '{"regex": "^[01]$"}'):
        assert read_answer(completion, reader, LABELS).label == "1"
    assert read_answer("<think>1</think>", '"exact"', LABELS).is_blank
    assert read_verdict('<think>{"match": false}</think>{"match": true}')[:2] == (True, None)
    assert read_verdict('<think>hm{"match": true}')[:2] == (None, None)
