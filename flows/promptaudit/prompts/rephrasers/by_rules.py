"""Rewords by rules: no model, no network, the same wordings in every process for the same card and instruction."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from promptaudit.prompts.rephrasers import Wording
from promptaudit.prompts.rephrasers.edits import Draws, reword
from promptaudit.prompts.rephrasers.edits_by_language import reword_by
from promptaudit.prompts.rephrasers.languages import ENGLISH, REWORDED, language_of
from promptaudit.prompts.rephrasers.phrases_by_language import BY_LANGUAGE
from promptaudit.prompts.rephrasers.protected_spans import protected_spans
from promptaudit.prompts.rephrasers.refusals import why_refused
from promptaudit.registry.cards import RephraserCard

ORDINARY_TEMPERATURE = 1.5
SPREAD = 1.0  # without temperatures, wordings are made at 0.5 to 2.5
_PATIENCE = 4  # repeats in a row after which the edits grow stronger
_GIVE_UP = 400  # repeats in a row at which every wording has been found
_STEP = 0.25  # by how much, in degrees of paraphrase temperature

_MASK = re.compile("\ue000([0-9]+)\ue001")
_MASK_MARKS = "[\ue000\ue001]"


class RulesRephraser:
    """Swaps words, reorders clauses and reframes the request; more and stronger edits as the temperature rises.

    A wording depends on the card's seed, the instruction, the temperature, the round and its own number alone, so the
    first 12 of 30 are the 12 of 12. Labels, placeholders and protected words are masked before anything is edited, and
    no edit writes one of them anew. A text whose words no table knows only gets phrases around it. A text in a language
    without rules is not reworded; one in an unclear language counts as English.
    """

    def __init__(self, card: RephraserCard) -> None:
        self.max_rounds = card.max_rounds
        self._seed = card.seed

    async def rephrase(self, wording: Wording, n: int, temperature: float | None, round_: int) -> Sequence[str]:
        """Makes up to `n` distinct rewordings, none of them the original; fewer only if nothing can be reworded."""
        text = wording.instruction.strip()
        if not any(character.isalnum() for character in text):
            return []
        language = wording.language or language_of(text, wording.protected) or ENGLISH
        if language not in REWORDED:
            return []
        masked, spans = _masked(text, wording.protected)
        taboo = frozenset(word.casefold() for span in wording.protected for word in re.findall(r"\w+", span))
        rewordings: dict[str, None] = {}
        added, repeats = 0.0, 0
        for number in itertools.count():
            if len(rewordings) == n or repeats == _GIVE_UP:
                break
            draws = Draws(self._seed, wording.instruction, temperature, round_, number)
            strength = _strength(temperature, draws) + added
            words = BY_LANGUAGE.get(language)
            reworded = (
                reword(masked, strength, draws, taboo)
                if words is None
                else reword_by(words, masked, strength, draws, taboo)
            )
            candidate = _unmasked(reworded, spans)
            is_new = candidate not in rewordings and candidate != text
            if is_new and why_refused(text, candidate, wording.protected) is None:
                rewordings[candidate] = None
                repeats = 0
            else:
                repeats += 1
                added += _STEP if repeats % _PATIENCE == 0 else 0.0
        return list(rewordings)

    async def close(self) -> None:
        """Does nothing: nothing is open."""


def _strength(temperature: float | None, draws: Draws) -> float:
    if temperature is not None:
        return temperature
    return ORDINARY_TEMPERATURE + SPREAD * (2 * draws.share() - 1)


def _masked(text: str, protected: tuple[str, ...]) -> tuple[str, list[str]]:
    spans: list[str] = []

    def mask(match: re.Match[str]) -> str:
        spans.append(match[0])
        return f"\ue000{len(spans) - 1}\ue001"

    # the marks of the mask itself, should a text hold them, are masked like any protected span
    pattern = re.compile(f"{protected_spans(protected).pattern}|{_MASK_MARKS}")
    return pattern.sub(mask, text), spans


def _unmasked(text: str, spans: list[str]) -> str:
    return _MASK.sub(lambda match: spans[int(match[1])], text)
