r"""Reads the option that a completion commits to, by the signs of the options only.

The rule is rigid on purpose: it never looks at an option's text, so "fifty years" is no choice even where option B is "fifty
years". Set beside a judge, it shows how much of a score's spread such rigidity makes.

Every word and mark of the text becomes one character, its class, and S stands for a sign. Whether an S is a choice is told by
the rules of `option_rules` over the classes before and behind it, and the last S that is one counts. They see `REACH`
classes, so time is linear in the text.
Other languages are read in English words (`option_languages`).
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress, islice, repeat
from typing import NamedTuple

from promptaudit.udfs.readers import option_rules as rules
from promptaudit.udfs.readers.answer_end import answer_end

NO_CHOICE = "no choice"
TWO_CHOICES = "two choices"

HEAD_CHARACTERS = 10_000
TAIL_CHARACTERS = 50_000
"""Of a completion longer than both, its first 10,000 and its last 50,000 characters are read as if a word stood between."""

LAST_CHARACTERS = 5_000
"""What revises an answer is looked for in these."""
REACH = 32
"""Words and marks before and behind a sign that can make it a choice."""


class OptionReading(NamedTuple):
    """The place of the chosen option, counted from 0, or the reason why there is none."""

    index: int | None  # type: ignore[assignment]  # hides tuple.index
    reason: str | None


_CLASSES = {
    form: own.character
    for own in rules.WORDS.values()
    for word in own.words.split()
    for form in (word, word.capitalize(), word.upper())
} | rules.MARKS

# a mark becomes a word of its own: str.replace of the marks there are takes less than half the time of a findall
_SPACED = {ord(mark): (mark, f" {mark} ") for mark in '\n.,:?!;()[]{}*`"$#|/&+%^=<>~'} | {
    9: ("\t", " "),
    13: ("\r", " "),
}
_SPACED_BEYOND_ASCII = tuple(
    (mark, f" {mark} ")
    for mark in "\u2013\u2014\u2026\u201c\u201d\u00ab\u00bb\u2022\u2192\u21d2\u3002\uff0c\u3001\uff1a\uff1f\uff08\uff09"
)
_NO_MARK = bytes(set(range(256)) - set(_SPACED))
_BETWEEN_TEXTS = f"\n{rules.RECORD}\n"
_BATCH_CHARACTERS = 50_000

_FINAL = bytes.maketrans(b"si9u", b"SSSt")
MAX_SIGNS = 64
_SIGN_CODES = range(128, 256)  # of the signs, then of the signs in quotes
_NO_CODE = bytes(set(range(256)) - set(_SIGN_CODES))
_INDEXES = bytes(code % MAX_SIGNS for code in range(256))
_NO_SIGN = bytes(set(range(256)) - set(b"Ssi9u"))
_STANDS = bytes(code != ord("u") for code in range(256))

_ROMAN = re.compile("(?i)[ivxl]{2,}")
_QUOTED = ("'{}'", "{}\\", "\u2018{}\u2019", "_{}_", "__{}__")
_MADE_UP = "\ue000"  # private use: begins the word a made-up sign is replaced by


class _Signs(NamedTuple):
    classes: dict[str, str]  # of every word and mark; each sign has a code of its own
    kinds: bytes  # from codes to S, s, i and 9
    made_up: re.Pattern[str] | None
    words: dict[str, str]  # what made-up signs are replaced by


class _Mentions(NamedTuple):
    classes: bytes  # of a text, each line between two n
    places: list[int]  # where a sign stands
    indexes: list[int]  # which option each stands for


def read_option(completion: str, enumerators: Sequence[str]) -> OptionReading:
    """Returns the last choice a completion commits to, by the bare signs its template puts before the options.

    Args:
        completion: any text; one above 60,000 characters is read at both ends.
        enumerators: the signs in the options' order: ("A", "B", "C"), ("1", "2"), ("i", "ii") or any others, 64 at most.
            Single letters and Roman numerals match in either case, unless both cases are signs; others as written.

    Returns:
        The index of the chosen option; or "two choices" where the last commitment names several, "no choice" where
        nothing commits.

        A choice is a sign that stands alone or begins the text or its last line with a mark behind it ("B", "(B) fifty
        years"), follows a phrase that commits ("the answer is", "I choose", a box), or is called right ("B is correct").
        A denied or conditional phrase commits to nothing, nor do options that are repeated one after the other.

    Raises:
        ValueError: more than 64 signs.
    """
    return read_options((completion,), enumerators)[0]


def read_options(completions: Iterable[str], enumerators: Sequence[str]) -> list[OptionReading]:
    """Returns `read_option` of each of many completions, in two thirds of the time."""
    texts = [completion.strip() for completion in completions]
    before = [text[: answer_end(text)] for text in texts]
    found = _read(before, enumerators)
    # a question that the model invented is looked at only where no answer stands before it
    again = [n for n, text in enumerate(texts) if found[n].index is None and len(before[n]) < len(text)]
    for n, option in zip(again, _read([texts[n] for n in again], enumerators), strict=True):
        found[n], before[n] = option, texts[n]
    cues = {
        n: cue for n, text in enumerate(before) if found[n].index is not None and (cue := _last_cue(text)) is not None
    }
    tails = {n: before[n][cue:] for n, cue in cues.items()}
    for (n, tail), option in zip(tails.items(), _read(list(tails.values()), enumerators), strict=True):
        index = found[n].index
        if option.index is None and index is not None and _names_another(tail, enumerators, index):
            found[n] = OptionReading(None, NO_CHOICE)  # it was taken back, for something that cannot be read
    return found


def _last_cue(text: str) -> int | None:
    """Where a text last takes back what it said, None where it never does; only in the last characters of a long one."""
    start = max(0, len(text) - LAST_CHARACTERS)
    return max((match.start() for match in _REVISES.finditer(text, start)), default=None)


def _names_another(text: str, enumerators: Sequence[str], index: int) -> bool:
    others = "|".join(re.escape(sign.strip()) for n, sign in enumerate(enumerators) if n != index and sign.strip())
    own = re.escape(enumerators[index].strip())
    in_prose = r"(?![ ][a-z])" if enumerators[index].isascii() else ""  # "A famous example"
    named = rf"(?<!\w)(?:{others})(?!\w){in_prose}|(?i:not|nicht|pas)\s+{own}(?!\w)"
    return bool(others) and re.search(named, text) is not None


_REVISES = re.compile(
    r"(?:^|[.!?…—–;:,\n(]|\.\.)[\s\"*]*(?:(?:hmm|oh|no|but|nein|non|nee|nie|нет|لا)[,.…! ]+)*"
    r"(?:no wait|wait|hold on|hang on|correction|actually, (?:no|it|that|the)|scratch that|strike that|i mean\b|i meant|"
    r"on second thought|on reflection|let me correct|make that|oops|my mistake|i misread|i was wrong|"
    r"change (?:my answer|it|that) to|"
    r"perdón|quise decir|espera|corrijo|pardon|attends|en fait|moment|halt|korrektur|przepraszam|chwila|стоп|"
    r"погодите|поправка|不对|等等|更正|いや|訂正|잠깐|아니,|عفوًا|تصحيح|anzi|aspetta|aliás|correção|wacht|vänta|eikun)",
    re.IGNORECASE,
)
"""What takes back an option, where a clause begins with it."""


def _read(completions: Iterable[str], enumerators: Sequence[str]) -> list[OptionReading]:
    signs = _signs(tuple(enumerators))
    return [
        _last_choice(mentions) for texts in _batches(completions, enumerators) for mentions in _classified(texts, signs)
    ]


def _batches(completions: Iterable[str], enumerators: Sequence[str]) -> Iterator[list[str]]:
    """Bounded texts in English, as many together as are quickest to classify and no more than fit in a little memory."""
    from promptaudit.udfs.readers.option_languages import (
        in_english,  # words of many languages, for what reads answers alone
    )

    texts, n_characters = [], 0
    for completion in completions:
        text = completion.strip().replace(rules.RECORD, " ")
        if len(text) > HEAD_CHARACTERS + TAIL_CHARACTERS:
            text = f"{text[:HEAD_CHARACTERS]}cut{text[-TAIL_CHARACTERS:]}"
        text = in_english(text, enumerators)
        texts.append(text)
        n_characters += len(text)
        if n_characters > _BATCH_CHARACTERS:
            yield texts
            texts, n_characters = [], 0
    if texts:
        yield texts


def _last_choice(mentions: _Mentions) -> OptionReading:
    """Signs that are joined ("A or B") are one choice of several; the last that commits counts.

    An option that stands at the beginning of the last line with a text behind it may be one that is gone through: a phrase that
    commits counts before it.
    """
    stop, listed = len(mentions.indexes), None
    while stop:
        start = stop - 1
        while start and _are_joined(mentions, start - 1):
            start -= 1
        chosen = mentions.indexes[_committed(mentions, start, stop)]
        if chosen:
            are_one = chosen.count(chosen[0]) == len(chosen)
            reading = OptionReading(chosen[0], None) if are_one else OptionReading(None, TWO_CHOICES)
            if not _is_item_with_text(mentions, start, stop):
                return reading
            listed = listed or reading
        stop = start
    return listed or OptionReading(None, NO_CHOICE)


def _is_item_with_text(mentions: _Mentions, start: int, stop: int) -> bool:
    """Returns whether a sign begins the last line, behind others, and has an option's text behind it."""
    first, behind = mentions.places[start], mentions.places[stop - 1] + 1
    line = mentions.classes.rfind(b"n", 0, first)
    is_last = line > 0 and line == mentions.classes.rfind(b"n", 0, -1)
    leads = rules.ITEM_LEAD.search(mentions.classes[max(0, first - REACH) : first])
    return bool(is_last and leads and rules.WITH_TEXT.match(mentions.classes, behind))


def _are_joined(mentions: _Mentions, k: int) -> bool:
    """Returns whether sign k and the next are named together."""
    start, stop = mentions.places[k] + 1, mentions.places[k + 1]
    if stop - start > REACH:
        return False
    if rules.JOIN.fullmatch(mentions.classes, start, stop):
        return True
    return mentions.classes.startswith(b")", stop + 1) and bool(
        rules.JOIN_OF_TEXTS.fullmatch(mentions.classes, start, stop)
    )


def _committed(mentions: _Mentions, start: int, stop: int) -> slice:
    """Returns those of the joined signs start to stop that the text commits to."""
    classes, first, last = mentions.classes, mentions.places[start], mentions.places[stop - 1]
    before, after = classes[max(0, first - REACH) : first], classes[last + 1 : last + 1 + REACH]
    is_committed = False
    stated = _end_asked(before[before.rfind(b".") + 1 :]) if before[-1] in rules.PHRASE_ENDS else None
    # "the answer is B) to see in the dark": what follows is the option's text, and no clause about it
    is_text = stated is rules.ANYTHING and rules.TEXT_BEHIND.match(after) and not rules.IS_RIGHT.match(after)
    if rules.SUBJECT.match(after) and not is_text:
        chosen = _of_clause(mentions, start, stop, before, after)
        if chosen.stop:
            return chosen
    elif before[-1] in rules.PHRASE_ENDS and not rules.BREAKS.match(after):
        is_committed = stated is not None and bool(stated.match(after))
    lead = rules.LINE_LEAD.search(before) if before[-1] in rules.LEAD_ENDS else None
    if lead:
        is_committed = is_committed or _is_bare(mentions, start, stop, first - len(before) + lead.start())
        is_committed = is_committed and not (rules.ITEM_LEAD.search(before) and _is_listed(mentions, start))
    return slice(start, stop if is_committed else start)


def _of_clause(mentions: _Mentions, start: int, stop: int, before: bytes, after: bytes) -> slice:
    """Returns those of the joined signs that are committed to where the last is, or all are, the subject of a clause."""
    right = rules.IS_RIGHT.match(after)
    if right:
        denial = rules.DENIES.search(before)
        if denial and _is_denied(denial[0]):
            return slice(0)
        are_all_meant = right[1] or b"|" in mentions.classes[mentions.places[start] : mentions.places[stop - 1]]
        return slice(start if are_all_meant else stop - 1, stop)
    # "the answer is B and A is wrong"
    is_chosen_before = stop - start > 1 and _end_asked(before[before.rfind(b".") + 1 :]) is rules.ANYTHING
    return slice(start, start + 1) if is_chosen_before else slice(0)


def _is_bare(mentions: _Mentions, start: int, stop: int, line: int) -> bool:
    """Returns whether signs at the beginning of a line are, or begin, the first line or the last."""
    if line not in {0, mentions.classes.rfind(b"n", 0, -1)}:
        return False
    behind = mentions.places[stop - 1] + 1
    if rules.ALONE.match(mentions.classes, behind) or (
        stop - start == 1 and rules.REASONED.match(mentions.classes, behind)
    ):
        return True
    return bool(rules.WITH_TEXT.match(mentions.classes, behind)) and not _is_in_row(mentions, start)


def _is_in_row(mentions: _Mentions, k: int) -> bool:
    """Returns whether the option after that of sign k follows in its line: "A. Paris B. Rome"."""
    if mentions.indexes[k + 1 : k + 2] != [mentions.indexes[k] + 1]:
        return False
    here, there = mentions.places[k : k + 2]
    return mentions.classes.find(b"n", here, there) < 0 and bool(rules.WITH_TEXT.match(mentions.classes, there + 1))


def _is_listed(mentions: _Mentions, k: int) -> bool:
    """Returns whether sign k begins a line, and its neighbour among the options the line before or after: a repeated list."""
    items = _items(mentions.classes)
    place = bisect_left(items, mentions.places[k])
    if items[place : place + 1] == [mentions.places[k]]:
        previous = [bisect_left(mentions.places, item) for item in items[max(0, place - 1) : place]]
        following = [bisect_left(mentions.places, item) for item in items[place + 1 : place + 2]]
    else:
        previous = [k - 1] if k and _stand_below(mentions, k - 1) else []
        following = [k + 1] if k + 1 < len(mentions.places) and _stand_below(mentions, k) else []
    own = mentions.indexes[k]
    return any(mentions.indexes[j] == own - 1 for j in previous) or any(
        mentions.indexes[j] == own + 1 for j in following
    )


@functools.lru_cache(maxsize=1)  # a text of many lists asks for each of their signs
def _items(classes: bytes) -> list[int]:
    """Where the signs stand that begin a line and have a mark and text behind them."""
    return [match.start(1) for match in rules.ITEM.finditer(classes)]


def _stand_below(mentions: _Mentions, k: int) -> bool:
    """Returns whether sign k and the next are lines of their own with nothing between."""
    here, there = mentions.places[k : k + 2]
    is_first = rules.LINE_LEAD.search(mentions.classes[max(0, here - REACH) : here])
    is_below = rules.NEXT_LINE.fullmatch(mentions.classes, here + 1, there)
    return bool(is_first and is_below and rules.ALONE.match(mentions.classes, there + 1))


@functools.lru_cache(maxsize=1 << 14)
def _end_asked(before: bytes) -> re.Pattern[bytes] | None:
    """Returns what has to stand behind a sign for the phrase before it to make it a choice; None where no phrase does."""
    commitment = rules.STRONG.search(before)
    if commitment:
        return None if _is_denied(commitment[0]) else rules.ANYTHING
    commitment = rules.WEAK.search(before)
    if commitment and _is_denied(commitment[0]):
        return None
    if commitment:
        return rules.CLAUSE_END if commitment[1] else rules.SENTENCE_END
    return rules.CLAUSE_END if rules.CORRECTED.search(before) else None


def _is_denied(phrase: bytes) -> bool:
    """Returns an odd number of negations ("no doubt" is two), a condition, or an adjective that makes it another's answer."""
    return (
        bool((phrase.count(b"!") + phrase.count(b"~") + phrase.startswith(b"o")) % 2)
        or b"h" in phrase
        or phrase.startswith(b"x")
    )


def _classified(texts: Sequence[str], signs: _Signs) -> list[_Mentions]:
    """Returns the classes of each text, and the signs that stand in it.

    Every step is one call for all texts, put together: the calls are most of a short text's time.
    """
    text = _BETWEEN_TEXTS.join(texts) + "\n"
    if signs.made_up:
        text = signs.made_up.sub(lambda match: f" {signs.words[match[0]]} ", text.replace(_MADE_UP, " "))
    if not text.isascii():
        for mark_and_spaced in _SPACED_BEYOND_ASCII:
            text = text.replace(*mark_and_spaced)
    for mark in set(text.encode("ascii", "ignore").translate(None, _NO_MARK)):
        text = text.replace(*_SPACED[mark])
    coded = "".join(map(signs.classes.get, text.split(" "), repeat("w"))).encode("latin-1")
    # a stop that a blank follows ends something, one between two words ("2.5", "Answer:B") joins them
    coded = coded.replace(b"g ", b".").replace(b"k ", b",").replace(b"q ", b":")
    classes = rules.WRAPPED.sub(b"S)", coded.translate(signs.kinds, b" "))
    classes = rules.IN_PROSE.sub(b"u", classes)
    standing = compress(coded.translate(_INDEXES, _NO_CODE), classes.translate(_STANDS, _NO_SIGN))
    mentions = []
    for part in classes.translate(_FINAL, b"d$").split(b"r"):
        lines = b"n" + part.strip(b"n") + b"n"
        places, place = [], lines.find(b"S")
        while place >= 0:
            places.append(place)
            place = lines.find(b"S", place + 1)
        mentions.append(_Mentions(lines, places, list(islice(standing, len(places)))))
    return mentions


@functools.lru_cache(maxsize=64)
def _signs(enumerators: tuple[str, ...]) -> _Signs:
    written = [sign.strip() for sign in enumerators]
    if len(written) > MAX_SIGNS:
        message = f"at most {MAX_SIGNS} signs of options can be read, got {len(written)}"
        raise ValueError(message)
    classes, words, kinds = dict(_CLASSES), {}, bytearray(range(256))
    for index, sign in enumerate(written):
        if not sign or sign in written[:index]:
            continue
        code = _SIGN_CODES[index]
        kinds[code], kinds[code + MAX_SIGNS] = _kind(sign), ord("S")
        forms = {sign}
        if not sign.isalnum():
            words[sign] = f"{_MADE_UP}{index}"
            forms = {words[sign]}
        elif len(sign) == 1 or _ROMAN.fullmatch(sign):
            forms |= {form for form in (sign.lower(), sign.upper()) if form not in written}
        for form in forms:
            classes[form] = chr(code)
            # quotes and underscores stand within words too and are no words of their own
            classes |= {quoted.format(form): chr(code + MAX_SIGNS) for quoted in _QUOTED}
    pattern = "|".join(
        (r"(?<!\w)" if sign[0].isalnum() else "") + re.escape(sign) + (r"(?!\w)" if sign[-1].isalnum() else "")
        for sign in sorted(words, key=len, reverse=True)
    )
    return _Signs(classes, bytes(kinds), re.compile(pattern) if pattern else None, words)


def _kind(sign: str) -> int:
    if sign.isdecimal():
        return ord("9")
    if sign.casefold() in {"a", "i"}:
        return ord({"a": "s", "i": "i"}[sign.casefold()])
    is_word = sign.isalnum() and len(sign) > 1 and not _ROMAN.fullmatch(sign)
    return ord("s" if is_word else "S")
