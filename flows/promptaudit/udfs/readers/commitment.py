"""Finds the answer that a text commits to among the answers that it names.

A reader replaces each answer that a text names by a character of its own (`sign_of`), and this module decides which of
them is given. What is stated ("the answer is B", "I would say negative", a line of its own) beats what is only named,
wherever it stands. An answer is not given where it is denied, doubted, made conditional, asked about, quoted or listed.
Of two statements that contradict each other the later one counts where it revises the earlier or concludes; else
neither does.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from promptaudit.udfs.readers import phrases
from promptaudit.udfs.readers.phrases import words

FIRST_SIGN = 0xE000
MOST_SIGNS = 6000
OUTSIDE = "\uf8ff"
"""The sign of an answer that is not in the set, such as 3.6 on a scale of whole numbers."""
_SIGNS = "\ue000-\uf8ff"
SIGN = f"[{_SIGNS}]"
"""A pattern that matches the sign of an answer."""

DENIED, HEDGED, TWO, OUT, NONE = "denied", "hedged", "two named", "not in the set", "none named"
"""Reasons why a text gives no answer."""

_LISTED_ONLY = "listed"

NAMED, STATED, CONCLUDED = 1, 2, 3
MOST_CHARACTERS = 10_000
"""Of a longer text, the first and the last half of this number are read."""
MOST_OF_SENTENCE = 600
FEWEST_BEFORE_COLON = 3  # words, so that the line of another field is no statement
FEW = 8  # words of a last sentence that may have been cut off
MOST_OF_A_SENTENCE = 8  # answers that are looked at
NEAR = 30  # characters before a place that end in a colon, or in "so"
REACH = 200
"""So many characters before and behind a place decide whether an answer is given there."""


class Committed(NamedTuple):
    """The place in the set of the answer that a text commits to, or the reason why there is none."""

    answer: int | None
    reason: str | None = None
    is_stated: bool = False


@dataclass(slots=True)
class Mention:
    """A place where a text names an answer: how firmly it does, and the reason why the answer is not given there."""

    sign: str
    strength: int
    revises: bool = False
    reason: str | None = None
    place: int = 0  # in its sentence
    is_named_alone: bool = False  # whether a conclusion only names it: "So A is close."


def sign_of(answer: int) -> str:
    """Gives the character that stands for an answer, by the answer's place in the set."""
    return chr(FIRST_SIGN + answer)


def within_reach(text: str) -> str:
    """Cuts a text longer than MOST_CHARACTERS down to its first and its last half of them."""
    half = MOST_CHARACTERS // 2
    return text if len(text) <= MOST_CHARACTERS else f"{text[:half]}\n{text[-half:]}"


def committed(text: str, weak: frozenset[str] | None = frozenset()) -> Committed:
    """Decides which answer a text commits to. In the text, `sign_of` an answer stands where it is named.

    `weak` holds the signs of answers that are common words: they count only where they are stated. None says that the
    answers are letters or numbers of options: these too count only where they are stated, and a few words beside them
    state them.
    """
    text = text.lower()
    at_once = _at_once(text, weak)
    if at_once is not None:
        return at_once
    mentions = mentions_of(text, are_letters=weak is None)
    _take_back(mentions)
    mentions = [
        each
        for each in mentions
        if each.strength > NAMED or not (weak is None or each.sign in weak or each.sign == OUTSIDE)
    ]
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
        is_beneath = current is not None and each.strength < current.strength == CONCLUDED
        contradicts = each.strength == STATED and (weak is None or (current is not None and current.is_named_alone))
        if each.strength < min(most, STATED) or (is_beneath and not contradicts):
            continue
        if current is None or each.sign == current.sign:
            current = each if current is None or each.strength > current.strength else current
        elif (
            (current.is_named_alone and not each.is_named_alone)
            or each.revises
            or each.strength > current.strength
            or each.strength == CONCLUDED
        ):
            current = each
        else:
            current = Mention(OUTSIDE, each.strength, reason=TWO)
    if current is None or current.reason is not None:
        return Committed(None, TWO)
    if current.sign == OUTSIDE:
        return Committed(None, OUT)
    return Committed(ord(current.sign) - FIRST_SIGN, is_stated=current.strength > NAMED)


