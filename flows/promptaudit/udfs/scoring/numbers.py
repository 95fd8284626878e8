"""Reads a number exactly as people write it: with separators, and with a currency or a unit beside it."""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction

from promptaudit.udfs.scoring.math.final_answer import tidied
from promptaudit.udfs.scoring.math.number import MAX_CHARACTERS, read_quantity
from promptaudit.udfs.scoring.math.vocabulary import is_name
from promptaudit.udfs.spelling import with_ascii_digits, without_unseen

# Matches a word of a currency, in lower case and without the s of a plural; capitals of three letters are codes too.
_names_currency = re.compile(
    r"kr|rs|rp|rm|zł|zl|kč|kc|ft|lei|lev|лв|руб|р|fr|sfr|ct|cent|euro|dollar|pound|quid|yen|yuan|rupee|franc|kron[aeo]r?|peso|"
    r"real|reais|baht|won|zloty|forint|rand|dirham|shekel|lira|円|元|원|"
    r"eur|usd|gbp|chf|sek|nok|dkk|pln|czk|huf|ron|bgn|try|jpy|cny|rmb|inr|krw|brl|mxn|cad|aud|nzd|zar|aed|sar|ils|thb|idr|myr|"
    r"php|vnd|sgd|hkd"
).fullmatch
# Matches a unit that has fewer than three letters, or may stand without a blank behind a number; m is no unit by
# itself.
_is_short_unit = re.compile(
    r"[cdkm]m|in|ft|yd|mi|[mkµμ]g|µm|μm|oz|lb|[mcd]l|h[lr]|[kmgt]b|[kmg]?hz|[kmg]w|k?wh|mwh|kv|px|pt|db|stk|stück|pcs|sq|"
    r"[hglsvwω]"
).fullmatch
# Matches a word that multiplies, in lower case and without the s of a plural.
_multiplies = re.compile(
    r"dozen|hundred|thousand|million(?:en)?|billion|trillion|lakh|crore|tausend|mio|mrd|mln|mill|mille|milliard(?:en?)?|mil|"
    r"millone|milione|milioni|miliardi|miljoen|miljard|milj|miljon|miljoner|tusen|tuhat|tis|tys|duizend|bin|milyon|milyar|ezer|"
    r"ribu|juta|miliar|bn|mn|tn|cr|tsd|thsd|mia|md|mdr|mlrd|mld|miljarder|dutzend|douzaine|grand|bln|trn|"
    r"(?:[tkm]|md)(?:kr|eur|usd|gbp|chf|sek|nok|dkk)"
).fullmatch
# Matches a word that makes the number before it a time, a day of a month, an ordinal, or one of two numbers.
_is_no_unit = re.compile(
    r"and|or|to|not|x|th|st|[nr]d|[ap]m|jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
).fullmatch

_COUNTRY = re.compile(r"\b[A-Z]{1,2}(?=\$)")
_DEGREES = re.compile(r"°\s?[CFK]?(?![^\W\d_])")
_DASHED = re.compile(r"(?<=\d)[,./]\s?[-\u2013\u2014](?=\s|$)")
_LETTER = r"[^\W\d_\u00bc-\u00be\u2150-\u215e]"  # ½ is no letter
_BEFORE = re.compile(rf"(?P<sign>[-+]?)\s*(?P<word>{_LETTER}{{1,9}})\.?(?:\s*(?=[+.]?\d)|\s+(?=-\.?\d))")
_WORD = rf"{_LETTER}+\.?(?:[²³]|\^?[23])?"
_BEHIND = re.compile(
    rf"(?<=[\d.])(?P<blank>\s*(?:/\s*)?)(?P<words>(?![eE]\d){_WORD}(?:(?:\s*/\s*|[ -]){_WORD}){{0,7}})$"
)
# Matches a unit that begins with metres: m alone may be a million.
_is_metre = re.compile(r"m(?:[²³/]|\^?[23])").match
_PARTS = re.compile(rf"{_LETTER}+")
_LEADING_COMMA = re.compile(r"[-+]?\s*,\d")
_COMMA = re.compile(r"(?<![\d.,])(?P<whole>\d{1,3}(?:[ '.]\d{3})+|\d+),(?P<decimals>\d+)(?![\d.,])")
_SEPARATORS = re.compile(r"\D")
_GROUPS = re.compile(r"\d{1,3}(?:(?:'\d{3})+|(?:\.\d{3}){2,})(?![\d'])|(?<![\d,])\d{1,2}(?:,\d\d)+,\d{3}(?![\d,])")


