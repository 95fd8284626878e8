"""Finds words that a prompt asks to answer with and that are no labels, as yes or no over data that says TRUE and FALSE."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from promptaudit.cards.answer_format import ASK, SMALL_WORDS, names_labels, sentences

_WORD = r"[\"'`“”*]*([^\W\d_][\w-]*)[\"'`“”*.]*"
_ALTERNATIVES = re.compile(rf"{_WORD}(?:(?:,| ?/) ?{_WORD})*(?:,? (?:or|oder|ou|o) | ?/ ?){_WORD}", re.IGNORECASE)
_SIGNS = re.compile(r"[^\W\d_][\w-]*")
_JOINTS = ("or", "oder", "ou", "o")
_AS_ANSWER = re.compile(
    rf"\b(?:{ASK}|antworte\w*(?: Sie)?|réponde?[zs]?|responde){SMALL_WORDS}(?: (?:mit|nur|par|con|solo|seulement))*\W*$",
    re.IGNORECASE,
)
_ENDS = re.compile(r"\s*(?:only|alone|and\b|[.!?,;:)]|$)", re.IGNORECASE)
_INTEGER = re.compile(r"-?\d{1,9}")
_TRUE, _FALSE = ("true", "t", "1", "yes"), ("false", "f", "0", "no")
_YES_AND_NO = (("yes", "no"), ("ja", "nein"), ("oui", "non"), ("sí", "no"), ("true", "false"))
MOST_SHOWN = 10


def words_asked_for(text: str, labels: Sequence[str]) -> tuple[str, ...]:
    """Lists the words that a prompt asks to answer with if none of them is a label and it names no label; else none.

    They stand behind a word that asks for an answer. Where labels are whole numbers they may stand anywhere, as many as
    there are labels.
    """
    if any(names_labels(text, [label]) for label in labels):
        return ()
    are_numbers = bool(labels) and all(_INTEGER.fullmatch(label) for label in labels)
    known = {label.casefold() for label in labels}
    for words, is_answer in [*_alternatives(text)][::-1]:
        if known.isdisjoint(map(str.casefold, words)) and (is_answer or (are_numbers and len(words) == len(labels))):
            return words
    return ()


def _alternatives(text: str) -> Iterator[tuple[tuple[str, ...], bool]]:
    for start, end in sentences(text):
        sentence = text[start:end]
        for match in _ALTERNATIVES.finditer(sentence):
            words = tuple(word for word in _SIGNS.findall(match[0]) if word.casefold() not in _JOINTS)
            asks = _AS_ANSWER.search(sentence[: match.start()])
            is_manner = any(word.casefold().endswith("ly") for word in words)  # "reply briefly or politely"
            yield words, asks is not None and not is_manner and _ENDS.match(sentence, match.end()) is not None


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


def truth_of(words: Sequence[str], labels: Sequence[str]) -> dict[str, str]:
    """Maps labels such as TRUE and FALSE to the words for yes and no that a prompt asks for; empty where they mean others."""
    pair = next((pair for pair in _YES_AND_NO if set(pair) == {word.casefold() for word in words}), None)
    said = {word.casefold(): word for word in words}
    if pair is None or len(labels) != len(pair):
        return {}
    meant = {label: said[pair[label.casefold() in _FALSE]] for label in labels if label.casefold() in (*_TRUE, *_FALSE)}
    return meant if len(set(meant.values())) == len(pair) else {}
