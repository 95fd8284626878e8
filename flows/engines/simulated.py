"""Answers drawn from known distributions, so that every measure has a true value to be held against."""

from __future__ import annotations

from flows.engines import Request
from flows.engines.draws import uniform
from flows.engines.embedded import Annotate, cell_parts
from models_registry.cards import ModelCard, SimulatedAnswers

INVALID = "I cannot say."


def distribution_of(card: ModelCard, sample_id: str) -> dict[str, float]:
    """Label to probability for a sample of a simulated card: its true p_τ. What is missing to 1 answers "I cannot say.".

    The one `samples` names, else one by a hash of the id, which no seed changes. Raises ValueError for a card that is
    not simulated.
    """
    simulated = _simulated(card)
    index = (simulated.samples or {}).get(sample_id)
    if index is None:
        index = int(uniform("distribution", sample_id) * len(simulated.distributions))
    return dict(simulated.distributions[index])


def simulated_annotator(card: ModelCard) -> Annotate:
    """Draws from the sample's distribution, independently in every cell."""

    def annotate(request: Request) -> str:
        draw = uniform(*cell_parts("simulated", card.seed, request))
        distribution = distribution_of(card, request.sample_id)
        total = sum(distribution.values())
        for label, probability in distribution.items():
            draw -= probability
            if draw < 0:
                return label
        # thirds sum to a little less than 1: that gap is rounding, not an invalid answer
        return label if total > 1 - 1e-9 else INVALID

    return annotate


def _simulated(card: ModelCard) -> SimulatedAnswers:
    if card.simulated is None:
        msg = f"card of model '{card.model}' has no simulated distributions"
        raise ValueError(msg)
    return card.simulated
