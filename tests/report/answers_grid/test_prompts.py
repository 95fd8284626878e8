from __future__ import annotations

import json
from typing import Any

import pytest

from promptaudit.report.answers_grid.prompts import filled_with, messages_of, options_of, visible


def sample(**given: Any) -> dict[str, Any]:
    return {"input": None, "fields": None, **given}


def test_what_is_invisible_is_escaped_and_lines_stay() -> None:
    assert visible("a\r\nb\n\tc\u202e\x00", 20) == "a\nb\n\\tc\\u202e\\x00"
    assert visible("abcdef", 3) == "abc…"


def test_each_piece_between_placeholders_is_cut_for_itself() -> None:
    prompt = json.dumps(
        [{"role": "system", "content": "be brief"}, {"role": "user", "content": "x" * 9 + "{input}" + "y" * 9}]
    )
    assert messages_of({"prompt": prompt}, 4) == [["system", "be b…"], ["user", "xxxx…{input}yyyy…"]]


@pytest.mark.parametrize("prompt", [None, "", "no JSON", '"text"', "{}", "[1, null]", "[[1]]"])
def test_a_prompt_that_is_none_has_no_messages(prompt: str | None) -> None:
    assert messages_of({"prompt": prompt}, 300) == []
    assert options_of({"template": prompt}, 300) is None
    assert filled_with(sample(fields=prompt), 300) == {}


def test_a_sample_puts_in_its_text_and_its_columns() -> None:
    filled = filled_with(sample(input="which?", fields='{"hint": "b\\u0000", "none": null}'), 300)
    assert filled == {"hint": "b\\x00", "input": "which?", "question": "which?"}
