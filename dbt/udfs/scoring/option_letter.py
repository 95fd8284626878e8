r"""Reads which option a completion commits to, from the options' signs alone.

Rigid on purpose: what an option says is never looked at, so "fifty years" is no choice even where option B reads "fifty
years". How much of a score's spread such rigidity makes is the question the rule is here for, beside a judge.

Every word and mark of the text becomes one character, its class: N for "answer", L for "is", S for a sign. Whether an S
is a choice is told by short patterns over the classes before and behind it, and the last S that is one counts. The
patterns are RE2 and see `REACH` classes, so time is linear in the text.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_left
from collections.abc import Sequence
from itertools import repeat
from typing import NamedTuple

import re2

VERSION: int = 1

NO_CHOICE = "no choice"
TWO_CHOICES = "two choices"

HEAD_CHARACTERS = 10_000
TAIL_CHARACTERS = 50_000
"""Of a completion longer than both, its first 10,000 and its last 50,000 characters are read as if a word stood between."""

LAST_CHARACTERS = 24
"""The sentence or line that holds these is read first, which takes half the time: most texts end in their choice. Where it
has none, or has a sign at the beginning of a line, which the lines before can make one of a list, the whole text is read."""

REACH = 32
"""Words and marks before and behind a sign that can make it a choice."""


class OptionReading(NamedTuple):
    """The option that is chosen, counted from 0, or why there is none."""

    index: int | None  # type: ignore[assignment]  # hides tuple.index
    reason: str | None


# the classes of words; any other word is w
_WORDS = {
    # what is chosen
    "N": "answer 'answer' ans choice selection solution conclusion verdict decision bet response final_answer correct_answer "
    "answer_choice answer_letter final_choice selected_answer",
    "O": "option letter alternative correct_option selected_option option_letter",
    "1": "one",
    "a": "answers",
    "K": r"\boxed \fbox \answer",
    # what is said of it: right, nearly so, another's
    "P": "correct right",
    "p": "best likely accurate appropriate plausible suitable fitting probable reasonable logical proper final true closest "
    "chosen selected strongest",
    "x": "wrong incorrect false common popular tempting first initial previous original earlier another other",
    # verbs: be, and what stands before or for it
    "L": "is was equals remains being answer's",
    "R": "are were",
    "B": "be",
    "M": "must should would will to has needs",
    "Z": "seems looks appears sounds",
    "v": "does do did",
    # verbs of choosing, alone, with a preposition, of thinking, of likeness
    "V": "choose chose chooses choosing select selecting selects picks picked picking leaves leaving",
    "G": "go going goes went stick sticking opt opting opted settle settled settling decide decided voting",
    "W": "with for on",
    "T": "believe think guess suspect reckon conclude prefer recommend suggest propose vote say feel pick",
    "Q": "corresponds matches",
    # what stands for a sentence's subject
    "E": "it this that which",
    "Y": "it's that's it\u2019s that\u2019s",
    # what changes nothing: within a phrase, and before one
    "f": "the my our your clearly definitely obviously probably most simply actually indeed certainly surely only just "
    "either both all maybe perhaps possibly also even really necessarily undoubtedly truly single more very by far number "
    "second third fourth last",
    "t": "a an i i'd i'll i'm we we'd we'll you they want sure certain clear convinced said claim argue mean know agree "
    "case can able of in am have had get let me us",
    "D": "therefore thus hence so ergo finally then overall",
    # what denies, and what makes a condition
    "!": "not never cannot can't can\u2019t isn't isn\u2019t wasn't wasn\u2019t aren't don't don\u2019t doesn't doesn\u2019t "
    "didn't won't wouldn't wouldn\u2019t couldn't shouldn't",
    "~": "neither none nothing hardly unlikely doubt",
    "o": "no without",
    "h": "if whether might may could unless suppose supposing assume assuming",
    # what joins, and what goes on behind a choice
    "&": "and &",
    "|": "or nor / |",
    "b": "but",
    "C": "because since as",
    "c": "while over rather instead given",
    # what only adorns
    "d": r'* ` { } " # ~ \ \text \textbf \textit \textrm \mathbf \mathrm \mathit \mathsf'
    " \u201c \u201d \u00ab \u00bb",
}

_MARKS = {
    # what stands at the end of a word, then what stands between two without a space: "B. No" and "2.5"
    "\x01": ".",
    "\x02": ",",
    "\x03": ":",
    ".": "g",
    ",": "k",
    ":": "q",
    **dict.fromkeys("!\u2026\u3002", "."),
    **dict.fromkeys("\uff0c\u3001", ","),
    **dict.fromkeys("-\u2013\u2014\u2022", "-"),
    **dict.fromkeys("+%^", "#"),
    **dict.fromkeys("([\uff08", "("),
    **dict.fromkeys(")]\uff09", ")"),
    **dict.fromkeys("?\uff1f", "?"),
    **dict.fromkeys(">\u2192\u21d2", ">"),
    "\uff1a": ":",
    ";": ";",
    "=": "=",
    "<": "<",
    "$": "$",
    "\n": "n",
    "": "",
}

_CLASSES = {
    form: kind
    for kind, words in _WORDS.items()
    for word in words.split()
    for form in (word, word.capitalize(), word.upper())
}
_CLASSES.update(_MARKS)

# a mark becomes a word of its own: str.replace of the marks there are takes a fifth of the time of one findall
_SPACED = {ord(mark): (mark, f" {mark} ") for mark in '\n?!;()[]{}*`"$#|/&+%^=<>~'} | {9: ("\t", " "), 13: ("\r", " ")}
_SPACED_BEYOND_ASCII = tuple(
    (mark, f" {mark} ")
    for mark in "\u2013\u2014\u2026\u201c\u201d\u00ab\u00bb\u2022\u2192\u21d2\u3002\uff0c\u3001\uff1a\uff1f\uff08\uff09"
)
_SPACED_MARKS = frozenset(_SPACED)
_STOPS = {
    ord(stop): ((f"{stop} ", f" {end} "), (stop, f" {stop} ")) for stop, end in zip(",:.", "\x02\x03\x01", strict=True)
}
_DOT, _OPENING, _DECORATION = b".(d"
_NO_MARK = bytes(set(range(256)) - set(_SPACED) - set(b",:."))

# Signs: S is no word; s (the article, or a user's word), i (the pronoun) and 9 (a number) may stand in prose, where they
# are no signs: u. What is between brackets, quotes or stars (d) is one, and its closing mark is kept as a bracket.
_WRAPPED = re.compile(rb"[Ssi9](?<=[d(].)[d)]")
_IN_PROSE = re.compile(
    rb"[Ssi9](?:(?<=[g<].)|(?=g[Ssi9])|(?<=<\|.)|(?<=9q9)"
    rb"|(?<=s)(?![d$]*[n.?,;:)(<&|cCbLRMZ!v>gkq-])"
    rb"|(?<=i)(?![d$]*[n.?,;:)(<&|cCbLR>q-])"
    rb"|(?<=9)(?![d$]*(?:[n.?,;:)(<&cCbLRMZ!v>]|-[^9]))|(?<=\$9)(?!\$))"
)
_FINAL = bytes.maketrans(b"si9u", b"SSSt")
_SIGN_CODES = range(128, 256)
_NO_CODE = bytes(set(range(256)) - set(_SIGN_CODES))
_PROSE = ord("u")
_NO_SIGN = bytes(set(range(256)) - set(b"Ssi9u"))

# before a sign
_FILL = r"(?:[fODNPp:qn!~1(>-]|O,|,D,)*"
_GAP = r"[^.?;nNSq>=|]{0,12}"
_NOUN = r"(?:[NO]{1,2}|[Pp]1|[fp][VT])"
_DENIED = r"(?:o?[!~h][tTfEMPpLB1VG]{0,6}|x)?"
_STRONG = re2.compile(
    rf"{_DENIED}(?:K|{_NOUN}{_GAP}[LRB:]|(?:{_NOUN}|[Pp])[-=>q:]{{1,3}}|[Pf]a{_GAP}[R:]|\(N\)|nS:|V(?:t?W)?|Gf*W){_FILL}$".encode()
)
_WEAK = re2.compile(
    rf"{_DENIED}(?:(T(?:E?L|E|Y|EM*B)?{_FILL}|[nPpMt]N[nNO(]*|[Pp]O\(*)"
    rf"|D,?{_FILL}|EM*[LB]{_FILL}|Y{_FILL}|QM?{_FILL}|{_NOUN}{_GAP}[LB:][^.?;nS]{{1,12}}(?:\(O?|,f*O\(?))$".encode()
)
_BEFORE_RIGHT = frozenset(b"LRMBZv!)(:-")
_NEVER_LAST = frozenset(b"wtS.?;&|cChovaxXZG")
_CORRECTED = re2.compile(rb"[!~]f*O?S\)*,?b[fO(]*$")  # "not A but"
_DENIES = re2.compile(rb"o?[!~h][tTfEMPpLB1VG]{0,6}[fO(]*$")
_LEADS = frozenset(b"nfPptNO:q(-")
_LINE_LEAD = re.compile(rb"n[fPpt]*[NO]{0,2}[:q-]*\(*$")

# behind a sign
_BREAKS = re.compile(rb"\)*[?#=]")
_IS_RIGHT = re2.compile(rb"\)*(?:(R)|[LR]|M+B|Z(?:MB)?)[fpDE]*(?:P|[NO]|p[.,;:nC)1])|\)*[:(-]P[).,;n]")
_VERB = re.compile(rb"\)*[LRMBZv]|!")
_ANYTHING = re.compile(b"")
_CLAUSE_END = re.compile(rb"[n.,;:)(<&|cCbEWgkq-]")
_SENTENCE_END = re.compile(rb"\)*[n.C<]")
_ALONE = re.compile(rb"[).:;,]*(?:<\|.>)*n")
_REASONED = re.compile(rb"[).:,-]*C")
_WITH_TEXT = re.compile(rb"[).:gq-]+(?!(?:[LRZ]|M+B)[fD]*[!~x])[^n?]")

# between signs
_SIGN = re.compile(rb"S")
_JOIN = re.compile(rb"\)*[,;k]?[&|]*[fO]*\(*")
_JOIN_OF_TEXTS = re.compile(rb"\)[^.?;nS]{1,12}[,;&|]+[fO(]*")
_NEXT_LINE = re.compile(rb"[).:;,]*n+[-(]*O?\(*")
_ITEM_LEAD = re.compile(rb"n[-(]*O?\(*$")
_ITEM = re.compile(rb"n[-(]*O?\(*(S)[).:gq-]+[^n]")

_ROMAN = re.compile("(?i)[ivxl]{2,}")
_QUOTED = ("'{}'", "{}\\", "\u2018{}\u2019", "_{}_", "__{}__")
_MADE_UP = "\ue000"  # private use: begins the word a made-up sign is replaced by
MAX_SIGNS = 64

_NONE, _FIRST, _LAST, _ALL = range(4)
"""Which of several joined signs are committed to."""


class _Signs(NamedTuple):
    classes: dict[str, str]  # of every word and mark; each sign has a code of its own
    kinds: bytes  # from codes to S, s, i and 9
    made_up: re.Pattern[str] | None
    words: dict[str, str]  # what made-up signs are replaced by


class _Found(NamedTuple):
    classes: bytes  # of a text, each line between two n
    places: list[int]  # where a sign stands
    indexes: list[int]  # which option each stands for


def read_option(completion: str, enumerators: Sequence[str]) -> OptionReading:
    """The last choice a completion commits to, by the bare signs its template puts before the options.

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
    signs = _signs(tuple(enumerators))
    text = completion.strip()
    if len(text) > HEAD_CHARACTERS + TAIL_CHARACTERS:
        text = f"{text[:HEAD_CHARACTERS]}cut{text[-TAIL_CHARACTERS:]}"
    if not signs.made_up:
        sentence, line = text.rfind(". ", 0, -LAST_CHARACTERS) + 1, text.rfind("\n", 0, -LAST_CHARACTERS)
        if 2 * max(sentence, line) > len(text):
            found = _last_choice(text[max(sentence, line) :], signs, b"." if sentence > line else b".n", is_whole=False)
            if found.reason != NO_CHOICE:
                return found
    return _last_choice(text, signs, b"n", is_whole=True)


