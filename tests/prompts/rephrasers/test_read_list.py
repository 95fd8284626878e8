"""A list is read however it is dressed; prose is never one."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from promptaudit.prompts.rephrasers.read_list import MAX_COMPLETION, MAX_ITEM, read_list


@pytest.mark.parametrize(
    "completion",
    [
        '["a one", "b two"]',
        ' [ "a one",\n "b two" ]\n',
        'Sure! Here they are:\n["a one", "b two"]\nHope this helps.',
        '```json\n["a one", "b two"]\n```',
        'Here:\n```\n["a one", "b two"]\n```\nDone [really].',
        '{"rewordings": ["a one", "b two"]}',
        '{"n": 2, "rewordings": ["a one", "b two"]}',
        '[{"text": "a one"}, {"text": "b two"}]',
        '["a one", "b two", "cut o',
        '["a one", "b two",',
        '["a one", 7, "", null, "b two"]',
        "1. a one\n2. b two",
        "Here are two:\n\n1) a one\n2) b two\n\nThank you.",
        "- a one\n- b two",
        '* "a one",\n* "b two"',
        "• **a one**\n• **b two**",
        "1. “a one”\n2. ‘b two’",  # noqa: RUF001
        "```\n1. a one\n2. b two\n```",
    ],
)
def test_two_texts_are_read(completion: str) -> None:
    assert read_list(completion, 5) == ["a one", "b two"]


@pytest.mark.parametrize(
    "completion",
    [
        "",
        "I am sorry, I cannot help with that.",
        "{}",
        "[]",
        "null",
        '"a one"',
        "[1, 2]",
        '{"a": ["x"], "b": ["y"]}',
        "1.5 million",
    ],
)
def test_what_is_no_list_gives_nothing(completion: str) -> None:
    assert read_list(completion, 5) == []


def test_caps() -> None:
    assert read_list(json.dumps(["a", "b", "c"]), 2) == ["a", "b"]
    assert read_list(json.dumps(["x" * (MAX_ITEM + 1), "b"]), 5) == ["b"]
    assert read_list(" " * MAX_COMPLETION + '["a"]', 5) == []
    assert read_list("[" * 100_000, 5) == []
    assert read_list('["\\ud800", "nul\\u0000", "b"]', 5) == ["b"]


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=40), max_size=8))
@example(["0", "```"])  # no end of the block that the array stands in
def test_a_json_array_reads_back(texts: list[str]) -> None:
    wanted = [text.strip() for text in texts if text.strip()]
    assert read_list(json.dumps(texts), 100) == wanted
    assert read_list(f"```json\n{json.dumps(texts)}\n```", 100) == wanted


@given(st.text(max_size=300))
def test_any_text_is_survived(text: str) -> None:
    assert all(item and item == item.strip() for item in read_list(text, 3))
    assert len(read_list(text, 3)) <= 3
