r"""A judge by rules: matches what an answer means, offline, and errs only where it is told to.

Compared are tokens: words without case, accents, articles and punctuation, and numbers as exact fractions, however they
are written: `50` and "fifty", `\frac{1}{2}`, 0.5, "one half" and 50%. As questions often name the percent themselves, 50%
and 50 are equal too. Roundings are not: 0.333 is not 1/3.

An option is named by its sign, as the rule `option_letter` reads it, or by its text; whoever names several has chosen none.
Known limits: it knows no synonyms, reads languages that put spaces between words, compares formulas only as they are
written, and of a longer answer takes any assertion of a reference for the answer, "many say London" too; of several
numbers the last counts, or the first behind "the answer is".
"""

from __future__ import annotations

import itertools
import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from flows.engines import Question, Request
from flows.engines.embedded.annotator import Annotate, cell_parts
from flows.engines.embedded.draws import uniform
from models_registry.cards import ModelCard
from models_registry.errors import EngineError
from udfs.scoring.option_letter import TWO_CHOICES, read_option

REACH = 12
"""Words before an answer that can take it back: "it is not Paris"."""

_NEGATIONS = frozenset(("not", "never", "neither", "nor", "cannot", "except", "unlike"))
_INSTEAD = frozenset((("instead", "of"), ("rather", "than")))
_EMPHASES = frozenset(("only", "just", "merely"))  # "not only Paris" denies nothing
_VAGUE = frozenset(("so", "thereabouts"))
_IS = frozenset(("is", "was", "are", "were"))
_WRONG = frozenset(("not", "wrong", "incorrect", "false"))
_ISNT = frozenset(("isn't", "wasn't", "aren't", "weren't", "cannot", "can't"))
_JOINS = frozenset(("+", "-", "^", "/", "<", ">", "sqrt", "pi", "frac"))  # of a number to more than a number
_VARIABLES = frozenset("abcnxyz")
_FILLERS = frozenset(("the", "an", "about", "around", "approximately", "roughly", "circa"))
_DETERMINERS = frozenset(("the", "no", "any", "this", "that", "which", "every", "each", "another", "some", "last"))
_PARTICLES = frozenset(
    ("in", "of", "on", "at", "to", "by", "for", "from", "and", "or", "as", "is", "was", "are", "were", "be", "if", "it", "that",
     "this", "which", "when", "so", "since", "because", "altogether", "exactly")
)  # fmt: skip
_UNITS = {"km": "kilometre", "kilometer": "kilometre", "m": "metre", "meter": "metre", "cm": "centimetre", "kg": "kilogram",
          "g": "gram", "h": "hour", "min": "minute", "s": "second", "l": "litre", "liter": "litre"}  # fmt: skip

ONES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
        "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")  # fmt: skip
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SMALL = {**{word: n for n, word in enumerate(ONES)}, **{word: 10 * n for n, word in enumerate(TENS, start=2)}}
_LARGE = {"thousand": 10**3, "million": 10**6, "billion": 10**9}
_PARTS = {"half": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9,
          "tenth": 10, "twelfth": 12, "hundredth": 100}  # fmt: skip
_PLURALS = {("halves" if word == "half" else f"{word}s"): n for word, n in _PARTS.items()}

_SCALES = frozenset(("hundred", *_LARGE))
_ARTICLES = frozenset(("a", "an"))
_MINUS = frozenset(("minus", "negative"))
_STARTS = frozenset((*_SMALL, *_ARTICLES, *_MINUS, "half"))

_NAME = re.compile(r"^\s*[A-Za-z]\s*=")  # of what an equation was solved for
_MARKER = re.compile(r"\\f?box(?:ed)?\b|\banswer(?: is|:| =)|####", re.IGNORECASE)
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


class Quantity(NamedTuple):
    """A reference that is a number: its value as written, whether in percent, and the words behind it."""

    value: Fraction
    is_percent: bool
    unit: tuple[str, ...]


def matcher_annotator(card: ModelCard) -> Annotate:
    """Replies with a verdict as `udfs.scoring.verdict` reads it, with probability `card.rate` turned round.

    Which ones is drawn for every judge, completion and repetition apart. A request that is no judge's raises EngineError.
    """
    rate = card.rate or 0

    def annotate(request: Request) -> str:
        question = request.question
        if question is None or question.completion is None:
            msg = f"model '{request.model_id}' is a matcher, which only judges: name it in the card of a judge"
            raise EngineError(msg)
        is_match, reason = matches(question, question.completion)
        if uniform(*cell_parts("matcher", card.seed, request)) < rate:
            is_match, reason = not is_match, f"turned round on purpose: {reason}"
        return json.dumps({"reason": reason, "match": is_match})

    return annotate


