r"""Final answers are compared as mathematics: in other forms equal, otherwise different or unscored, and never in danger."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from promptaudit.udfs.scoring.math.equal import MathEqual, MathReading
from promptaudit.udfs.scoring.math.pool import MathProcess
from tests.support.processes import have_ended

MOST_SECONDS = 2.0
EQUAL, DIFFERENT = MathReading(is_equal=True, reason=None), MathReading(is_equal=False, reason=None)


def unscored(reason: str) -> MathReading:
    return MathReading(None, reason)


@pytest.fixture(scope="module")
def maths() -> Iterator[MathEqual]:
    """One worker for the file: what a hostile pair left behind would show in those after it."""
    with MathEqual(n_processes=2) as started:
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
    ("\N{MINUS SIGN}5", "-5"),
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
    (r"0.\overline{3}", "1/3"),
    (r"-2.1\overline{6}", "-13/6"),  # (216 - 21) / 90
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
    ("$50", "50 dollars"),
    ("90 degrees", r"90^\circ"),
    ('"__7__"', "7"),
    (r"90^\circ", "90"),
    ("90", r"90^{\circ}"),
    ("90°", r"90^\circ"),
    (r"2\sqrt{3}\text{ cm}", r"\sqrt{12}"),
    # an equation that gives a name, and what it names
    ("x = 5", "5"),
    ("5", "x=5"),
    ("x=0.5", r"x=\frac12"),
    (r"x = 2\pi", r"2\pi"),
    (r"f(x) = x^2 + 1", "1 + x^2"),
    ("y=2x+3", "2x+3"),
    ("5 = x", "5"),
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
    (r"\cos 60^\circ", r"\frac12"),
    ("sin(30°)", "0.5"),
    ("7 mod 3", "1"),
    (r"\sqrt{-4}", "2i"),
    (r"\sum_{n=1}^{\infty}\frac{1}{n^2}", r"\frac{\pi^2}{6}"),
    (r"\lim_{x\to 0}\frac{\sin x}{x}", "1"),
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
    (r"\sum_{i=1}^{n} i", r"\frac{n(n+1)}{2}"),
    (r"\frac{d}{dx} x^2", "2x"),
    ("E = mc^2", "c^2 m"),
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
    (r"\frac{1\pm\sqrt{5}}{2}", r"\frac{1-\sqrt{5}}{2}, \frac{1+\sqrt{5}}{2}"),
    ("x=2 or x=-2", r"x=\pm2"),
    (r"A=\{1,2\}", r"\{2, 1\}"),
    ("(x,y)=(1,2)", "(1, 2)"),
    (r"\{(1,2),(3,4)\}", "(3,4), (1,2)"),
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
    ("x in [0,1]", "[0, 1]"),
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
    ("Yes", "yes"),
    (r"\boxed{\text{(B)}}", "B"),
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
    (r"\cos 60", r"\frac12"),
    (r"0.\overline{3}", "0.3"),
    ("1, 2, 3", "(1, 2, 3)"),
    ("x=1, y=2", "(1, 2)"),
    (r"\ln(x^2)", r"2\ln x"),  # not below 0
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
    "no",
    "x'",
    "x^٣",  # digits are 0 to 9
]


FORM_FEED = "\x0c"  # white space to Python, and not to the parser


def code_in_a_formula(file: Path) -> str:
    """A series of which sympy runs a part: no bracket is needed where `exec` becomes the indexing of `license`."""
    code = f'[[0 for license.__class__.__getitem__ in [exec]],license[\'open\\x28"{file}","w"\\x29\']]'
    return r"\sum_{n=0}^{\infty} \frac{\text{" + code.replace(" ", FORM_FEED) + r"}^{n}}{n!}"


UNENDING = range(18, 21)  # each takes all the time there is, as the tenth does
HOSTILE = [
    "__import__('os').system('touch {file}')",
    r"\boxed{{__import__('os').system('touch {file}')}}",
    r"\boxed{{\text{{__import__('os').system('touch {file}')}}}}",
    r"\boxed{{\sum_{{n=0}}^{{\infty}} \frac{{x_{{open('{file}','w')}}^n}}{{n!}}}}",
    r"\boxed{{\operatorname{{exec}}(x)}}",
    "exec(\"open('{file}','w')\")",
    "lambda: open('{file}', 'w')",
    "x.__class__.__mro__",
    "(lambda f: f(f))(lambda f: f(f))",
    "9**9**9",
    "9^{{9^{{9^{{9^{{9}}}}}}}}",
    "10^{{10^{{10}}}}",
    "10**100000000000",
    "2^{{10000}}^{{10000}}",
    "(10^9)!",
    "((10^9)!)!",
    "5!!!!!!!!!!",
    "factorial(10**9)",
    r"\binom{{1000000000}}{{500000000}}",
    r"\int_0^{{10^{{10}}}} e^{{-x^2}} \sin(x^3) dx",
    r"\sum_{{k=1}}^{{10^{{12}}}} \frac{{1}}{{k^2+1}}",
    r"\lim_{{x \to 0}} \frac{{\sin(\tan x) - \tan(\sin x)}}{{x^7}}",
    "(x+1)^{{9999}}",
    "(a+b+c+d+e+f+g)^{{99}}",
    r"\sqrt{{" * 30 + "2" + "}}" * 30,
    "(" * 100_000,
    "(" * 100_000 + ")" * 100_000,
    "{{" * 100_000 + "}}" * 100_000,
    r"\boxed{{" * 20_000,
    r"\boxed{{" + "(" * 450 + "1" + ")" * 450 + "}}",
    r"\boxed{{" + "{{" * 450 + "1" + "}}" * 450 + "}}",
    r"\boxed{{" + r"\sin" * 200 + " x}}",
    r"\boxed{{" + r"\frac1" * 150 + "2}}",
    r"\boxed{{" + "x" * 900 + "}}",
    r"\boxed{{" + "|" * 900 + "}}",
    r"\boxed{{" + ",".join(["1"] * 450) + "}}",
    r"\boxed{{" + "+".join(["x"] * 450) + "}}",
    r"\boxed{{" + "x^" * 450 + "2}}",
    "9" * 5_000,
    "1" + "0" * 100_000,
    "9" * 5_000 + "/" + "7" * 5_000,
    "1e999999999",
    "x" * 10_000_000,
    "1 " * 5_000_000,
    "$" * 1_000_000,
    "answer is " * 100_000,
    "\0",
    "1\0",
    r"\boxed{{1" + "\0" + "}}",
    "\ud800",
    "5\udfff",
    r"\boxed{{\ud83d}}",
    "٣",
    "\u202e5",
    "\r\n\f\v",
]


@pytest.mark.parametrize(("completion", "reference"), IN_OTHER_FORMS)
def test_equal_in_another_form(maths: MathEqual, completion: str, reference: str) -> None:
    assert timed(maths, completion, reference) == EQUAL


@pytest.mark.parametrize(("completion", "reference"), DIFFERENT_PAIRS)
def test_different(maths: MathEqual, completion: str, reference: str) -> None:
    assert timed(maths, completion, reference) == DIFFERENT


@pytest.mark.parametrize("completion", UNREADABLE)
def test_unreadable_is_unscored(maths: MathEqual, completion: str) -> None:
    assert timed(maths, completion, "50") == unscored("unreadable")
    assert timed(maths, "50", completion) == unscored("unreadable")


@pytest.mark.parametrize(
    "number", [pytest.param(n, marks=[pytest.mark.slow] * (n in UNENDING)) for n in range(len(HOSTILE))]
)
def test_hostile_completions_are_not_right_and_do_nothing(maths: MathEqual, number: int, tmp_path: Path) -> None:
    written = tmp_path / "written"
    completion = HOSTILE[number].replace("{file}", str(written)).replace("{{", "{").replace("}}", "}")
    # a formula, so that the worker has to read the other, and a number
    assert timed(maths, completion, r"x+\sqrt{2}", "12345678").is_equal is not True
    assert not written.exists()
    assert timed(maths, r"\sqrt{12}", r"2\sqrt{3}") == EQUAL  # the next pair notices nothing


UNGUARDED = """
import sys
from latex2sympy2_extended import latex2sympy
from math_verify import verify
verify(latex2sympy(sys.argv[2]), latex2sympy(sys.argv[1], normalization_config=None))
"""


def test_code_in_a_formula_is_not_run(maths: MathEqual, tmp_path: Path) -> None:
    written, root = tmp_path / "written", r"\sqrt{2}"
    formula = code_in_a_formula(written)
    subprocess.run([sys.executable, "-c", UNGUARDED, formula, root], check=True)
    assert written.exists()  # what follows could fail
    written.unlink()
    assert timed(maths, rf"\boxed{{{formula}}}", root) == unscored("unreadable")
    assert timed(maths, root, formula) == unscored("unreadable")
    [(is_equal, _)] = maths._process.compare([(formula, root)])  # past the reading of formulas
    assert is_equal is not True
    assert not written.exists()


@pytest.mark.parametrize(
    ("completion", "references", "reading"),
    [
        ("Sure! 3 + 4 = 7, so the answer is **7**.", ["7"], EQUAL),
        ("Adding up, he has \\boxed{\\$1{,}200.00} left.", ["1200"], EQUAL),
        ("There are 50 apples.", ["50 apples"], EQUAL),
        ("It is one half, that is $\\frac{1}{2}$.", ["0.5"], EQUAL),
        ("She needs 7 or 8.", ["7"], DIFFERENT),  # the last number is read, whatever stands before it
        ("7", ["8", "7"], EQUAL),
        ("7", ["8", "fifty", "7"], EQUAL),
        ("7", ["8", "fifty"], unscored("unreadable")),
        ("silent", ["listen"], unscored("unreadable")),  # no product of letters
        ("7", ["He has 3 + 4 = 7 of them.\n#### 7"], EQUAL),  # as GSM8K gives its references
        ("7", [r"So it is $\boxed{7}$."], EQUAL),
        ("7", [], unscored("no reference")),
        ("7", ["", " "], unscored("no reference")),
        ("", ["7"], unscored("no answer")),
        ("The answer is not 7.", ["7"], unscored("no answer")),
        (r"\boxed{}", ["7"], unscored("no answer")),
        ("I do not know that", ["7"], unscored("no answer")),
        ("9" * 1_500, ["9" * 1_500], EQUAL),
        ("9" * 5_000, ["9" * 4_999 + "8"], unscored("too long")),
        ("x^{12345}", ["x"], unscored("too long")),
        ("x^{0.12345}", ["x"], DIFFERENT),
        (r"\binom{1000000000}{500000000}", ["7"], unscored("timeout")),
    ],
)
def test_readings(maths: MathEqual, completion: str, references: list[str], reading: MathReading) -> None:
    assert timed(maths, completion, *references) == reading


def test_formulas_of_a_line_over_64_kib_reach_the_worker(maths: MathEqual) -> None:
    # 33,000 characters of LaTeX each, so that the two are a line of over 64 KiB; of 995 signs the parser's own depth is the end
    longest = r"\pm x" + "%" * 880
    assert timed(maths, rf"\boxed{{{longest}}}", longest.replace("x", "y")) in (DIFFERENT, unscored("timeout"))


def test_a_batch_is_read_as_its_pairs_are_in_their_order(maths: MathEqual) -> None:
    pairs = [(completion, [reference]) for completion, reference in IN_OTHER_FORMS + DIFFERENT_PAIRS] * 2
    expected = ([EQUAL] * len(IN_OTHER_FORMS) + [DIFFERENT] * len(DIFFERENT_PAIRS)) * 2
    assert maths.equal_all(pairs) == expected
    assert maths.equal_all([]) == []


def test_what_is_repeated_is_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []

    def compare(_: MathProcess, jobs: list[tuple[str, str]]) -> list[tuple[bool | None, str | None]]:
        asked.extend(jobs)
        return [(None, "timeout") if answer == "z" else (True, None) for answer, _ in jobs]

    monkeypatch.setattr(MathProcess, "compare", compare)
    maths = MathEqual()
    pairs = [("x", ["y"]), ("The answer is $x$.", ["y"]), ("z", ["y"]), ("1/2", ["0.5"]), ("x", ["y"])]
    expected = [EQUAL, EQUAL, unscored("timeout"), EQUAL, EQUAL]
    assert maths.equal_all(pairs) == expected
    assert asked == [("x", "y"), ("z", "y")]
    assert maths.equal_all(pairs) == expected
    assert asked == [("x", "y"), ("z", "y"), ("z", "y")]  # what was ended is tried again, what was decided is kept


def test_threads_share_a_worker(maths: MathEqual) -> None:
    found: dict[int, list[MathReading]] = {}

    def compare(thread: int) -> None:
        pairs = [(f"x+{thread}+{number}", [f"{number}+x+{thread + number % 2}"]) for number in range(20)]
        found[thread] = maths.equal_all(pairs)

    threads = [threading.Thread(target=compare, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {thread: [EQUAL, DIFFERENT] * 10 for thread in range(3)}


def test_importing_starts_and_loads_nothing() -> None:
    loaded = "import sys, promptaudit.udfs.scoring.math.equal as _; "
    loaded += "print(sorted({'sympy', 'math_verify', 'antlr4'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", loaded], check=True, capture_output=True).stdout == b"[]\n"


def test_numbers_need_no_worker_and_formulas_say_what_they_need(monkeypatch: pytest.MonkeyPatch) -> None:
    with MathEqual() as maths:
        monkeypatch.delattr(os, "fork")
        assert maths.equal("1/2", ["0.5"]) == EQUAL
        with pytest.raises(OSError, match=r"no os\.fork"):
            maths.equal("x+1", ["1+x"])
    monkeypatch.undo()
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with MathEqual() as maths, pytest.raises(OSError, match="said nothing"):
        maths.equal("x+1", ["1+x"])


def worker_of(maths: MathEqual) -> psutil.Process:
    assert maths._process._running is not None
    return psutil.Process(maths._process._running.process.pid)


def test_a_child_that_died_without_work_is_replaced(maths: MathEqual) -> None:
    pairs = [("x + 2", ["2 + x"]), ("x + 3", ["3 + x"])]
    for pair in pairs:
        children = worker_of(maths).children()
        for child in children:
            child.kill()
        assert have_ended([child.pid for child in children])
        assert maths.equal(*pair) == EQUAL


def test_memory_is_bounded(maths: MathEqual) -> None:
    worker = worker_of(maths)  # after all that was hostile
    sizes = [process.memory_info().rss for process in (worker, *worker.children(recursive=True))]
    assert max(sizes) < 2**29  # half of what one may have
    assert len(sizes) <= 3  # itself and its two children


def test_closing_leaves_no_process_behind(maths: MathEqual) -> None:
    worker = worker_of(maths)
    left = [worker, *worker.children(recursive=True)]
    assert len(left) > 1
    maths.close()
    assert not any(process.is_running() for process in left)
    maths.close()  # which may be done twice