def _take_back(mentions: Sequence[Mention]) -> None:
    # a later place takes an answer back ("C! Oh, wait. Not C after all") or replaces it by two
    denied, are_two = set[str](), False
    for each in reversed(mentions):
        own = each.reason
        each.reason = own or (TWO if are_two else DENIED if each.sign in denied else None)
        are_two |= each.revises and own == TWO
        if each.revises and own == DENIED:
            denied.add(each.sign)


def _at_once(text: str, weak: frozenset[str] | None) -> Committed | None:
    # decides texts that name one answer and doubt nothing, or are nothing but fields; None for any other
    signs = set(re.findall(SIGN, text))
    if (
        len(signs) == 1
        and weak is not None
        and not signs & (weak | {OUTSIDE})
        and not _patterns()["unsure"].search(text)
    ):
        begins = _FIRST.match(text) is not None or _ALONE.fullmatch(text) is not None
        return Committed(ord(signs.pop()) - FIRST_SIGN, is_stated=begins)
    return Committed(None, TWO) if len(signs) > 1 and _are_fields(text) else None


def _are_fields(text: str) -> bool:
    # such as "Reading: B2; Writing: B1", where no field is the answer
    parts = [part for part in re.split(r"[\n;；。，,]", text) if part.strip()]
    fields = [_FIELD.fullmatch(part) for part in parts]
    if len(parts) < 2 or None in fields:
        return False
    heads, signs = ({match[group].strip() for match in fields if match} for group in (1, 2))
    is_answer = _patterns()["answer"].search
    return len(heads) == len(parts) and len(signs) > 1 and not any(map(is_answer, heads))


def mentions_of(text: str, *, are_letters: bool = False) -> list[Mention]:
    """Lists every place where a text names an answer, in order."""
    if not re.search(SIGN, text):
        return []
    patterns = _patterns()
    sentences = _sentences(text)
    turns, seems = _may("turn", text), _may("seem", text)
    labelled = [match[1] for each in sentences if (match := _HEADING.match(each)) and not _ALONE.fullmatch(each)]
    are_headings = len(set(labelled)) > 1
    mentions: list[Mention] = []
    revises = is_cue_before = is_stated = False
    before, n_between = "", 0
    for n, sentence in enumerate(sentences):
        end = sentence.rstrip(" \n\"')]*_")[-1:]
        plain, withheld, lead = _without_seeming(sentence) if seems else sentence, None, None
        is_whole = end in _ENDS or _ALONE.fullmatch(sentence) is not None
        has_sign = re.search(SIGN, plain) is not None
        if turns:
            withheld = patterns["withholds"].search(plain)
            if patterns["retracts"].search(plain) or (withheld and not has_sign):
                for each in mentions:
                    each.reason = each.reason or HEDGED
            lead = patterns["revises"].search(sentence)
            revises = revises or lead is not None
        plain = _QUOTATION.sub(_unquoted, plain)
        cue = patterns["finally"].search(plain) if has_sign or end in (":", "：") else None
        if has_sign:
            is_last = n == len(sentences) - 1
            is_open = not (are_letters and is_stated)
            closes = are_letters and is_open and is_last and (end in _ENDS or len(sentence.split()) < FEW)
            sentence_of = _Sentence(
                plain,
                end,
                before,
                is_first=n == 0,
                is_last=is_last,
                is_of_letters=are_letters,
                is_open=is_open,
                closes=closes,
            )
            found = _of_sentence(sentence_of, are_headings=are_headings)
            for each in found:
                if withheld and each.strength == NAMED and each.place < withheld.start():
                    each.reason = each.reason or HEDGED
                each.revises = revises or each.revises
                place = each.place
                is_revised = revises and len(found) == 1 and (lead is None or lead.start() < place)
                if is_revised and (not are_letters or _BARE.match(plain, place + 1)):
                    each.strength = max(each.strength, STATED)
                is_cued = is_cue_before or (cue is not None and cue.start() < place)
                each.is_named_alone = is_cued and each.strength == NAMED
                is_sole = len({other.sign for other in found}) == 1 and (
                    not are_letters or _BARE.match(plain, place + 1) is not None
                )
                is_final = is_cued and (each.strength > NAMED or is_sole)
                # a statement at the end, behind reasons, is their conclusion
                is_final = is_final or (
                    sentence_of.is_last and len(found) == 1 and n_between > 0 and each.strength == STATED and is_whole
                )
                each.strength = CONCLUDED if is_final else each.strength
            mentions += found
            is_stated |= any(each.strength > NAMED for each in found)
            last = max(match.end() for match in re.finditer(SIGN, plain))
            revises = turns and patterns["revises"].search(sentence, last) is not None
        n_between = 0 if has_sign else n_between + 1
        is_cue_before = cue is not None and not has_sign and end in (":", "：")
        before = plain
    return mentions