def matches(question: Question, completion: str) -> tuple[bool, str]:
    """Returns whether a completion means what is right, and why: the right option alone, else one of the references.

    A blank completion matches nothing, and nothing matches where it is not known what is right. What a completion says
    of itself or of its judging is read as any other words.
    """
    text = _cleaned(completion)
    tokens = _tokens(text)
    if not tokens:
        return False, "the answer is blank"
    if question.options and question.gold_index is not None:
        return _matches_option(question, text, tokens, question.gold_index)
    spans = [(reference, *span) for reference in question.references for span in _given(text, tokens, reference)]
    edges = {start for _, start, _ in spans} | {end for _, _, end in spans}
    for reference, start, end in spans:
        if _is_denied(tokens, start, end):
            return False, f"the answer denies {reference!r}"
        # "Holland or the Netherlands" is one answer where both are references
        if (_value(tokens, start - 1) == "or" and start - 1 not in edges) or (
            _value(tokens, end) == "or" and end + 1 not in edges and _value(tokens, end + 1) not in _VAGUE
        ):
            return False, f"the answer names something else beside {reference!r}"
    return (True, f"the answer gives {spans[0][0]!r}") if spans else (False, "the answer gives none of the references")


def _matches_option(question: Question, text: str, tokens: Sequence[Token], gold: int) -> tuple[bool, str]:
    signs = [_cleaned(sign) for sign in question.signs]
    named, denied, rest = _named_by_text(question.options, signs, text, tokens)
    if signs:
        sign = read_option(rest, signs)
        if sign.reason == TWO_CHOICES:
            return False, "the answer commits to several options"
        if sign.index is not None:
            named.add(sign.index)
    if len(named) != 1:
        return False, f"the answer names {len(named)} options" if named else "the answer names no option"
    right = question.options[gold]
    if gold not in named:
        return False, f"the answer names another option than {right!r}"
    return (False, f"the answer denies {right!r}") if gold in denied else (True, f"the answer names {right!r} alone")


def _named_by_text(
    options: Sequence[str], signs: Sequence[str], text: str, tokens: Sequence[Token]
) -> tuple[set[int], set[int], str]:
    """The options whose texts are asserted, those whose texts are denied, and the completion without these texts.

    Longer texts come first, and a shorter one inside them is not named. A text that is also a sign ("3") is left to the
    reader of signs.
    """
    are_signs = {sign.casefold() for sign in signs}
    sought = [(_tokens(_cleaned(option)), index) for index, option in enumerate(options)]
    taken, named, denied = set[int](), set[int](), set[int]()
    for wanted, index in sorted(sought, key=lambda each: -len(each[0])):
        for start, end in _occurrences(tokens, wanted):
            if text[tokens[start].start : tokens[end - 1].end].casefold() in are_signs:
                continue
            if taken.isdisjoint(range(start, end)):
                taken.update(range(start, end))
                (denied if _is_denied(tokens, start, end) else named).add(index)
    rest = list(text)
    for place in taken:
        begins, ends = tokens[place].start, tokens[place].end
        rest[begins:ends] = " " * (ends - begins)
    return named, denied, "".join(rest)


def _given(text: str, tokens: Sequence[Token], reference: str) -> Iterator[tuple[int, int]]:
    """Where a completion gives a reference: a number as its final one, anything else word by word."""
    wanted = _tokens(_NAME.sub("", _cleaned(reference)))
    quantity = _quantity(wanted)
    if quantity is None:
        yield from _occurrences(tokens, wanted)
        return
    place = _final_number(text, tokens)
    if place is not None and not _is_listed(text, tokens, place) and _is_quantity(tokens, place, quantity):
        yield place, place + 1


