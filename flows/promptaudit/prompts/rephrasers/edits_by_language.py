"""Rewords one German, French or Spanish text once, by the phrases of its language."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from promptaudit.prompts.rephrasers.edits import (
    FRAME,
    GENTLE_FRAME,
    LIGHT,
    QUESTION_FRAME,
    SWAP,
    Draws,
    allowed,
    cased,
    lower,
    surrounded,
    upper,
)
from promptaudit.prompts.rephrasers.phrases_by_language import Address, LanguagePhrases, Phrases, Verb

_SLOT = re.compile(r"\{(\w+)\}")
_BESIDE = re.compile(r"[,:;()–\"„“»«]")
_CLAUSE_HEAD = r"(?:^|(?<=\bund )|(?<=\bet )|(?<=\bpuis )|(?<=\by )|(?<=\bbitte )|(?<=\bplaît, )|(?<=\bfavor, ))"
_LEAD = re.compile(r"(?:bitte|s['\u2019]il (?:vous|te) plaît,|por favor,|veuillez) ", re.IGNORECASE)
_SENTENCE_END = re.compile(r"((?<=[.!?])\s+|\s*\n\s*)")
_ABBREVIATION = re.compile(
    r"\b(?:(?:bzw|ca|cf|d\.\s?h|Dra?|evtl|ggf|inkl|M|Nr|p\.\s?e[jx]|S(?:ra?|t)|u\.\s?a|vgl|z\.\s?B)\.\s+"
    r"|(?:etc|usw)\.\s+(?=[a-zà-ÿ]))"
)
_NO_END = {".": "\ue000p\ue001", " ": "\ue000s\ue001", "\n": "\ue000n\ue001"}  # letters, where masks have numbers
_PARTICLE = re.compile(r" (?:durch|um|vor|voraus|auf|aus|ab|nach|mit|ein|an|zu|her|hin|weg)$")
_REFLEXIVE = re.compile(r" (?:bitte )?(?:dich|dir|sich)\b")
_NO_SECOND_REQUEST = re.compile(r"(?:[^,;]|, (?:(?:sans|sin|selon|según|parmi|entre|si|que)\b|\ue000))*")
_BEFORE_NO_QUESTION = frozenset({"repérer"})
_TO_VOWEL = re.compile(r"[aeiouâéèêîô]")

N_BEFORE_QUESTIONS = 3
"""How many of the openings may stand before a text without a request: those that say nothing of doing."""


@dataclass(frozen=True, slots=True)
class _Request:
    # an imperative sentence: its verb, whom it addresses, what follows the verb, without the mark at the end
    verb: Verb
    address: Address
    head: str
    rest: str


def reword_by(words: LanguagePhrases, text: str, strength: float, draws: Draws, taboo: frozenset[str]) -> str:
    """Rewords the text once at a strength, as `edits.reword` does in English."""
    text = _ABBREVIATION.sub(_unending, text)
    pieces = _SENTENCE_END.split(text)
    sentences, gaps = pieces[::2], [*pieces[1::2], ""]
    requests = [_request(words, sentence) for sentence in sentences]
    address: Address = next((request.address for request in requests if request is not None), "nobody")
    if address == "nobody":
        address = _address(words, text)
    sentences = [_swapped(words, sentence, strength, draws, taboo) for sentence in sentences]
    place = next((place for place, request in enumerate(requests) if request is not None), None)
    if place is not None and not _is_open(sentences[place], gaps[place]):
        sentences[place] = _framed(words, sentences[place], address, strength, draws, taboo)
    elif place is None and sentences[-1].endswith("?") and draws.happens(QUESTION_FRAME, strength):
        sentences[-1] = allowed(draws, words.question_frames, taboo).format(ask=sentences[-1])
    openings = _for(words.openings, address) if place is not None else words.openings["nobody"][:N_BEFORE_QUESTIONS]
    whole = "".join(sentence + gap for sentence, gap in zip(sentences, gaps, strict=True))
    for plain, mark in _NO_END.items():
        whole = whole.replace(mark, plain)
    around = (openings, _for(words.roles, address), _for(words.closings, address))
    return surrounded(whole, strength, draws, taboo, around)


def _unending(abbreviation: re.Match[str]) -> str:
    return "".join(_NO_END.get(character, character) for character in abbreviation[0])


def _is_open(sentence: str, gap: str) -> bool:
    # without a mark, and continued on the next line or behind a colon
    is_continued = re.fullmatch(r"[^\n]*\n[^\n]*", gap) is not None
    return sentence.endswith(":") or (is_continued and not sentence.endswith((".", "!", "?")))


def _address(words: LanguagePhrases, text: str) -> Address:
    if re.search(words.is_formal, text):
        return "formal"
    return "familiar" if re.search(words.is_familiar, text) else "nobody"


def _for(phrases: Phrases, address: Address) -> tuple[str, ...]:
    return phrases["nobody"] if address == "nobody" else (*phrases["nobody"], *phrases[address])


def _request(words: LanguagePhrases, sentence: str) -> _Request | None:
    body = sentence.rstrip(".!? ")
    lead = _LEAD.match(body)
    body = body[lead.end() :] if lead else body
    found = [
        _Request(verb, address, body[: len(form)], body[len(form) :])
        for verb in words.verbs.values()
        for address, form in verb.forms().items()
        if body[: len(form)].casefold() == form.casefold()
        and re.match(r",? ", body[len(form) :])
        and (address != "nobody" or not words.has_verb_last)
        and (not verb.particle or re.search(rf" {verb.particle}(?:,|$)", body[len(form) :]))
    ]
    # of two verbs with one imperative, the one that has its particle
    return max(found, key=lambda request: (len(request.verb.particle), len(request.head)), default=None)


def _swapped(words: LanguagePhrases, sentence: str, strength: float, draws: Draws, taboo: frozenset[str]) -> str:
    # imperatives at the head of a clause, and words of the table, each with a probability that rises with the strength
    def put(match: re.Match[str], options: tuple[str, ...]) -> str:
        options = tuple(match.expand(option) for option in options)
        free = [option for option in options if not taboo & set(re.findall(r"\w+", option.lower()))]
        return cased(draws.pick(free), match[0]) if free and draws.happens(SWAP, strength + LIGHT) else match[0]

    for pattern, options in words.words:
        swapped = re.sub(pattern, lambda match, options=options: put(match, options), sentence)  # type: ignore[misc]
        if swapped != sentence:  # one word of the table, so that none is put back
            sentence = swapped
            break
    done = False

    def put_verb(match: re.Match[str]) -> str:
        nonlocal done
        for verb in words.verbs.values():
            for address, form in verb.forms().items():
                if form.casefold() == match[0].casefold() and not done and not verb.particle:
                    asks = re.match(rf",? (?:{words.asks})\b", sentence[match.end() :])
                    names = (*verb.others, *verb.before_question) if asks else verb.others
                    names = tuple(name for name in names if not asks or name not in _BEFORE_NO_QUESTION)
                    options = tuple(words.verbs[name].forms()[address] for name in names)
                    done = bool(options)
                    return put(match, options) if options else match[0]
        return match[0]

    forms = {form for verb in words.verbs.values() for form in verb.forms().values()}
    either = "|".join(sorted(map(re.escape, forms), key=len, reverse=True))
    return re.sub(rf"{_CLAUSE_HEAD}(?:{either})(?=,? )", put_verb, sentence, flags=re.IGNORECASE)


def _framed(
    words: LanguagePhrases, sentence: str, address: Address, strength: float, draws: Draws, taboo: frozenset[str]
) -> str:
    request = _request(words, sentence)
    happens = draws.happens(FRAME, strength) or draws.happens(GENTLE_FRAME, strength + LIGHT)
    if request is None or not happens:
        return sentence
    slots = _slots(words, request)
    frames = (*_for(words.frames, address), *_for(words.imperative_frames, address))
    fitting = tuple(frame for frame in frames if set(_SLOT.findall(frame)) <= slots.keys())
    return allowed(draws, fitting, taboo).format(**slots) if fitting else sentence


def _slots(words: LanguagePhrases, request: _Request) -> Mapping[str, str]:
    do = f"{request.head}{request.rest}"
    slots = {}
    if request.address != "nobody":
        slots = {"do": lower(do), "Do": upper(do)}
        if words.has_verb_last and not re.match(
            r" (?:bitte|e[sr]|sie|ihn|ih[mr]|mi[rc]h?|di[rc]h?|uns|sich)\b", request.rest
        ):
            slots |= {"Verb": upper(request.head), "rest": request.rest}
    infinitive = _infinitive(words, request)
    if infinitive is not None:
        slots |= {"inf": infinitive[0], "to": infinitive[1]}
    return slots


def _infinitive(words: LanguagePhrases, request: _Request) -> tuple[str, str] | None:
    # bare, and after "zu" or "de"; None where the sentence may hold more than one request
    verb, rest = request.verb, request.rest
    is_more = any(word.casefold() in words.requests for word in re.findall(r"\w+", rest))
    is_unclear = _REFLEXIVE.match(rest) if words.has_verb_last else not _NO_SECOND_REQUEST.fullmatch(rest)
    if is_more or is_unclear or re.search(words.joins, rest):
        return None
    if not words.has_verb_last:
        de = "d'" if _TO_VOWEL.match(verb.infinitive) else "de "
        return f"{verb.infinitive}{rest}", f"{de}{verb.infinitive}{rest}"
    stem = verb.infinitive.removeprefix(verb.particle)
    with_zu = f"{verb.particle}zu{stem}" if verb.particle else f"zu {stem}"
    rest = re.sub(r"^ bitte\b", "", rest)
    asks = re.match(
        rf"(?: {verb.particle})?,? (?={words.asks}\b)" if verb.particle else rf",? (?={words.asks}\b)", rest
    )
    if asks is not None:
        return f"{verb.infinitive}, {rest[asks.end() :]}", f"{with_zu}, {rest[asks.end() :]}"
    rest = re.sub(rf" {verb.particle}$", "", rest) if verb.particle else rest
    if _BESIDE.search(rest) or not rest or _PARTICLE.search(rest):
        return None
    return f"{rest[1:]} {verb.infinitive}", f"{rest[1:]} {with_zu}"