def _last_choice(text: str, signs: _Signs, before: bytes, *, is_whole: bool) -> OptionReading:
    """Signs that are joined ("A or B") are one choice of several; the last that commits counts."""
    codes, indexes = _classified(text, signs)
    stop = len(indexes)
    if not stop:
        return OptionReading(None, NO_CHOICE)
    classes = before + codes + b"n"
    found = _Found(classes, [match.start() for match in _SIGN.finditer(classes)], indexes)
    while stop:
        start = stop - 1
        while start and _are_joined(found, start - 1):
            start -= 1
        if not is_whole and _ITEM_LEAD.search(classes, max(0, found.places[start] - REACH), found.places[start]):
            break
        chosen = {indexes[k] for k in _committed(found, start, stop)}
        if chosen:
            return OptionReading(None, TWO_CHOICES) if len(chosen) > 1 else OptionReading(chosen.pop(), None)
        stop = start
    return OptionReading(None, NO_CHOICE)


def _are_joined(found: _Found, k: int) -> bool:
    """Whether sign k and the next are named together."""
    start, stop = found.places[k] + 1, found.places[k + 1]
    if stop - start > REACH:
        return False
    if _JOIN.fullmatch(found.classes, start, stop):
        return True
    return found.classes.startswith(b")", stop + 1) and bool(_JOIN_OF_TEXTS.fullmatch(found.classes, start, stop))


