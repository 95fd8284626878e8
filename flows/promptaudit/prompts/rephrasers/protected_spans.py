"""Finds the spans a rewording may not touch: labels, placeholders, words of the card."""

from __future__ import annotations

import re
from collections.abc import Iterable

from promptaudit.registry.cards import RephraserCard, TaskCard
from promptaudit.registry.placeholders import placeholders

# scripts written without spaces between words: there a whole word has no visible ends
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def protected_words(card: TaskCard, rephraser: RephraserCard | None, *, is_given: bool) -> tuple[str, ...]:
    """Lists what a rephrasing of a task must keep: labels, fields, placeholders, the card's own words.

    Labels and fields are left out if task or rephraser sets `protect_labels` to false; if neither sets it, they are
    left out of rephrasings that are a person's own (`is_given`).
    """
    said = {card.protect_labels, None if rephraser is None else rephraser.protect_labels} - {None}
    labels = (*card.label_names, *card.fields) if (all(said) if said else not is_given) else ()
    braces = [f"{{{name}}}" for name in placeholders(card.instruction)]
    return tuple(dict.fromkeys([*labels, *braces, *card.protected]))


def is_unspaced(word: str) -> bool:
    """Checks whether a word is of a script that puts no spaces between words."""
    return _UNSPACED.search(word) is not None


def whole_word(word: str) -> re.Pattern[str]:
    """Compiles a pattern of `word` as it is written, case-sensitive, not as a part of a longer word.

    An edge of `word` that is itself no letter or digit (`{x}`, `C++`) may touch anything.
    """
    return re.compile(_source(word))


def protected_spans(protected: Iterable[str]) -> re.Pattern[str]:
    """Compiles a pattern of every protected span and every `{placeholder}`, the longest first."""
    words = sorted({word for word in protected if word.strip()}, key=lambda word: (-len(word), word))
    return re.compile("|".join([*(_source(word) for word in words), r"\{[A-Za-z_][A-Za-z0-9_]*\}"]))


def _source(word: str) -> str:
    loose = is_unspaced(word)
    before = "" if loose or not re.match(r"\w", word) else r"(?<!\w)"
    after = "" if loose or not re.search(r"\w\Z", word) else r"(?!\w)"
    return f"{before}{re.escape(word)}{after}"