_SENTENCE = re.compile(
    r"(?:[^\n.!?…。！？；।۔؟;]++|[.!?…](?![\"')\]]*\s)|;(?!\s))*(?:[.!?…]+[\"')\]]*(?=\s|$)|[。！？；।۔؟][\"')\]]*|;|\n|$)"
)
_BREAKS = re.compile(r"[,，、،:：;()（）—–]|\s-\s")
_NO_WORD = rf"[^\w{_SIGNS}]*"
_FIELD = re.compile(rf"([^:：{_SIGNS}]{{1,40}})[:：]\s*({SIGN})\W*")
_ALONE = re.compile(rf"{_NO_WORD}({SIGN}){_NO_WORD}")
_FIRST = re.compile(
    rf"{_NO_WORD}({SIGN})[\"')\]}}*_]*\s*(?:[.,،:;!…。，：；、！–—(<-]|$|\s[-–—(]|(?<=\)\s)|"
    r"(?:because|since|as|weil|da|car|parce|porque|perché|omdat|ponieważ|потому|çünkü|因为|理由)\b)"
)
_BETWEEN = (
    r"[,/|&，、]|(?<=[\"')\]])(?=[\"'(\[])|\b(?:or|and|to|vs|bzw|oder|und|ou|et|o|u|y|e|of|en|lub|ya da|veya|или|и|أو)\b|"
    r"-|–|~|～|至|到|或者?|和|还是|"
    r"または|か|や|と|또는|혹은|이나|와|과|या|और|"
    r"\b(?:and also|as well as|und auch|así como|sowie|e anche|et aussi|i także|a také|i|a|og|och|ve|dan|và|ja|és|și|"
    r"hoặc|hay|atau|eller|tai|vagy|sau|nebo|albo|and/or|or maybe|or perhaps|و)\b|หรือ|และ|혹은"
)
_LISTED = re.compile(
    rf"{SIGN}(?:[\"')\]]*\s*(?:\([^(){_SIGNS}]{{0,60}}\)\s*|\)[^.,?;:\n{_SIGNS}]{{1,60}})?"
    rf"(?:{_BETWEEN})\s*[,，]?\s*(?:\b(?:or|and|oder|ou|o|lub)\b\s*)?"
    r"(?:(?:(?:an?|the|il|la|le|el|les|los|der|die|das|eine?r?|een|uns|o|option|opción|opção|letter|letra|case)\s)+)?"
    rf"[\"'(\[]*{SIGN}[\"')\]]*)+",
    re.IGNORECASE,
)
_QUOTATION = re.compile(r"\"[^\"\n]{0,2000}\"")
_HEADING = re.compile(rf"[^\w{_SIGNS}]*({SIGN})[\"')\]]*\s*(?:[:：–—)．.-]+\s*(?=\S)|\()")
_BEHIND_COLON = re.compile(r"(?:[:：]|\s[–—-])\s*[\"'(\[]*$")
_TO_THE_END = re.compile(rf"{_NO_WORD}$")
_DENIED_AT_THE_END = re.compile(r"(?:nicht|\bno es|não é|non è|\bniet|değil\w*|नहीं[^।]{0,24})[^\w]*$", re.IGNORECASE)
_ABBREVIATED = ["bzw", "e.g", "i.e", "z.b", "vs", "etc", "p.ej", "d.h", "approx", "ca", "resp"]
_ABBREVIATION = re.compile(
    "[.](?:{})".format("|".join(rf"(?<=\b{re.escape(each)}[.])" for each in _ABBREVIATED)), re.IGNORECASE
)
_WORDS = re.compile(rf"[\w{_SIGNS}]+")
_BARE = re.compile(r"[\"')\]*]*\s*(?:[.,:;!?—–-]|because\b|$)")
_LEAD = re.compile(r"[\s\"'(\[*_]*(?:(?:rather|the|option|la|el|die|le|de|é|es)\s+)*[\s\"'(\[*_]*")
_ENDS = tuple(".!…。！।۔")
_ASKS = ("?", "؟", "？")


