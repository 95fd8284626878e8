r"""Says numbers in words: 50 as "fifty", \frac{1}{2} as "one half"."""

from __future__ import annotations

import re

ONES = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
)
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")

_PARTS = {
    2: ("half", "halves"),
    3: ("third", "thirds"),
    4: ("quarter", "quarters"),
    5: ("fifth", "fifths"),
    6: ("sixth", "sixths"),
    8: ("eighth", "eighths"),
    10: ("tenth", "tenths"),
}
_MIXED = re.compile(r"(?<=\d)(?=\\[dtc]?frac)")
_LATEX_FRACTION = re.compile(r"\\[dtc]?frac\s*\{(\d+)\}\s*\{(\d+)\}")
_FORMULA = re.compile(r"[\\^*+<>_{}]|\d[A-Za-z]| - |[\w)]-\d")
_NUMBER = re.compile(
    r"(?<![\w./])(?P<minus>-)?(?:(?:(?P<whole>\d+) )?(?P<top>\d+)/(?P<bottom>\d+)"
    r"|(?P<number>\d{1,3}(?:,\d{3})+|\d+)(?:\.(?P<decimals>\d+))?)(?![\w/]|[.,]\d)"
)


def in_words(text: str) -> str:
    r"""Writes a text's numbers in words: "50 years" as "fifty years", \frac{1}{2} as "one half"; formulas stay.

    Numbers of a million and more, and such as 007, stay in figures.
    """
    plain = _LATEX_FRACTION.sub(r"\1/\2", _MIXED.sub(" ", text.replace("$", ""))).replace("\\%", "%").strip()
    return text if _FORMULA.search(plain) else _NUMBER.sub(_number_in_words, plain).replace("%", " percent")


def _number_in_words(match: re.Match[str]) -> str:
    part = match.groupdict()
    whole, top, bottom = (None if part[name] is None else int(part[name]) for name in ("whole", "top", "bottom"))
    figures = (part["number"] or "0").replace(",", "")
    if max(whole or 0, top or 0, bottom or 0, int(figures)) >= 10**6 or (len(figures) > 1 and figures[0] == "0"):
        return match[0]
    minus = "minus " if part["minus"] else ""
    if top is not None and bottom is not None:
        words = _fraction_in_words(top, bottom)
        return minus + (words if whole is None else f"{whole_in_words(whole)} and {words}")
    decimals = "".join(f" {ONES[int(digit)]}" for digit in part["decimals"] or "")
    return f"{minus}{whole_in_words(int(figures))}{' point' if decimals else ''}{decimals}"


def _fraction_in_words(top: int, bottom: int) -> str:
    if bottom not in _PARTS:
        return f"{whole_in_words(top)} over {whole_in_words(bottom)}"
    return f"{whole_in_words(top)} {_PARTS[bottom][top != 1]}"


def whole_in_words(number: int) -> str:
    """Writes a whole number from 0 to 999,999 in words: 1234 is "one thousand two hundred and thirty-four"."""
    if number < len(ONES):
        return ONES[number]
    if number < 100:  # noqa: PLR2004 - tens and ones
        tens, ones = divmod(number, 10)
        return TENS[tens - 2] + (f"-{ONES[ones]}" if ones else "")
    if number < 1000:  # noqa: PLR2004 - hundreds
        hundreds, rest = divmod(number, 100)
        return f"{ONES[hundreds]} hundred" + (f" and {whole_in_words(rest)}" if rest else "")
    thousands, rest = divmod(number, 1000)
    joined = " and " if 0 < rest < 100 else " "  # noqa: PLR2004 - one thousand and five
    return f"{whole_in_words(thousands)} thousand" + (f"{joined}{whole_in_words(rest)}" if rest else "")
