"""Finds the signs of options that a text names: letters and numbers that stand for an option, and no article, pronoun or count."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import NamedTuple

from promptaudit.udfs.readers import phrases
from promptaudit.udfs.readers.commitment import sign_of
from promptaudit.udfs.readers.phrases import words

_NOUN = words("option|options|answer|choice|choices|letter|alternative|statement|opción|alternativa|letra|inciso|opção|opzione|lettera|proposition|lettre|choix|réponse|antwort|möglichkeit|buchstabe|antwoord|optie|odpowiedź|opcja|вариант|ответ|seçenek|şık|svar|alternativ|选项|選項|選択肢|보기|선택지|الخيار|विकल्प")
_ROMAN = re.compile("(?i)[ivxl]{2,}")


_NAMED_SO = "".join(
    f"(?<!\\b{word} )"
    for word in (
        "vitamin|engine|plan|grade|type|group|team|model|hepatitis|section|figure|table|appendix|exhibit|part|line|row|column|party|company|person|student|speaker|country|city|"
        "box|bag|train|car|variable|set|angle|side|vertex|node|rule|phase|stage|level|drug|sample|point|mr|ms|dr"
    ).split("|")
)
"""A letter behind one of these words is part of a name."""


class _Found(NamedTuple):
    pattern: re.Pattern[str]
    places: dict[str, int]
    unsure: frozenset[str]


@functools.lru_cache(maxsize=64)
def _signs(enumerators: tuple[str, ...]) -> _Found:
    written = [sign.strip() for sign in enumerators]
    places: dict[str, int] = {}
    for place, sign in enumerate(written):
        if not sign or sign in places:
            continue
        places[sign] = place
        if (len(sign) == 1 and sign.isalpha()) or _ROMAN.fullmatch(sign):
            for form in (sign.lower(), sign.upper()):
                if form not in written:
                    places.setdefault(form, place)
    every = sorted(places, key=len, reverse=True)
    source = "|".join(re.escape(sign) for sign in every)
    unsure = frozenset(sign for sign in places if (len(sign) == 1 and sign.isalpha() and (sign.islower() or sign in "AIOЕУОИІ")) or sign.isdigit() or sign.isalpha() and len(sign) > 1)
    return _Found(re.compile(rf"(?<![\w'’.+&]){_NAMED_SO}(?:{source})(?![\w'’])(?!\.\w)"), places, unsure)


_OPENS, _CLOSES = re.compile(r"[(\[{<\"'*_＜（【「『]\s*$"), re.compile(r"\s*[)\]}>\"'*_＞）】」』]")
_MARK = re.compile(r"\s*[).:：．、,;!?。）\]]|\s*$|\s*\n|\s+[-–—=(]")
_JOINED = re.compile(r"\s*(?:[,/&]|and|or|nor|und|oder|et|ou|y|o|e|i|a|en|of|и|или|і|또는|와|과|や|と|和|或|और|या|و|أو)\s*(?:also |also)?[\"'(]?[B-H]\b")
_JOINED_BEFORE = re.compile(r"\b[B-H][)\"']?\s*(?:[,/&]|and|or|nor|und|oder|et|ou|y|o|e|i|и|или|і|와|과|や|と|和|或|और|و)\s*$")
_UNSPACED = re.compile("[\u0600-\u06ff\u0900-\u097f\u0e00-\u9fff\uac00-\ud7af]")
_IS = re.compile(r"\s+(?:is|are|was|must|seems|would|does|has|fits|matches|and|or|because|since|as|but|it|instead|over|rather|ist|est|es|è|é|oder|und|ou|et|o|y|e|und)\b", re.IGNORECASE)
_BEFORE = re.compile(
    rf"(?:{_NOUN}\s*[:：]?\s*|\b(?:is|are|be|pick|choose|select|go with|going with|say|vote for|chose|answer|either|both|only|not|nor|or|and|with|to|leaves|leave|ist|est|es|è|é|nicht|pas|oder|und|ou|et|是|选|選|答)\s+|[:：=→⇒>-]\s*|是|选|選|为|は)$",
    re.IGNORECASE,
)


def marked_options(text: str, enumerators: Sequence[str]) -> str:
    """Returns a text in which the sign of its place stands for each option that is named."""
    found = _signs(tuple(enumerators))

    def marked(match: re.Match[str]) -> str:
        sign = match[0]
        place = sign_of(found.places[sign])
        if sign not in found.unsure:
            return place
        before, after = text[max(0, match.start() - 40) : match.start()], text[match.end() : match.end() + 40]
        line_start = not before.strip() or before.rstrip(" \t*_#>-").endswith("\n")
        is_wrapped = _OPENS.search(before) and _CLOSES.match(after)
        is_item = (line_start or before[-1:] in "([") and re.match(r"[).:：]", after)
        is_alone = line_start and re.match(r"[*_\s]*(?:$|\n|[.。,;:)])", after)
        is_joined = _JOINED.match(after) or _JOINED_BEFORE.search(before)
        is_named = is_joined or (_BEFORE.search(before) and (_MARK.match(after) or _IS.match(after)))
        if sign.isdigit() or sign.islower():
            is_named = re.search(rf"{_NOUN}\s*(?:number|no\.?|nr\.?)?\s*(?:{words(phrases.IS)}|[:：=])?\s*[\"'(\[*]*$", before, re.IGNORECASE)
        else:
            is_named = is_named or _MARK.match(after) or _IS.match(after) or _UNSPACED.match(after)
            if sign == "I":
                is_named = is_named and _MARK.match(after)
        return place if is_wrapped or is_item or is_alone or is_named else sign

    return found.pattern.sub(marked, text)
