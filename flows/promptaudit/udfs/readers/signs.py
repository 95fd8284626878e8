"""Decides which sign a number has by the text before it."""

from __future__ import annotations

import functools
import re

from promptaudit.udfs.spelling import MINUS, SURE_MINUS

_MINUS, _LONG = frozenset(MINUS), frozenset("—―﹘ーｰ")
LONGEST_SIGN = 20  # characters of a sign and of what stands between it and its number, at most
_MARKS_OF_NUMBERS = "*_~`$\"'“‘(\\[{"
_MARKED_MINUS = re.compile(rf"([{re.escape(MINUS[:-2])}])[{_MARKS_OF_NUMBERS}]+$")
_SIGN_WORD = re.compile(
    r"(?:\b(?<!au |al |ao |lo )(?P<sure>minus|moins|menos|meno|минус|мінус|eksi|âm|سالب|ऋण)|"  # not "at least"
    r"(?P<joined>负|負|マイナス|마이너스|ลบ)|\b(?:negati[fv][aeo]?|négatif|neg\.?))"
    rf"[\s:：{_MARKS_OF_NUMBERS}]*$",
    re.IGNORECASE,
)


@functools.lru_cache(maxsize=1 << 12)
def signs_before(before: str) -> tuple[str, ...]:
    """Lists the signs that a number may have, by the text before it: "+", "-" or "" for none."""
    before = _MARKED_MINUS.sub(r"\1", before)
    text = before.rstrip(" \t\u00a0\u2009\u202f")
    sign, further = text[-1:], text[-2:-1]
    is_near = text == before
    if sign and sign in "+\uff0b\ufe62" and is_near:
        return ("+",)
    if sign and sign in "±∓":
        return ("-", "")
    if sign in _MINUS:
        if sign in SURE_MINUS and further not in _MINUS:
            return ("-",)
        is_joined = further.isalnum() and (sign in _LONG or not _is_of_unspaced(further))
        return ("-",) if is_near and not is_joined and further not in _MINUS else ("-", "")
    word = _SIGN_WORD.search(before)
    if word is None:
        return ("",)
    return ("-",) if word["sure"] or word["joined"] else ("-", "")


def _is_of_unspaced(character: str) -> bool:
    return character >= "\u0e00" and not "\uff10" <= character <= "\uff5a"
