"""Finds the answer that a text commits to among the answers that it names.

A reader puts a character of its own (`sign_of`) in the place of each answer that a text names, and this module says which of
them is given. What is stated ("the answer is B", "I would say negative", a line of its own) beats what is only named, wherever
it stands. What is denied, doubted, made to depend on something, asked, quoted or listed is not given. Of two statements that
contradict each other the later one counts where it revises the earlier or concludes, else none.
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
_SIGNS = "\ue000-\uf8ff"
SIGN = f"[{_SIGNS}]"
"""An answer that a text names."""

DENIED, HEDGED, TWO, OUT, NONE = "denied", "hedged", "two named", "not in the set", "none named"
"""Why a text gives no answer."""

_LISTED_ONLY = "listed"

NAMED, STATED, CONCLUDED = 1, 2, 3
MOST_CHARACTERS = 10_000
"""Of a longer text the first and the last half of these are read."""
MOST_OF_SENTENCE = 600
FEWEST_BEFORE_COLON = 3  # words, so that the line of another field is no statement
MOST_OF_A_SENTENCE = 8  # answers that are looked at
REACH = 200
"""Characters before and behind a place that say whether an answer is given there."""


class Committed(NamedTuple):
    """The place of the answer that a text commits to, or why there is none."""

    answer: int | None
    reason: str | None = None
    is_stated: bool = False


@dataclass(slots=True)
class Mention:
    """A place where a text names an answer: how firmly, and why it is not given there."""

    sign: str
    strength: int
    revises: bool = False
    reason: str | None = None
    place: int = 0  # in its sentence


def sign_of(answer: int) -> str:
    """Returns the character that stands for an answer by its place in the set."""
    return chr(FIRST_SIGN + answer)


def within_reach(text: str) -> str:
    """Returns as much of both ends of a text as is read."""
    half = MOST_CHARACTERS // 2
    return text if len(text) <= MOST_CHARACTERS else f"{text[:half]}\n{text[-half:]}"


def committed(text: str, weak: frozenset[str] = frozenset()) -> Committed:
    """Returns the answer that a text commits to; in the text, `sign_of` an answer stands where it is named.

    `weak` are the signs of answers that are words of most texts: they count only where they are stated.
    """
    text = text.lower()
    at_once = _at_once(text, weak)
    if at_once is not None:
        return at_once
    mentions = [each for each in mentions_of(text) if each.strength > NAMED or each.sign not in weak | {OUTSIDE}]
    given = [each for each in mentions if each.reason is None]
    if not given:
        reasons = [each.reason for each in mentions]
        reason = next((each for each in (TWO, HEDGED, DENIED, _LISTED_ONLY) if each in reasons), NONE)
        return Committed(None, TWO if reason == _LISTED_ONLY else reason)
    most = max(each.strength for each in given)
    if most == NAMED and any(each.reason in (HEDGED, TWO) and each.sign != given[-1].sign for each in mentions):
        return Committed(None, HEDGED)
    current = None
    for each in given:
        if each.strength < min(most, STATED) or (current is not None and each.strength < current.strength == CONCLUDED):
            continue
        if current is None or each.sign == current.sign:
            current = each if current is None or each.strength > current.strength else current
        elif each.revises or each.strength > current.strength or each.strength == CONCLUDED:
            current = each
        else:
            current = Mention(OUTSIDE, each.strength, reason=TWO)
    if current is None or current.reason is not None:
        return Committed(None, TWO)
    if current.sign == OUTSIDE:
        return Committed(None, OUT)
    return Committed(ord(current.sign) - FIRST_SIGN, is_stated=current.strength > NAMED)


def _at_once(text: str, weak: frozenset[str]) -> Committed | None:
    """What a text commits to that names one answer and doubts nothing, or is nothing but fields; None for any other."""
    signs = set(re.findall(SIGN, text))
    if len(signs) == 1 and not signs & (weak | {OUTSIDE}) and not _patterns()["unsure"].search(text):
        begins = _FIRST.match(text) is not None or _ALONE.fullmatch(text) is not None
        return Committed(ord(signs.pop()) - FIRST_SIGN, is_stated=begins)
    return Committed(None, TWO) if len(signs) > 1 and _are_fields(text) else None


def _are_fields(text: str) -> bool:
    """Whether a text is nothing but fields with different answers, as "Reading: B2; Writing: B1", none of them the answer."""
    parts = [part for part in re.split(r"[\n;；。，,]", text) if part.strip()]
    fields = [_FIELD.fullmatch(part) for part in parts]
    if len(parts) < 2 or None in fields:
        return False
    heads, signs = ({match[group].strip() for match in fields if match} for group in (1, 2))
    is_answer = _patterns()["answer"].search
    return len(heads) == len(parts) and len(signs) > 1 and not any(map(is_answer, heads))


def mentions_of(text: str) -> list[Mention]:
    """Returns every place where a text names an answer, in order."""
    if not re.search(SIGN, text):
        return []
    patterns = _patterns()
    sentences = _sentences(text)
    labelled = [match[1] for each in sentences if (match := _HEADING.match(each)) and not _ALONE.fullmatch(each)]
    are_headings = len(set(labelled)) > 1
    mentions: list[Mention] = []
    revises = is_cue_before = False
    before, n_between = "", 0
    for n, sentence in enumerate(sentences):
        end = sentence.rstrip(" \n\"')]*_")[-1:]
        plain = patterns["not_denying"].sub(_blank, patterns["if_choosing"].sub(_blank, sentence))
        is_whole = end in _ENDS or _ALONE.fullmatch(sentence) is not None
        has_sign = re.search(SIGN, plain) is not None
        withheld = patterns["withholds"].search(plain)
        if patterns["retracts"].search(plain) or (withheld and not has_sign):
            for each in mentions:
                each.reason = each.reason or HEDGED
        lead = patterns["revises"].search(sentence)
        revises = revises or lead is not None
        plain = _QUOTATION.sub(lambda match: match[0] if re.search(SIGN, match[0]) else _blank(match), plain)
        cue = patterns["finally"].search(plain)
        if has_sign:
            sentence_of = _Sentence(plain, end, before, is_first=n == 0, is_last=n == len(sentences) - 1)
            found = _of_sentence(sentence_of, are_headings=are_headings)
            for each in found:
                if withheld and each.strength == NAMED and each.place < withheld.start():
                    each.reason = each.reason or HEDGED
                each.revises = revises
                place = each.place
                if revises and len(found) == 1 and (lead is None or lead.start() < place):
                    each.strength = max(each.strength, STATED)
                is_cued = is_cue_before or (cue is not None and cue.start() < place)
                is_final = is_cued and (each.strength > NAMED or len({other.sign for other in found}) == 1)
                # what stands at the end, behind reasons, concludes them
                is_final = is_final or (
                    sentence_of.is_last and len(found) == 1 and n_between > 0 and each.strength == STATED and is_whole
                )
                each.strength = CONCLUDED if is_final else each.strength
            mentions += found
            last = max(match.end() for match in re.finditer(SIGN, plain))
            revises = patterns["revises"].search(sentence, last) is not None
        n_between = 0 if has_sign else n_between + 1
        is_cue_before = cue is not None and not has_sign and end in (":", "：")
        before = plain
    return mentions


_SENTENCE = re.compile(
    r"(?:[^\n.!?…。！？；।۔؟;]|[.!?…](?![\"')\]]*\s)|;(?!\s))*(?:[.!?…]+[\"')\]]*(?=\s|$)|[。！？；।۔؟][\"')\]]*|;|\n|$)"
)
_BREAKS = re.compile(r"[,，、،:：;()（）—–]|\s-\s")
_NO_WORD = rf"[^\w{_SIGNS}]*"
_FIELD = re.compile(rf"([^:：{_SIGNS}]{{1,40}})[:：]\s*({SIGN})\W*")
_ALONE = re.compile(rf"{_NO_WORD}({SIGN}){_NO_WORD}")
_FIRST = re.compile(
    rf"{_NO_WORD}({SIGN})[\"')\]}}*_]*\s*(?:[.,،:;!…。，：；、！–—(-]|$|\s[-–—(]|(?<=\)\s)|"
    r"(?:because|since|as|weil|da|car|parce|porque|perché|omdat|ponieważ|потому|çünkü|因为|理由)\b)"
)
_BETWEEN = (
    r"[,/|，、]|(?<=[\"')\]])(?=[\"'(\[])|\b(?:or|and|to|vs|bzw|oder|und|ou|et|o|u|y|e|of|en|lub|ya da|veya|или|и|أو)\b|"
    r"-|–|~|～|至|到|或者?|和|还是|"
    r"または|か|や|と|또는|혹은|이나|와|과|या|और|"
    r"\b(?:and also|as well as|und auch|así como|sowie|e anche|et aussi|i także|a také|i|a|og|och|ve|dan|và|ja|és|și)\b"
)
_LISTED = re.compile(
    rf"{SIGN}(?:[\"')\]]*\s*(?:\([^(){_SIGNS}]{{0,60}}\)\s*)?(?:{_BETWEEN})\s*[,，]?\s*(?:\b(?:or|and|oder|ou|o|lub)\b\s*)?"
    rf"(?:(?:an?|the|il|la|le|el|der|die|das|eine?r?|een|uns|o)\s|[\"'(\[]*)?{SIGN}[\"')\]]*)+",
    re.IGNORECASE,
)
_QUOTATION = re.compile(r"\"[^\"\n]{0,2000}\"")
_HEADING = re.compile(rf"[^\w{_SIGNS}]*({SIGN})[\"')\]]*\s*(?:[:：–—)．.-]+\s*(?=\S)|\()")
_BEHIND_COLON = re.compile(r"(?:[:：]|\s[–—-])\s*[\"'(\[]*$")
_TO_THE_END = re.compile(rf"{_NO_WORD}$")
_DENIED_AT_THE_END = re.compile(r"(?:nicht|\bno es|não é|non è|\bniet|değil\w*|नहीं[^।]{0,24})[^\w]*$", re.IGNORECASE)
_ABBREVIATION = re.compile(r"\b(bzw|e\.g|i\.e|z\.b|vs|etc|p\.ej|d\.h|approx|ca|resp)\.", re.IGNORECASE)
_WORDS = re.compile(rf"[\w{_SIGNS}]+")
_ENDS = tuple(".!…。！।۔")
_ASKS = ("?", "؟", "？")


@functools.lru_cache(maxsize=1)
def _patterns() -> dict[str, re.Pattern[str]]:
    answer, verb, is_ = words(phrases.ANSWER), words(phrases.CHOOSE), words(phrases.IS)
    no_sign, no_break = f"(?:(?!{SIGN})[^.!?;\n])", f"(?:(?!{SIGN})[^.!?;,，、:\n])"
    quoted = r"[\s\"'(\[{<*_]*"
    article = rf"(?:{words(phrases.ARTICLES)}\s+|[的为為是了“「])*"
    stated = (
        rf"{answer}{no_sign}{{0,60}}?(?:{is_}|[:：=→⇒>-]+)\s*{quoted}{article}{quoted}",  # the sentiment of this text is
        rf"{answer}(?:'s)?\s*{quoted}",
        rf"{verb}(?:\s|(?<=[\u2e80-\ud7af])){no_break}{{0,20}}?{quoted}{article}{quoted}",  # I would say
        rf"(?:→|⇒|=>|->|==>)\s*{quoted}{article}",
        "boxed: *",
        r"\b(?:is|it's|that's|c'est|ist|es|è|é)\s+(?:an?|eine?|un|una|een|um)\s+(?:\w+ )?",  # this is a
        r"\b(?:it|this|that)(?:'s|\s+is|\s+has to be|\s+must be)\s+(?:(?:the|clearly|definitely|simply|just|really)\s+)?",
        r"(?:author|writer|speaker|he|she|they|user|post|text|tweet|article)\s+(?:is|are|was|seems)\s+(?:\w+ly\s+)?",
    )
    the = "(?:the |la |le |el |il |die |der |das |het |a |o )?"
    correct = rf"(?:{words(phrases.NOT_BEHIND)}\s*){{0,3}}{the}{words(phrases.CORRECT)}"
    chosen = f"{words(phrases.CHOSEN)}|{words(phrases.POINTS)}|{correct}|[←✓✔✅☑☒]|<-"
    conclusion = r"(?:(?:and|the|my|und|et|y|e|en|i|mein|meine)\s)?[^\w\s]*"
    sources = {
        "stated": f"(?:{'|'.join(stated)})$",
        "chosen": rf"[\"')\]}}>*_.:,]{{0,4}}\s*(?:{chosen})",
        "answer": f"{answer}|{words(phrases.FINALLY)}",
        "not": words(phrases.NOT),
        "denied": rf"[\"')\]}}*_]{{0,3}}\s*(?:{words(phrases.NOT_BEHIND)}\s*){{0,6}}(?:{words(phrases.DENIED)})",
        "not_denying": words(phrases.NOT_DENYING),
        "perhaps": words(phrases.PERHAPS),
        "would": words(phrases.WOULD),
        "if": words(phrases.IF),
        "case": r"\b(?:with|without|had|were|then|if)\b",
        "unsure": "|".join(words(each) for each in _UNSURE) + r"|[?？؟\"]",
        "if_behind": rf"[\"')\]}}*_]*\s*,?\s*(?:but |aber |mais |pero )?(?:only |nur |sólo |só )?{words(phrases.IF)}",
        "if_choosing": phrases.IF_CHOOSING,
        "revises": words(phrases.REVISES),
        "retracts": words(phrases.RETRACTS),
        "withholds": words(phrases.WITHHOLDS),
        "finally": rf"(?:^|[\s,，、;:：—–(。]){conclusion}{words(phrases.FINALLY)}",
        "but": rf"[,，、]?\s*{words(phrases.BUT)}",
    }
    # a search that ignores case tries each of hundreds of words at each place; these are for texts in small letters
    return {name: re.compile(_ESCAPED.sub(_in_small_letters, source)) for name, source in sources.items()}


_ESCAPED = re.compile(r"\\.|.", re.DOTALL)


def _in_small_letters(match: re.Match[str]) -> str:
    return match[0] if match[0].startswith("\\") else match[0].lower()


_UNSURE = (
    phrases.NOT,
    phrases.DENIED,
    phrases.PERHAPS,
    phrases.IF,
    phrases.WOULD,
    phrases.RETRACTS,
    phrases.WITHHOLDS,
    phrases.REVISES,
)
"""What makes a text with one answer worth a closer look."""


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _sentences(text: str) -> list[str]:
    sentences = [each for each in _SENTENCE.findall(_ABBREVIATION.sub(r"\1", text)) if each.strip()]
    return [
        each[start : start + MOST_OF_SENTENCE] for each in sentences for start in range(0, len(each), MOST_OF_SENTENCE)
    ]


@dataclass(slots=True)
class _Sentence:
    text: str
    end: str  # its last character that is no quote or bracket
    before: str  # the sentence before
    is_first: bool
    is_last: bool


def _of_sentence(sentence: _Sentence, *, are_headings: bool) -> list[Mention]:
    patterns, text = _patterns(), sentence.text
    alone = _ALONE.fullmatch(text)
    if alone and sentence.end not in _ASKS:
        is_before_short = len(sentence.before.split()) in (1, 2, 3) and not re.search(SIGN, sentence.before)
        is_denied = is_before_short and patterns["not"].search(sentence.before) is not None
        return [Mention(alone[1], STATED, reason=DENIED if is_denied else None, place=alone.start(1))]
    quotations = [match.span() for match in _QUOTATION.finditer(text) if not _ALONE.fullmatch(match[0])]
    listed = [match.span() for match in _LISTED.finditer(text) if len(set(re.findall(SIGN, match[0]))) > 1]
    turns = [match.span() for match in patterns["but"].finditer(text)]
    starts, stops = [0, *(end for _, end in turns)], [*(start for start, _ in turns), len(text)]
    heading = _HEADING.match(text) if are_headings else None
    found = []
    places = list(re.finditer(SIGN, text))
    if len(places) > MOST_OF_A_SENTENCE:  # an enumeration, of which the first and the last may be more
        places = [*places[: MOST_OF_A_SENTENCE // 2], *places[-MOST_OF_A_SENTENCE // 2 :]]
    for match in places:
        place = match.start()
        if any(start <= place < end for start, end in quotations) or (heading and heading.start(1) == place):
            continue
        segment = (max(start for start in starts if start <= place), min(stop for stop in stops if stop > place))
        is_listed = any(start <= place < end for start, end in listed)
        found.append(_mention(sentence, match, segment, is_listed=is_listed))
    return found


def _mention(sentence: _Sentence, match: re.Match[str], segment: tuple[int, int], *, is_listed: bool) -> Mention:
    patterns, text = _patterns(), sentence.text
    place, behind = match.start(), match.end()
    first = _FIRST.match(text)
    is_end = sentence.is_last and re.search("[:：]", text) is None
    is_of_few = len(_WORDS.findall(text)) <= 3 and (sentence.is_first or is_end)
    is_stated = (
        patterns["stated"].search(text[max(0, place - REACH) : place]) is not None
        or patterns["chosen"].match(text, behind) is not None
        or (is_of_few and len(set(re.findall(SIGN, text))) == 1)
    )
    is_behind_colon = _BEHIND_COLON.search(text[max(0, place - REACH) : place]) is not None
    is_behind_colon &= sentence.is_first or len(_WORDS.findall(text[:place])) >= FEWEST_BEFORE_COLON
    is_answer_to_before = sentence.before.rstrip().endswith((":", *_ASKS))
    leads = (is_behind_colon and _TO_THE_END.match(text, behind) is not None) or (
        first is not None and first.start(1) == place and (sentence.is_first or is_answer_to_before)
    )
    mention = Mention(match[0], STATED if is_stated or leads else NAMED, place=place)
    before, whole = text[segment[0] : place], text[slice(*segment)]
    if _is_denied(text, before, behind):
        mention.reason = DENIED
    elif is_listed:
        mention.reason = TWO if is_stated or leads else _LISTED_ONLY
    elif (
        sentence.end in _ASKS
        or (mention.strength > NAMED and patterns["if_behind"].match(text, behind))
        or (not leads and _is_hedged(before, whole, is_stated=is_stated))
    ):
        mention.reason = HEDGED
    return mention


def _is_denied(text: str, before: str, behind: int) -> bool:
    patterns = _patterns()
    at_end = _DENIED_AT_THE_END.search(text, behind)
    if at_end and (_BREAKS.search(text[behind : at_end.start()]) is None or at_end[0].startswith(("no es", "não é"))):
        return True
    return bool(patterns["not"].search(_clause(before)) or patterns["denied"].match(text, behind))


def _is_hedged(before: str, whole: str, *, is_stated: bool) -> bool:
    patterns = _patterns()
    conclusions = list(patterns["finally"].finditer(before))
    if conclusions:  # "the premise may be true, so"
        before = before[conclusions[-1].end() :]
        return bool(patterns["perhaps"].search(before) or patterns["if"].search(before))
    if is_stated:
        return bool(patterns["perhaps"].search(_clause(before)) or patterns["if"].search(before))
    is_of_case = patterns["would"].search(whole) and patterns["case"].search(whole)
    return bool(is_of_case or patterns["perhaps"].search(whole) or patterns["if"].search(whole))


def _clause(before: str) -> str:
    """What stands before a place in its clause."""
    breaks: Sequence[re.Match[str]] = list(_BREAKS.finditer(before))
    return before[breaks[-1].end() :] if breaks else before
