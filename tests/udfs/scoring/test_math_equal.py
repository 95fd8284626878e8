r"""Final answers are compared as mathematics: in other forms equal, otherwise different or unscored, and never in danger."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs.scoring import math_process
from udfs.scoring.math_equal import VERSION, MathEqual, MathReading
from udfs.scoring.math_number import read_quantity
from udfs.scoring.math_text import MAX_READ_CHARACTERS, final_answer

MOST_SECONDS = 2.0
EQUAL, DIFFERENT = MathReading(is_equal=True, reason=None), MathReading(is_equal=False, reason=None)


def unscored(reason: str) -> MathReading:
    return MathReading(None, reason)


@pytest.fixture(scope="module")
def maths() -> Iterator[MathEqual]:
    """One worker for the file: what a hostile pair left behind would show in those after it."""
    with MathEqual() as started:
        assert started.equal("x + 1", ["1 + x"]) == EQUAL
        yield started


def timed(maths: MathEqual, completion: str, *references: str) -> MathReading:
    before = time.monotonic()
    reading = maths.equal(completion, references)
    assert time.monotonic() - before < MOST_SECONDS
    return reading


IN_OTHER_FORMS = [
    # plain numbers
    ("42", "42"),
    ("+42", "42"),
    ("- 5", "-5"),
    ("−5", "-5"),
    ("0.5", "1/2"),
    (".5", r"\frac{1}{2}"),
    (r"\dfrac12", "0.5"),
    (r"\frac1{2}", r"\tfrac{1}2"),
    (r"-\tfrac{3}{4}", "-0.75"),
    (r"\frac{-3}{4}", r"-\frac{3}{4}"),
    ("2/4", "1/2"),
    ("7.", "7"),
    ("7.000", "7"),
    ("0.50", "0.5"),
    ("007", "7"),
    ("1,000", "1000"),
    ("1,234,567.50", "1234567.5"),
    (r"1{,}000", "1000"),
    (r"1\,000", "1000"),
    (r"10,\!000", "10000"),
    ("12 000", "12000"),
    (r"1\frac12", "3/2"),
    ("1 1/2", "1.5"),
    (r"-2\frac{1}{4}", "-9/4"),
    ("½", "0.5"),
    (r"1.5\times 10^{3}", "1500"),
    ("1.5e3", "1500"),
    ("2.5E-3", "0.0025"),
    ("3 × 10^5", "300000"),
    ("6.02*10^23", "602000000000000000000000"),
    ("$42$", "42"),
    (r"\$42", "42"),
    ("$1,200.50", "1200.5"),
    (r"\(42\)", "42"),
    (r"\[ 42 \]", "42"),
    ("**42**", "42"),
    ("approximately 42", "42"),
    ("≈ 42", "42"),
    # a percent sign is a hundredth, and a unit
    ("50%", "1/2"),
    (r"50\%", "0.5"),
    ("50 percent", r"\frac12"),
    ("0.5", "50%"),
    ("50%", "50"),
    (r"\frac{100}{3}\%", r"\frac13"),
    # units: only those of the reference count
    ("50 years", "50"),
    (r"50 \text{ years}", "50"),
    ("50 years old", "50 years"),
    ("1 hour", "1 hours"),
    (r"5\text{ cm}^2", r"5 \mathrm{cm}^{2}"),
    ("60 km/h", r"60\text{ km/h}"),
    (r"90^\circ", "90"),
    ("90", r"90^{\circ}"),
    ("90°", r"90^\circ"),
    (r"2\sqrt{3}\text{ cm}", r"\sqrt{12}"),
    # x = 5 and 5
    ("x = 5", "5"),
    ("5", "x=5"),
    ("x=0.5", r"x=\frac12"),
    (r"x = 2\pi", r"2\pi"),
    (r"f(x) = x^2 + 1", "1 + x^2"),
    ("y=2x+3", "2x+3"),
    ("5 = x", "x"),
    ("2 + 3 = 5", "5"),
    ("x = 2 + 3 = 5", "5"),
    # constants
    (r"\sqrt{8}", r"2\sqrt{2}"),
    ("sqrt(8)", r"2\sqrt2"),
    ("2√2", r"\sqrt8"),
    (r"\sqrt[3]{8}", "2"),
    (r"\frac{1}{\sqrt{2}}", r"\frac{\sqrt{2}}{2}"),
    (r"\frac{\sqrt{3}+1}{2}", r"\frac{1}{\sqrt{3}-1}"),
    (r"\sqrt{5+2\sqrt{6}}", r"\sqrt{2}+\sqrt{3}"),
    (r"\frac{3\pi}{2}", r"1.5\pi"),
    (r"3\pi/2", r"\frac{3}{2}\pi"),
    ("π/3", r"\frac{\pi}{3}"),
    ("2*pi", r"2\pi"),
    (r"2^{10}", "1024"),
    ("2**10", "2^10"),
    ("2^-1", "1/2"),
    ("8^(1/3)", "2"),
    ("2^3^2", "512"),
    (r"e^{2}", r"\exp(2)"),
    (r"e^{i\pi}", "-1"),
    (r"\log_2 8", "3"),
    (r"\log_{10} 1000", "3"),
    (r"\ln e^3", "3"),
    (r"\ln 8", r"3\ln 2"),
    (r"\sin\frac{\pi}{6}", "0.5"),
    (r"\tan^{-1}(1)", r"\frac{\pi}{4}"),
    ("5!", "120"),
    (r"\binom{5}{2}", "10"),
    (r"\left|-3\right|", "3"),
    (r"\lfloor 3.7 \rfloor", "3"),
    (r"\sum_{k=1}^{100} k", "5050"),
    (r"\int_0^1 x dx", "1/2"),
    (r"\infty", r"+\infty"),
    ("3 + 2i", "2i + 3"),
    ("i^2", "-1"),
    (r"\frac{1}{1+i}", r"\frac{1-i}{2}"),
    # letters
    ("(x+1)^2", "x^2+2x+1"),
    ("x*(x+1)", "x^2 + x"),
    (r"\frac{x^2-1}{x-1}", "x+1"),
    (r"\frac{2x}{2}", "x"),
    ("ab", "ba"),
    ("x_1 + x_2", "x_{2}+x_{1}"),
    (r"\sin^2 x + \cos^2 x", "1"),
    (r"\cos(2x)", r"1-2\sin^2(x)"),
    (r"\alpha + \beta", r"\beta+\alpha"),
    (r"\frac{a}{b} + \frac{c}{d}", r"\frac{ad + bc}{bd}"),
    (r"x^{1/2}", r"\sqrt{x}"),
    (r"\frac{1}{2}x", "0.5x"),
    ("1,000x", "1000x"),
    # sets, lists, tuples, intervals
    (r"\{1, 2, 3\}", r"\{3,2,1\}"),
    (r"\left\{\frac12, \sqrt{8}\right\}", r"\{2\sqrt2, 0.5\}"),
    ("1, 2", "2, 1"),
    ("2 and 3", r"\{2, 3\}"),
    (r"x = 1 \text{ or } x = 2", r"\{1, 2\}"),
    ("x=1, y=2", "y=2, x=1"),
    (r"\pm 2", "-2, 2"),
    (r"x=\pm\sqrt{3}", r"-\sqrt3, \sqrt3"),
    (r"\{\}", r"\emptyset"),
    ("∅", r"\varnothing"),
    ("(1, 2)", r"\left(1, \frac{4}{2}\right)"),
    ("(1,2,3)", "(1, 2, 3.0)"),
    (r"(3, \frac{\pi}{2})", r"\left( 3, \pi/2 \right)"),
    ("[0, 1)", r"\left[0, \frac{2}{2}\right)"),
    (r"x \in [0, 1]", "[0,1]"),
    (r"(-\infty, 3]", r"\left(-\infty, 3\right]"),
    (r"[1,2]\cup[3,4]", r"[3,4] \cup [1,2]"),
    (r"\mathbb{R}\setminus\{0\}", r"(-\infty,0)\cup(0,\infty)"),
    ("0 ≤ x ≤ 1", "[0, 1]"),
    ("x < 3", r"(-\infty, 3)"),
    # equations and inequalities
    ("2x = 4", "x = 2"),
    ("x^2+y^2=1", "y^2 + x^2 - 1 = 0"),
    ("y = 2x + 3", "2x - y + 3 = 0"),
    ("x > 3", "3 < x"),
    (r"x \geq 3", "2x >= 6"),
    # matrices
    (r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", r"\begin{bmatrix} 1 & 2 \\ 3 & \frac{8}{2} \end{bmatrix}"),
    (r"\left[\begin{array}{cc}1&0\\0&1\end{array}\right]", r"\begin{pmatrix}1&0\\0&1\end{pmatrix}"),
    (r"2\begin{pmatrix}1\\2\end{pmatrix}", r"\begin{pmatrix}2\\4\end{pmatrix}"),
    (r"\begin{vmatrix}1&2\\3&4\end{vmatrix}", "-2"),
    # the same words
    (r"\text{odd}", "odd"),
    ("The answer is Evelyn.", r"\text{Evelyn}"),
    ("9**9**9", "9^{9^9}"),
]

DIFFERENT_PAIRS = [
    ("3", "-3"),
    ("42", "43"),
    ("0.333", "1/3"),  # no tolerance
    ("3.14", r"\pi"),
    ("1.41421356", r"\sqrt{2}"),
    ("1,00", "100"),  # no thousands: the list 1, 00
    ("0.5", "5"),
    ("1 1/2", "11/2"),
    ("50", "50%"),
    ("50", "50 years"),
    ("50 days", "50 years"),
    ("500 m", "0.5 km"),  # "500 m" is 500 times m
    ("50 cm", "0.5 m"),
    (r"5\text{ cm}", r"5\text{ cm}^2"),
    (r"2\sqrt{3}", r"2\sqrt{3}\text{ cm}"),
    ("2x", "2"),
    ("2xy", "2"),
    ("x = 5", "x = 6"),
    ("y = 5", "x = 5"),
    ("x^2 = 4", "x = 2"),
    ("x + 2 = 5", "5"),  # no name for 5
    ("x=1, y=2", "1, 2"),
    ("(1,2)", r"\{1,2\}"),
    ("(1,2)", "(2,1)"),
    ("(1,2)", "(1,2,3)"),
    ("1, 2", "(1, 2)"),
    ("1, 2", "1, 3"),
    (r"\{1,2\}", r"\{1,2,3\}"),
    (r"\{5\}", "5"),
    ("[0,1)", "[0,1]"),
    ("(0,1)", "[0,1]"),
    ("[0,1]", "[0,2]"),
    (r"\emptyset", r"\{0\}"),
    (r"[1,2]\cup[3,4]", "[1,4]"),
    ("x < 3", r"x \le 3"),
    ("x < 3", "y < 3"),
    ("x > 3", "x < 3"),
    (r"\sqrt{2}", "2"),
    (r"\sqrt{x^2}", "x"),  # |x|
    (r"\frac{1}{x}", "x"),
    ("x+1", "y+1"),
    ("x", "X"),
    ("(x+1)^2", "x^2+1"),
    (r"\sin x", r"\cos x"),
    (r"\log 8", r"\ln 8"),
    (r"2^{10}", "2^9"),
    ("3+2i", "3-2i"),
    (r"\infty", r"-\infty"),
    (r"\begin{pmatrix}1&2\end{pmatrix}", r"\begin{pmatrix}1\\2\end{pmatrix}"),
    (r"\begin{pmatrix}1\\2\end{pmatrix}", "(1,2)"),
    (r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", r"\begin{pmatrix}1&2\\3&5\end{pmatrix}"),
    ("9**9**9", "1"),
    ("10^{10^{10}}", "5"),
    (r"e^{\pi\sqrt{163}}", "262537412640768744"),  # equal to 12 decimals
]

UNREADABLE = [
    "fifty",  # words are not read, on purpose
    "The answer is fifty.",
    "It depends",
    r"\frac{1}{2",
    r"\frac{1",
    "{" * 10,
    "}" * 10,
    r"x^{2",
    r"\unknown{5}",
    r"\begin{pmatrix}1&2",
    r"\begin{pmatrix}1&2\end{bmatrix}",
    r"\frac{1}{0}",
    "1/0",
    "2 +",
    "((1)",
    "=",
    r"\{x \mid x > 0\}",
    "abcd",
    "x'",
]