@functools.lru_cache(maxsize=1)
def _patterns() -> dict[str, re.Pattern[str]]:
    answer, verb, is_, right = map(words, (phrases.ANSWER, phrases.CHOOSE, phrases.IS, phrases.CORRECT))
    wrong, links = words(phrases.WRONG), rf"(?:{words(phrases.NOT_BEHIND)}\s*)"
    no_sign, no_break = f"(?:(?!{SIGN})[^.!?;\n])", f"(?:(?!{SIGN})[^.!?;,，、:\n])"
    quoted, closed = r"[\s\"'(\[{<*_$\\]*", r"[\"')\]}*_]{0,3}\s*"
    it_is = r"(?:it|this|that)(?:'s|\s+is|\s+has to be|\s+must be)|c'est|das ist|es ist|dat is|het is|to jest"
    adverb = "(?:the|clearly|definitely|simply|just|really|either|both|probably|likely)"
    article = rf"(?:{words(phrases.ARTICLES)},?\s+|[的为為是了“「])*"
    stated = (
        rf"{answer}{no_sign}{{0,60}}?(?:{is_}|[:：=→⇒>-]+)\s*{quoted}{article}{quoted}",  # the sentiment of this text is
        rf"{answer}(?:'s)?\s*{quoted}",
        rf"{verb}(?:\s|:\s*|(?<=[\u0e00-\u0e7f\u2e80-\ud7af])){no_break}{{0,20}}?{quoted}{article}{quoted}",  # I would say
        rf"(?:→|⇒|=>|->|==>)\s*{quoted}{article}",
        "boxed: *",
        rf"{right}(?:\s+ones?|的)?\s*(?:{is_}|[:：=→⇒>-]+)\s*{quoted}{article}{quoted}",  # the correct one is
        r"\b(?:is|it's|that's|c'est|ist|es|è|é)\s+(?:an?|eine?|un|una|een|um|la|el|die|der|het)\s+(?:\w+ )?",  # this is a
        rf"\b(?:{it_is})\s+(?:{adverb}\s+)?",
        r"(?:author|writer|speaker|he|she|they|user|post|text|tweet|article)\s+(?:is|are|was|seems)\s+(?:\w+ly\s+)?",
    )
    the = "(?:the |la |le |el |il |die |der |das |het |a |o )?"
    correct = rf"{links}{{0,3}}{the}(?:{answer}\s+(?:yang\s+)?)?{right}"
    best = rf"{links}{{1,4}}(?:best|most (?!common|popular)\w+|closest|strongest)(?:\s+(?:{answer}|one)|\s*[.,;:]|$)"
    chosen = f"{best}|{words(phrases.CHOSEN)}|{words(phrases.POINTS)}|{correct}|[←✓✔✅☑☒]|<-"
    is_wrong = rf"{links}{{0,3}}{wrong}(?:\s*{answer})?\s*(?:[.,;。，]|$)"
    conclusion = r"(?:(?:and|the|my|und|et|y|e|en|i|mein|meine)\s)?[^\w\s]*"
    sources = {
        "stated": f"(?:(?<![a-z])|(?![a-z]))(?:{'|'.join(stated)})$",  # few begin within a word
        "chosen": rf"[\"')\]}}>*_.:,]{{0,4}}\s*(?:{chosen})(?!'s|\s+{words(phrases.PARTLY)})",
        "answer": f"{answer}|{words(phrases.FINALLY)}",
        "not": words(phrases.NOT),
        "denied": rf"{closed}(?:{links}{{0,6}}(?:{words(phrases.DENIED)})|[:：–—-]\s*{is_wrong})",
        "correct": rf"[\"')\]}}>*_.:,]{{0,4}}\s*(?:{right}|[✓✔✅☑])",
        "wrong_before": rf"(?:{wrong}的?\s*(?:{answer}|ones?\b|{is_}|[:：])|{answer}\s*(?:yang\s*)?{wrong})(?!.*{right})",
        "wrong_behind": rf"{closed}(?:[:：–—-]\s*)?{is_wrong}",
        "not_denying": words(phrases.NOT_DENYING),
        "perhaps": words(phrases.PERHAPS),
        "would": words(phrases.WOULD),
        "if": words(phrases.IF),
        "case": r"\b(?:with|without|had|were|then|if)\b",
        "unsure": "|".join(words(each) for each in _UNSURE) + r"|[?？؟\"]",
        "if_behind": rf"{closed}(?:{words(phrases.PERHAPS_BEHIND)}|,?\s*(?:but |aber |mais |pero )?(?:only |nur |sólo |só )?"
        rf"{words(phrases.IF)})",
        "if_choosing": phrases.IF_CHOOSING,
        "revises": rf"{words(phrases.REVISES)}|^\W*(?:{phrases.NO})\b(?:[,.!…]|\s[–—-])",
        "retracts": words(phrases.RETRACTS),
        "withholds": words(phrases.WITHHOLDS),
        "finally": rf"(?:^|[\s,，、;:：—–(。]){conclusion}{words(phrases.FINALLY)}",
        "so": rf"{words(phrases.FINALLY)}[,，]?\s*[\"'(\[]*$",
        "option": rf"{words(phrases.OPTION)}\s*[\"'(\[]*$",
        "little": rf"(?:{'|'.join(words(each) for each in _LITTLE)}|{SIGN}|[\W_])+",
        "but": rf"[,，、]?\s*{words(phrases.BUT)}",
    }
    # a search that ignores case tries each of hundreds of words at each place; these are for texts in small letters
    return {name: re.compile(source) for name, source in sources.items()}


