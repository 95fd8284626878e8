"""Reads an answer's text as a formula, and writes it anew as the LaTeX that the worker's parser is given.

This is the gate of `math_equal`: only numbers, signs, commands and letters named here are ever written, so nothing else
of a completion reaches the parser. It has to be: sympy sums a series numerically by writing the names of its symbols
into Python code, and given `\\sum_{n=0}^{\\infty} \\frac{\\text{CODE}^n}{n!}` unread, math-verify 0.9 runs CODE.

Plain writing is understood beside LaTeX: `x**2`, `x^(1/2)`, `x^10`, `sqrt(2)`, `2*pi`, `<=`, `1,000`, `x=1 or x=2`.
`i` is the imaginary unit, except beside a sum or product, where it counts.
"""

from __future__ import annotations

import re
from typing import NamedTuple

MAX_CHARACTERS = 1_000
"""Longest answer compared as mathematics."""

MAX_DEPTH = 40
"""Deepest nesting of groups, brackets and matrices."""

MAX_EXPONENT_DIGITS = 4
LONGEST_NAME = 3
"""So many letters side by side are a product; more are a word, and words are not read."""

_is_function = re.compile(r"(?:arc)?(?:sin|cos|tan)|sec|csc|cot|sinh|cosh|tanh|log|ln|exp|gcd|lcm|max|min").fullmatch
_is_sign = re.compile(
    r"alpha|beta|gamma|delta|(?:var)?epsilon|zeta|eta|theta|iota|kappa|lambda|mu|nu|xi|pi|rho|sigma|tau|(?:var)?phi|chi|"
    r"psi|omega|Gamma|Delta|Theta|Lambda|Xi|Pi|Sigma|Phi|Psi|Omega|infty|times|cdot|div|pm|cup|cap|setminus|emptyset|"
    r"in|leq?|geq?|lt|gt|neq|approx|sum|prod|int|lim|to|[lr](?:floor|ceil)|mod"
).fullmatch
_is_space = re.compile(r"left|right|[bB]igg?[lr]?|(?:display|text)style|(?:no)?limits|q?quad|\\[,;:! ]|~|\s+").fullmatch
_is_writing = re.compile(r"text(?:rm|bf|it|normal)?|math(?:rm|bf|it)|mbox|operatorname").fullmatch
_is_accent = re.compile(r"vec|hat|bar|tilde|overline|overrightarrow").fullmatch
_is_matrix = re.compile(r"[pbv]?matrix|smallmatrix|array").fullmatch
_is_prose = re.compile(
    r"an|are|as|at|be|by|all|any|but|can|due|for|from|get|got|has|he|her|his|if|is|it|its|let|no|not|now|of|one|our|she|"
    r"six|so|ten|the|to|two|us|was|we|yes|you",
    re.IGNORECASE,
).fullmatch
_takes_bounds = re.compile(r"sum|prod|int|lim|log").fullmatch

_RENAMED = {
    **dict.fromkeys(("dfrac", "tfrac", "cfrac"), "frac"),
    **dict.fromkeys(("dbinom", "tbinom"), "binom"),
    **{"ne": "neq", "varnothing": "emptyset", "rightarrow": "to", "ast": "cdot", "bmod": "mod"},
    **{"lbrace": "\\{", "rbrace": "\\}", "lbrack": "[", "rbrack": "]", "vert": "|", "lvert": "|", "rvert": "|"},
}
_WRITTEN_AS = {
    **{
        sign: sign for sign in ("+", "-", "*", "/", "(", ")", "[", "]", "\\{", "\\}", "=", "<", ">", "!", ";", ":", "|")
    },
    **{"<=": r"\le ", ">=": r"\ge ", "!=": r"\neq ", "==": "=", "%": r"\%", "\\%": r"\%"},
    ",": ", ",  # the space keeps "1,234" inside brackets two numbers
}
_WORDS = {
    **{name: rf"\{name} " for name in ("pi", "alpha", "beta", "gamma", "theta")},
    **dict.fromkeys(("infinity", "inf", "oo"), r"\infty "),
    **dict.fromkeys(("and", "or"), " , "),
}
_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\*\*|[<>!=]=|[A-Za-z]+|[0-9]+(?:\.[0-9]+)?|\.[0-9]+|\s+|.", re.DOTALL)
_UNIT_AT_END = re.compile(
    r"\\(?:text(?:rm|bf)?|mathrm|mbox)\s*\{\s*([A-Za-z][A-Za-z ./-]{0,60})\}\s*(?:\^\s*\{?\s*([23])\s*\}?)?$"
)


