"""Plain numbers are read exactly, and in no time."""

from __future__ import annotations

import time
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptaudit.udfs.scoring.math.final_answer import final_answer
from promptaudit.udfs.scoring.math.number import read_quantity


@given(st.fractions(-1000, 1000, max_denominator=1000), st.fractions(-1000, 1000, max_denominator=1000))
def test_numbers_are_equal_as_fractions_are(first: Fraction, second: Fraction) -> None:
    sign = "-" if first < 0 else ""
    written = rf"{sign}\frac{{{abs(first.numerator)}}}{{{first.denominator}}}"
    answer, reference = read_quantity(written), read_quantity(f"{second.numerator}/{second.denominator}")
    assert answer is not None
    assert reference is not None
    assert answer.value == first
    assert answer.equals(reference) == (first == second)


@pytest.mark.parametrize(
    "text",
    ["1" * 999 + "x", "1 " * 500, "1,111" * 200, "1 11" * 250, " " * 900 + "x", r"\frac{" + "1," * 400, "1/" * 500],
)
def test_a_number_is_read_in_no_time(text: str) -> None:
    before = time.process_time()
    assert read_quantity(text) is None
    final_answer(text * 100)
    assert time.process_time() - before < 0.5
