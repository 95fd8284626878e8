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
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from promptaudit.flows.engines import Question, Request
from promptaudit.flows.engines.embedded.annotator import Annotate, cell_parts
from promptaudit.flows.engines.embedded.draws import uniform
from promptaudit.flows.engines.embedded.tokens import Token, cleaned, tokens_of
from promptaudit.models_registry.cards import ModelCard
from promptaudit.models_registry.errors import EngineError
from promptaudit.udfs.readers.option_letter import TWO_CHOICES, read_option

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
_PARTICLES = frozenset(
    (
        "in",
        "of",
        "on",
        "at",
        "to",
        "by",
        "for",
        "from",
        "and",
        "or",
        "as",
        "is",
        "was",
        "are",
        "were",
        "be",
        "if",
        "it",
        "that",
        "this",
        "which",
        "when",
        "so",
        "since",
        "because",
        "altogether",
        "exactly",
    )
)
_UNITS = {
    "km": "kilometre",
    "kilometer": "kilometre",
    "m": "metre",
    "meter": "metre",
    "cm": "centimetre",
    "kg": "kilogram",
    "g": "gram",
    "h": "hour",
    "min": "minute",
    "s": "second",
    "l": "litre",
    "liter": "litre",
}


_NAME = re.compile(r"^\s*[A-Za-z]\s*=")  # of what an equation was solved for
_MARKER = re.compile(r"\\f?box(?:ed)?\b|\banswer(?: is|:| =)|####", re.IGNORECASE)


class Quantity(NamedTuple):
    """A reference that is a number: its value as written, whether in percent, and the words behind it."""

    value: Fraction
    is_percent: bool
    unit: tuple[str, ...]


def matcher_annotator(card: ModelCard) -> Annotate:
    """Replies with a verdict as `promptaudit.udfs.scoring.verdict` reads it, with probability `card.rate` turned round.

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
    text = cleaned(completion)
    tokens = tokens_of(text)
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
    signs = [cleaned(sign) for sign in question.signs]
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
    """Returns the options whose texts are asserted, those whose texts are denied, and the completion without these texts.

    Longer texts come first, and a shorter one inside them is not named. A text that is also a sign ("3") is left to the
    reader of signs.
    """
    are_signs = {sign.casefold() for sign in signs}
    sought = [(tokens_of(cleaned(option)), index) for index, option in enumerate(options)]
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
    wanted = tokens_of(_NAME.sub("", cleaned(reference)))
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
    """Returns whether its clause takes an answer back: "it is not Paris", "Paris is wrong"."""
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
    """Returns the number that a reference is, alone or with a unit; None where it is anything else."""
    values = [token.value for token in wanted]
    if not values or not isinstance(values[0], Fraction):
        return None
    unit = [value for value in values[1:] if isinstance(value, str) and value not in _JOINS and value not in _VARIABLES]
    if len(unit) < len(values) - 1:
        return None
    return Quantity(values[0], "%" in unit[:1], tuple(_unit(word) for word in unit if word != "%"))


def _final_number(text: str, tokens: Sequence[Token]) -> int | None:
    """Returns the place of the first number behind the last "answer is" or box, else of the last number; denied ones aside."""
    marker = max((match.end() for match in _MARKER.finditer(text)), default=None)
    numbers = [place for place, token in enumerate(tokens) if isinstance(token.value, Fraction)]
    behind = [place for place in numbers if marker is not None and tokens[place].start >= marker]
    for place in (*behind, *reversed(numbers)):
        if not _is_denied(tokens, place, place + 1):
            return place
    return None


def _is_listed(text: str, tokens: Sequence[Token], place: int) -> bool:
    """Returns whether a comma alone stands between the number at a place and another: (4, 3) is neither 4 nor 3."""
    return any(
        isinstance(before.value, Fraction)
        and isinstance(behind.value, Fraction)
        and text[before.end : behind.start].strip() == ","
        for before, behind in itertools.pairwise(tokens[max(place - 1, 0) : place + 2])
    )


def _is_quantity(tokens: Sequence[Token], place: int, wanted: Quantity) -> bool:
    """Returns whether the number at a place is the wanted one, no part of a formula, and of its unit where a unit follows.

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
