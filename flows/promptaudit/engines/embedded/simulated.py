"""Draws answers from known distributions, so that every measure can be compared with a true value."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

import re2

from promptaudit.engines import Request
from promptaudit.engines.embedded.annotator import Annotate, cell_parts
from promptaudit.engines.embedded.draws import choice, uniform
from promptaudit.registry.cards import ModelCard, SimulatedAnswers, WeakOn

INVALID = "I cannot say."


def distribution_of(card: ModelCard, sample_id: str) -> dict[str, float]:
    """Looks up label to probability for a sample of a simulated card: its true p_τ.

    The probability missing to 1 goes to "I cannot say.". The distribution is the one that `samples` names, else one by
    a hash of the id, which no seed changes. Raises ValueError for a card that is not simulated.
    """
    simulated = _simulated(card)
    index = (simulated.samples or {}).get(sample_id)
    if index is None:
        index = int(uniform("distribution", sample_id) * len(simulated.distributions))
    return dict(simulated.distributions[index])


def simulated_annotator(card: ModelCard) -> Annotate:
    """Makes a function that draws from the sample's distribution, independently in every cell.

    On a text that the card is weak on it draws once for each prompt variant. If the card is sensitive to a kind of
    variation, each of its settings gives a share of the samples another label.
    """
    weak_on = _simulated(card).weak_on
    is_weak = None if weak_on is None else _weakness(weak_on)

    def annotate(request: Request) -> str:
        return as_shown(request, _moved(card, request, answer(request)))

    def answer(request: Request) -> str:
        if weak_on is not None and is_weak is not None and is_weak(request):
            parts = (card.seed, request.model_id, request.sample_id, request.prompt_variant_id)
            return _drawn(weak_on.distribution, uniform("weak", *parts))
        draw = uniform(*cell_parts("simulated", card.seed, request))
        return _drawn(distribution_of(card, request.sample_id), draw)

    return annotate


def _moved(card: ModelCard, request: Request, label: str) -> str:
    # another label for each setting that moves the sample
    simulated = _simulated(card)
    setting = json.loads(request.setting or "{}") if simulated.sensitive_to else {}
    for kind in simulated.sensitive_to:
        parts = (card.seed, request.model_id, request.sample_id, kind, json.dumps(setting.get(kind)))
        others = [other for other in request.labels if other != label]
        if kind in setting and others and uniform("moved", *parts) < simulated.moved_rate:
            label = choice(others, "moved to", *parts)
    return label


def as_shown(request: Request, label: str) -> str:
    """Replaces an option by its name in the prompt: the sign of the place where it is shown."""
    question = request.question
    if question is None or question.completion is not None:  # a judge's request: what is drawn is a verdict
        return label
    signs, order = question.signs or request.labels, question.option_order
    offered = request.labels[: len(order or question.signs)]
    if label not in offered:
        return label
    place = offered.index(label)
    return signs[order.index(place) if order else place]


def _weakness(weak_on: WeakOn) -> Callable[[Request], bool]:
    pattern = re2.compile(weak_on.pattern)

    def is_weak(request: Request) -> bool:
        if pattern.search(request.text) is None:
            return False
        return weak_on.repaired_by is None or all(weak_on.repaired_by not in content for _, content in request.messages)

    return is_weak


def _drawn(distribution: Mapping[str, float], draw: float) -> str:
    for label, probability in distribution.items():
        draw -= probability
        if draw < 0:
            return label
    # thirds sum to a little less than 1: that gap is rounding, not an invalid answer
    return label if sum(distribution.values()) > 1 - 1e-9 else INVALID


def _simulated(card: ModelCard) -> SimulatedAnswers:
    if card.simulated is None:
        msg = f"card of model '{card.model}' has no simulated distributions"
        raise ValueError(msg)
    return card.simulated
