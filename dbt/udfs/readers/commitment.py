"""Finds the answer that a text commits to among the answers that it names.

A reader puts a character of its own (`sign_of`) in the place of each answer that a text names, and this module says which of
them is given: what is stated ("the answer is B", "I would say negative", a line of its own) beats what is only named, wherever it
stands; what is denied, doubted, made to depend on something, asked, quoted or listed is not given; of two statements that contradict
each other the later one counts where it revises the earlier or concludes, else none.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from promptaudit.udfs.readers import phrases
from promptaudit.udfs.readers.phrases import words

FIRST_SIGN = 0xE000
MOST_SIGNS = 6000
OUTSIDE = "\uf8ff"
"""Stands for an answer that is none of the set, as 3.6 on a scale of whole numbers."""
SIGN = "[\ue000-\uf8ff]"
"""An answer that a text names."""

Reason = str
DENIED, HEDGED, TWO, OUT, NONE = "denied", "hedged", "two named", "not in the set", "none named"


class Committed(NamedTuple):
    """The place of the answer that a text commits to, or why there is none."""

    answer: int | None
    reason: Reason | None = None


def sign_of(answer: int) -> str:
    """Returns the character that stands for an answer by its place in the set."""
    return chr(FIRST_SIGN + answer)


@dataclass(slots=True)
class _Mention:
    sign: str
    strength: int  # 1 named, 2 stated, 3 concluded
    revises: bool
    reason: Reason | None = None


@functools.lru_cache(maxsize=1)
def _patterns() -> dict[str, re.Pattern[str]]:
    answer, verb = words(phrases.ANSWER), words(phrases.CHOOSE)
    no_sign = f"(?:(?!{SIGN})[^.!?;\n])"
    no_break = f"(?:(?!{SIGN})[^.!?;,，、:\n])"
    quoted = r"[\s\"'(\[{<*_]*"
    article = r"(?:(?:the|a|an|as|is|to|of|at|it|this|that|category|label|option|class|rating|score|answer|number|queue|team|team of|clearly|definitely|simply|just|most likely|probably|likely|rather|more|closest to|for|in|under|with|towards|toward|only|still|very|als|eine|ein|einen|einer|die|der|das|den|une|un|le|la|les|el|los|las|uma|um|o|os|il|lo|een|de|het|como|comme|come|jako|как|olarak|som|sebagai|là|的|为|為|是|了|“|「)\s+)*"
    is_ = words(phrases.IS)
    return {
        # the name of an answer, then what it is
        "stated": re.compile(
            rf"(?:{answer}{no_sign}{{0,60}}?(?:{is_}|[:：=→⇒>-]+|-)\s*{quoted}{article}{quoted}|{answer}(?:'s)?\s*{quoted}|"
            rf"(?:author|writer|speaker|he|she|they|user|post|text|tweet|article)\s+(?:is|are|was|seems)\s+(?:\w+ly\s+)?|"
            rf"{verb}(?:\s|(?<=[\u2e80-\ud7af])){no_break}{{0,20}}?{quoted}{article}{quoted}|(?:→|⇒|=>|->|==>)\s*{quoted}{article}|boxed: *)$",
            re.IGNORECASE,
        ),
        "chosen": re.compile(rf"[\"')\]}}>*_.:,]{{0,4}}\s*(?:{words(phrases.CHOSEN)})", re.IGNORECASE),
        "not": re.compile(words(phrases.NOT), re.IGNORECASE),
        "denied": re.compile(
            rf"[\"')\]}}*_]{{0,3}}\s*(?:{words(phrases.NOT_BEHIND)}\s*)*(?:{words(phrases.DENIED)})", re.IGNORECASE
        ),
        "not_denying": re.compile(words(phrases.NOT_DENYING), re.IGNORECASE),
        "perhaps": re.compile(words(phrases.PERHAPS), re.IGNORECASE),
        "would": re.compile(
            r"\b(?:would(?:'ve| have)? be(?:en)?|wäre|serait|sería|seria|sarebbe|zou|byłaby|byłby|byłoby|olurdu|был бы|была бы|было бы)\b",
            re.IGNORECASE,
        ),
        "if": re.compile(words(phrases.IF), re.IGNORECASE),
        "if_choosing": re.compile(phrases.IF_CHOOSING, re.IGNORECASE),
        "revises": re.compile(words(phrases.REVISES), re.IGNORECASE),
        "retracts": re.compile(words(phrases.RETRACTS), re.IGNORECASE),
        "withholds": re.compile(words(phrases.WITHHOLDS), re.IGNORECASE),
        "if_behind": re.compile(rf"[\"')\]}}*_]*\s*,?\s*(?:but |aber |mais |pero )?(?:only |nur |sólo |só )?{words(phrases.IF)}", re.IGNORECASE),
        "finally": re.compile(words(phrases.FINALLY), re.IGNORECASE),
        "but": re.compile(rf"[,，、]?\s*{words(phrases.BUT)}", re.IGNORECASE),
    }


_SENTENCE = re.compile(r"(?:[^\n.!?…。！？；।۔؟;]|[.!?…](?![\"')\]]*\s)|;(?!\s))*(?:[.!?…]+[\"')\]]*(?=\s|$)|[。！？；।۔؟][\"')\]]*|;|\n|$)")
_BREAKS = re.compile(r"[,，、:：;()（）—–]|\s-\s")
_ALONE = re.compile(rf"[^\w\ue000-\uf8ff]*({SIGN})[^\w\ue000-\uf8ff]*")
_FIRST = re.compile(rf"[^\w\ue000-\uf8ff]*({SIGN})[\"')\]}}*_]*\s*(?:[.,:;!…。，：；、！–—(-]|$|\s[-–—(]|(?:because|since|as|weil|da|car|parce|porque|perché|omdat|ponieważ|потому|çünkü|因为|理由)\b)")
_LISTED = re.compile(rf"{SIGN}(?:[\"')\]]*\s*(?:[,/|，、]|(?<=[\"')\]])(?=[\"'(\[])|\bor\b|\band\b|\bvs\.?\b|\bto\b|\bbzw\.|\bu\b|-|–|~|～|至|到|\boder\b|\bund\b|\bou\b|\bet\b|\bo\b|\by\b|\be\b|\bof\b|\ben\b|\blub\b|\bi\b|\bya da\b|\bveya\b|\bили\b|\bи\b|或者?|和|还是|または|か|や|또는|혹은|이나|أو|या|और)\s*[,，]?\s*(?:\b(?:or|and|oder|ou|o|lub)\b\s*)?(?:an?\s|the\s|[\"'(\[]*)?{SIGN}[\"')\]]*)+", re.IGNORECASE)
_QUOTATION = re.compile(r"\"[^\"\n]{0,2000}\"")
_HEADING = re.compile(rf"\W*({SIGN})[\"')\]]*\s*[:：–—-]\s*(?=\S)")
_FIELD = re.compile(rf"\s*(?:[-•+]\s*)?[^:：\n\ue000-\uf8ff]{{1,40}}[:：]\s*[\"'(\[]*({SIGN})[^\w\ue000-\uf8ff]*")
_BEHIND_COLON = re.compile(r"(?:[:：]|\s[–—-])\s*[\"'(\[]*$")
_TO_THE_END = re.compile(r"[^\w\ue000-\uf8ff]*$")
_ABBREVIATION = re.compile(r"\b(bzw|e\.g|i\.e|z\.b|vs|etc|p\.ej|d\.h|approx|ca|resp)\.", re.IGNORECASE)
_WORDS = re.compile(r"[\w\ue000-\uf8ff]+")
_ITEM = re.compile(r"\s*(?:[-•*+]|\d{1,2}[.)])\s+")


def committed(text: str, weak: frozenset[str] = frozenset()) -> Committed:
    """Returns the answer that a text commits to; in the text, `sign_of` an answer stands where it is named.

    `weak` are the signs of answers that are words of most texts: they count only where they are stated.
    """
    if not re.search(SIGN, text):
        return Committed(None, NONE)
    mentions = [each for each in _mentions(_ABBREVIATION.sub(r"\1", text)) if each.strength > 1 or each.sign not in weak | {OUTSIDE}]
    given = [each for each in mentions if each.reason is None]
    if not given:
        reasons = [each.reason for each in mentions]
        return Committed(None, next((reason for reason in (TWO, HEDGED, DENIED) if reason in reasons), NONE))
    most = max(each.strength for each in given)
    current: _Mention | None = None
    are_two = False
    for each in given:
        if each.strength < min(most, 2):
            continue
        if current is None or each.sign == current.sign:
            if current is None or each.strength > current.strength:
                current = each
            continue
        if each.revises or each.strength > current.strength or (each.strength == 3 and most == 3):
            current, are_two = each, False
        elif current.strength < 3:
            are_two = True
    assert current is not None
    if are_two:
        return Committed(None, TWO)
    if current.sign == OUTSIDE:
        return Committed(None, OUT)
    return Committed(ord(current.sign) - FIRST_SIGN)


def _mentions(text: str) -> list[_Mention]:
    patterns = _patterns()
    sentences = [each for each in _SENTENCE.findall(text) if each.strip()]
    ends = _ends(text, sentences)
    headed = [match[1] for each in sentences if (match := _HEADING.match(each)) and not _ALONE.fullmatch(each)]
    are_headings = len(set(headed)) > 1
    mentions: list[_Mention] = []
    revises = is_final = False
    before = ""
    for n, (sentence, end) in enumerate(zip(sentences, ends, strict=True)):
        is_first, is_last = n == 0, n == len(sentences) - 1
        plain = patterns["not_denying"].sub(" ", patterns["if_choosing"].sub(" ", sentence))
        if patterns["retracts"].search(plain) or (patterns["withholds"].search(plain) and not re.search(SIGN, plain)):
            for each in mentions:
                each.reason = each.reason or HEDGED
        lead = patterns["revises"].search(plain)
        revises = revises or (lead is not None)
        plain = _QUOTATION.sub(lambda match: match[0] if re.search(SIGN, match[0]) else " ", plain)
        found = _of_sentence(plain, end, before, is_first=is_first, is_last=is_last, skips_heading=are_headings)
        is_cue = patterns["finally"].search(plain)
        for each in found:
            each.revises = revises
            if lead is not None and lead.start() < plain.find(each.sign) and not each.reason:
                each.strength = max(each.strength, 2)
            if (is_final or (is_cue and is_cue.start() < plain.find(each.sign))) and each.reason is None:
                each.strength = 3
        mentions += found
        if signs := list(re.finditer(SIGN, plain)):
            revises = patterns["revises"].search(plain, signs[-1].end()) is not None
        is_final = bool(is_cue) and not found and end in ":"
        before = plain
    return mentions


def _ends(text: str, sentences: Sequence[str]) -> list[str]:
    """The mark that ends each sentence, "" where there is none."""
    return [each.rstrip(" \"')]*_")[-1:] if each.rstrip(" \"')]*_")[-1:] in ".!?…。！？؟:：" else "" for each in sentences]


def _of_sentence(
    sentence: str, end: str, before: str, *, is_first: bool, is_last: bool, skips_heading: bool
) -> list[_Mention]:
    patterns = _patterns()
    alone = _ALONE.fullmatch(sentence)
    if alone and end not in ("?", "؟", "？"):
        negated = before and len(before.split()) <= 3 and patterns["not"].search(before) and not re.search(SIGN, before)
        return [_Mention(alone[1], 2, revises=False, reason=DENIED if negated else None)]
    if len(set(re.findall(SIGN, sentence))) == 1 and len(_WORDS.findall(sentence)) <= 3 and (is_last or is_first):
        is_short = True
    else:
        is_short = False
    field = _FIELD.fullmatch(sentence)
    quotations = [match.span() for match in _QUOTATION.finditer(sentence) if not _ALONE.fullmatch(match[0])]
    listed = [match.span() for match in _LISTED.finditer(sentence) if len(set(re.findall(SIGN, match[0]))) > 1]
    cuts = [0, *(match.start() for match in patterns["but"].finditer(sentence)), len(sentence)]
    first = _FIRST.match(sentence)
    heading = _HEADING.match(sentence)
    found = []
    for match in re.finditer(SIGN, sentence):
        place = match.start()
        start = max(cut for cut in cuts if cut <= place)
        stop = min(cut for cut in cuts if cut > place)
        if any(a <= place < b for a, b in quotations):
            continue
        if skips_heading and heading and heading.start(1) == place:
            continue
        segment_before, segment = sentence[start:place], sentence[start:stop]
        broken = list(_BREAKS.finditer(segment_before))
        clause_before = segment_before[broken[-1].end() :] if broken else segment_before
        is_stated = bool(patterns["stated"].search(sentence[:place])) or bool(
            patterns["chosen"].match(sentence, match.end())
        )
        ends = bool(_BEHIND_COLON.search(sentence[:place]) and _TO_THE_END.match(sentence, match.end()))
        leads = ends or bool(first and first.start(1) == place and (is_first or before.rstrip().endswith((":", "?"))))
        is_stated = is_stated or bool(field) or is_short
        mention = _Mention(match[0], 2 if is_stated or leads else 1, revises=False)
        is_denied = patterns["not"].search(clause_before) or patterns["denied"].match(sentence, match.end())
        if is_denied:
            mention.reason = DENIED
        elif any(a <= place < b for a, b in listed):
            mention.reason = TWO if is_stated or leads else NONE
        elif end in ("?", "؟", "？") or ((leads or is_stated) and patterns["if_behind"].match(sentence, match.end())):
            mention.reason = HEDGED
        elif not leads and (patterns["perhaps"].search(clause_before if is_stated else segment) or patterns["if"].search(segment_before if is_stated else segment)):
            mention.reason = HEDGED
        elif mention.strength == 1 and patterns["would"].search(segment):
            mention.reason = HEDGED
        found.append(mention)
    return found
