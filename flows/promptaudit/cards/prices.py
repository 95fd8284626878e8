"""Prices requests: by the card's price, else the price library's, else not at all."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from promptaudit.prompts.messages import Messages
from promptaudit.registry.cards import ModelCard, Price

if TYPE_CHECKING:
    from promptaudit.engines import Answer

CHARACTERS_A_TOKEN = 4  # of English prose under the common tokenizers; needs no download
TOKENS_A_MESSAGE = 4
BYTES_A_MESSAGE = 32  # at most: role, and what stands around a message
FREE = Price(input_usd_per_mtok=0, output_usd_per_mtok=0)


def price_of(card: ModelCard) -> Price | None:
    """Finds the price in US dollars per million tokens. None where neither the card nor the library knows it.

    A card's own price is taken as written. What this machine answers is free: recorded, embedded, a server started
    here. No library knows the cost of a vLLM or a llama.cpp elsewhere, or of a user's own function. Batches cost half
    of what providers list.
    """
    if card.price is not None:
        return card.price
    if card.engine in ("embedded", "recorded") or card.starts_server:
        return FREE
    listed = None if card.is_by_vllm or card.engine in ("python", "llama_cpp") else _from_library(card.model)
    if listed is None or card.engine != "batch":
        return listed
    return Price(**{name: value / 2 for name, value in listed})


def _from_library(model: str) -> Price | None:
    from genai_prices import Usage, calc_price

    try:
        # a short request: long ones have a price of their own with some providers
        paid = calc_price(Usage(input_tokens=1000, output_tokens=1000), model_ref=model)
    except LookupError:
        return None
    return Price(input_usd_per_mtok=float(paid.input_price * 1000), output_usd_per_mtok=float(paid.output_price * 1000))


def usd_of(price: Price, tokens_in: float, tokens_out: float) -> float:
    """Computes the US dollars of so many tokens of prompt and of answer."""
    return (tokens_in * price.input_usd_per_mtok + tokens_out * price.output_usd_per_mtok) / 1e6


def known_usd(price: Price | None, tokens_in: float | None, tokens_out: float | None) -> float | None:
    """Computes the same. None if price or tokens are unknown, but 0 of any tokens at a price of 0."""
    if price is None:
        return None
    if price.input_usd_per_mtok == 0 and price.output_usd_per_mtok == 0:
        return 0.0
    return None if tokens_in is None or tokens_out is None else usd_of(price, tokens_in, tokens_out)


def cost_of(answer: Answer, price: Price | None) -> float | None:
    """Computes the US dollars of an answer and of discarded ones before it. None if price or tokens are unknown."""
    tokens = zip((answer.prompt_tokens, answer.completion_tokens), answer.discarded_tokens, strict=True)
    return known_usd(price, *(None if own is None else own + discarded for own, discarded in tokens))


def paid_for(answer: Answer, price: Price | None) -> float | None:
    """Computes what is paid for an answer: as `cost_of`, and 0 without a completion, since failures are not paid."""
    return 0.0 if answer.completion is None else cost_of(answer, price)


def prompt_bytes(messages: Messages, answer_schema: str | None = None) -> int:
    """Counts the bytes of a prompt with what a chat template adds. No tokenizer makes more tokens of it."""
    texts = [content for _, content in messages] + ([answer_schema] if answer_schema else [])
    return sum(BYTES_A_MESSAGE + len(text.encode("utf-8", "surrogatepass")) for text in texts)


def prompt_tokens(messages: Messages) -> int:
    """Estimates the tokens of a prompt by its length."""
    return sum(TOKENS_A_MESSAGE + math.ceil(len(content) / CHARACTERS_A_TOKEN) for _, content in messages)


def completion_tokens(card: ModelCard, labels: Sequence[str]) -> int:
    """Estimates the tokens of an answer: a label, at most what the card allows."""
    longest = max((len(json.dumps(label)) for label in labels), default=0)
    return min(card.sampling.token_cap or 10**9, math.ceil(longest / CHARACTERS_A_TOKEN) + 1)
