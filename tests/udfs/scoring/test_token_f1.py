"""Worked examples of token F1, SQuAD's normalisation, and what holds for every text."""

from __future__ import annotations

import math
import time
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptaudit.udfs.scoring.token_f1 import MAX_READ_CHARACTERS, token_f1

words = st.lists(
    st.sampled_from(["fifty", "years", "the", "a", "Paris", "U.S.", "50", "\u00c9t\u00e9", "!"]), max_size=8
)
texts = st.one_of(st.text(), words.map(" ".join))


@pytest.mark.parametrize(
    ("completion", "references", "f1"),
    [
        ("fifty years", ["fifty years"], 1.0),
        ("The fifty years!", ["fifty years"], 1.0),  # articles and punctuation are dropped
        ("fifty years", ["50 years"], 2 * 1 / (2 + 2)),  # years
        ("fifty years", ["fifty"], 2 * 1 / (2 + 1)),
        ("It lasted for fifty years", ["fifty years"], 2 * 2 / (5 + 2)),
        ("years fifty", ["fifty years"], 1.0),  # a bag has no order
        ("no no no", ["no"], 2 * 1 / (3 + 1)),  # a token counts as often as both have it
        ("no no no", ["no no yes"], 2 * 2 / (3 + 3)),
        ("Rome", ["Paris"], 0.0),
        ("Rome", ["Paris", "the city of Rome"], 2 * 1 / (1 + 3)),  # the best of the references; "the" is no token
        ("Rome", ["Paris", "Rome", "the city of Rome"], 1.0),
        ("U.S.", ["US"], 1.0),  # dropped, not replaced
        ("well-known", ["wellknown"], 1.0),
        ("$50", ["50"], 1.0),  # SQuAD's punctuation is all of ASCII's
        ("\u201cfifty\u201d \u2013 years\u2026", ["fifty years"], 1.0),
        ("\u00bfqui\u00e9n?", ["qui\u00e9n"], 1.0),
        ("quie\u0301n", ["qui\u00e9n"], 1.0),  # composed or not
        ("\uff15\uff10 years", ["50 years"], 1.0),  # full-width forms
        ("\ufb01fty years", ["fifty years"], 1.0),  # a ligature
        ("fifty\u00a0\tyears\n", ["fifty years"], 1.0),
        ("\u20ac50", ["50"], 0.0),  # a sign of money beyond ASCII is no punctuation
        ("", [""], 1.0),
        ("The.", ["a!"], 1.0),  # both empty once normalised
        ("", ["fifty"], 0.0),
        ("fifty", ["the"], 0.0),
        ("fifty", ["", "fifty"], 1.0),
    ],
)
def test_worked_examples(completion: str, references: list[str], f1: float) -> None:
    assert token_f1(completion, references) == pytest.approx(f1)


def test_without_a_reference_it_is_undefined() -> None:
    assert math.isnan(token_f1("fifty", []))


@given(texts, texts)
def test_symmetric_and_between_0_and_1(one: str, other: str) -> None:
    f1 = token_f1(one, [other])
    assert f1 == token_f1(other, [one])
    assert 0 <= f1 <= 1


@given(texts)
def test_equal_texts(text: str) -> None:
    assert token_f1(text, [text]) == 1


@given(words, words, st.randoms())
def test_order_does_not_matter(one: list[str], other: list[str], random: Random) -> None:
    shuffled = one.copy()
    random.shuffle(shuffled)
    assert token_f1(" ".join(shuffled), [" ".join(other)]) == token_f1(" ".join(one), [" ".join(other)])


@given(texts, st.lists(texts, min_size=1, max_size=4))
def test_the_best_of_the_references(completion: str, references: list[str]) -> None:
    assert token_f1(completion, references) == max(token_f1(completion, [reference]) for reference in references)


def test_what_stands_beyond_the_bound_is_not_read() -> None:
    assert token_f1("no " + " " * MAX_READ_CHARACTERS + "yes", ["no"]) == 1


@pytest.mark.parametrize("piece", ["\u0301\u0323", "\ufdfa", "\u0130", "a ", "!", " ", "\ud800", "\u00e9 "])
def test_a_hostile_text_of_ten_megabytes_is_over_at_once(piece: str) -> None:
    started = time.process_time()
    token_f1((piece * 10_000_000)[:10_000_000], ["fifty years", "\u00e9t\u00e9"])
    assert time.process_time() - started < 1