def _committed(found: _Found, start: int, stop: int) -> range:
    """Those of the joined signs start to stop that the text commits to."""
    classes, places = found.classes, found.places
    first, last = places[start], places[stop - 1]
    before = classes[max(0, first - REACH) : first]
    after = classes[last + 1 : last + 1 + REACH]
    is_one = stop - start == 1
    is_either = not is_one and b"|" in classes[places[stop - 2] : last]
    extent = _extent(before[before.rfind(b".") + 1 :] or b".", after, is_one=is_one, is_either=is_either)
    if extent == _LAST:
        return range(stop - 1, stop)
    if extent == _FIRST:
        return range(start, start + 1)
    lead = before[-1] in _LEADS and _LINE_LEAD.search(before)
    if lead and extent != _ALL and _is_bare(found, start, stop, first - len(before) + lead.start()):
        extent = _ALL
    if extent == _ALL and lead and _ITEM_LEAD.search(before) and _is_listed(found, start):
        extent = _NONE
    return range(start, stop if extent == _ALL else start)


def _is_bare(found: _Found, start: int, stop: int, line: int) -> bool:
    """Whether signs at the beginning of a line are, or begin, the first line or the last."""
    if line not in {0, found.classes.rfind(b"n", 0, -1)}:
        return False
    behind = found.places[stop - 1] + 1
    if _ALONE.match(found.classes, behind) or (stop - start == 1 and _REASONED.match(found.classes, behind)):
        return True
    return bool(_WITH_TEXT.match(found.classes, behind)) and not _is_in_row(found, start)


