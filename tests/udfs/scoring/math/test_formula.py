"""Any text is read as a formula of known words, or not at all."""

from __future__ import annotations

import contextlib
import re

from hypothesis import given
from hypothesis import strategies as st

from promptaudit.udfs.scoring.math.equal import MathReading, _compared, _Job
from promptaudit.udfs.scoring.math.final_answer import tidied
from promptaudit.udfs.scoring.math.formula import OverlongFormula, UnreadableFormula, read_formula
from promptaudit.udfs.scoring.math.vocabulary import is_accent, is_function, is_sign

TEX = r"\frac \sqrt \sum \left \cdot \pi \{ \} \% \_ \\ \text{ \variable{ \mathbb{ \operatorname{ \vec{ \boxed{ \input{"
WORDS = r"\begin{ \begin{pmatrix} \end{pmatrix} ** __ exec import lambda sin and os.system eval( ٣"
PIECES = st.sampled_from([*"abxi0159+-*/^_=<>!,.;:|()[]{}%&$#'\"@~`? \\\n\f\0é\ud800", *TEX.split(), *WORDS.split()])
LETTERS = re.compile(r"\\?[A-Za-z]+")


@given(st.lists(PIECES, max_size=30).map("".join))
def test_no_text_reaches_the_parser_but_short_names_numbers_and_known_commands(text: str) -> None:
    with contextlib.suppress(UnreadableFormula, OverlongFormula):
        latex = read_formula(tidied(text)).latex
        assert set(LETTERS.sub("", latex)) <= set("0123456789 +-*/^_=<>!,.;:|()[]{}&\\")
        assert "__" not in latex
        known = {"frac", "sqrt", "binom", "mathbb", "begin", "end", "pmatrix", "vmatrix"}
        for letters in LETTERS.findall(latex):
            name = letters.removeprefix("\\")
            is_known = name in known or is_function(name) or is_sign(name) or is_accent(name)
            assert is_known or (letters == name and len(name) <= 3)


@given(st.lists(PIECES, max_size=30).map("".join), st.lists(PIECES, max_size=10).map("".join))
def test_any_text_gets_a_reading(completion: str, reference: str) -> None:
    for compared in _compared(completion, [reference, completion]):
        assert isinstance(compared, (MathReading, _Job))
