"""The likeliest option, from the options' own log-likelihoods and from the first token's likeliest ones."""

from __future__ import annotations

import json
import math
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptaudit.engines.openai_api.completions import read_completion
from promptaudit.udfs.readers.option_letter import OptionReading
from promptaudit.udfs.scoring.option_loglikelihood import (
    NO_LOGLIKELIHOODS,
    NO_OPTION,
    TIE,
    first_token,
    from_loglikelihoods,
    from_top_logprobs,
)

SIGNS = ("A", "B", "C", "D")
nats = st.one_of(st.floats(max_value=0), st.none(), st.just(math.nan))


@pytest.mark.parametrize(
    ("given_nats", "n_units", "expected"),
    [
        ([-3.0, -1.0, -2.0], None, 1),
        ([-4.0, -3.0], None, 1),
        ([-4.0, -3.0], [4, 2], 0),  # -1 a token against -1.5
        ([-4.0, -4.0], [4, 2], 0),
        ([-math.inf, -1000.0], None, 1),  # impossible is a value
        ([-math.inf, -1000.0], [1, 1], 1),
        ([-2.0], None, 0),
        ([-2.0, -2.0, -5.0], None, TIE),
        ([-2.0, -5.0, -5.0], None, 0),  # equal, but not the largest
        ([-4.0, -2.0], [2, 1], TIE),
        ([-math.inf, -math.inf], None, TIE),
        ([], None, NO_LOGLIKELIHOODS),
        ([], [], NO_LOGLIKELIHOODS),
        ([-1.0, None], None, NO_LOGLIKELIHOODS),
        ([-1.0, math.nan], None, NO_LOGLIKELIHOODS),
        ([-1.0, -2.0], [1, 0], NO_LOGLIKELIHOODS),  # an option without a token
    ],
)
def test_largest_log_likelihood(given_nats: list[float | None], n_units: list[int] | None, expected: int | str) -> None:
    assert from_loglikelihoods(given_nats, n_units) == reading(expected)


def test_units_of_other_options_are_refused() -> None:
    with pytest.raises(ValueError, match="got 2 and 1"):
        from_loglikelihoods([-1.0, -2.0], [1])


@given(st.lists(nats, max_size=6))
def test_one_unit_each_changes_nothing(values: list[float | None]) -> None:
    assert from_loglikelihoods(values, [1] * len(values)) == from_loglikelihoods(values)


@given(st.lists(st.floats(-1e6, 0), min_size=1, max_size=6), st.data())
def test_the_option_found_is_the_largest_wherever_it_stands(values: list[float], data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(values))))
    found = from_loglikelihoods(values)
    moved = from_loglikelihoods([values[place] for place in order])
    assert found.reason == moved.reason
    if found.index is not None and moved.index is not None:
        assert order[moved.index] == found.index
        assert values[found.index] == max(values)


@pytest.mark.parametrize(
    ("top", "expected"),
    [
        ({"A": -2.0, "B": -0.5, "C": -3.0}, 1),
        ({" B": -0.5, "\u0120A": -1.0, "\u2581C": -3.0}, 1),
        ({"(B": -0.5, "A)": -1.0}, 1),
        ({'"B"': -0.5, "[A]": -1.0}, 1),
        ({"b": -0.5, "A": -1.0}, 1),
        ({"The": -0.1, "B": -4.0, "A": -5.0}, 1),  # only what names an option is compared
        ({"BA": -0.1, "A": -5.0}, 0),
        ({"B.": -0.1, "A": -5.0}, 0),  # a full stop is no bracket
        ({"C": -7.0}, 2),
        ({"A": -math.inf, "B": -9.0}, 1),
        ({"A": math.nan, "B": -9.0}, 1),
        # e^-1 + e^-1.1 = .701 against e^-.6 = .549
        ({"A": -0.6, "B": -1.0, " B": -1.1}, 1),
        ({"A": -800.0, "B": -800.5, "(B": -800.6}, 1),  # below the smallest float as a probability
        ({"A": -1.0, "B": -1.0}, TIE),
        ({"A": -1.0, "B": -1.0, "C": -0.5}, 2),
        ({}, NO_OPTION),
        ({"The": -0.1, " ": -2.0, "": -3.0}, NO_OPTION),
        ({"A": math.nan}, NO_OPTION),
    ],
)
def test_likeliest_sign(top: dict[str, float], expected: int | str) -> None:
    assert from_top_logprobs(top, SIGNS) == reading(expected)


