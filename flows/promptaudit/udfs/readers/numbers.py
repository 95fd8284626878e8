"""Finds the numbers of a text that may be its answer; passes over scales, numbers of steps and parts of numbers."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

from promptaudit.udfs.readers.commitment import OUTSIDE, SIGN, sign_of
from promptaudit.udfs.readers.signs import signs_before
from promptaudit.udfs.spelling import numeral, with_ascii_digits

_N = r"[-+−]?\d+(?:[.,]\d+)?"
_TO = (
    r"\s*(?:\.\.\.?|-|–|—|~|～|〜|/|to|through|till|bis|à|au|a|al|hasta|até|tot|t/m|do|to|ile|ve|до|till|sampai|đến|至|到|から|에서|"
    r"إلى|से)\s*"
)
_OF = (
    r"\s*(?:/|／|out of(?: a (?:possible|total of))?|of(?: a possible)?|von(?: maximal)?|auf|sur|de(?:\s+un total de)?|su|"
    r"van(?: de)?|na|z|из|üzerinden|av|af|od|dari|trên|من|में से|में)\s*"
)
_UNSPACED = r"(?:点満点中?|点満点で|段階評価?で?|段階中?|分制|分满分|分滿分|点满分|点滿分|점\s*만점에?서?|점\s*중)"
_STEP = (
    r"(?:step|text|question|criterion|criteria|part|item|chapter|line|page|sample|example|option|no\.|nr\.?|number|"
    r"paragraph|section|figure|table|level of|scene|act|version|article|note|day|week|year|"
    r"schritt|frage|teil|seite|absatz|kriterium|zeile|punkt|étape|question|partie|critère|page|paso|pregunta|parte|"
    r"criterio|página|passo|etapa|pergunta|critério|passaggio|domanda|pagina|stap|vraag|deel|krok|pytanie|adım|soru|шаг|"
    r"вопрос|пункт|"
    r"第|步骤|ステップ|단계|질문|الخطوة|चरण)\s*(?:\#|n[o°º]?\.?\s*)?"
)
_HALF = re.compile(
    r"[ \t]*(?:and a half|½|einhalb|et demie?|y medi[oa]|e mei[oa]|e mezz[oa]|en een half|i pół|buçuk|с половиной|点半|分半|半)",
    re.IGNORECASE,
)
_UNITS = (
    r"[ \t]*(?:(?:percent|prozent|por ciento|dollars?|euros?|minutes?|hours?|days?|weeks?|months?|years?|times|people|pages?|"
    r"words?|typos?|errors?|mistakes?|reasons?|criteria|paragraphs?|jahre|stunden|tage|wochen|minuten|seiten|fehler|heures?|jours?|"
    r"semaines?|mois|años|días|horas|anos|dias|giorni|anni|weken|dagen|jaar|лет|дней|недел\w+|часов)(?![^\W\d_])|"
    r"[%％€$£]|分钟|分鐘|小时|小時|时间|時間|元|円|年|月|日|回|人|つ|個|か所|次|个|名|번|개|명|주|년)"
)
_WORDS = (
    "zero one two three four five six seven eight nine ten|null eins zwei drei vier fünf sechs sieben acht neun zehn|"
    "zéro un deux trois quatre cinq six sept huit neuf dix|"
    "cero uno dos tres cuatro cinco seis siete ocho nueve diez|zero um dois três quatro cinco seis sete oito nove dez|"
    "zero uno due tre quattro cinque sei sette otto nove dieci|"
    "nul een twee drie vier vijf zes zeven acht negen tien|"
    "zero jeden dwa trzy cztery pięć sześć siedem osiem dziewięć dziesięć|"
    "sıfır bir iki üç dört beş altı yedi sekiz dokuz on|"
    "ноль один два три четыре пять шесть семь восемь девять десять"
)
_ARTICLES = frozenset(("een", "un", "uno", "bir", "on", "um", "sei", "due", "tre"))  # words of other meanings, too
_OF_WORDS: Mapping[str, int] = {
    word: number
    for language in _WORDS.split("|")
    for number, word in enumerate(language.split())
    if word not in _ARTICLES
}
_WORD = re.compile(rf"(?<!\w)({'|'.join(sorted(_OF_WORDS, key=len, reverse=True))})(?!\w)", re.IGNORECASE)
_STARS = re.compile(r"(?:[★⭐🌟]\ufe0f?[ \t]?){1,10}[☆✩]*")
_TOKEN = re.compile(r"\d+(?:[.,]\d+)*")
_HAN = {each: number for number, each in enumerate("零一二三四五六七八九十")}
_HAN_POINTS = re.compile(r"([零一二三四五六七八九十])(?=[分点星])")
_ENUMERATED = re.compile(r"^[ \t]*(?:[-*•][ \t]*)?\d{1,2}[.)、](?=[ \t]*\S)(?!\d)", re.MULTILINE)


@functools.lru_cache(maxsize=64)
def _scale(least: int, most: int) -> re.Pattern[str]:
    # matches the ends of a scale, its legend, or its highest value ("out of 10")
    ends = rf"[-+]?{least}(?:\s*\([^()]{{0,40}}\))?{_TO}[-+]?{most}(?:\s*\([^()]{{0,40}}\))?(?![\d.,]\d)(?!\d)"
    legend = r"(?:(?<!\d)[-+]?\d{1,3}\s*(?:=|means|bedeutet)[^\d\n=,;]{1,40}+[,;]?+\s*+(?:and |und |et )?+){2,12}+"
    return re.compile(
        rf"\(?(?<![\d.,]){ends}\)?|{legend}|(?:^|(?<=[\s(]))(?:out of|von|sur|su|van|из|de)\s*{most}(?!\d)[,:]?|"
        rf"(?<!\d){most}\s*{_UNSPACED}|满分\s*(?:是|为)?\s*{most}\s*分?",
        re.IGNORECASE,
    )


_SHARE = re.compile(rf"(?<![\d.,])({_N}){_OF}({_N})(?![\d.,]*\d)(?!\s*(?:the|those|these|which)\b)", re.IGNORECASE)


def marked_numbers(text: str, labels: tuple[str, ...]) -> str:
    """Replaces each number that may be the answer by the sign of its label, and each other number by `OUTSIDE`."""
    values = {int(numeral(each) or each): place for place, each in enumerate(labels)}
    least, most = min(values), max(values)
    plain = with_ascii_digits(text)
    if _TOKEN.search(plain) is None:
        plain = _WORD.sub(lambda match: str(_OF_WORDS[match[1].casefold()]), plain)
    plain = re.sub(r"[★⭐](?=[ \t]*\d)", " boxed: ", plain)
    plain = _STARS.sub(lambda match: f" {len(re.findall('[★⭐🌟]', match[0]))} ", plain)
    plain = _HAN_POINTS.sub(lambda match: str(_HAN[match[1]]), plain)
    plain = _SHARE.sub(lambda match: _of_most(match, most), plain)
    plain = _scale(least, most).sub(" ", plain)
    if len(set(_ENUMERATED.findall(plain))) > 1:  # a list, and no answer such as "3. Neutral"
        plain = _ENUMERATED.sub("", plain)
    marked = _with_signs(_STEPS.sub(" ", plain), values, is_strict=True)
    # where a text has no other number, the one of a step or with a unit is the answer
    return marked if _MARKED.search(marked) else _with_signs(plain, values, is_strict=False)


_STEPS = re.compile(rf"(?<!\w){_STEP}\d+", re.IGNORECASE)
_MARKED = re.compile(SIGN)
MOST_NUMBERS = 200  # of a text, of which the first and the last are looked at


def _with_signs(text: str, values: Mapping[int, int], *, is_strict: bool) -> str:
    parts, last = [], 0
    tokens = list(_TOKEN.finditer(text))
    if len(tokens) > MOST_NUMBERS:
        tokens = tokens[: MOST_NUMBERS // 2] + tokens[-MOST_NUMBERS // 2 :]
    for token in tokens:
        sign = _sign(text, token, values, is_strict=is_strict)
        if sign is None:
            continue
        before = text[last : token.start()]
        parts += [_MINUS_BEFORE.sub("", before) if sign[1] else before, sign[0]]
        last = token.end()
    return "".join([*parts, text[last:]])


_MINUS_BEFORE = re.compile(r"[-+−–]\s*$")


def _of_most(match: re.Match[str], most: int) -> str:
    # "4 of 5" is 4 where 5 is the highest value of the scale; another share is no answer of this scale
    try:
        whole = float(match[2].replace(",", "."))
    except ValueError:
        return match[0]
    if whole == most:
        return f"{match[1]} "
    is_slash = "/" in match[0] or "／" in match[0]
    return " 999999999 " if is_slash and whole > most else " "


def _sign(text: str, token: re.Match[str], values: Mapping[int, int], *, is_strict: bool) -> tuple[str, bool] | None:
    # the sign, and whether a minus or plus before it belongs to the number; None where it is part of something else
    start, end = token.span()
    before, after = text[max(0, start - 1) : start], text[end : end + 1]
    if (before.isalpha() and before.isascii()) or (
        after.isalpha() and after.isascii() and not re.match(r"(?:pts?|p)\b", text[end:])
    ):
        return None
    if is_strict and ((before and before in "€$£#@") or re.match(_UNITS, text[end : end + 16], re.IGNORECASE)):
        return None
    if _HALF.match(text, end):
        return OUTSIDE, False
    signs = signs_before(text[max(0, start - 20) : start])
    known = []
    for sign in signs:
        number = numeral(f"{sign.strip('+')}{token[0]}")
        try:
            value = int(number) if number is not None else None
        except ValueError:
            value = None
        if value is not None and value in values:
            known.append((value, bool(sign)))
    distinct = {value for value, _ in known}
    if len(distinct) == 1:
        value, is_signed = known[0]
        return sign_of(values[value]), is_signed
    return OUTSIDE, False
