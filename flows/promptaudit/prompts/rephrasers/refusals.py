"""Refuses rewordings that would ask something else or cannot be answered, and reports what is left."""

from __future__ import annotations

from collections import Counter

from promptaudit.prompts.rephrasers import Wording
from promptaudit.prompts.rephrasers.protected_spans import whole_word
from promptaudit.registry.placeholders import placeholders

MAX_GROWTH = 4
MAX_ADDED_CHARACTERS = 400


def why_refused(original: str, rephrasing: str, protected: tuple[str, ...], *, is_given: bool = False) -> str | None:
    """Says why a rewording is refused, naming what was lost or added; None if it is kept.

    Refused: no letter or digit left; a protected word (a label, a word of the card) that stands in the original as a
    whole word, case-sensitive, and no longer does; a `{placeholder}` lost or added; a length above 4 times the original
    plus 400 characters, unless a person gave it. The original itself is always kept unless it is blank.
    """
    if not any(character.isalnum() for character in rephrasing):
        return "it has no letter or digit"
    had, has = placeholders(original), placeholders(rephrasing)
    for name in had:
        if name not in has:
            return f"placeholder {{{name}}} is lost"
    for name in has:
        if name not in had:
            return f"placeholder {{{name}}} is new"
    for word in protected:
        if not word.strip():
            continue
        pattern = whole_word(word)
        if pattern.search(original) and not pattern.search(rephrasing):
            return f"protected word {word!r} is lost"
    longest = MAX_GROWTH * len(original) + MAX_ADDED_CHARACTERS
    if len(rephrasing) > longest and not is_given:
        return f"it has {len(rephrasing)} characters, at most {longest} are kept"
    return None


def why_wording_refused(wording: Wording, rephrasing: str) -> str | None:
    """Says why a rewording of a wording is refused; None if it is kept.

    In a template each placeholder must also stand as often as in the original, and its lines of layout must stay lines.
    """
    reason = why_refused(wording.instruction, rephrasing, wording.protected, is_given=wording.is_given)
    if reason is not None or wording.lines is None:
        return reason
    had, has = Counter(placeholders(wording.instruction)), Counter(placeholders(rephrasing))
    for name in had:
        if had[name] != has[name]:
            return f"placeholder {{{name}}} stands {has[name]} times, {had[name]} in the original"
    lines = {line.strip() for line in rephrasing.splitlines()}
    lost = next((line for line in wording.lines if line not in lines), None)
    return None if lost is None else f"line {lost!r} is no line of its own any more"


def shortfall(
    name: str, n_kept: int, wanted: int, n_refused: int, temperature: float | None, own_of: str | None = None
) -> str:
    """Reports that fewer rephrasings were kept than wanted, made by a model for itself or made for all."""
    at = "" if temperature is None else f" at paraphrase temperature {temperature:g}"
    by = "" if own_of is None else f", model '{own_of}' for itself"
    return f"task '{name}'{by}: {n_kept} of {wanted} distinct rephrasings{at}, {n_refused} refused"