class UnreadableFormula(ValueError):
    """The text holds something that no formula of ours does, or nothing."""


class OverlongFormula(ValueError):
    """The text is larger than any answer: too many characters, or too many digits in an exponent."""


class Formula(NamedTuple):
    """LaTeX for the parser, and the unit that stood behind it in `\\text{}` in the words of `unit_words`."""

    latex: str
    unit: tuple[str, ...]


def read_formula(text: str) -> Formula:
    """The formula of a text that `math_text.tidied` gave.

    Raises:
        UnreadableFormula: a word of more than three letters, a sign or command not named here, braces that do not
            match, nesting beyond 40, nothing at all.
        OverlongFormula: more than 1,000 characters, or an exponent of more than four digits.
    """
    if len(text) > MAX_CHARACTERS:
        raise OverlongFormula
    unit: tuple[str, ...] = ()
    behind = _UNIT_AT_END.search(text)
    if behind is not None and behind.start() > 0 and behind[1].strip() not in _WORDS:
        unit = unit_words(behind[1] + (behind[2] or ""))
        text = text[: behind.start()]
    latex = " ".join(_Reader(text).until(None).split())
    if not latex.strip(", ") or "," in (latex[0], latex[-1]):
        raise UnreadableFormula
    return Formula(latex, unit)


def unit_words(unit: str) -> tuple[str, ...]:
    """A unit's words in lower case and the singular: `Square inches` is (`square`, `inch`), `m/s` is (`m/s`,)."""
    words = (word.strip(".,") for word in unit.lower().split())
    return tuple(_singular(word) for word in words if word)


def _singular(word: str) -> str:
    if len(word) > LONGEST_NAME and word.endswith(("ches", "shes", "xes", "sses")):
        return word[:-2]
    return word[:-1] if len(word) > LONGEST_NAME and word.endswith("s") and not word.endswith("ss") else word


def is_name(word: str) -> bool:
    """Whether a word has a meaning in formulas."""
    return word in _WORDS or word in ("sqrt", "frac", "mod") or _is_function(word) is not None


