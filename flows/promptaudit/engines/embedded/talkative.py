"""Repeats another model's answers, and gives a reason in a sentence wherever the prompt asks for one, as chat models do."""

from __future__ import annotations

import re

from promptaudit.engines import LandedAnswers, Request
from promptaudit.engines.embedded.annotator import Annotate
from promptaudit.engines.embedded.lexical import without_input
from promptaudit.registry.cards import ModelCard

ASKS_WHY = re.compile(r"\b(explain|why|reason|justify)\b", re.IGNORECASE)
SENTENCE = "The words of this one speak for {said} more than for any of the others, so it is best to begin there."


def talkative_annotator(card: ModelCard, landed: LandedAnswers | None) -> Annotate:
    """Makes a function that passes on `card.of`'s landed completion, inside a sentence if the prompt asks for a reason.

    What the sample itself asks does not count. A cell without a landed completion stays missing. Raises ValueError
    without `landed` or `of`.
    """
    if landed is None or card.of is None:
        msg = "a talkative annotator needs the landed answers of another model, and `of`"
        raise ValueError(msg)
    base = card.of

    def annotate(request: Request) -> str | None:
        completion = landed(base, request)
        prompt = "\n".join(without_input(content, request.text) for _, content in request.messages)
        if completion is None or ASKS_WHY.search(prompt) is None:
            return completion
        return SENTENCE.format(said=completion.strip())

    return annotate