def _occurrences(tokens: Sequence[Token], wanted: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Where the wanted tokens stand in a row; what begins or ends like a formula is no part of a longer one."""
    values, sought = [token.value for token in tokens], [token.value for token in wanted]
    is_list = bool(wanted) and wanted[0].clause != wanted[-1].clause  # (1, 2) is no part of (1, 2, 3)
    for start in range(len(values) - len(sought) + 1) if sought else ():
        end = start + len(sought)
        if values[start] != sought[0] or values[start:end] != sought:
            continue
        edges = ((sought[0], start, start - 1), (sought[-1], end - 1, end))
        if not any(
            (isinstance(edge, Fraction) or edge in _VARIABLES or edge in _JOINS)
            and 0 <= beyond < len(tokens)
            and (isinstance(values[beyond], Fraction) or values[beyond] in _JOINS)
            and (is_list or tokens[place].clause == tokens[beyond].clause)
            for edge, place, beyond in edges
        ):
            yield start, end


def _is_denied(tokens: Sequence[Token], start: int, end: int) -> bool:
    """Whether its clause takes an answer back: "it is not Paris", "Paris is wrong"."""
    clause = tokens[start].clause
    for place in range(start - 1, max(start - 1 - REACH, -1), -1):
        if tokens[place].clause != clause:
            break
        word = tokens[place].value
        if (_value(tokens, place - 1), word) in _INSTEAD:
            return True
        if isinstance(word, str) and (word in _NEGATIONS or word.endswith("n't")):
            return _value(tokens, place + 1) not in _EMPHASES
    first, second = _value(tokens, end), _value(tokens, end + 1)
    is_same = end < len(tokens) and tokens[end].clause == clause
    return is_same and (first in _ISNT or (first in _IS and second in _WRONG))


def _quantity(wanted: Sequence[Token]) -> Quantity | None:
    """The number that a reference is, alone or with a unit; None where it is anything else."""
    values = [token.value for token in wanted]
    if not values or not isinstance(values[0], Fraction):
        return None
    unit = [value for value in values[1:] if isinstance(value, str) and value not in _JOINS and value not in _VARIABLES]
    if len(unit) < len(values) - 1:
        return None
    return Quantity(values[0], "%" in unit[:1], tuple(_unit(word) for word in unit if word != "%"))


def _final_number(text: str, tokens: Sequence[Token]) -> int | None:
    """The place of the first number behind the last "answer is" or box, else of the last number; denied ones aside."""
    marker = max((match.end() for match in _MARKER.finditer(text)), default=None)
    numbers = [place for place, token in enumerate(tokens) if isinstance(token.value, Fraction)]
    behind = [place for place in numbers if marker is not None and tokens[place].start >= marker]
    for place in (*behind, *reversed(numbers)):
        if not _is_denied(tokens, place, place + 1):
            return place
    return None


def _is_listed(text: str, tokens: Sequence[Token], place: int) -> bool:
    """Whether a comma alone stands between the number at a place and another: (4, 3) is neither 4 nor 3."""
    return any(
        isinstance(before.value, Fraction)
        and isinstance(behind.value, Fraction)
        and text[before.end : behind.start].strip() == ","
        for before, behind in itertools.pairwise(tokens[max(place - 1, 0) : place + 2])
    )


def _is_quantity(tokens: Sequence[Token], place: int, wanted: Quantity) -> bool:
    """Whether the number at a place is the wanted one, no part of a formula, and of its unit where a unit follows.

    A number without a unit answers one with: questions name it.
    """
    value, clause = tokens[place].value, tokens[place].clause
    before = _value(tokens, place - 1) if place and tokens[place - 1].clause == clause else None
    behind = [token for token in tokens[place + 1 : place + 3 + len(wanted.unit)] if token.clause == clause]
    is_percent = bool(behind) and behind[0].value == "%"
    behind = behind[is_percent:]
    follows = behind[0].value if behind else None
    is_multiplied = follows in _VARIABLES and tokens[place].end == behind[0].start  # 4x is no 4
    if not isinstance(value, Fraction) or before in _JOINS or follows in _JOINS or is_multiplied:
        return False
    if before == "past" or (before == "and" and value < 1):  # twenty past two, a day and a half
        return False
    hundredths = Fraction(100 if wanted.is_percent else 1, 100 if is_percent else 1)
    if value not in (wanted.value, wanted.value / hundredths):
        return False
    unit = tuple(_unit(str(token.value)) for token in behind[: len(wanted.unit)])
    return not wanted.unit or follows is None or follows in _PARTICLES or unit == wanted.unit


def _unit(word: str) -> str:
    singular = word[:-1] if word.endswith("s") and len(word) > 2 else word  # noqa: PLR2004 - the unit s
    return _UNITS.get(singular, singular)


def _value(tokens: Sequence[Token], place: int) -> str | Fraction | None:
    return tokens[place].value if 0 <= place < len(tokens) else None


def _cleaned(text: str) -> str:
    """A text in its plain letters, without accents, simple fractions of LaTeX as a/b, figures without separators."""
    for pattern, plain in _COMPATIBLE:
        text = pattern.sub(plain, text)
    text = "".join(sign for sign in unicodedata.normalize("NFKD", text) if not "\u0300" <= sign <= "\u036f")
    for pattern, plain in _PLAIN:
        text = pattern.sub(plain, text)
    return unicodedata.normalize("NFKC", text)


def _tokens(text: str) -> list[Token]:
    """The words and numbers of a cleaned text, number words read, articles and the like left out."""
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
    """Whether an "a" is one: before a word, and small or at the beginning, unlike that of "vitamin A is"."""
    if token.value != "a" or not _BEFORE_WORD.match(text, token.end):
        return False
    return text[token.start] == "a" or token.start == 0 or text[token.start - 1] in _OPENING


At = Callable[[int], str | Fraction | None]
"""The value at a place, None beyond the clause."""


def _with_numbers(text: str, tokens: Sequence[Token]) -> Iterator[Token]:
    """The tokens, every number in words as one number."""
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
    """The number that begins at a place, and the place behind it; None where none begins."""
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
    """Whether a number below a hundred goes on after a part: after none, hundreds, or tens before ones."""
    if part is None:
        return True
    return (part > 0 and part % 100 == 0) or (part % 100 in range(20, 100, 10) and small in range(1, 10))