# The words of a short text beside a sign that make it a statement.
_LITTLE = (
    phrases.ANSWER,
    phrases.IS,
    phrases.CORRECT,
    phrases.FINALLY,
    phrases.ARTICLES,
    phrases.PERHAPS,
    phrases.NOT_BEHIND,
    phrases.POINTS,
    phrases.CHOOSE,
    phrases.CHOSEN,
    "both|all|either|or|and|options?|hmm|well|okay|ok|yes|sure|i|think|believe|guess|应该|應該",
)

# A text with one answer is looked at more closely where any of these words stand in it.
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


def _may(name: str, text: str) -> bool:
    # a quick search: most texts neither turn nor doubt, and need no closer look
    return _quick()[name].search(text.encode("utf-8", "replace")) is not None


@functools.lru_cache(maxsize=1)
def _quick() -> dict[str, Any]:
    lists = {
        "turn": (phrases.REVISES, phrases.RETRACTS, phrases.WITHHOLDS, f"(?:{phrases.NO})(?:[,.!…]| [–—-])"),
        "seem": (phrases.NOT_DENYING, phrases.IF, phrases.IF_BEGINS),
        "doubt": (*_UNSURE[:5], phrases.WRONG, phrases.PERHAPS_BEHIND, phrases.BUT),
    }
    return {name: phrases.quick("|".join(listed)) for name, listed in lists.items()}


