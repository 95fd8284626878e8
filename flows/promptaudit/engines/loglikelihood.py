"""Holds how likely a model finds a reply, for the scoring method `option_loglikelihood`."""

from __future__ import annotations

import json
from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Loglikelihood:
    """Holds the log-probability of a reply's tokens, each given the prompt and the tokens before it."""

    nats: float  # their sum, 0 at most; divided by n_tokens it compares replies of unequal length
    n_tokens: int


SingleTokens = MutableMapping[tuple[str, ...], tuple[int, ...] | None]
"""Maps options to the one token that each of them is as a reply, or to None if they are not one token each."""


def as_json(replies: Sequence[str], likelihoods: Sequence[Loglikelihood]) -> str:
    """Writes the log-likelihoods of replies as `raw.predictions` keeps them."""
    weights = [
        {"nats": each.nats, "n_tokens": each.n_tokens, "n_characters": len(reply)}
        for each, reply in zip(likelihoods, replies, strict=True)
    ]
    return json.dumps(weights)
