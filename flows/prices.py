"""What a request costs: the card's price, else the price library's, else nothing is claimed."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from flows.prompts import Messages
from models_registry.cards import ModelCard, Price

CHARACTERS_A_TOKEN = 4  # of English prose under the common tokenizers; needs no download
TOKENS_A_MESSAGE = 4
FREE = Price(input_usd_per_mtok=0, output_usd_per_mtok=0)


def price_of(card: ModelCard) -> Price | None:
    """US dollars a million tokens; None where neither the card nor the library knows. Recorded and embedded are free."""
    if card.price is not None:
        return card.price
    if card.engine in ("embedded", "recorded"):
        return FREE
    return _from_library(card.model)


def _from_library(model: str) -> Price | None:
    from genai_prices import Usage, calc_price

    try:
        paid = calc_price(Usage(input_tokens=1_000_000, output_tokens=1_000_000), model_ref=model)
    except LookupError:
        return None
    return Price(input_usd_per_mtok=float(paid.input_price), output_usd_per_mtok=float(paid.output_price))


def prompt_tokens(messages: Messages) -> int:
    """Estimated tokens of a prompt, by its length."""
    return sum(TOKENS_A_MESSAGE + math.ceil(len(content) / CHARACTERS_A_TOKEN) for _, content in messages)


def completion_tokens(card: ModelCard, labels: Sequence[str]) -> int:
    """Estimated tokens of an answer: a label, at most what the card allows."""
    longest = max((len(json.dumps(label)) for label in labels), default=0)
    return min(card.sampling.token_cap or 10**9, math.ceil(longest / CHARACTERS_A_TOKEN) + 1)
