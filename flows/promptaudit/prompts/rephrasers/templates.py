"""Decides what a rewording of a template keeps: placeholders, layout lines, enumerators and the form of the answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from promptaudit.prompts.rephrasers import Rephraser, Wording
from promptaudit.prompts.rephrasers.languages import language_of
from promptaudit.prompts.rephrasers.protected_spans import is_unspaced, whole_word
from promptaudit.registry.cards import TaskCard, Template
from promptaudit.registry.placeholders import placeholders, substitute

LEAST_WORDS = 3  # a line with fewer words, beside placeholders, is layout: "Question: {question}", "Answer:"
LEAST_SIGNS = 2  # "A, B, C or D" names enumerators, the article in "give a letter" none
MOST_QUOTED = 80
SIGN_WORDS = ("letter", "letters", "number", "numeral", "digit", "mark", "brackets", "bracket", "parentheses")
"""Lists words for the sign that an answer is, or for what stands around it."""

_PLACEHOLDER = re.compile(r"\{[A-Za-z_][A-Za-z0-9_]*\}")
_FORMS = re.compile(rf"\\[A-Za-z]+(?:\{{[^{{}}\n]*\}})?|\"[^\"\n]{{1,{MOST_QUOTED}}}\"|“[^”\n]{{1,{MOST_QUOTED}}}”")


def wording_of(task_id: str, task: TaskCard, template: Template, *, is_given: bool) -> Wording:
    """Describes what is reworded in a template, its text, and what must be kept; a person's rewording may drop more."""
    braces = [f"{{{name}}}" for name in placeholders(template.text)]
    lines = () if is_given else tuple(line.strip() for line in template.text.splitlines() if _is_layout(line))
    lines = tuple(line for line in lines if line)
    kept = [*task.protected, *braces] if is_given else [*task.protected, *braces, *lines, *_answer_form(template)]
    return Wording(task_id, template.text, tuple(dict.fromkeys(kept)), is_given=is_given, lines=lines)


def _answer_form(template: Template) -> Iterator[str]:
    # the words that say how an answer is written, and the enumerators that the text names
    text = template.text
    yield from (match[0] for match in _FORMS.finditer(text) if _PLACEHOLDER.search(match[0]) is None)
    yield from (word for word in SIGN_WORDS if whole_word(word).search(text))
    named = [sign for sign in template.signs if whole_word(sign).search(text)]
    yield from named if len(named) >= LEAST_SIGNS else ()
    if "{option}" not in template.answer and template.answer != "{enumerator}":
        answers = (substitute(template.answer, {"enumerator": sign}) for sign in template.signs)
        yield from (answer for answer in answers if whole_word(answer).search(text))


def _is_layout(line: str) -> bool:
    words = re.findall(r"\w+", _PLACEHOLDER.sub(" ", line))
    return sum(len(word) // 2 if is_unspaced(word) else 1 for word in words) < LEAST_WORDS


def stretches(text: str) -> list[tuple[str, bool]]:
    """Cuts a text into pieces that make it up again, each marked as prose, which can be reworded by itself, or not."""
    pieces: list[tuple[str, bool]] = []
    for is_layout, lines in groupby(text.splitlines(keepends=True), key=_is_layout):
        whole = "".join(lines)
        if is_layout:
            pieces.append((whole, False))
            continue
        before, prose, after = whole.partition(whole.strip())
        pieces += [(before, False), (prose, True), (after, False)]
    return pieces


class ByStretch:
    """Rewords each stretch of prose of a template by itself, for a rephraser that knows sentences and no layout."""

    def __init__(self, rephraser: Rephraser) -> None:
        self.max_rounds = rephraser.max_rounds
        self._rephraser = rephraser

    async def rephrase(self, wording: Wording, n: int, temperature: float | None, round_: int) -> Sequence[str]:
        """Joins the k-th rewordings of all stretches into the k-th of up to `n`; none of a template without prose."""
        pieces = stretches(wording.instruction)
        language = language_of(wording.instruction, wording.protected)
        reworded: list[Sequence[str]] = [
            await self._rephraser.rephrase(
                replace(wording, instruction=text, language=language), n, temperature, round_
            )
            if is_prose
            else ()
            for text, is_prose in pieces
        ]
        return [
            "".join(others[k] if k < len(others) else text for (text, _), others in zip(pieces, reworded, strict=True))
            for k in range(max(map(len, reworded), default=0))
        ]

    async def close(self) -> None:
        """Closes the rephraser."""
        await self._rephraser.close()
