r"""Reads the option that a completion commits to, by the signs of the options only.

The reader is rigid on purpose: it never looks at an option's text, so "fifty years" is no choice even where option B is
"fifty years". Compared with a judge, it shows how much of a score's spread such rigidity makes.

This module knows what the sign of an option looks like in a text; `commitment` decides which of the signs is chosen, as
for any other answer.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from promptaudit.udfs.readers import phrases
from promptaudit.udfs.readers.commitment import SIGN, TWO, sign_of
from promptaudit.udfs.readers.labels import committed_before_turn
from promptaudit.udfs.readers.markdown import tidied
from promptaudit.udfs.readers.phrases import words
from promptaudit.udfs.spelling import canonical

NO_CHOICE = "no choice"
TWO_CHOICES = "two choices"
MAX_SIGNS = 64


class OptionReading(NamedTuple):
    """The place of the chosen option, counted from 0, or the reason why there is none."""

    index: int | None  # type: ignore[assignment]  # hides tuple.index
    reason: str | None


def read_option(completion: str, enumerators: Sequence[str]) -> OptionReading:
    """Reads the choice that a completion commits to, by the bare signs its template puts before the options.

    Args:
        completion: any text; of one above 10,000 characters these last ones are read.
        enumerators: the signs in the options' order: ("A", "B", "C"), ("1", "2"), ("i", "ii") or any others, 64 at
            most. Single letters and Roman numerals match in either case, unless both cases are signs; others as
            written.

    Returns:
        The index of the chosen option; or "two choices" where the text commits to several, "no choice" where nothing
        commits.

        A choice is a sign that stands alone or begins the text or its last line with a mark behind it ("B", "(B) fifty
        years"), follows a phrase that commits ("the answer is", "I choose", a box), or is called right ("B is
        correct"). A denied or conditional phrase commits to nothing, nor do options that are repeated one after the
        other.

    Raises:
        ValueError: more than 64 signs.
    """
    marked = _marker(tuple(sign.strip() for sign in enumerators))
    found = committed_before_turn(completion.strip(), marked, None)
    if found.answer is not None:
        return OptionReading(found.answer, None)
    return OptionReading(None, TWO_CHOICES if found.reason == TWO else NO_CHOICE)


def read_options(completions: Iterable[str], enumerators: Sequence[str]) -> list[OptionReading]:
    """Reads each of many completions as `read_option` does."""
    return [read_option(completion, enumerators) for completion in completions]


@functools.lru_cache(maxsize=64)
def _marker(signs: tuple[str, ...]) -> Callable[[str], str]:
    # the function replaces a sign by `sign_of` its option, and gives "" for a text without any
    if len(signs) > MAX_SIGNS:
        message = f"at most {MAX_SIGNS} signs of options can be read, got {len(signs)}"
        raise ValueError(message)
    places = _places(signs)
    longest_first = sorted(places, key=len, reverse=True)
    any_of = "|".join(map(re.escape, longest_first))
    finds = re.compile("|".join(map(_pattern, longest_first)))
    set_off = re.compile(rf"(\*\*|__)({any_of})\1(?=[ ]\w)")
    joined = re.compile(rf"[ ](?:\w{{1,2}}|{phrases.JOINS}) \W?(?:{any_of})\b")
    words_too = {form for form in places if form == "A" or form.isdecimal() or (form.islower() and len(form) < 3)}
    own = frozenset("".join(signs))

    def sign_at(match: re.Match[str]) -> str:
        form, text, end = match[0], match.string, match.end()
        goes_on = form in words_too and _GOES_ON.match(text, end) is not None
        is_word = goes_on and not (_phrases()["behind"].match(text, end) or joined.match(text, end))
        is_word |= form in ("i", "I") and _AFTER_PRONOUN.match(text, end) is not None
        return form if is_word else sign_of(places[form])

    def marked(text: str) -> str:
        plain = text if text.isascii() else _with_plain_signs(canonical(text), own)
        if _HAS_MARKS.search(plain):
            plain = set_off.sub(r"\2)", plain)  # "**B** fifty years"
            plain = _QUOTED_LINE.sub("", _STRUCK.sub(" correction: ", plain))
        plain = tidied(plain)
        signed = finds.sub(sign_at, plain) if places else plain
        return "" if signed == plain else _set_apart(signed)

    return marked


def _places(signs: tuple[str, ...]) -> dict[str, int]:
    # a letter or a Roman numeral counts in either case, unless both cases are signs
    places: dict[str, int] = {}
    for place, sign in enumerate(signs):
        if sign and sign not in signs[:place]:
            forms = {sign.lower(), sign.upper()} if len(sign) == 1 or _ROMAN.fullmatch(sign) else set()
            places |= dict.fromkeys((sign, *(form for form in forms if form not in signs)), place)
    return places


_ROMAN = re.compile("(?i)[ivxl]{2,}")
# A letter or digit of a language with spaces between words: letters of other languages may stand beside a sign.
_SPACED = r"[^\W\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]"
_GOES_ON = re.compile(
    r"[ ][\"'\u201c\xab]?[a-zA-Z\u00c0-\u024f]|(?<=[.!?] [aA])$"
)  # the last is an article that was cut off
_AFTER_PRONOUN = re.compile(r"['\u2019]|[ ](?!is\b)[^\W\d_]")


@functools.lru_cache(maxsize=1)
def _phrases() -> dict[str, re.Pattern[str]]:
    # "behind": may follow a sign that is also a word (the article "a") or a number; "right": calls an item right;
    # "states": chooses
    verbs = (
        "would|must|may|might|could|can|should|will|has|had|does|did|seems?|looks?|sounds?|fits|then|since|over|while|"
        "instead|rather|both|at|again"
    )
    behind = (phrases.IS, phrases.CHOSEN, phrases.DENIED, phrases.BECAUSE, phrases.BUT, phrases.JOINS, verbs)
    states = f"{words(phrases.IS)}|{words(phrases.CHOOSE)}|{words(phrases.ANSWER)}\\s*[:\uff1a]"
    return {
        "behind": re.compile(f"[ ]{words('|'.join(behind))}"),
        "right": re.compile(rf"(?i)[\s\"'(*]*(?:{words(phrases.CORRECT)}|[✓✔✅☑])"),
        "states": re.compile(rf"(?i)(?:{states})[\s(]*$"),
    }


# An ending that Turkish puts behind a sign: "B'dir".
_TURKISH = r"(?:[dt][\u0131iuü]r|y[\u0131iuüae]|n[\u0131iuü]n|[dt][ae]n?)\b"


def _pattern(form: str) -> str:
    # matches a sign where it is not a word, a number, or part of one
    text = re.escape(form)
    before = rf"(?<!{_SPACED}{text})" if form[0].isalnum() else ""
    text += before + (rf"(?!{_SPACED})" if form[-1].isalnum() else "")
    if not form[0].isalnum() or not form[-1].isalnum():
        return text
    if form.isdecimal():  # "2.5", "1/2", "$2", "x^2", "2 + 3"
        return (
            rf"{text}(?<![\d.][.,:/]{form})(?<![-+^/$]{form})(?![.,:/]\d|[%°^/\\]|\$(?!\$)|\s*[-+=*]\s*[\w(]|['\u2019])"
        )
    # of "U.S.A." and "D-Day", of "A+" and "A = 3", "Grade A", "5 A" and "better than A"
    return (
        rf"{text}(?<!\d {form})(?<!than {form})(?<!than option {form})"
        rf"(?<![^\W_]['\u2019.+^_-]{form})(?<!\+ {form})(?<![°@#&]{form})(?<!(?i:grade) {form})(?<!(?i:grade): {form})"
        rf"(?!['\u2019](?!{_TURKISH})[^\W\d_]|['\u2019]?\(\w\)|[_-][^\W\d_]|\.[^\W\d_]\b|[+^°]|-\w|\s[+=] )"
    )


_SIGN = re.compile(SIGN)
_LINE = re.compile(r"[ \t]*(?:[-*•][ \t]*)?[\"(\[]*(?:[oO]ption )?[\"(\[]*$")
_INLINE = re.compile(r"(?:^|[\s{])[\"(\[]*$")
_MARK = re.compile(r"(?:[\"\])]*[.:)]|[\])]|(?=[ \t]*$))([^\n]*)", re.MULTILINE)
_HAS_MARKS = re.compile(r"\*\*|__|~~|>")
_STRUCK = re.compile(r"~~[^~\n]{1,200}~~")
_QUOTED_LINE = re.compile(r"^[ \t]*>[^\n]*", re.MULTILINE)
_OPTION_TEXT = re.compile(rf"{SIGN}(?<=^{SIGN}[.)] .)(?=\W*$)", re.MULTILINE)
_ANSWERED = re.compile(rf"{SIGN}(?<=^.)(?=:\s*[\"(\[]*{SIGN}\W*$)", re.MULTILINE)
_IN_BRACKETS = re.compile(rf"[(\[]({SIGN})[)\]](?<=\w ...|[\"',] ...)(?=[.!]?\s*$)", re.MULTILINE)
_ENDING = re.compile(rf"(?<={SIGN})['\u2019]{_TURKISH}")


class _Item(NamedTuple):
    place: int
    sign: int
    is_line: bool
    text: str
    end: int
    states: bool  # the text before it says that it is chosen


def _set_apart(text: str) -> str:
    # signs of a repeated list of options become plain text, and a sign in brackets that ends a line becomes stated
    places = [match.start() for match in _SIGN.finditer(text)]
    if len(places) > 1:
        items = [item for place in places if (item := _item(text, place)) is not None]
        pairs = [pair for pair in pairwise(items) if _are_listed(text, *pair)]
        listed = {each.place for pair in pairs for each in pair if not _phrases()["right"].match(each.text)}
        if listed:
            text = "".join("x" if place in listed else each for place, each in enumerate(text))
        text = _OPTION_TEXT.sub("x", text)  # "1. 3"
        text = _ANSWERED.sub("answer", text)  # "A: C" behind "Q: …"
    return _ENDING.sub("", _IN_BRACKETS.sub(r"→ \1", text))  # "fifty years (B)", "B'dir"


def _item(text: str, place: int) -> _Item | None:
    before = text[max(0, text.rfind("\n", 0, place) + 1, place - 40) : place]
    mark = _MARK.match(text, place + 1)
    is_line = _LINE.fullmatch(before) is not None
    if mark is None or not (is_line or _INLINE.search(before)):
        return None
    states = not text.startswith((")", "]", ":", '"'), place + 1) and _phrases()["states"].search(before)
    return _Item(place, ord(text[place]), is_line, mark[1][:MOST_OF_ITEM], mark.end(), bool(states))


MOST_OF_ITEM = 2000


def _are_listed(text: str, one: _Item, other: _Item) -> bool:
    # an answer that begins a text belongs to no list far below it
    step = other.sign - one.sign
    if not (one.is_line and other.is_line):
        is_one_line = other.place < one.end and bool(other.text.strip(" .,;:!?)]\"'")) and not one.states
        return step == 1 and is_one_line
    is_next_line = not text[one.end : other.place].strip(' \t\n-*•"([')
    return step > 0 and (
        is_next_line or (step == 1 and bool(one.text.strip()) and text[: one.place].strip(' \t-*•"([') != "")
    )


_OTHER_MARKS = dict(
    zip(map(ord, "\u3010\u3011\u3014\u3015\u300a\u300b\u3008\u3009\u2039\u203a"), '()()""""""', strict=True)
)


def _with_plain_signs(text: str, own: frozenset[str]) -> str:
    # letters and digits of full width, in circles or of mathematics become ASCII, unless they are themselves signs
    plain = {ord(each): _plain(each) for each in set(text) if not each.isascii() and each not in own}
    return text.translate({code: each for code, each in plain.items() if each is not None})


@functools.lru_cache(maxsize=1 << 12)
def _plain(character: str) -> str | None:
    if character.isdecimal():
        return str(unicodedata.decimal(character))
    code = ord(character)
    if code in _OTHER_MARKS:
        return _OTHER_MARKS[code]
    for first in (0x1F150, 0x1F170):  # white letters in black circles and squares
        if first <= code < first + 26:
            return chr(code - first + ord("A"))
    kind = unicodedata.decomposition(character).partition(" ")[0]
    form = unicodedata.normalize("NFKC", character)
    is_sign = kind in ("<wide>", "<circle>", "<square>", "<font>", "<compat>") and form.strip("()[]<>").isalnum()
    return form if form.isascii() and (is_sign or (kind == "<wide>" and form in "()[]<>")) else None
