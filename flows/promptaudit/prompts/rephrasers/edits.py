"""Rewords one text once: holds the edits of `rules`, and how likely each is at a strength."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence

from promptaudit.prompts.rephrasers import phrases

# the rate of each edit: its probability at strength s is 1 - exp(-rate * s)
SWAP, FRAME, GENTLE_FRAME, QUESTION_FRAME, FRONTED_LAST, TRAILING_FIRST, PASSIVE = 0.38, 0.32, 0.2, 0.3, 0.3, 0.1, 0.06
OPENING, ROLE, CLOSING = 0.09, 0.12, 0.12
LIGHT = 0.35  # added to the strength for the edits that a light rewording is made of
CONTRACTED_SHARE = 0.3  # at any strength: it changes the least

SENTENCE_END = re.compile(r"(?<=[.!?])(\s+)")
_CLAUSE_HEADS = frozenset(  # the word before a verb; the t is that of "don't"
    {"to", "please", "kindly", "must", "should", "you", "could", "would", "will", "then", "now", "not", "t"}
)
_HEADS = frozenset({*phrases.VERBS, *(option for options in phrases.VERBS.values() for option in options)})
_JOINTS = frozenset({"and", "or", ","})
_TABLE = sorted({*phrases.VERBS, *phrases.OTHERS}, key=lambda words: (-len(words), words))
_WORDS = re.compile(r"(?<![\w'])(?:" + "|".join(map(re.escape, _TABLE)) + r")(?![\w'])", re.IGNORECASE)
_EXPANSIONS = {short: long for long, short in phrases.CONTRACTIONS.items() if long != "can not"}
_CONTRACTED = {**phrases.CONTRACTIONS, **_EXPANSIONS}
_CONTRACTIONS = re.compile(
    r"(?<![\w'])(?:" + "|".join(map(re.escape, sorted(_CONTRACTED, key=len, reverse=True))) + r")(?=\s+\w)",
    re.IGNORECASE,
)
_LEADS = sorted((*phrases.LEADS, *phrases.WEAK_LEADS), key=len, reverse=True)
_LEAD = re.compile(rf"({'|'.join(_LEADS)})\s+", re.IGNORECASE)
_VERB = re.compile(r"\w+(?: (?:at|through|over|up|out|down|to|on|back|for))?(?=\s|$)")
_NO_NOUN = re.compile(r"\s+(?:is|are)\b|\s*[^\w\s]|\s*$")
_FRONTED = re.compile(r"((?:Given|For|Based on|Considering|From|In|Using|After) [^,.!?]+), (\w.*)", re.DOTALL)
_TRAILING = re.compile(
    r"(.+?),? ((?:according to|based on|on the basis of|going by|judging by|in terms of|with respect to|by) [^,.!?]+)",
    re.DOTALL,
)
_PASSIVE = re.compile(
    rf"({'|'.join(phrases.PARTICIPLES)}) ((?:the|each|this|every) (?:\w+ )?\w*[^\Ws])"
    r"(?= (?:by|as|into|according|based|going|judging|in|with|on)\b|$)",
    re.IGNORECASE,
)


class Draws:
    """Draws reproducibly: sha256 of the seeds and a counter, the same in every process and release."""

    def __init__(self, *seeds: object) -> None:
        self._seed = repr(seeds).encode("utf-8", "backslashreplace")
        self._count = 0

    def share(self) -> float:
        """Draws the next number in [0, 1)."""
        self._count += 1
        digest = hashlib.sha256(self._seed + self._count.to_bytes(4, "big")).digest()
        return int.from_bytes(digest[:6], "big") / 2**48

    def happens(self, rate: float, strength: float) -> bool:
        """Draws True with probability 1 - exp(-rate · strength)."""
        return self.share() < 1 - math.exp(-rate * strength)

    def pick(self, options: Sequence[str]) -> str:
        """Draws one of the options."""
        return options[int(self.share() * len(options))]


def reword(text: str, strength: float, draws: Draws, taboo: frozenset[str]) -> str:
    """Rewords the text once at a strength (about 0 to 5); the result may be the text as it was.

    `taboo`: lower-case words that no edit may bring in. Private-use characters mask what must stay.
    """
    pieces = SENTENCE_END.split(text)
    sentences, gaps = pieces[::2], pieces[1::2]
    sentences[0] = _unfronted(sentences[0], strength, draws)
    sentences = [_swapped(_contracted(sentence, draws), strength, draws, taboo) for sentence in sentences]
    heads = [index for index, sentence in enumerate(sentences) if _imperative(sentence) is not None]
    if heads:
        head = heads[0]
        sentences[head] = _restructured(sentences[head], strength, draws, taboo)
    elif sentences[-1].endswith("?") and draws.happens(QUESTION_FRAME, strength):
        sentences[-1] = allowed(draws, phrases.QUESTION_FRAMES, taboo).format(ask=sentences[-1])
    whole = "".join(sentence + gap for sentence, gap in zip(sentences, [*gaps, ""], strict=True))
    return surrounded(whole, strength, draws, taboo, (phrases.OPENINGS, phrases.ROLES, phrases.CLOSINGS))


def _contracted(sentence: str, draws: Draws) -> str:
    def swap(match: re.Match[str]) -> str:
        other = _CONTRACTED.get(match[0].lower(), match[0])
        return cased(other, match[0]) if draws.share() < CONTRACTED_SHARE else match[0]

    return _CONTRACTIONS.sub(swap, sentence)


def _swapped(sentence: str, strength: float, draws: Draws, taboo: frozenset[str]) -> str:
    # words of the tables for their synonyms, each with a probability that rises with the strength

    def swap(match: re.Match[str]) -> str:
        word = match[0].lower()
        if word == "the following" and _NO_NOUN.match(sentence, match.end()):
            return match[0]
        known = _options(word, sentence[: match.start()])
        options = [option for option in known if not taboo & set(re.findall(r"\w+", option.lower()))]
        if not options or not draws.happens(SWAP, strength + LIGHT):
            return match[0]
        return cased(draws.pick(options), match[0])

    swapped = _WORDS.sub(swap, sentence)
    if swapped == sentence:
        return sentence

    def agree(match: re.Match[str]) -> str:
        is_new = f"{match[0]}{match[2]}" not in sentence
        return f"{match[1]}{'n' if match[2][0] in 'aeiou' else ''} " if is_new else match[0]

    return re.sub(r"\b([Aa])n? (?=(\w+))", agree, swapped)


def _options(word: str, before: str) -> Sequence[str]:
    # a verb's synonyms at the head of a clause, any other word's elsewhere
    previous = re.findall(r"\w+|[^\w\s]", before.lower())[-1:] or [""]
    if previous[0] in _JOINTS and word in phrases.VERBS and word in phrases.OTHERS:
        return ()
    if not previous[0] or previous[0] in _CLAUSE_HEADS or (previous[0] in _JOINTS and word in phrases.VERBS):
        return phrases.VERBS.get(word) or phrases.OTHERS.get(word, ())
    return phrases.OTHERS.get(word, ())


def _imperative(sentence: str) -> str | None:
    # the request from its verb on, without the frame around it and the mark at its end; None if there is none
    body = sentence.rstrip(".!?: ")
    lead = _LEAD.match(body)
    do = body[lead.end() :] if lead else body
    verb = _VERB.match(do)
    if verb is None:
        return None
    if verb[0].lower() in _HEADS or verb[0].split()[0].lower() in _HEADS:
        return do
    is_request = lead is not None and lead[1].lower() not in phrases.WEAK_LEADS
    return do if is_request and verb[0].lower() not in ("not", "be", "do") else None


def _unfronted(sentence: str, strength: float, draws: Draws) -> str:
    # `Given a premise, decide…` as `Decide…, given a premise`
    fronted = _FRONTED.fullmatch(sentence.removesuffix("."))
    if fronted is None or _imperative(fronted[2]) is None or not draws.happens(FRONTED_LAST, strength):
        return sentence
    return f"{upper(fronted[2])}, {lower(fronted[1])}."


def _restructured(sentence: str, strength: float, draws: Draws, taboo: frozenset[str]) -> str:
    # an imperative sentence with its clauses reordered, in the passive, or in another frame
    do = _imperative(sentence)
    if do is None:
        return sentence
    passive = _PASSIVE.match(do)
    participle = phrases.PARTICIPLES.get(passive[1].lower()) if passive is not None else None
    if passive is not None and participle is not None and draws.happens(PASSIVE, strength):
        modal = draws.pick(("is to be", "should be", "needs to be", "has to be"))
        rest = do[passive.end() :]
        return f"{upper(passive[2])} {modal} {participle}{rest}."
    trailing = _TRAILING.fullmatch(do)
    if trailing is not None and " and " not in trailing[2] and draws.happens(TRAILING_FIRST, strength):
        return f"{upper(trailing[2])}, {lower(trailing[1])}."
    if draws.happens(FRAME, strength):
        return _framed(allowed(draws, phrases.FRAMES, taboo), do)
    if draws.happens(GENTLE_FRAME, strength + LIGHT):
        return _framed(allowed(draws, phrases.GENTLE_FRAMES, taboo), do)
    return sentence


def surrounded(
    text: str, strength: float, draws: Draws, taboo: frozenset[str], around: tuple[Sequence[str], ...]
) -> str:
    """Puts an opening, a role and a closing around a text, each likelier the higher the strength, if there are some."""
    openings, roles, closings = around
    if draws.happens(OPENING, strength):
        text = f"{allowed(draws, openings, taboo)} {text}"
    if draws.happens(ROLE, strength) and roles:
        text = f"{allowed(draws, roles, taboo)} {text}"
    if draws.happens(CLOSING, strength):
        mark = "" if text[-1] in ".!?:。！？" else "."  # noqa: RUF001
        text = f"{text}{mark} {allowed(draws, closings, taboo)}"
    return text


def allowed(draws: Draws, options: Sequence[str], taboo: frozenset[str]) -> str:
    """Draws one of the options that bring in no word of `taboo`, or of all if there is none."""
    free = [option for option in options if not taboo & set(re.findall(r"\w+", option.lower()))]
    return draws.pick(free or options)


def _framed(frame: str, do: str) -> str:
    return frame.replace("{do}", lower(do)).replace("{Do}", upper(do))


def cased(word: str, like: str) -> str:
    """Writes a word with a capital where another has one."""
    return upper(word) if like[0].isupper() else word


def upper(text: str) -> str:
    """Puts a capital in front."""
    return text[:1].upper() + text[1:]


def lower(text: str) -> str:
    """Puts a small letter in front."""
    return text[:1].lower() + text[1:]
