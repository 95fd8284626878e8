"""Runs annotators in this process: no server, no key, no cost, and the same answers every time."""

from __future__ import annotations

import asyncio
import time

from promptaudit.engines import Answer, Engine, LandedAnswers, LandedWithoutAnswer, Request
from promptaudit.engines.embedded.annotator import Annotate, cell_parts, in_its_field
from promptaudit.engines.embedded.draws import choice
from promptaudit.registry.cards import ModelCard


class EmbeddedEngine(Engine):
    """Asks one annotator; an annotator without an answer leaves the cell missing."""

    def __init__(self, card: ModelCard, annotate: Annotate) -> None:
        self.max_connections = card.limits.max_connections
        self._annotate = annotate
        self._served_model = f"promptaudit/{card.model}"

    async def answer(self, request: Request) -> Answer:
        """Calls the annotator and measures its time; a label becomes JSON if the task reads a field.

        No tokens are counted.
        """
        # lets writers, bars and signals run: nothing else here ever waits
        await asyncio.sleep(0)
        started = time.perf_counter()
        try:
            completion = in_its_field(self._annotate(request), request)
        except LandedWithoutAnswer:
            return Answer(error="the model that is perturbed has no answer here")
        if completion is None:
            return Answer()
        latency_ms = (time.perf_counter() - started) * 1000
        return Answer(
            completion=completion, finish_reason="stop", latency_ms=latency_ms, served_model=self._served_model
        )


def open_annotator(card: ModelCard, landed: LandedAnswers | None = None) -> EmbeddedEngine:
    """Makes the engine of an embedded card: lexical, random, simulated, noisy, talkative, examinee or matcher.

    Answers depend on the card's seed and the request alone. Raises CardError for a simulated card whose `samples` point
    at no distribution, ValueError for a noisy or talkative card without `landed`.
    """
    if card.model == "lexical":
        from promptaudit.engines.embedded.lexical import lexical_annotator

        return EmbeddedEngine(card, lexical_annotator(card))
    if card.model == "simulated":
        from promptaudit.engines.embedded.simulated import simulated_annotator

        return EmbeddedEngine(card, simulated_annotator(card))
    if card.model in ("noisy", "talkative"):
        from promptaudit.engines.embedded.noisy import noisy_annotator
        from promptaudit.engines.embedded.talkative import talkative_annotator

        repeat = noisy_annotator if card.model == "noisy" else talkative_annotator
        return EmbeddedEngine(card, repeat(card, landed))
    if card.model == "examinee":
        from promptaudit.engines.embedded.examinee import examinee_annotator

        return EmbeddedEngine(card, examinee_annotator(card))
    if card.model == "matcher":
        from promptaudit.engines.embedded.matching_judge import matcher_annotator

        return EmbeddedEngine(card, matcher_annotator(card))
    return EmbeddedEngine(card, random_annotator(card))


def random_annotator(card: ModelCard) -> Annotate:
    """Makes a function that draws every label as often, independently in every cell.

    If the card asks for invalid answers, an empty answer is drawn as often as each label.
    """
    no_label: tuple[str, ...] = ("",) if card.invalid else ()

    def annotate(request: Request) -> str:
        answers: tuple[str, ...] = (*request.labels, *no_label)
        return choice(answers, *cell_parts("random", card.seed, request))

    return annotate
