"""Repeats another model's answers with a known share replaced (Errica et al. 2025, appendix A)."""

from __future__ import annotations

from promptaudit.engines import LandedAnswers, Request
from promptaudit.engines.embedded.annotator import Annotate, cell_parts, in_its_field
from promptaudit.engines.embedded.draws import choice, uniform
from promptaudit.registry.cards import ModelCard


def noisy_annotator(card: ModelCard, landed: LandedAnswers | None) -> Annotate:
    """Makes a function that passes on `card.of`'s landed completion, or with probability `card.rate` another label.

    The other label is drawn evenly among the labels that differ from the trimmed completion; among all if it is no
    label. A cell without a landed completion stays missing. Raises ValueError without `landed`, `of` or `rate`.
    """
    if landed is None or card.of is None or card.rate is None:
        msg = "a noisy annotator needs the landed answers of another model, `of` and `rate`"
        raise ValueError(msg)
    base, rate = card.of, card.rate

    def annotate(request: Request) -> str | None:
        completion = landed(base, request)
        if completion is None or uniform(*cell_parts("noisy", card.seed, request)) >= rate:
            return completion
        others = [label for label in request.labels if in_its_field(label, request) != completion.strip()]
        return choice(others, *cell_parts("noisy label", card.seed, request))

    return annotate
