"""Decides where a word begins and ends in writing systems with and without spaces between words."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from typing import Literal

System = Literal["spaced", "han", "hiragana", "katakana", "hangul", "southeast"]

_FIRST = (  # where blocks begin that are written without spaces between words, or with endings joined to words
    (0x0E00, "southeast"),
    (0x0F00, "spaced"),
    (0x1000, "southeast"),
    (0x10A0, "spaced"),
    (0x1100, "hangul"),
    (0x1200, "spaced"),
    (0x1780, "southeast"),
    (0x1800, "spaced"),
    (0x2E80, "han"),
    (0x3040, "hiragana"),
    (0x30A0, "katakana"),
    (0x3100, "han"),
    (0x3130, "hangul"),
    (0x3190, "han"),
    (0x31F0, "katakana"),
    (0x3200, "spaced"),
    (0x3400, "han"),
    (0xA000, "spaced"),
    (0xAC00, "hangul"),
    (0xD7B0, "spaced"),
    (0xF900, "han"),
    (0xFB00, "spaced"),
    (0x20000, "han"),
    (0x32400, "spaced"),
)
_STARTS = [start for start, _ in _FIRST]

_DENYING = re.compile(  # negations written before a word without a space
    r"(?:[不非無无未没沒反]|不[是算为為]|[并並]非|不能[说說]是|[没沒]有|不[属屬][于於]|ไม่|ไม่ใช่|မ)[\s\"'「『《]*$"
)
_DENYING_BEHIND = re.compile(
    r"[\"'」』》]?(?:(?:적?이?지[는도]?|[이가은는도])\s*(?:아니|아닙|아닌|않)"
    r"|的?(?:では|じゃ|とは)(?:な[いくか]|ありませ|言え|いえ))"
)
# Vowels of Thai that are written before the consonant they follow in speech.
_LEADING_VOWELS = "เแโใไ"
# First syllables of the particles and endings that Korean writes behind a word without a space.
_PARTICLES = "은는이가을를과와의에로으도만입임인적예요라며고처보까부터다였야죠네"
# Characters that may stand before and behind a label of one character; most such labels are parts of many other words.
_OF_ONE = ("はがと为為是选選", "的了呢吧でだ입요다")

AROUND = 10
"""So many characters before and behind a place decide whether whole words stand there."""


def system_of(character: str) -> System:
    """Gives the writing system of a character, as far as it matters for the ends of words."""
    place = bisect_right(_STARTS, ord(character))
    return _FIRST[place - 1][1] if place else "spaced"  # type: ignore[return-value]


def is_whole(text: str, start: int, end: int) -> bool:
    """Tests whether text[start:end] is whole words, and no part of a longer word or number."""
    before, after = text[max(0, start - 1) : start], text[end : end + 1]
    first, last = text[start], text[end - 1]
    if _runs_on(before, first) or (_runs_on(last, after) and not _is_particle(last, after)):
        return False
    if _DENYING.search(text[max(0, start - AROUND) : start]) or _DENYING_BEHIND.match(text[end : end + AROUND]):
        return False
    if end - start == 1 and system_of(first) not in ("spaced", "katakana"):
        return (not _is_word(before) or before in _OF_ONE[0]) and (not _is_word(after) or after in _OF_ONE[1])
    return not _is_in_number(text, start, end)


def _is_in_number(text: str, start: int, end: int) -> bool:
    # it has a sign before it, or a point and digits around it
    further, before = text[max(0, start - 2) : max(0, start - 1)], text[max(0, start - 1) : start]
    if text[start] in "+-" and _is_word(before) and system_of(before) == "spaced":
        return True
    if text[start].isdecimal() and (
        (before in (".", ",") and further.isdecimal()) or (before == "-" and not _is_word(further))
    ):
        return True
    return text[end - 1].isdecimal() and text[end : end + 1] in (".", ",") and text[end + 1 : end + 2].isdecimal()


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_" or (character != "" and unicodedata.category(character)[0] == "M")


def _runs_on(left: str, right: str) -> bool:
    if not (_is_word(left) and _is_word(right)):
        return False
    if unicodedata.category(right)[0] == "M" or left in _LEADING_VOWELS:
        return True
    one, other = system_of(left), system_of(right)
    return one == other and one in ("spaced", "katakana", "hangul")


def _is_particle(left: str, right: str) -> bool:
    return system_of(left) == "hangul" and right in _PARTICLES
