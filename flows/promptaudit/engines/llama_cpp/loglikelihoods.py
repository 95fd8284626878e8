"""Measures how likely a model that llama.cpp serves finds each of several replies."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from promptaudit.engines.local_server.asking import Asking, NoReply
from promptaudit.engines.loglikelihood import Loglikelihood

N_LIKELIEST = 64
"""Sets how many of the likeliest next tokens the server lists.

The options that a model considers at all are among them.
"""
FORCED = 1_000_000.0
"""Sets the bias on a token's logit that makes it come next; the reported log-probabilities are from before it."""


async def loglikelihoods(
    asking: Asking, messages: Sequence[tuple[str, str]], options: Sequence[str]
) -> list[Loglikelihood]:
    """Computes the log-likelihood of each option as the assistant's reply, in their order, without the end token.

    The prompt is tokenized alone and with each option; an option's tokens are the ones after the common beginning.
    llama.cpp reports how likely the tokens it writes are, and no others. One request lists the likeliest tokens after
    the prompt, which covers most letters and words of one token. For each further token one request makes the server
    write it, with the prompt from its cache. Raises EngineError if the server refuses, also for a prompt that is too
    long.
    """
    sent = [{"role": role, "content": content} for role, content in messages]
    try:
        prompt = (await asking.post(f"{asking.root}/apply-template", {"messages": sent}))["prompt"]
        tokens, *replies = await asyncio.gather(
            *(_tokens(asking, text) for text in (prompt, *(prompt + option for option in options)))
        )
        starts = [_n_common(tokens, reply) for reply in replies]
        likeliest = {
            length: await _likeliest(asking, tokens[:length]) for length in set(starts)
        }  # the whole prompt, unless a tokenizer joins its end to an option
        nats = await asyncio.gather(
            *(_nats(asking, reply, start, likeliest[start]) for reply, start in zip(replies, starts, strict=True))
        )
    except NoReply as error:
        raise asking.no_loglikelihoods(str(error)) from None
    except (LookupError, TypeError, ValueError):
        msg = "its answer is not that of llama.cpp"
        raise asking.no_loglikelihoods(msg) from None
    return [Loglikelihood(each, len(reply) - start) for each, reply, start in zip(nats, replies, starts, strict=True)]


async def _tokens(asking: Asking, text: str) -> list[int]:
    body = {"content": text, "add_special": True, "parse_special": True}
    return [int(token) for token in (await asking.post(f"{asking.root}/tokenize", body))["tokens"]]


def _n_common(prompt: Sequence[int], reply: Sequence[int]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(prompt, reply, strict=False)))


async def _nats(asking: Asking, reply: Sequence[int], start: int, likeliest: dict[int, float]) -> float:
    nats = 0.0
    for place in range(start, len(reply)):
        token = reply[place]
        known = likeliest.get(token) if place == start else None
        nats += known if known is not None else await _forced(asking, reply[:place], token)
    return nats


async def _likeliest(asking: Asking, prompt: Sequence[int]) -> dict[int, float]:
    return {int(each["id"]): float(each["logprob"]) for each in (await _next(asking, prompt))["top_logprobs"]}


async def _forced(asking: Asking, prompt: Sequence[int], token: int) -> float:
    place = await _next(asking, prompt, {"logit_bias": [[token, FORCED]]})
    if place["id"] != token:
        msg = "another token was written"
        raise ValueError(msg)
    return float(place["logprob"])


async def _next(asking: Asking, prompt: Sequence[int], more: dict[str, Any] | None = None) -> dict[str, Any]:
    body = {
        **asking.card.extra_body,
        "prompt": list(prompt),
        "n_predict": 1,
        "temperature": 0,
        "n_probs": N_LIKELIEST,
        "cache_prompt": True,
        **(more or {}),
    }
    place: dict[str, Any] = (await asking.post(f"{asking.root}/completion", body))["completion_probabilities"][0]
    return place
