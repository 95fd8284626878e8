r"""Lists the words, commands and signs of formulas in answers; `formula` reads nothing else."""

from __future__ import annotations

import re

LONGEST_NAME = 3
"""Up to so many letters in a row are a product; more are a word, and words are not read."""

is_function = re.compile(r"(?:arc)?(?:sin|cos|tan)|sec|csc|cot|sinh|cosh|tanh|log|ln|exp|max|min").fullmatch
is_sign = re.compile(
    r"alpha|beta|gamma|delta|(?:var)?epsilon|zeta|eta|theta|iota|kappa|lambda|mu|nu|xi|pi|rho|sigma|tau|(?:var)?phi|chi|"
    r"psi|omega|Gamma|Delta|Theta|Lambda|Xi|Pi|Sigma|Phi|Psi|Omega|infty|times|cdot|div|pm|cup|cap|setminus|emptyset|"
    r"in|leq?|geq?|lt|gt|neq|approx|sum|prod|int|lim|to|[lr](?:floor|ceil)|mod"
).fullmatch
is_spacing = re.compile(r"left|right|[bB]igg?[lr]?|(?:display|text)style|(?:no)?limits|q?quad").fullmatch
is_writing = re.compile(r"text(?:rm|bf|it|normal)?|math(?:rm|bf|it)|mbox|operatorname").fullmatch
is_accent = re.compile(r"vec|hat|bar|tilde|overline|overrightarrow").fullmatch
is_matrix = re.compile(r"[pbv]?matrix|smallmatrix|array").fullmatch
is_differential = re.compile(r"d[a-np-z]").fullmatch
takes_bounds = re.compile(r"sum|prod|int|lim|log").fullmatch

is_prose = re.compile(
    r"an|are|as|at|be|by|all|any|but|can|due|for|from|get|got|has|he|her|his|if|is|it|its|let|no|not|now|of|one|our|she|"
    r"six|so|ten|the|to|two|us|was|we|yes|you",
    re.IGNORECASE,
).fullmatch
"""Matches short words of English: "so 3" is no product."""

RENAMED = (
    dict.fromkeys(("dfrac", "tfrac", "cfrac"), "frac")
    | dict.fromkeys(("dbinom", "tbinom"), "binom")
    | {"ne": "neq", "varnothing": "emptyset", "rightarrow": "to", "ast": "cdot", "bmod": "mod"}
    | {"lbrace": "\\{", "rbrace": "\\}", "lbrack": "[", "rbrack": "]", "vert": "|", "lvert": "|", "rvert": "|"}
)
"""Commands with another name of the same meaning."""

WRITTEN_AS = (
    {sign: sign for sign in ("+", "-", "*", "/", "(", ")", "[", "]", "\\{", "\\}", "=", "<", ">", "!", ";", ":", "|")}
    | {"<=": r"\le ", ">=": r"\ge ", "!=": r"\neq ", "==": "=", ",": ", "}  # with the space, "1,234" is no number
    | dict.fromkeys(("%", "\\%"), r"\cdot \frac{1}{100}")
)
"""Signs, and the LaTeX that the parser gets for them."""

SIGNS = {
    "\N{MINUS SIGN}": "-",
    "\N{EN DASH}": "-",
    "\N{FRACTION SLASH}": "/",
    "\N{MULTIPLICATION SIGN}": r"\times ",
    "\N{DIVISION SIGN}": r"\div ",
    "\N{MIDDLE DOT}": r"\cdot ",
    "\N{DOT OPERATOR}": r"\cdot ",
    "\N{SQUARE ROOT}": r"\sqrt ",
    "\N{INFINITY}": r"\infty ",
    "\N{GREEK SMALL LETTER PI}": r"\pi ",
    "\N{GREEK SMALL LETTER THETA}": r"\theta ",
    "\N{LESS-THAN OR EQUAL TO}": r"\le ",
    "\N{GREATER-THAN OR EQUAL TO}": r"\ge ",
    "\N{NOT EQUAL TO}": r"\ne ",
    "\N{PLUS-MINUS SIGN}": r"\pm ",
    "\N{UNION}": r"\cup ",
    "\N{INTERSECTION}": r"\cap ",
    "\N{ELEMENT OF}": r"\in ",
    "\N{EMPTY SET}": r"\emptyset ",
    "\N{SUPERSCRIPT TWO}": "^2",
    "\N{SUPERSCRIPT THREE}": "^3",
    "\N{VULGAR FRACTION ONE HALF}": r"\frac{1}{2}",
    "\N{VULGAR FRACTION ONE QUARTER}": r"\frac{1}{4}",
    "\N{VULGAR FRACTION THREE QUARTERS}": r"\frac{3}{4}",
    "\N{VULGAR FRACTION ONE THIRD}": r"\frac{1}{3}",
    "\N{VULGAR FRACTION TWO THIRDS}": r"\frac{2}{3}",
}
"""Unicode signs, and the LaTeX for them."""

WORDS = (
    {name: rf"\{name} " for name in ("pi", "alpha", "beta", "gamma", "theta")}
    | dict.fromkeys(("infinity", "inf", "oo"), r"\infty ")
    | dict.fromkeys(("and", "or"), " , ")
    | {"in": r"\in ", "mod": r" \mod "}
)
"""Words outside TeX, and the LaTeX that the parser gets for them."""


DROPPED_UNITS = frozenset(("dollar", "usd", "euro", "eur", "degree"))


def is_name(word: str) -> bool:
    """Tests whether a word has a meaning in formulas."""
    return word in WORDS or word in ("sqrt", "frac") or is_function(word) is not None


def unit_words(unit: str) -> tuple[str, ...]:
    """Splits a unit into lower-case singular words: `Square inches` is (`square`, `inch`), `m/s` is (`m/s`,).

    Words of currencies and degrees are left out, as their signs are.
    """
    words = (_singular(word.strip(".,")) for word in unit.lower().split())
    return tuple(word for word in words if word and word not in DROPPED_UNITS)


def _singular(word: str) -> str:
    if len(word) <= LONGEST_NAME or word.endswith("ss"):
        return word
    return word[:-2] if word.endswith(("ches", "shes", "xes", "sses")) else word.removesuffix("s")