class _Reader:
    """Reads tokens from left to right, with the arguments that TeX would give each, and writes them anew."""

    def __init__(self, text: str) -> None:
        self.tokens = _TOKEN.findall(text)
        self.at = 0
        self.depth = 0
        self.n_open = 0
        self.takes_bounds = False
        self.imaginary = "i" if "\\sum" in self.tokens or "\\prod" in self.tokens else "I"

    def until(self, stop: str | None) -> str:
        """Everything up to `stop`, which is passed over; None is the end of the text."""
        self.enter()
        parts: list[str] = []
        while self.at < len(self.tokens) and self.tokens[self.at] != stop:
            parts.append(self.next())
        if stop is not None:
            self.take()
        self.depth -= 1
        return "".join(parts)

    def until_bracket(self) -> str:
        """Everything up to the bracket that closes the one just passed."""
        self.enter()
        self.n_open += 1
        outside, parts = self.n_open - 1, [""]
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
        """The next token that is no white space, made the current one; empty at the end."""
        while self.at < len(self.tokens) and self.tokens[self.at].isspace():
            self.at += 1
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def next(self) -> str:
        """One token with its arguments, written anew."""
        token = self.take()
        takes_bounds, self.takes_bounds = self.takes_bounds, False
        if token[0] == "\\" and token[1:].isalpha():
            return self.command(_RENAMED.get(token[1:], token[1:]))
        if token in _WRITTEN_AS:
            return self.sign(token)
        if "0" <= token[-1] <= "9":
            return self.number(token)
        if token.isascii() and token.isalpha():
            return self.word(token)
        if _is_space(token):
            return " "
        if token == "{":
            return "{" + self.until("}") + "}"
        if token in ("^", "**"):
            self.takes_bounds = takes_bounds
            return "^{" + self.exponent() + "}"
        if token == "_":
            self.takes_bounds = takes_bounds
            return "_{" + (self.argument() if takes_bounds else self.index()) + "}"
        raise UnreadableFormula

    def sign(self, sign: str) -> str:
        self.n_open += (sign in ("(", "[", "\\{")) - (sign in (")", "]", "\\}"))
        return _WRITTEN_AS[sign]

    def command(self, name: str) -> str:
        if name in _WRITTEN_AS:
            return self.sign(name)
        if name in ("frac", "binom"):
            return rf"\{name}{{{self.argument()}}}{{{self.argument()}}}"
        if name == "sqrt":
            return self.root()
        if _is_function(name) or _is_sign(name):
            self.takes_bounds = _takes_bounds(name) is not None
            return rf"\{name} "
        if _is_space(name):
            if name in ("left", "right") and self.peek() == ".":  # a bracket that is not drawn
                self.at += 1
            return " "
        if name == "begin":
            return self.matrix()
        if _is_accent(name):
            return rf"\{name}{{{self.letters()}}}"
        if name == "mathbb" or _is_writing(name):
            letters = self.letters()
            if name == "mathbb" and letters in ("R", "Z", "N", "Q", "C"):
                return rf"\mathbb{{{letters}}}"
            if name != "mathbb" and (len(letters) == 1 or is_name(letters)):
                return self.word(letters)
        raise UnreadableFormula

    def word(self, word: str) -> str:
        if word in _WORDS:
            return _WORDS[word]
        if word == "sqrt":
            return self.root()
        if _is_function(word):
            self.takes_bounds = _takes_bounds(word) is not None
            return rf"\{word} "
        if len(word) > LONGEST_NAME or _is_prose(word) or self.is_beside_a_word(word):
            raise UnreadableFormula
        return word.replace("i", self.imaginary)

    def is_beside_a_word(self, word: str) -> bool:
        """Whether a word with no meaning in formulas comes next: "we get" is prose, and "x y" is not."""
        after = next((token for token in self.tokens[self.at : self.at + 2] if not token.isspace()), "")
        is_word = after.isascii() and after.isalpha() and not is_name(after)
        return is_word and len(word) + len(after) > 2

    def number(self, number: str) -> str:
        """A number; groups of three digits are joined where no bracket could make them a list."""
        if self.n_open == 0 and self.depth == 1 and len(number) <= LONGEST_NAME:
            while self.tokens[self.at : self.at + 1] == [","] and self.at + 1 < len(self.tokens):
                whole, _, _ = self.tokens[self.at + 1].partition(".")
                if len(whole) != LONGEST_NAME or not whole.isdigit():
                    break
                number += self.tokens[self.at + 1]
                self.at += 2
        return "0" + number if number[0] == "." else number

    def argument(self) -> str:
        """TeX's next argument: a group, or one character or command."""
        token = self.peek()
        if token == "{":
            self.at += 1
            return self.until("}")
        if len(token) > 1 and token.isalnum():
            self.tokens[self.at] = token[1:]
            return self.word(token[0]) if token[0].isalpha() else token[0]
        return self.next()

    def bracketed_or_argument(self) -> str:
        """`(1/2)` as a whole, as it is written outside TeX, or TeX's next argument."""
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

    def exponent(self) -> str:
        """What follows `^`; a number is taken whole, as people mean `x^10`, where TeX would take one digit."""
        sign = self.take() if self.peek() in ("-", "+") else ""
        exponent = self.take() if self.peek()[:1].isdigit() else self.bracketed_or_argument()
        if re.search(rf"[0-9]{{{MAX_EXPONENT_DIGITS + 1}}}", exponent):
            raise OverlongFormula
        if self.peek() in ("^", "**"):  # 2**3**4 is 2**(3**4)
            self.at += 1
            self.enter()
            exponent += "^{" + self.exponent() + "}"
            self.depth -= 1
        return sign + exponent

    def index(self) -> str:
        """What follows `_` behind a letter: it becomes part of a name, so letters and digits alone."""
        index = self.exponent().replace(" ", "")
        if not (index.isascii() and index.isalnum()):
            raise UnreadableFormula
        return index

    def letters(self) -> str:
        """The letters between the next braces."""
        inside = "".join(iter(self.take, "}")) if self.peek() == "{" else ""
        letters = inside[1:].strip()
        if not (letters.isascii() and letters.isalpha()):
            raise UnreadableFormula
        return letters

    def matrix(self) -> str:
        """A matrix or, of `vmatrix`, a determinant; any brackets drawn by the kind of matrix are one."""
        name = self.letters()
        if not _is_matrix(name):
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