def test_signs_of_both_cases_are_told_apart_and_signs_may_have_brackets() -> None:
    assert from_top_logprobs({"a": -0.1, "A": -0.2}, ("A", "a")) == reading(1)
    assert from_top_logprobs({"\u00df": -0.1, "x": -0.2}, ("ss", "SS", "x")) == reading(2)  # whose it is, none can say
    assert from_top_logprobs({" [2]": -0.1, "[1]": -0.2}, ("[1]", "[2]")) == reading(1)
    assert from_top_logprobs({"2": -0.1}, ("1", "2")) == reading(1)
    assert from_top_logprobs({"": -0.1}, ("", " ")) == reading(NO_OPTION)


@given(st.dictionaries(st.text(max_size=3), st.floats()), st.lists(st.text(max_size=3), max_size=4))
def test_whatever_the_tokens_it_is_an_option_or_a_reason(top: dict[str, float], signs: list[str]) -> None:
    index, reason = from_top_logprobs(top, signs)
    assert (index is None) == (reason is not None)
    assert index is None or 0 <= index < len(signs)


def test_first_token_of_what_is_landed() -> None:
    content = [
        token("\n", -0.1, {"\n": -0.1, "B": -2.0}),
        token("\u2581", -0.1, {}),
        token(" B", -0.2, {" B": -0.2, " A": -1.5, " C": None}),
        token(".", -0.3, {".": -0.3}),
    ]
    top = first_token(landed(content))
    assert top == {" B": -0.2, " A": -1.5}
    assert from_top_logprobs(top, SIGNS) == reading(1)


def test_the_token_itself_counts_where_it_is_none_of_the_likeliest() -> None:
    assert first_token(landed([token("C", -9.0, {"A": -0.1})])) == {"C": -9.0, "A": -0.1}
    assert first_token(landed([token("C", -9.0, {})])) == {"C": -9.0}


def test_equal_texts_of_different_tokens_are_added_up() -> None:
    text = '[{"token":"A","logprob":-9,"top_logprobs":[{"token":"\\ufffd","logprob":-1},{"token":"\\ufffd","logprob":-1}]}]'
    assert first_token(text) == pytest.approx({"A": -9, "\ufffd": -1 + math.log(2)})


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "null",
        "{}",
        "[]",
        "[",
        "[1]",
        "[null]",
        "[{}]",
        '["B"]',
        '[{"token":"B"',
        '[{"token":"B","logprob":-1}]',
        '[{"token":"B","logprob":-1,"top_logprobs":null}]',
        '[{"token":"B","logprob":-1,"top_logprobs":["A"]}]',
        '[{"token":null,"logprob":-1,"top_logprobs":[]}]',
        '[{"token":"B","logprob":-1' + "0" * 400 + ',"top_logprobs":[]}]',
        '[{"token":"B","logprob":-1' + "0" * 5000 + ',"top_logprobs":[]}]',
        '[{"token":" ","logprob":-1,"top_logprobs":[]}]',  # blank all through
        '[{"token":" ","logprob":-1,"top_logprobs":[]},]',
        '[{"token":" ","logprob":-1,"top_logprobs":[]} {"token":"B","logprob":-1,"top_logprobs":[]}]',
        "[" * 100_000,
        '[{"token":' * 100_000,
    ],
)
def test_anything_else_has_no_first_token(text: str) -> None:
    assert first_token(text) == {}


def test_numbers_that_are_none_are_left_out() -> None:
    text = '[{"token":"B","logprob":NaN,"top_logprobs":[{"token":"A","logprob":null},{"token":"C","logprob":"-1"}]}]'
    assert first_token(text) == {}


@given(st.text())
def test_whatever_was_landed_it_is_read(text: str) -> None:
    assert all(math.isfinite(value) for value in first_token(text).values())


@pytest.mark.parametrize("text", [" ", "B"])
def test_a_long_completion_takes_no_longer(text: str) -> None:
    tokens = landed([token(text, -0.1, {f"{text}{place}": -1.0 for place in range(20)})] * 2_500)
    assert len(tokens) > 1_000_000
    started = time.process_time()
    first_token(tokens)
    assert time.process_time() - started < 1


def reading(expected: int | str) -> OptionReading:
    return OptionReading(expected, None) if isinstance(expected, int) else OptionReading(None, expected)


def token(text: str, logprob: float, top: dict[str, float | None]) -> dict[str, Any]:
    others = [{"token": other, "logprob": value, "bytes": []} for other, value in top.items()]
    return {"token": text, "logprob": logprob, "bytes": [], "top_logprobs": others}


def landed(content: list[dict[str, Any]]) -> str:
    """What a row keeps of an answer with these tokens, read as the engine reads it."""
    choice = {"finish_reason": "stop", "message": {"content": "B."}, "logprobs": {"content": content}}
    answer = read_completion(json.dumps({"choices": [choice]}).encode(), None, (), ())
    tokens = getattr(answer, "token_logprobs", None)
    assert isinstance(tokens, str)
    return tokens
