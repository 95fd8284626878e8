"""Judges offline by the words in which the simulated models say what is right; it errs only as its card asks."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from promptaudit.engines import Question, Request
from promptaudit.engines.embedded.annotator import Annotate, cell_parts
from promptaudit.engines.embedded.draws import uniform
from promptaudit.engines.embedded.number_words import in_words
from promptaudit.registry.cards import ModelCard
from promptaudit.registry.errors import EngineError
from promptaudit.udfs.readers.option_letter import read_option

_ARTICLES = frozenset(("a", "an", "the"))
_AROUND = ".,;:!?\"'()[]"
_BOXED = re.compile(r"\\boxed\{(.*)\}")


def matcher_annotator(card: ModelCard) -> Annotate:
    """Makes a function that replies with a verdict as `promptaudit.udfs.scoring.verdict` reads it.

    With probability `card.rate` the verdict is reversed, drawn for every judge, completion and repetition separately. A
    request that is no judge's raises EngineError.
    """
    rate = card.rate or 0

    def annotate(request: Request) -> str:
        question = request.question
        if question is None or question.completion is None:
            msg = f"model '{request.model_id}' is a matcher, which only judges: name it in the card of a judge"
            raise EngineError(msg)
        is_match, reason = matches(question, question.completion)
        if uniform(*cell_parts("matcher", card.seed, request)) < rate:
            is_match, reason = not is_match, f"turned round on purpose: {reason}"
        return json.dumps({"reason": reason, "match": is_match})

    return annotate


def matches(question: Question, completion: str) -> tuple[bool, str]:
    """Checks whether a completion says what is right, and says why: the right option alone, else one of the references.

    It matches word by word, numbers in figures or in words. It knows no synonyms and no denials.
    """
    if question.options and question.gold_index is not None:
        named = _named(question.options, question.signs, completion)
        right = question.options[question.gold_index]
        if named == {question.gold_index}:
            return True, f"the answer names {right!r} alone"
        return False, f"the answer names {len(named)} options, and not {right!r} alone"
    said = _words(completion)
    for reference in question.references:
        if any(form in said for form in _forms(reference)):
            return True, f"the answer gives {reference!r}"
    return False, "the answer gives none of the references"


def _named(options: Sequence[str], signs: Sequence[str], completion: str) -> set[int]:
    # by an option's text, longer ones first, or by a sign in the rest of the completion
    said, named = _words(completion), set[int]()
    are_signs = {_words(sign) for sign in signs}
    for index in sorted(range(len(options)), key=lambda each: -len(options[each])):
        for form in _forms(options[index]) - are_signs:
            if form in said:
                named.add(index)
                said = said.replace(form, " ")
    sign = read_option(said if named else completion, list(signs)).index if signs else None
    return named if sign is None else named | {sign}


def _forms(text: str) -> set[str]:
    # as it is and with its numbers in words
    return {_words(text), _words(in_words(text))} - {" "}


def _words(text: str) -> str:
    # between single spaces, without case, articles, boxes and punctuation around them
    plain = _BOXED.sub(r"\1", text.replace("$", "").replace("\N{RIGHT SINGLE QUOTATION MARK}", "'"))
    words = [word.strip(_AROUND) for word in plain.split()]
    kept = [word for place, word in enumerate(words) if word and not _is_article(word, place)]
    return " ".join(["", *kept, ""]).casefold() or " "


def _is_article(word: str, place: int) -> bool:
    # the A of "vitamin A" is none
    return word.casefold() in _ARTICLES and (word != "A" or place == 0)