def number(text: str) -> str | None:
    """Reads the number that a text is, exactly, and writes it as a decimal; None for a text that is no number.

    1/3 stays a fraction, since no decimal equals it.

    1,234 has thousands and 1.234 decimals; "1.234,50", "1 234,50", "12,5" and "0,500" can only have a decimal comma. A
    number in parentheses is negative, as in accounts. Signs, codes and words of currencies on either side of the number
    are left out, and units behind it. "5 million" and "1.2M" are no numbers, as words and letters that multiply differ
    between languages, nor are two numbers.

    Example:
        >>> number("$1,234.50"), number("1.234,50 EUR"), number("-0.0"), number("12 %"), number("none")
        ('1234.5', '1234.5', '0', '12', None)
        >>> number("500 kr"), number("Rs. 500"), number("5 million kr"), number("500 kr 20")
        ('500', '500', None, None)
    """
    if len(text) > MAX_CHARACTERS:
        return None
    text = _COUNTRY.sub("", with_ascii_digits(without_unseen(text)).replace("\u2019", "'").strip())
    text = f"-{text[1:-1]}" if text.startswith("(") and text.endswith(")") else text
    text = "".join(" " if unicodedata.category(each) in ("Sc", "Zs") else each for each in text).strip()
    bare = _without_unit(_without_currency(_DEGREES.sub("", _DASHED.sub("", text)).strip()))
    if bare is None or _LEADING_COMMA.match(bare):
        return None
    found = read_quantity(tidied(_with_points(bare)))
    return None if found is None or found.name or any(map(_multiplies, found.unit)) else _decimal(found.value)


def _without_currency(text: str) -> str:
    found = _BEFORE.match(text)
    if found is None:
        return text
    word = found["word"]
    is_code = len(word) == 3 and word.isascii() and word.isupper() and not _is_no_unit(word.casefold())
    return f"{found['sign']}{text[found.end() :]}" if is_code or _is_currency(word) else text


def _without_unit(text: str) -> str | None:
    # None where a word behind the number is neither a unit nor a currency, or multiplies
    found = _BEHIND.search(text)
    if found is None:
        return text
    words = [part.casefold() for part in _PARTS.findall(found["words"])]
    if any(_multiplies(each) or _is_no_unit(each) for word in words for each in (word, word.removesuffix("s"))):
        return None
    first = _PARTS.match(found["words"])
    if first is not None and first[0] == "MM":  # millions, where mm are millimetres
        return None
    is_code = first is not None and re.fullmatch("[A-Z]{3}", first[0]) is not None
    if not (is_code or _is_short_unit(words[0]) or _is_currency(words[0]) or _is_metre(found["words"])):
        is_word = found["blank"] and len(words[0]) > 2 and words[0].isascii() and not is_name(words[0])
        if not is_word:
            return None
    return text[: found.start()]


def _is_currency(word: str) -> bool:
    folded = word.casefold()
    return any(map(_names_currency, (folded, folded.removesuffix("s"))))


def _with_points(text: str) -> str:
    # only where the separators have one possible meaning
    comma = _COMMA.search(text)
    if comma is not None and (
        len(comma["decimals"]) != 3 or comma["whole"].startswith("0") or not comma["whole"].isdigit()
    ):
        whole = _SEPARATORS.sub("", comma["whole"])
        return f"{text[: comma.start()]}{whole}.{comma['decimals']}{text[comma.end() :]}"
    return _GROUPS.sub(lambda groups: _SEPARATORS.sub("", groups[0]), text, count=1)


def _decimal(value: Fraction) -> str:
    rest, n_decimals = value.denominator, 0
    while rest % 10 == 0 or rest % 2 == 0 or rest % 5 == 0:
        rest //= 10 if rest % 10 == 0 else 2 if rest % 2 == 0 else 5
        n_decimals += 1
    if rest != 1:
        return f"{value.numerator}/{value.denominator}"
    digits = str(abs(value.numerator) * 10**n_decimals // value.denominator).rjust(n_decimals + 1, "0")
    whole, decimals = digits[: len(digits) - n_decimals], digits[len(digits) - n_decimals :]
    return f"{'-' if value < 0 else ''}{whole}{'.' if decimals else ''}{decimals}"
