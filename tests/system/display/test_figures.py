from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptaudit.system.display.figures import (
    ABSENT,
    chance,
    cut,
    in_unit,
    interval,
    moved,
    number,
    paragraph,
    percent,
    ranged,
    ranged_in,
    share,
    share_interval,
    shown,
    signed,
    usd,
)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("plain", "plain"),
        ("nul\x00bell\x07", "nul\\x00bell\\x07"),
        ("a\nb\tc\r", "a\\nb\\tc\\r"),
        ("abc\u202edef", "abc\\u202edef"),
        ("\x1b[2J", "\\x1b[2J"),
        ("\ufeff\u2028\uffff\ud800", "\\ufeff\\u2028\\uffff\\ud800"),
        ("\U000e0001", "\\U000e0001"),
        ("é 漢字 לשון 👩\u200d🔬", "é 漢字 לשון 👩\u200d🔬"),
    ],
)
def test_what_is_invisible_becomes_an_escape_and_words_stay(text: str, printed: str) -> None:
    assert shown(text) == printed


@given(st.text(st.characters()))
def test_whatever_is_shown_can_be_written_and_holds_no_control(text: str) -> None:
    printed = shown(text)
    assert printed.encode("utf-8").decode() == printed
    assert not set(printed) & {chr(code) for code in (*range(32), 127, 0x202D, 0x202E, 0x2066, 0x2067, 0x2028)}


def test_long_text_is_cut_and_says_so() -> None:
    assert cut("x" * 300) == "x" * 300
    assert cut("x" * 10_000_000) == "x" * 300 + "…"
    assert paragraph("a\nb\x00") == ["a", "b\\x00"]
    assert paragraph("x\n" * 50) == ["x"] * 7 + ["x…"]


def test_one_figure_is_printed_alike_whatever_order_it_was_summed_in() -> None:
    # 243 of 400 answers: sums in another order differ in their last bits, on both sides of the tie
    for step in (-1e-13, 0.0, 1e-13):
        assert number(0.6075 + step) == number(0.6075)
        assert percent(0.0005 + step) == percent(0.0005)
        assert share(0.005 + step) == share(0.005)


def test_differences_have_a_sign_and_the_unit_of_their_figure() -> None:
    assert moved(0.0621, 0.041, 0.083) == "+0.062 [+0.041, +0.083]"
    assert moved(-0.012, -0.03, 0.0001, "rate") == "-1.2 % [-3.0 %, 0.0 %]"
    assert moved(1.5, None, 2.0, "usd") == "+$1.50"
    # ln 42 - ln 27 is a ratio of 1.56
    assert moved(0.4418, 0.3436, 0.5423, "log_characters") == "× 1.56 [× 1.41, × 1.72]"


@pytest.mark.parametrize(
    ("value", "unit", "printed"),
    [
        (math.log(27), "log_characters", "26 characters"),
        (math.log(2), "log_tokens", "1 token"),
        (math.log(3.6), "log_tokens", "2.6 tokens"),
        (math.log(1235.4), "log_characters", "1,234 characters"),
        (0.0, "log_characters", "0 characters"),
        (None, "log_tokens", "–"),
    ],
)
def test_a_logarithm_is_printed_as_what_it_counts(value: float | None, unit: str, printed: str) -> None:
    assert in_unit(value, unit) == printed
    assert (signed(1e-12), signed(None), signed(float("nan"))) == ("0.000", ABSENT, ABSENT)
    assert ranged_in(0.12, 0.1, 0.139, "rate") == "12.0 % [10.0 %, 13.9 %]"
    assert ranged_in(0.5, None, None, None) == "0.500"


def test_figures() -> None:
    assert number(None) == interval(None, 1.0)[1] == ABSENT == "–"
    assert (number(0.23482), number(-0.0001), number(1)) == ("0.235", "0.000", "1.000")
    assert (chance(None), chance(0.00234), chance(7e-13), chance(0.00005)) == (ABSENT, "0.0023", "<0.0001", "0.0001")
    assert ranged(0.5, 0.4, 0.6) == "0.500 [0.400, 0.600]"
    assert ranged(0.5, None, None) == "0.500"
    assert [percent(rate) for rate in (None, 0, 0.0003, 0.0107, 1)] == ["–", "0 %", "< 0.1 %", "1.1 %", "100 %"]
    assert [usd(amount) for amount in (None, math.nan, 0, 0.0000312, 0.00012, 0.00123, 1234.5)] == [
        "–",
        "–",
        "$0.00",
        "$0.000031",
        "$0.0001",
        "$0.0012",
        "$1,234.50",
    ]
    assert [share(part) for part in (None, 0.974, 1, -0.304)] == ["–", "97 %", "100 %", "-30 %"]
    assert (share_interval(0.9, 1), share_interval(None, None)) == ("[90 %, 100 %]", "")