def _is_in_row(found: _Found, k: int) -> bool:
    """Whether the option after that of sign k follows in its line: "A. Paris B. Rome"."""
    if found.indexes[k + 1 : k + 2] != [found.indexes[k] + 1]:
        return False
    here, there = found.places[k : k + 2]
    return found.classes.find(b"n", here, there) < 0 and bool(_WITH_TEXT.match(found.classes, there + 1))


def _is_listed(found: _Found, k: int) -> bool:
    """Whether sign k begins a line, and its neighbour among the options the line before or after: a repeated list."""
    items = _items(found.classes)
    place = bisect_left(items, found.places[k])
    if items[place : place + 1] == [found.places[k]]:
        previous = [bisect_left(found.places, item) for item in items[max(0, place - 1) : place]]
        following = [bisect_left(found.places, item) for item in items[place + 1 : place + 2]]
    else:
        previous = [k - 1] if k and _stand_below(found, k - 1) else []
        following = [k + 1] if k + 1 < len(found.places) and _stand_below(found, k) else []
    own = found.indexes[k]
    return any(found.indexes[j] == own - 1 for j in previous) or any(found.indexes[j] == own + 1 for j in following)


@functools.lru_cache(maxsize=1)  # a text of many lists asks for each of their signs
def _items(classes: bytes) -> list[int]:
    """Where the signs stand that begin a line and have a mark and text behind them."""
    return [match.start(1) for match in _ITEM.finditer(classes)]


