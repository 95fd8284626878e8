"""Finds words that a prompt asks to answer with and that are no labels, as yes or no over data that says TRUE and FALSE."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from promptaudit.cards.answer_format import ASK, names_labels, sentences

_WORD = r"[\"'`“”*]*([^\W\d_][\w-]*)[\"'`“”*.]*"
_ALTERNATIVES = re.compile(rf"{_WORD}(?:(?:,| ?/) ?{_WORD})*(?:,? (?:or|oder|ou|o) | ?/ ?){_WORD}", re.IGNORECASE)
_SIGNS = re.compile(r"[^\W\d_][\w-]*")
_JOINTS = ("or", "oder", "ou", "o")
# no "in", which stands before languages and forms
_SMALL = r"(?:[^\w.!?\n]+(?:with|by|as|either|only|just|one|of|the|these|following|words?|labels?|a|an|single))*"
_AS_ANSWER = re.compile(
    rf"\b(?:{ASK}|antworte\w*(?: Sie)?|réponde?[zs]?|responde?a?){_SMALL}(?: (?:mit|nur|par|con|solo|seulement))*\W*$",
    re.IGNORECASE,
)
_IS = r"(?:is|are|ist|sind|est|sont|es|son)"
# "whether it is ", "as either ", "classify the review: ", and "is the review or comment " where it begins a question
_AS_CHOICE = re.compile(
    rf"(?:\b(?:(?<!such )as|whether|if|{_IS}|als|ob|comme|si|como)(?:[ \"'“:]+(?:it|this|that|es|{_IS}|about|either|a|an))*"
    r"|\b(?:classify|label|decide|choose|categori[sz]e|labels|classes|categories|options|choices)\b[^:.\n]{0,40}:"
    rf"|^\W*{_IS}(?: (?!(?:about|at|by|for|from|in|into|of|on|than|to|with)\b)[\w-]+){{1,6}}|^)\W*$",
    re.IGNORECASE,
)
_FORMS = frozenset(("json", "xml", "yaml", "csv", "html", "markdown", "text", "lowercase", "uppercase"))
_ENDS = re.compile(r"\s*(?:only|alone|and\b|[.!?,;:)]|$)", re.IGNORECASE)
_INTEGER = re.compile(r"-?\d{1,9}")
_TRUE, _FALSE = ("true", "t", "1", "yes"), ("false", "f", "0", "no")
_YES_AND_NO = (("yes", "no"), ("ja", "nein"), ("oui", "non"), ("sí", "no"), ("true", "false"))
MOST_SHOWN = 10


def words_asked_for(text: str, labels: Sequence[str]) -> tuple[str, ...]:
    """Lists the words that a prompt asks to answer with if none of them is a label and it names no label; else none.

    They stand behind a word that asks for an answer; else, where labels are whole numbers, behind a word that asks for a
    choice, as many as there are labels.
    """
    if any(names_labels(text, [label]) for label in labels):
        return ()
    are_numbers = bool(labels) and all(_INTEGER.fullmatch(label) for label in labels)
    known = {label.casefold() for label in labels}
    found = [
        (words, is_answer) for words, is_answer in _alternatives(text) if known.isdisjoint(map(str.casefold, words))
    ]
    answers = [words for words, is_answer in found if is_answer]
    choices = [words for words, _ in found if are_numbers and len(words) == len(labels)]
    return next(iter([*answers[::-1], *choices[::-1]]), ())


def _alternatives(text: str) -> Iterator[tuple[tuple[str, ...], bool]]:
    # with whether they are asked for as an answer, else as a choice
    for start, end in sentences(text):
        sentence = text[start:end]
        for match in _ALTERNATIVES.finditer(sentence):
            words = tuple(word for word in _SIGNS.findall(match[0]) if word.casefold() not in _JOINTS)
            # "reply briefly or politely"
            is_manner = any(word.casefold().endswith("ly") or word.casefold() in _FORMS for word in words)
            is_answer = _AS_ANSWER.search(sentence[: match.start()]) is not None
            is_title = sentence[match.end() :].lstrip().startswith(":")  # "Tweet or message:"
            is_choice = _AS_CHOICE.search(sentence[: match.start()]) is not None and not is_title
            if (is_answer or is_choice) and not is_manner and _ENDS.match(sentence, match.end()):
                yield words, is_answer


def unlike_line(words: Sequence[str], labels: Sequence[str], file: str) -> str:
    """Writes that a prompt's words are not the labels, naming both, and what to write into the card."""
    shown = f"{', '.join(map(repr, words[:-1]))} or {words[-1]!r}"
    of_data = ", ".join(map(repr, labels[:MOST_SHOWN]))
    truth = truth_of(words, labels)
    meant = [truth.get(label, "...") for label in labels[:MOST_SHOWN]]
    mapped = ", ".join(f"{label!r}: {word!r}" for label, word in zip(labels, meant, strict=False))
    return (
        f"the prompt asks for {shown}, and the labels are {of_data}: an answer as asked would be no label; in {file} write "
        f"labels: [{', '.join(map(repr, words))}], and below data gold_labels: {{{mapped}}}, each value with its label"
    )


def numbers_line(text: str, labels: Sequence[str], file: str) -> str | None:
    """Writes that the labels are numbers of which the prompt names none, as a hub's data have them; None for other labels."""
    are_numbers = bool(labels) and all(_INTEGER.fullmatch(label) for label in labels)
    if not are_numbers or any(names_labels(text, [label]) for label in labels):
        return None
    mapped = ", ".join(f"{label!r}: ..." for label in labels[:MOST_SHOWN])
    return (
        f"the labels are the numbers {', '.join(labels[:MOST_SHOWN])}, and the prompt says of none what it stands for; in {file} "
        f"write the words that a model should answer as labels, and below data gold_labels: {{{mapped}}}"
    )


def stands_for_line(what: str, words: Sequence[str], truth: Mapping[str, str], file: str) -> str:
    """Writes which of the data's labels stands for which of two words."""
    said = " and ".join(f"{label!r} for {word!r}" for label, word in truth.items())
    asked = f"{what} {words[0]!r} or {words[1]!r}, and the data says {said}"
    return f"{asked} (gold_labels in {file}); check the direction"


def truth_of(words: Sequence[str], labels: Sequence[str]) -> dict[str, str]:
    """Maps labels such as TRUE and FALSE to the words for yes and no that a prompt asks for; empty where they mean others."""
    pair = next((pair for pair in _YES_AND_NO if set(pair) == {word.casefold() for word in words}), None)
    said = {word.casefold(): word for word in words}
    if pair is None or len(labels) != len(pair):
        return {}
    meant = {label: said[pair[label.casefold() in _FALSE]] for label in labels if label.casefold() in (*_TRUE, *_FALSE)}
    return meant if len(set(meant.values())) == len(pair) else {}
