"""Recognises a text in other spellings: composed or not, in either case or width, with other digits or dashes."""

from __future__ import annotations

import functools
import re
import unicodedata
from itertools import pairwise
from typing import Literal

MINUS = "-\u2212\u2010\u2011\u2012\u2013\u2014\u2015\u02d7\u207b\u208b\u2796\ufe58\ufe63\uff0d\u30fc\uff70"
"""Dashes that people and models write for minus; the last two are the long vowel of Japanese keyboards."""
SURE_MINUS = "\u2212\u207b\u208b\u2796\ufe63\uff0d"
"""Dashes of MINUS that are no bullet, hyphen or dash of a sentence."""
LONG = 1000
_PHRASES = {0xFDFA: " ", 0xFDFB: " "}  # characters that stand for phrases of up to 18

# the long vowel of Japanese is a letter elsewhere than before a number
_DASHES = dict.fromkeys(map(ord, MINUS[:-2]), "-")
_QUOTES = dict.fromkeys(map(ord, "\u2018\u2019\u201b\u02bc\u00b4`"), "'") | dict.fromkeys(
    map(ord, "\u201c\u201d\u201f"), '"'
)
_MARKS = _DASHES | _QUOTES
UNSEEN = "\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufe00-\ufe0f\ufeff"
"""Invisible characters, as a class in a pattern."""
_UNSEEN = re.compile(f"[{UNSEEN}]")
_SPACED_MINUS = re.compile(rf"[{SURE_MINUS}]\s+(?=\d)")


MOST_MARKS = 30
"""Unicode's stream-safe form allows so many combining marks in a row; words have three at most."""


def normalised(form: Literal["NFC", "NFKC"], text: str) -> str:
    """Writes a text in a form of Unicode, in time linear in its length.

    Putting consecutive marks in order takes the square of their number in time, so at most 30 are put in order
    together.
    """
    if len(text) < LONG or text.isascii():
        return unicodedata.normalize(form, text)
    starts, n_marks = [0], 0
    for place, character in enumerate(text):
        n_marks = n_marks + 1 if unicodedata.combining(character) else 0
        if n_marks > MOST_MARKS:
            starts.append(place)
            n_marks = 1
    return "".join(unicodedata.normalize(form, text[start:end]) for start, end in pairwise([*starts, len(text)]))


def canonical(text: str) -> str:
    """Writes a text in Unicode's composed form (NFC): canonically equivalent texts become equal, and no others."""
    return normalised("NFC", text)


def folded(text: str) -> str:
    """Writes texts that differ only in case, width, white space, unseen characters, dashes or digits in one form.

    A dotless i counts as i, as Turkish capitals make it one.
    """
    seen = _SPACED_MINUS.sub("-", _UNSEEN.sub("", text).translate(_PHRASES)) if not text.isascii() else text
    wide = normalised("NFKC", seen).casefold().replace("i\u0307", "i").replace("\u0131", "i")
    if not wide.isascii():
        wide = with_ascii_digits(normalised("NFKC", wide).translate(_MARKS))
    return " ".join(wide.split())


_JOINERS = re.compile(r"(?<=[^\W\d_])-(?=[^\W\d_])|(?<=[^\W_])_(?=[^\W_])")


def spaced(text: str) -> str:
    """Folds a text and writes a blank for each hyphen between letters and each underscore between letters or digits."""
    return _JOINERS.sub(" ", joined(text))


def joined(text: str) -> str:
    """Folds a text to the length of the spaced one: hyphens and underscores stay, without the backslash of Markdown."""
    return folded(text).replace("\\_", "_")


def with_ascii_digits(text: str) -> str:
    """Writes the decimal digits of all scripts, and digits in circles, as 0 to 9."""
    if text.isascii():
        return text
    digits = {character: _digit(character) for character in set(text)}
    return text.translate({ord(character): digit for character, digit in digits.items() if digit is not None})


@functools.lru_cache(maxsize=4096)
def _digit(character: str) -> str | None:
    if character.isascii():
        return None
    decimal = unicodedata.decimal(character, None)
    if decimal is not None:
        return str(decimal)
    return unicodedata.normalize("NFKC", character) if "\u2460" <= character <= "\u2473" else None


_NUMBER = re.compile(rf"(?:([+\uff0b{re.escape(MINUS)}])|([{SURE_MINUS}])\s+)?(\d+)(?:([.,])(\d+))?")


def numeral(text: str) -> str | None:
    """Writes a number with its sign in ASCII, without a plus and zeros behind the point; None for another text.

    A comma is a point unless three digits behind it may make thousands.

    >>> numeral("\u22121"), numeral("\uff0b\uff11"), numeral("03"), numeral("one")
    ('-1', '1', '03', None)
    >>> numeral("0,50"), numeral("4.0"), numeral("1,000")
    ('0.5', '4', '1,000')
    """
    if len(text) > 100:  # no label is such a number
        return None
    found = _NUMBER.fullmatch(with_ascii_digits(_UNSEEN.sub("", text.strip())))
    sign = found and (found[1] or found[2])
    return found and f"{'-' if sign and sign in MINUS else ''}{found[3]}{_decimals(*found.groups()[2:])}"


def _decimals(whole: str, point: str | None, digits: str | None) -> str:
    if point is None or digits is None:
        return ""
    if len(digits) == 3 and whole.strip("0"):  # of thousands
        return f"{point}{digits}"
    return f".{digits}".rstrip("0").rstrip(".")


def without_unseen(text: str) -> str:
    """Removes invisible characters from a text, such as marks of direction and of zero width."""
    return text if text.isascii() else _UNSEEN.sub("", text)