def _stand_below(found: _Found, k: int) -> bool:
    """Whether sign k and the next are lines of their own with nothing between."""
    here, there = found.places[k : k + 2]
    is_first = _LINE_LEAD.search(found.classes[max(0, here - REACH) : here])
    is_below = _NEXT_LINE.fullmatch(found.classes, here + 1, there)
    return bool(is_first and is_below and _ALONE.match(found.classes, there + 1))


def _extent(before: bytes, after: bytes, *, is_one: bool, is_either: bool) -> int:
    """What the phrases around joined signs commit to."""
    if after[0] in _BEFORE_RIGHT:
        right = _IS_RIGHT.match(after)
        if right:
            denial = _DENIES.search(before)
            is_denied = denial is not None and _is_denied(denial[0])
            return _NONE if is_denied else _ALL if is_either or right[1] else _LAST
        if _VERB.match(after):  # the last sign is the subject of a clause of its own
            return _FIRST if not is_one and _end_asked(before) is _ANYTHING else _NONE
    if before[-1] in _NEVER_LAST or _BREAKS.match(after):
        return _NONE
    end = _end_asked(before)
    return _ALL if end and end.match(after) else _NONE


@functools.lru_cache(maxsize=1 << 14)
def _end_asked(before: bytes) -> re.Pattern[bytes] | None:
    """What has to stand behind a sign for the phrase before it to make it a choice; None where no phrase does."""
    found = _STRONG.search(before)
    if found:
        return None if _is_denied(found[0]) else _ANYTHING
    found = _WEAK.search(before)
    if found and _is_denied(found[0]):
        return None
    if found:
        return _CLAUSE_END if found[1] else _SENTENCE_END
    return _CLAUSE_END if _CORRECTED.search(before) else None


def _is_denied(phrase: bytes) -> bool:
    """An odd number of negations ("no doubt" is two), a condition, or an adjective that makes it another's answer."""
    return (
        bool((phrase.count(b"!") + phrase.count(b"~") + phrase.startswith(b"o")) % 2)
        or b"h" in phrase
        or phrase.startswith(b"x")
    )


def _classified(text: str, signs: _Signs) -> tuple[bytes, list[int]]:
    """The classes of a text between two line ends, and which option each S stands for; without an S nothing."""
    if signs.made_up:
        text = signs.made_up.sub(lambda match: f" {signs.words[match[0]]} ", text.replace(_MADE_UP, " "))
    if not text.isascii():
        for mark_and_spaced in _SPACED_BEYOND_ASCII:
            text = text.replace(*mark_and_spaced)
    text += "\n"
    marks = set(text.encode("ascii", "ignore").translate(None, _NO_MARK))
    for mark in marks & _SPACED_MARKS:
        text = text.replace(*_SPACED[mark])
    if _DOT in marks:
        text = text.replace("..", " \x01 ")
    for mark, (at_end, within) in _STOPS.items():
        if mark in marks:
            text = text.replace(*at_end).replace(*within)
    coded = "".join(map(signs.classes.get, text.split(" "), repeat("w"))).encode("latin-1")
    classes = coded.translate(signs.kinds)
    if _OPENING in classes or _DECORATION in classes:
        classes = _WRAPPED.sub(b"S)", classes)
    classes = _IN_PROSE.sub(b"u", classes)
    indexes = [code % MAX_SIGNS for code in coded.translate(None, _NO_CODE)]
    if _PROSE in classes:
        stands = classes.translate(None, _NO_SIGN)
        indexes = [index for index, sign in zip(indexes, stands, strict=True) if sign != _PROSE]
    return classes.translate(_FINAL, b"d$").strip(b"n"), indexes


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
