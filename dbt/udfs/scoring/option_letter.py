r"""Reads which option a completion commits to, from the options' signs alone.

Rigid on purpose: what an option says is never looked at, so "fifty years" is no choice even where option B reads "fifty
years". How much of a score's spread such rigidity makes is the question the rule is here for, beside a judge.

Every word and mark of the text becomes one character, its class: N for "answer", L for "is", S for a sign. Whether an S
is a choice is told by short patterns over the classes before and behind it, and the last S that is one counts. The
patterns are RE2 and see `REACH` classes, so time is linear in the text.
"""

from __future__ import annotations

import enum
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
TAIL_CHARACTERS = 100_000
"""Of a completion longer than both, its first 10,000 and its last 100,000 characters are read as if a word stood between."""

LAST_CHARACTERS = 80
"""The sentences that hold these are read first, at half the time: most texts end in their choice, and no phrase goes on
behind a full stop. With a line end among them the whole text is read, since the lines before a sign matter."""

REACH = 32
"""Words and marks before and behind a sign that can make it a choice."""


class OptionReading(NamedTuple):
    """The option that is chosen, counted from 0, or why there is none."""

    index: int | None
    reason: str | None


_WORDS = {
    "N": "answer ans choice selection solution conclusion verdict decision bet response final_answer correct_answer "
    "answer_choice answer_letter final_choice selected_answer",
    "O": "option letter alternative correct_option selected_option option_letter",
    "a": "answers choices options",
    "1": "one",
    "P": "correct right",
    "p": "best likely accurate appropriate plausible suitable fitting probable reasonable logical proper final true closest "
    "chosen selected strongest",
    "x": "wrong incorrect false common popular tempting first initial previous original earlier another other",
    "f": "the my our your clearly definitely obviously probably most simply actually indeed certainly surely only just "
    "either both maybe perhaps possibly also even really necessarily undoubtedly truly single more very by far number "
    "second third fourth last",
    "t": "a an i i'd i'll i'm we we'd we'll you they would'd think want sure certain clear convinced say said claim argue "
    "mean know agree case can able of in am have had get let me going",
    "T": "believe think guess suspect reckon conclude prefer recommend suggest propose vote say feel pick",
    "V": "choose chose chooses choosing select selecting selects picks picked picking leaves leaving",
    "G": "go going goes went stick sticking opt opting opted settle settled settling decide decided voting",
    "W": "with for on",
    "L": "is was equals remains being answer's",
    "R": "are were",
    "B": "be",
    "M": "must should would will to has needs",
    "Z": "seems looks appears sounds",
    "v": "does do did",
    "E": "it this that which",
    "Y": "it's that's it\u2019s that\u2019s",
    "Q": "corresponds matches",
    "D": "therefore thus hence so ergo finally then overall",
    "C": "because since as",
    "c": "if while over rather instead given",
    "b": "but",
    "&": "and &",
    "|": "or nor / |",
    "!": "not never cannot can't can\u2019t isn't isn\u2019t wasn't wasn\u2019t aren't don't don\u2019t doesn't doesn\u2019t "
    "didn't won't wouldn't wouldn\u2019t couldn't shouldn't neither none hardly unlikely doubt nothing",
    "o": "no without",
    "h": "if whether might may could unless suppose supposing assume assuming",
    "K": r"\boxed \fbox \answer",
    "d": r'* ` { } [ ] " # ~ \ \text \textbf \textit \textrm \mathbf \mathrm \mathit \mathsf',
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
_STOPS = tuple((ord(stop), stop, f" {end} ") for stop, end in zip(",:.", "\x02\x03\x01", strict=True))
_NO_MARK = bytes(set(range(256)) - set(_SPACED) - set(b",:."))

# Signs: S is no word; s (the article, or a user's word), i (the pronoun) and 9 (a number) may stand in prose, where they
# are no signs: u. What is between brackets, quotes or stars (d) is one, and its closing mark is kept as a bracket.
_WRAPPED = re.compile(rb"[Ssi9](?<=[d(].)[d)]")
_IN_PROSE = re.compile(
    rb"[Ssi9](?:(?<=[g<].)|(?<=<\|.)|(?<=9q9)"
    rb"|(?<=s)(?![d$]*[n.?,;:)(<&|cCbLRMZ!v>gkq-])"
    rb"|(?<=i)(?![d$]*[n.?,;:)(<&|cCbLR>gq-])"
    rb"|(?<=9)(?![d$]*(?:[n.?,;:)(<&cCbLRMZ!v>]|-[^9]))|(?<=\$9)(?!\$))"
)
_FINAL = bytes.maketrans(b"si9u", b"SSSt")
_SIGN_CODES = range(128, 256)
_NO_CODE = bytes(set(range(256)) - set(_SIGN_CODES))
_PROSE = ord("u")
_NO_SIGN = bytes(set(range(256)) - set(b"Ssi9u"))

# before a sign
_FILL = r"(?:[fODNPp:qn!1(>-]|O,|,D,)*"
_GAP = r"[^.?;nSq>=|]{0,12}"
_NOUN = r"(?:[NO]|[Pp]1|[fp][VT])"
_DENIED = r"(?:o?[!h][tTfEMONPpLB1VG]{0,6}|x)?"
_STRONG = re2.compile(
    rf"{_DENIED}(?:K|{_NOUN}{_GAP}[LRB:]|(?:{_NOUN}|[Pp])[-=>q:]{{1,3}}|Pa{_GAP}[R:]|V(?:[tf]W)?|Gf*W){_FILL}$".encode()
)
_WEAK = re2.compile(
    rf"{_DENIED}(?:(T(?:E?L|E|Y|EM*B)?{_FILL}|[nPpMt]N[nO(]*|[Pp]O\(*)"
    rf"|D,?{_FILL}|EM*[LB]{_FILL}|Y{_FILL}|QM?{_FILL}|{_NOUN}{_GAP}[LB:][^.?;nS]{{1,12}}(?:\(O?|,f*O\(?))$".encode()
)
_CORRECTED = re2.compile(rb"!f*O?S\)*,?b[fO(]*$")  # "not A but"
_DENIES = re2.compile(rb"o?[!h][tTfEMONPpLB1VG]{0,6}[fO(]*$")
_LINE_LEAD = re.compile(rb"n[fPpt]*[NO]?[:q-]*\(*$")

# behind a sign
_BREAKS = re.compile(rb"\)*[?#=]")
_IS_RIGHT = re2.compile(rb"\)*(?:(R)|[LR]|M+B|Z(?:MB)?)[fpDE]*(?:P|[NO]|p[.,;:nC)1])|\)*[:(-]P[).,;n]")
_VERB = re.compile(rb"\)*[LRMBZ!v]")
_CLAUSE_END = re.compile(rb"[n.,;:)(<&|cCbEWgkq-]")
_SENTENCE_END = re.compile(rb"\)*[n.C<]")
_ALONE = re.compile(rb"[).:;,]*n")
_REASONED = re.compile(rb"[).:,-]*C")
_WITH_TEXT = re.compile(rb"[).:gq-]+[^nLRMBZ!v?]")

# between signs
_JOIN = re.compile(rb"\)*[,;k]?[&|]*[fO]*\(*")
_JOIN_OF_TEXTS = re.compile(rb"\)[^.?;nS]{1,12}[,;&|]+[fO(]*")
_NEXT_LINE = re.compile(rb"[).:;,]*n+[-(]*O?\(*")
_ITEM = re.compile(rb"n[-(]*O?\(*(S)[).:gq-]+[^n]")

_ROMAN = re.compile("(?i)[ivxl]{2,}")
_QUOTED = ("'{}'", "\u2018{}\u2019", "_{}_", "__{}__")
_MADE_UP = "\ue000"  # private use: begins the word a made-up sign is replaced by
MAX_SIGNS = 64


class _Signs(NamedTuple):
    classes: dict[str, str]  # of every word and mark; each sign has a code of its own
    kinds: bytes  # from codes to S, s, i and 9
    made_up: re.Pattern[str] | None
    words: dict[str, str]  # what made-up signs are replaced by


class _Extent(enum.Enum):
    """Which of several joined signs are committed to."""

    NONE = 0
    FIRST = 1
    LAST = 2
    ALL = 3


def read_option(completion: str, enumerators: Sequence[str]) -> OptionReading:
    """The last choice a completion commits to, by the bare signs its template puts before the options.

    Args:
        completion: any text; one above 110,000 characters is read at both ends.
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
    last_sentences = text.rfind(". ", 0, -LAST_CHARACTERS) + 1
    if last_sentences and not signs.made_up and text.find("\n", last_sentences) < 0:
        found = _last_choice(text[last_sentences:], signs, b".")
        if found.reason != NO_CHOICE:
            return found
    return _last_choice(text, signs, b"n")


def _last_choice(text: str, signs: _Signs, before: bytes) -> OptionReading:
    """Signs that are joined ("A or B") are one choice of several; the last that commits counts."""
    codes, indexes = _classified(text, signs)
    if not indexes:
        return OptionReading(None, NO_CHOICE)
    classes = _Classes(before + codes + b"n", indexes)
    stop = len(indexes)
    while stop:
        start = stop - 1
        while start and classes.are_joined(start - 1):
            start -= 1
        chosen = {indexes[k] for k in classes.committed(start, stop)}
        if chosen:
            return OptionReading(None, TWO_CHOICES) if len(chosen) > 1 else OptionReading(chosen.pop(), None)
        stop = start
    return OptionReading(None, NO_CHOICE)


class _Classes:
    """A text as classes, with the signs that stand in it."""

    def __init__(self, classes: bytes, indexes: Sequence[int]) -> None:
        self.classes = classes  # each line between two n
        self.indexes = indexes
        self.places = [match.start() for match in re.finditer(b"S", classes)]

    def are_joined(self, k: int) -> bool:
        """Whether sign k and the next are named together."""
        start, stop = self.places[k] + 1, self.places[k + 1]
        if stop - start > REACH:
            return False
        between = self.classes[start:stop]
        if _JOIN.fullmatch(between):
            return True
        return self.classes.startswith(b")", stop + 1) and bool(_JOIN_OF_TEXTS.fullmatch(between))

    def committed(self, start: int, stop: int) -> range:
        """Those of the joined signs start to stop that the text commits to."""
        first, last = self.places[start], self.places[stop - 1]
        before = self.classes[max(0, first - REACH) : first]
        after = self.classes[last + 1 : last + 1 + REACH]
        is_either = stop - start > 1 and b"|" in self.classes[self.places[stop - 2] : last]
        extent = _extent(before.rpartition(b".")[2], after, is_either=is_either)
        if extent is _Extent.LAST:
            return range(stop - 1, stop)
        if extent is _Extent.FIRST:
            return range(start, start + 1 if stop - start > 1 else start)
        lead = _LINE_LEAD.search(before)
        if not lead:
            return range(start, stop if extent is _Extent.ALL else start)
        is_bare = self._is_bare(start, stop, first - len(before) + lead.start())
        return range(start, stop if (extent is _Extent.ALL or is_bare) and not self._is_listed(start) else start)

    def _is_bare(self, start: int, stop: int, line: int) -> bool:
        """Whether signs at the beginning of a line are, or begin, the first line or the last."""
        if line not in {0, self.classes.rfind(b"n", 0, -1)}:
            return False
        after = self._after(stop - 1)
        if _ALONE.match(after) or (stop - start == 1 and _REASONED.match(after)):
            return True
        return bool(_WITH_TEXT.match(after)) and not self._is_in_row(start)

    def _is_in_row(self, k: int) -> bool:
        """Whether the option after that of sign k follows in its line: "A. Paris B. Rome"."""
        if self.indexes[k + 1 : k + 2] != [self.indexes[k] + 1]:
            return False
        in_line = self.classes.find(b"n", self.places[k], self.places[k + 1]) < 0
        return in_line and bool(_WITH_TEXT.match(self._after(k + 1)))

    def _is_listed(self, k: int) -> bool:
        """Whether sign k begins a line, and its neighbour among the options the line before or after: a repeated list."""
        own = self.indexes[k]
        if own - 1 not in self.indexes and own + 1 not in self.indexes:
            return False
        place = bisect_left(self._items, k)
        if self._items[place : place + 1] == [k]:
            previous, following = self._items[max(0, place - 1) : place], self._items[place + 1 : place + 2]
        else:
            previous = [k - 1] if k and self._stand_below(k - 1) else []
            following = [k + 1] if k + 1 < len(self.places) and self._stand_below(k) else []
        return own - 1 in (self.indexes[j] for j in previous) or own + 1 in (self.indexes[j] for j in following)

    @functools.cached_property
    def _items(self) -> list[int]:
        """The signs that begin a line with a mark and text behind them."""
        return [bisect_left(self.places, match.start(1)) for match in _ITEM.finditer(self.classes)]

    def _stand_below(self, k: int) -> bool:
        """Whether sign k and the next are lines of their own with nothing between."""
        first, second = self.places[k : k + 2]
        begins_line = _LINE_LEAD.search(self.classes[max(0, first - REACH) : first])
        return bool(
            begins_line and _NEXT_LINE.fullmatch(self.classes, first + 1, second) and _ALONE.match(self._after(k + 1))
        )

    def _after(self, k: int) -> bytes:
        return self.classes[self.places[k] + 1 : self.places[k] + 1 + REACH]


@functools.lru_cache(maxsize=1 << 14)
def _extent(before: bytes, after: bytes, *, is_either: bool) -> _Extent:
    """What the phrases around joined signs commit to: `before` begins with their sentence at the earliest."""
    if _BREAKS.match(after):
        return _Extent.NONE
    right = _IS_RIGHT.match(after)
    if right:
        denial = _DENIES.search(before)
        if denial and _is_denied(denial[0]):
            return _Extent.NONE
        return _Extent.ALL if is_either or right[1] else _Extent.LAST
    found = _STRONG.search(before)
    if _VERB.match(after):  # the last sign is the subject of a clause of its own
        return _Extent.FIRST if found and not _is_denied(found[0]) else _Extent.NONE
    if found:
        return _Extent.NONE if _is_denied(found[0]) else _Extent.ALL
    found = _WEAK.search(before)
    if found and not _is_denied(found[0]):
        end = _CLAUSE_END if found[1] else _SENTENCE_END
        return _Extent.ALL if end.match(after) else _Extent.NONE
    return _Extent.ALL if _CORRECTED.search(before) and _CLAUSE_END.match(after) else _Extent.NONE


def _is_denied(phrase: bytes) -> bool:
    """An odd number of negations ("no doubt" is two), a condition, or an adjective that makes it another's answer."""
    return bool((phrase.count(b"!") + phrase.startswith(b"o")) % 2) or b"h" in phrase or phrase.startswith(b"x")


def _classified(text: str, signs: _Signs) -> tuple[bytes, list[int]]:
    """The classes of a text between two line ends, and which option each S stands for; without an S nothing."""
    if signs.made_up:
        text = signs.made_up.sub(lambda match: f" {signs.words[match[0]]} ", text.replace(_MADE_UP, " "))
    if not text.isascii():
        for mark, spaced in _SPACED_BEYOND_ASCII:
            text = text.replace(mark, spaced)
    text += "\n"
    marks = set(text.encode("utf-8", "replace").translate(None, _NO_MARK))
    for mark in marks & _SPACED.keys():
        text = text.replace(*_SPACED[mark])
    for mark, stop, end in _STOPS:
        if mark in marks:
            text = text.replace(stop + stop, end).replace(f"{stop} ", end).replace(stop, f" {stop} ")
    coded = "".join(map(signs.classes.get, text.split(" "), repeat("w"))).encode("latin-1")
    classes = coded.translate(signs.kinds)
    if b"d" in classes or b"(" in classes:
        classes = _WRAPPED.sub(b"S)", classes)
    classes = _IN_PROSE.sub(b"u", classes)
    stands = classes.translate(None, _NO_SIGN)
    if stands.count(b"u") == len(stands):
        return b"", []
    codes = coded.translate(None, _NO_CODE)
    indexes = [code % MAX_SIGNS for code, sign in zip(codes, stands, strict=True) if sign != _PROSE]
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