def _without_seeming(sentence: str) -> str:
    # blanks out what looks like a denial or a condition and is none
    patterns = _patterns()
    return patterns["not_denying"].sub(_blank, patterns["if_choosing"].sub(_blank, sentence))


def _unquoted(match: re.Match[str]) -> str:
    # keeps a quotation only where it is an answer or the name of a field
    is_field = match.string[match.end() : match.end() + 1] == ":"
    return match[0] if is_field or re.search(SIGN, match[0]) else _blank(match)


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _sentences(text: str) -> list[str]:
    sentences = [each for each in _SENTENCE.findall(_ABBREVIATION.sub("", text)) if each.strip()]
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
    is_of_letters: bool  # the answers are letters or numbers of options
    is_open: bool  # no letter is stated before
    closes: bool  # a letter that begins it is given, as it is the last
    is_plain: bool = False  # nothing in it denies or doubts


def _of_sentence(sentence: _Sentence, *, are_headings: bool) -> list[Mention]:
    patterns, text = _patterns(), sentence.text
    alone = _ALONE.fullmatch(text)
    if alone and sentence.end not in _ASKS:
        is_before_short = len(sentence.before.split()) in (1, 2, 3) and not re.search(SIGN, sentence.before)
        is_denied = is_before_short and patterns["not"].search(sentence.before) is not None
        is_denied &= patterns["revises"].search(sentence.before) is None
        return [Mention(alone[1], STATED, reason=DENIED if is_denied else None, place=alone.start(1))]
    quotations = [match.span() for match in _QUOTATION.finditer(text) if not _ALONE.fullmatch(match[0])]
    listed = [match.span() for match in _LISTED.finditer(text) if len(set(re.findall(SIGN, match[0]))) > 1]
    listed = [span for span in listed if not _is_only_last_denied(text, *span)]
    sentence.is_plain = not _may("doubt", text)
    turns = [] if sentence.is_plain else [match.span() for match in patterns["but"].finditer(text)]
    starts, stops = [0, *(end for _, end in turns)], [*(start for start, _ in turns), len(text)]
    heading = _HEADING.match(text) if are_headings else None
    found: list[Mention] = []
    places = list(re.finditer(SIGN, text))
    if len(places) > MOST_OF_A_SENTENCE:  # an enumeration, whose first and last items may be statements
        places = [*places[: MOST_OF_A_SENTENCE // 2], *places[-MOST_OF_A_SENTENCE // 2 :]]
    for match in places:
        place = match.start()
        is_heading = heading and heading.start(1) == place and patterns["correct"].match(text, match.end()) is None
        if is_heading or any(start <= place < end for start, end in quotations):
            continue
        segment = (max(start for start in starts if start <= place), min(stop for stop in stops if stop > place))
        joined = next(((start, end) for start, end in listed if start <= place < end), None)
        each = _mention(sentence, match, segment, joined)
        is_corrected = bool(found) and found[-1].reason == DENIED and segment[0] > found[-1].place
        if is_corrected and _LEAD.fullmatch(text, segment[0], place):
            each.strength, each.revises = STATED, True  # "the answer is not A but B"
        found.append(each)
    return found


def _mention(
    sentence: _Sentence, match: re.Match[str], segment: tuple[int, int], joined: tuple[int, int] | None
) -> Mention:
    # joined answers ("A or B") are judged as one
    patterns, text = _patterns(), sentence.text
    place, behind = joined or match.span()
    first = _FIRST.match(text)
    is_end = sentence.is_last and re.search("[:：]", text) is None
    is_of_few = (sentence.is_first or is_end) and len(_WORDS.findall(text)) <= (
        6 if joined and sentence.is_of_letters else 3
    )
    is_of_few = is_of_few and (not sentence.is_of_letters or patterns["little"].fullmatch(text) is not None)
    said = text[max(0, place - REACH) : place]
    if sentence.is_of_letters and _BARE.match(text, behind) is None:
        said = patterns["option"].sub("", said)  # "option B has" names it only
    is_said_before = patterns["stated"].search(said) is not None
    is_said_behind = match[0] != OUTSIDE and patterns["chosen"].match(text, behind) is not None
    is_of_few = is_of_few and (joined is not None or len(set(re.findall(SIGN, text))) == 1)
    is_stated = is_said_before or is_said_behind or is_of_few
    is_last_word = (not joined and _TO_THE_END.match(text, behind) is not None) and (
        patterns["so"].search(said[-NEAR:]) is not None
        or (
            _BEHIND_COLON.search(text[max(0, place - NEAR) : place]) is not None
            and (sentence.is_first or len(_WORDS.findall(text[:place])) >= FEWEST_BEFORE_COLON)
        )
    )
    is_answer_to_before = sentence.before.rstrip().endswith((":", *_ASKS)) or (
        sentence.before.startswith("#") and patterns["little"].fullmatch(sentence.before) is not None
    )
    leads = is_last_word or (
        first is not None
        and first.start(1) == place
        and (sentence.is_first or (is_answer_to_before and sentence.is_open) or sentence.closes)
    )
    mention = Mention(match[0], STATED if is_stated or leads else NAMED, place=match.start())
    before, whole = text[segment[0] : place], text[slice(*segment)]
    is_text_behind = (is_said_before or leads) and text[behind : behind + 1] in (")", "]")  # "B) to see in the dark"
    if not sentence.is_plain and _is_denied(text, before, behind, is_text_behind=is_text_behind):
        mention.reason = DENIED
    elif joined:
        mention.reason = TWO if (is_stated or leads) and sentence.end not in _ASKS else _LISTED_ONLY
    elif sentence.end in _ASKS:
        mention.reason = HEDGED
    elif not sentence.is_plain:
        is_said_first = is_stated and (is_said_before or not is_said_behind)
        is_hedged = not leads and _is_hedged(before, whole, is_stated=is_said_first)
        is_conditional = mention.strength > NAMED and patterns["if_behind"].match(text, behind) is not None
        mention.reason = HEDGED if is_hedged or is_conditional else None
    return mention


def _is_only_last_denied(text: str, start: int, end: int) -> bool:
    # "the answer is B and A is wrong"
    patterns = _patterns()
    is_stated = patterns["stated"].search(text[max(0, start - REACH) : start])
    return is_stated is not None and patterns["denied"].match(text, end) is not None


def _is_denied(text: str, before: str, behind: int, *, is_text_behind: bool) -> bool:
    patterns, clause = _patterns(), _clause(before)
    at_end = _DENIED_AT_THE_END.search(text, behind)
    if at_end and (_BREAKS.search(text[behind : at_end.start()]) is None or at_end[0].startswith(("no es", "não é"))):
        return True
    denied = patterns["wrong_behind" if is_text_behind else "denied"].match(text, behind)
    return bool(denied or patterns["not"].search(clause) or patterns["wrong_before"].search(clause))


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
    breaks: Sequence[re.Match[str]] = list(_BREAKS.finditer(before))
    return before[breaks[-1].end() :] if breaks else before
