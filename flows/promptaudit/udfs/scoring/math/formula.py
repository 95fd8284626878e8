r"""Reads an answer's text as a formula, and writes it again as the LaTeX for the worker's parser.

This is the gate of `math_equal`: only the names of `vocabulary`, numbers and letters are ever written, so nothing else
of a completion reaches the parser. It has to be: sympy sums a series numerically by writing the names of its symbols
into Python code, so that `math_verify.verify` (0.9) runs the CODE of a parsed `\sum_{n=0}^{\infty}
\frac{\text{CODE}^n}{n!}`.

Plain writing is understood besides LaTeX: `x**2`, `x^(1/2)`, `x^10`, `sqrt(2)`, `2*pi`, `<=`, `1,000`, `x=1 or x=2`.
`i` is the imaginary unit, except in a text with a sum or product, where it is an index.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from promptaudit.udfs.scoring.math.vocabulary import (
    LONGEST_NAME,
    RENAMED,
    WORDS,
    WRITTEN_AS,
    is_accent,
    is_differential,
    is_function,
    is_matrix,
    is_name,
    is_prose,
    is_sign,
    is_spacing,
    is_writing,
    takes_bounds,
    unit_words,
)

MAX_CHARACTERS = 1_000
"""A longer answer is not compared as mathematics."""

MAX_DEPTH = 40
"""Groups, brackets and matrices may nest to this depth."""

MAX_EXPONENT_DIGITS = 4

_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\*\*|[<>!=]=|[A-Za-z]+|[0-9]+(?:\.[0-9]+)?|\.[0-9]+|\s+|.", re.DOTALL)
_SPACE = re.compile(r"\s+|~|\\[,;:! ]").fullmatch
_UNIT_AT_END = re.compile(
    r"\\(?:text(?:rm|bf)?|mathrm|mbox)\s*\{\s*([A-Za-z][A-Za-z ./-]{0,60})\}\s*(?:\^\s*\{?\s*([23])\s*\}?)?$"
)
_RAISED_LETTER = re.compile(r"([A-Za-df-z])\^(?=\{)")
_OVERLONG = re.compile(rf"(?<![0-9.])[0-9]{{{MAX_EXPONENT_DIGITS + 1}}}").search


class UnreadableFormula(ValueError):
    """Says that a text is empty or has a sign or word that no formula may have here."""


class OverlongFormula(ValueError):
    """Says that a text is larger than any answer: too many characters, or too many digits in an exponent."""


class Formula(NamedTuple):
    r"""A formula as LaTeX for the parser, and the words (by `unit_words`) of the unit behind it in `\text{}`."""

    latex: str
    unit: tuple[str, ...]


def read_formula(text: str) -> Formula:
    """Reads the formula of a text that `final_answer.tidied` gave.

    Raises:
        UnreadableFormula: a word of more than three letters, a sign or command that `vocabulary` does not name, braces
            that do not match, nesting beyond 40, nothing at all.
        OverlongFormula: more than 1,000 characters, or an exponent of more than four digits.
    """
    if len(text) > MAX_CHARACTERS:
        raise OverlongFormula
    unit: tuple[str, ...] = ()
    behind = _UNIT_AT_END.search(text)
    if behind is not None and behind.start() > 0 and behind[1].strip() not in WORDS:
        unit = unit_words(behind[1] + (behind[2] or ""))
        text = text[: behind.start()]
    latex = " ".join(_Reader(text).until(None).split())
    if not latex.strip(", ") or "," in (latex[0], latex[-1]):
        raise UnreadableFormula
    if latex.startswith(r"[\begin{pmatrix}") and latex.endswith("]") and latex.count(r"\begin") == 1:
        latex = latex[1:-1].rstrip()  # the brackets of an array
    if latex.count(r"\pm ") == 1 and not any(sign in latex for sign in (",", "[", r"\{")):
        latex = latex.replace(r"\pm ", "+") + ", " + latex.replace(r"\pm ", "-")
    # the parser reads I^2 as I, and is ten times as fast where x^2 cannot be one name; e^x has its own rule
    return Formula(_RAISED_LETTER.sub(r"{\1}^", latex), unit)


class _Reader:
    # reads tokens from left to right and writes each again, with the arguments that TeX would give it
    def __init__(self, text: str) -> None:
        self.tokens: list[str] = _TOKEN.findall(text)
        self.at = 0
        self.depth = 0
        self.n_open = 0
        self.n_bars = 0
        self.takes_bounds = False  # whether the last command did
        counts = "\\sum" in self.tokens or "\\prod" in self.tokens
        self.imaginary = "i" if counts else "I"

    def until(self, stop: str | None) -> str:
        # passes over `stop`; None is the end of the text
        self.enter()
        parts: list[str] = []
        while self.at < len(self.tokens) and self.tokens[self.at] != stop:
            parts.append(self.next())
        if stop is not None:
            self.take()
        self.depth -= 1
        return "".join(parts)

    def until_bracket(self) -> str:
        # up to the bracket that closes the one just passed
        self.enter()
        outside, parts = self.n_open, [""]
        self.n_open += 1
        while self.n_open > outside:
            parts.append(self.next())
        self.depth -= 1
        return "".join(parts[:-1])

    def enter(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise UnreadableFormula

    def take(self) -> str:
        if self.at >= len(self.tokens):
            raise UnreadableFormula
        self.at += 1
        return self.tokens[self.at - 1]

    def peek(self) -> str:
        while self.at < len(self.tokens) and self.tokens[self.at].isspace():
            self.at += 1
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def next(self) -> str:
        token = self.take()
        if token in ("^", "_"):
            return self.raised() if token == "^" else self.lowered()  # noqa: S105 - a token of TeX
        self.takes_bounds = False
        if token in WRITTEN_AS:
            return self.sign(token)
        if token.isascii() and token.isalpha():
            return self.word(token)
        if "0" <= token[-1] <= "9":
            return self.number(token)
        return self.rarer(token)

    def rarer(self, token: str) -> str:
        # a command, a group, a space or a power in Python's notation
        if _SPACE(token):
            return " "
        if token == "{":  # noqa: S105
            return "{" + self.until("}") + "}"
        if token == "**":  # noqa: S105
            return self.raised()
        if token[0] != "\\" or not token[1:].isalpha():
            raise UnreadableFormula
        return self.command(RENAMED.get(token[1:], token[1:]))

    def sign(self, sign: str) -> str:
        self.n_open += (sign in ("(", "[", "\\{")) - (sign in (")", "]", "\\}"))
        self.n_bars += sign == "|"
        if self.n_open > MAX_DEPTH or self.n_bars > MAX_DEPTH:
            raise UnreadableFormula
        return WRITTEN_AS[sign]

    def command(self, name: str) -> str:
        if name in WRITTEN_AS:
            return self.sign(name)
        if is_function(name) or is_sign(name):
            self.takes_bounds = takes_bounds(name) is not None
            return rf"\{name} "
        if is_spacing(name):
            if name in ("left", "right") and self.peek() == ".":  # a bracket that is not drawn
                self.at += 1
            return " "
        return self.command_with_arguments(name)

    def command_with_arguments(self, name: str) -> str:
        if name in ("frac", "binom"):
            return rf"\{name}{{{self.argument()}}}{{{self.argument()}}}"
        if name == "sqrt":
            return self.root()
        if name == "begin":
            return self.matrix()
        letters = self.letters()
        if is_writing(name) and (len(letters) == 1 or is_name(letters)):
            return self.word(letters)
        is_short_name = is_accent(name) is not None and len(letters) <= LONGEST_NAME
        if is_short_name or (name == "mathbb" and letters in ("R", "Z", "N", "Q", "C")):
            return rf"\{name}{{{letters}}}"
        raise UnreadableFormula

    def word(self, word: str) -> str:
        if word in WORDS:
            return WORDS[word]
        if word == "sqrt":
            return self.root()
        if is_function(word):
            self.takes_bounds = takes_bounds(word) is not None
            return rf"\{word} "
        if len(word) > LONGEST_NAME or is_prose(word) or self.is_beside_a_word(word):
            raise UnreadableFormula
        return word.replace("i", self.imaginary)

    def is_beside_a_word(self, word: str) -> bool:
        # "we get" is prose, and "x y" is not
        after = next((token for token in self.tokens[self.at : self.at + 2] if not token.isspace()), "")
        is_word = after.isascii() and after.isalpha() and not is_name(after)
        return is_word and len(word) + len(after) > len("xy") and not is_differential(after)

    def number(self, number: str) -> str:
        # groups of three digits are joined where no bracket could make them a list
        if self.n_open == 0 and self.depth == 1 and len(number) <= LONGEST_NAME:
            while self.tokens[self.at : self.at + 1] == [","] and self.at + 1 < len(self.tokens):
                whole, _, _ = self.tokens[self.at + 1].partition(".")
                if len(whole) != len("000") or not whole.isdigit():
                    break
                number += self.tokens[self.at + 1]
                self.at += 2
        return "0" + number if number[0] == "." else number

    def argument(self) -> str:
        # TeX takes a group, or one character or command
        token = self.peek()
        if token == "{":  # noqa: S105
            self.at += 1
            return self.until("}")
        if len(token) > 1 and token.isalnum():
            self.tokens[self.at] = token[1:]
            return self.word(token[0]) if token[0].isalpha() else token[0]
        self.enter()
        argument = self.next()
        self.depth -= 1
        return argument

    def bracketed_or_argument(self) -> str:
        # outside TeX people write `(1/2)` as one argument
        if self.peek() == "(":
            self.at += 1
            return self.until_bracket()
        return self.argument()

    def root(self) -> str:
        degree = ""
        if self.peek() == "[":
            self.at += 1
            degree = "[" + self.until("]") + "]"
        return rf"\sqrt{degree}{{{self.bracketed_or_argument()}}}"

    def raised(self) -> str:
        # a number is taken whole, as people mean `x^10`, where TeX would take one digit
        self.enter()
        bounds, self.takes_bounds = self.takes_bounds, False
        sign = self.take() if self.peek() in ("-", "+") else ""
        exponent = self.take() if "0" <= self.peek()[:1] <= "9" else self.bracketed_or_argument()
        if _OVERLONG(exponent):
            raise OverlongFormula
        if self.peek() in ("^", "**"):  # 2**3**4 is 2**(3**4)
            self.at += 1
            exponent += self.raised()
        self.depth -= 1
        self.takes_bounds = bounds
        return "^{" + sign + exponent + "}"

    def lowered(self) -> str:
        # a bound, or part of a name and then only letters and digits
        bounds, self.takes_bounds = self.takes_bounds, False
        is_whole = "0" <= self.peek()[:1] <= "9" and (not bounds or self.peek() == "10")  # x_12, and \log_28 of TeX
        index = self.take() if is_whole else self.argument()
        if not bounds and not (index.isascii() and index.isalnum()):
            raise UnreadableFormula
        self.takes_bounds = bounds
        return "_{" + index + "}"

    def letters(self) -> str:
        inside = "".join(iter(self.take, "}")) if self.peek() == "{" else ""
        letters = inside[1:].strip()
        if not (letters.isascii() and letters.isalpha()):
            raise UnreadableFormula
        return letters

    def matrix(self) -> str:
        # `vmatrix` is a determinant; the other kinds differ only in their brackets
        name = self.letters()
        if not is_matrix(name):
            raise UnreadableFormula
        if name == "array" and self.peek() == "{":
            self.letters()
        self.enter()
        rows = [[""]]
        while self.peek() != "\\end":
            if self.peek() == "&":
                self.at += 1
                rows[-1].append("")
            elif self.peek() == "\\\\":
                self.at += 1
                rows.append([""])
            else:
                rows[-1][-1] += self.next()
        self.take()
        if self.letters() != name:
            raise UnreadableFormula
        self.depth -= 1
        kind = "vmatrix" if name == "vmatrix" else "pmatrix"
        body = r"\\".join("&".join(row) for row in rows if row != [""])
        return rf"\begin{{{kind}}}{body}\end{{{kind}}}"
