r"""Reads a text as words and numbers, however these are written: `50` and "fifty", `\frac{1}{2}`, 0.5 and "one half"."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

_FILLERS = frozenset(("the", "an", "about", "around", "approximately", "roughly", "circa"))
_DETERMINERS = frozenset(("the", "no", "any", "this", "that", "which", "every", "each", "another", "some", "last"))
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
_SMALL = {**{word: n for n, word in enumerate(ONES)}, **{word: 10 * n for n, word in enumerate(TENS, start=2)}}
_LARGE = {"thousand": 10**3, "million": 10**6, "billion": 10**9}
_PARTS = {
    "half": 2,
    "third": 3,
    "quarter": 4,
    "fourth": 4,
    "fifth": 5,
    "sixth": 6,
    "seventh": 7,
    "eighth": 8,
    "ninth": 9,
    "tenth": 10,
    "twelfth": 12,
    "hundredth": 100,
}
_PLURALS = {("halves" if word == "half" else f"{word}s"): n for word, n in _PARTS.items()}

_SCALES = frozenset(("hundred", *_LARGE))
_ARTICLES = frozenset(("a", "an"))
_MINUS = frozenset(("minus", "negative"))
_STARTS = frozenset((*_SMALL, *_ARTICLES, *_MINUS, "half"))

_DROPPED = frozenset(
    ("boxed", "fbox", "text", "textbf", "textit", "mathrm", "mathbf", "left", "right", "times", "cdot", "quad")
)
_COMPATIBLE = (
    (re.compile(r"(?<=\d)(?=[¼-¾⅐-⅞])"), " "),  # 2½ is no 21/2
    (re.compile(r"(?<=\w)(?=[²³¹⁰⁴-⁹])"), "^"),
    (re.compile(r"(?<=\d)[\u00a0\u2009\u202f](?=\d{3}(?!\d))"), ""),
    (re.compile(r"[\u2018\u2019]"), "'"),
    (re.compile("\u2212"), "-"),
)
_PLAIN = (
    (re.compile("\u2044"), "/"),
    (re.compile(r"\\[,;!]|\{,\}"), ""),
    (re.compile(r"\\([%$])"), r"\1"),
    (re.compile(r"(?<=\d)\s*(?=\\[dtc]?frac)"), " "),
    (re.compile(r"\\[dtc]?frac\s*\{([^{}\\]*)\}\s*\{([^{}\\]*)\}"), r"\1/\2"),
    (re.compile(r"\\[dtc]?frac\s*(\d)\s*(\d)"), r"\1/\2"),
    (re.compile(r"(?<=\d),(?=\d{3}(?!\d))"), ""),
    (re.compile(r"\bper ?cent\b", re.IGNORECASE), "%"),
    (re.compile(r"(?<=\w)\*\*(?=\d)"), "^"),
)
_OPENING = frozenset("\n\"'(*_")
_BEFORE_WORD = re.compile(r"\s+[\"'(*_]*[^\W_]")
_PIECE = re.compile(
    r"(?P<ordinal>\d{1,9}(?:st|[nr]d|th)\b)"
    r"|(?<!/)(?P<top>(?:(?<![\w)\]}.%])-)?\d{1,200})[ ]?/[ ]?(?P<bottom>\d{1,200})(?![\d.]*[ ]?/)"
    r"|(?P<number>(?:(?<![\w)\]}.%])-)?(?:\d{1,200}(?:\.\d{1,200})?|\.\d{1,200}))"
    # a sign of arithmetic between what is no longer word: neither "well-known" nor "- first"
    r"|(?<=[\w)\]}%])(?<![^\W\d_]{2})[ \t]*(?P<join>[-+^<>/])[ \t]*(?=[\d.(\\{]|[^\W\d_](?![^\W_]))"
    r"|\\(?P<command>[A-Za-z]+)"
    r"|(?P<word>[^\W\d_][^\W_]*(?:'[^\W_]+)*)"
    r"|(?P<percent>%)"
    r"|(?P<end>[.,;:!?=\n])"
)


class Token(NamedTuple):
    """A word or number, which clause of the text it stands in, and its characters."""

    value: str | Fraction
    clause: int
    start: int
    end: int


def cleaned(text: str) -> str:
    """Returns a text in its plain letters, without accents, simple fractions of LaTeX as a/b, figures without separators."""
    for pattern, plain in _COMPATIBLE:
        text = pattern.sub(plain, text)
    text = "".join(sign for sign in unicodedata.normalize("NFKD", text) if not "\u0300" <= sign <= "\u036f")
    for pattern, plain in _PLAIN:
        text = pattern.sub(plain, text)
    return unicodedata.normalize("NFKC", text)


def tokens_of(text: str) -> list[Token]:
    """Returns the words and numbers of a cleaned text, number words read, articles and the like left out."""
    tokens = list(_with_numbers(text, list(_pieces(text))))
    kept = [token for token in tokens if token.value not in _FILLERS and not _is_article(text, token)]
    return kept or tokens


def _pieces(text: str) -> Iterator[Token]:
    clause = 0
    for match in _PIECE.finditer(text):
        kind, token = match.lastgroup, match[match.lastgroup or 0]
        value: str | Fraction = token.casefold()
        if kind == "end":
            clause += 1
            continue
        if kind == "bottom":
            value = Fraction(int(match["top"]), int(token)) if int(token) else token
        elif kind == "number":
            value = Fraction(token)
        elif kind == "word":
            value = token.casefold().removesuffix("'s")
            clause += value == "but"
        elif kind == "command" and token in _DROPPED:
            continue
        yield Token(value, clause, *match.span(kind or 0) if kind != "bottom" else match.span())


def _is_article(text: str, token: Token) -> bool:
    """Returns whether an "a" is one: before a word, and small or at the beginning, unlike that of "vitamin A is"."""
    if token.value != "a" or not _BEFORE_WORD.match(text, token.end):
        return False
    return text[token.start] == "a" or token.start == 0 or text[token.start - 1] in _OPENING


At = Callable[[int], str | Fraction | None]
"""The value at a place, None beyond the clause."""


def _with_numbers(text: str, tokens: Sequence[Token]) -> Iterator[Token]:
    """Yields the tokens, every number in words as one number."""
    place = 0
    while place < len(tokens):
        first, end = tokens[place], place + 1
        if isinstance(first.value, Fraction) or first.value in _STARTS:
            value, end = _number(text, tokens, place) or (first.value, end)
            yield Token(value, first.clause, first.start, tokens[end - 1].end)
        else:
            yield first
        place = end


def _number(text: str, tokens: Sequence[Token], start: int) -> tuple[Fraction, int] | None:
    """Returns the number that begins at a place, and the place behind it; None where none begins."""
    clause = tokens[start].clause

    def at(place: int) -> str | Fraction | None:
        return tokens[place].value if 0 <= place < len(tokens) and tokens[place].clause == clause else None

    is_negative = at(start) in _MINUS
    first = start + is_negative
    number = _part(at, first) or _cardinal(at, first)
    if number is None:
        return None
    value, end = number
    if end - start == 1 and at(start) == "one" and at(start - 1) in _DETERMINERS:
        return None  # "the one", "no one"
    following = at(end)
    if following == "point":
        digits = [str(word) for word in itertools.takewhile(ONES[:10].__contains__, map(at, itertools.count(end + 1)))]
        value += sum(Fraction(_SMALL[digit], 10**place) for place, digit in enumerate(digits, start=1))
        end += len(digits) + 1 if digits else 0
    elif following == "over" and (below := _cardinal(at, end + 1)) is not None and below[0]:
        value, end = value / below[0], below[1]
    elif following == "and" and (part := _part(at, end + 1)) is not None and 0 < part[0] < 1:
        value, end = value + part[0], part[1]
    elif isinstance(following, Fraction) and "/" in text[tokens[end].start : tokens[end].end] and 0 < following < 1:
        value, end = value + (following if value >= 0 else -following), end + 1  # 2 1/2
    return (-value if is_negative else value), end


def _part(at: At, start: int) -> tuple[Fraction, int] | None:
    """Halves, thirds and the like: "half", "a third", "three quarters"."""
    if at(start) == "half":
        return Fraction(1, 2), start + 1
    if at(start) in _ARTICLES and at(start + 1) in _PARTS:
        return Fraction(1, _PARTS[str(at(start + 1))]), start + 2
    number = _cardinal(at, start)
    if number is None:
        return None
    below = (_PARTS if number[0] == 1 else _PLURALS).get(str(at(number[1])))
    return None if below is None else (number[0] / below, number[1] + 1)


def _cardinal(at: At, start: int) -> tuple[Fraction, int] | None:
    """A whole number in words, years as they are spoken too ("nineteen sixty-nine"); figures with "million" behind them."""
    first, place = at(start), start + 1
    if isinstance(first, Fraction):
        scale = {"hundred": 100, **_LARGE}.get(str(at(place)))
        return (first, place) if scale is None else (first * scale, place + 1)
    phrase = _spoken(at, start)
    if phrase is None:
        return None
    value, place = phrase
    later = _spoken(at, place) if value in range(11, 21) else None
    if later is not None and later[0] in range(10, 100):
        return Fraction(100 * value + later[0]), later[1]
    return Fraction(value), place


def _spoken(at: At, start: int) -> tuple[int, int] | None:
    total, place, largest = 0, start, 10**12
    part: int | None = None
    if at(start) in _ARTICLES and (at(start + 1) == "hundred" or at(start + 1) in _LARGE):
        part, place = 1, start + 1
    while True:
        word = str(at(place))
        if word == "and" and str(at(place - 1)) in _SCALES and place > start and str(at(place + 1)) in _SMALL:
            word, place = str(at(place + 1)), place + 1
        if word in _SMALL and _fits(part, _SMALL[word]):
            part = (part or 0) + _SMALL[word]
        elif word == "hundred" and part is not None and part in range(1, 100):
            part *= 100
        elif part is not None and _LARGE.get(word, largest) < largest:
            total, part, largest = total + part * _LARGE[word], None, _LARGE[word]
        else:
            break
        place += 1
    return None if place == start else (total + (part or 0), place)


def _fits(part: int | None, small: int) -> bool:
    """Returns whether a number below a hundred goes on after a part: after none, hundreds, or tens before ones."""
    if part is None:
        return True
    return (part > 0 and part % 100 == 0) or (part % 100 in range(20, 100, 10) and small in range(1, 10))


def whole_in_words(number: int) -> str:
    """Returns a whole number from 0 to 999,999 in words: 1234 is "one thousand two hundred and thirty-four"."""
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
