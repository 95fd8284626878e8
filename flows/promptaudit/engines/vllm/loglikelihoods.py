"""Measures how likely a model that vLLM serves finds each of several replies."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from itertools import takewhile
from typing import Any

from promptaudit.engines.local_server.asking import Asking, NoReply
from promptaudit.engines.loglikelihood import Loglikelihood, SingleTokens


async def loglikelihoods(
    asking: Asking, messages: Sequence[tuple[str, str]], options: Sequence[str], single: SingleTokens
) -> list[Loglikelihood]:
    """Computes the log-likelihood of each option as the assistant's reply, in their order, without the end token.

    The prompt is tokenized alone and with each option; an option's tokens are the ones after the common beginning. If a
    tokenizer joins the end of the prompt and the beginning of an option into one token, that token counts for the
    option. Options of one token each, such as letters, are weighed by one request from the second prompt on, which also
    profits from a cache of prefixes: `single` keeps their tokens, because every prompt ends in the same way. Raises
    EngineError if the server refuses, also for a prompt that is too long; nothing is tried again.
    """
    sent = [{"role": role, "content": content} for role, content in messages]
    known = tuple(options)
    is_known, tokens, is_unreported = known in single, single.get(known), False
    if tokens is not None:
        try:
            return await _at_once(asking, sent, tokens)
        except (LookupError, TypeError, ValueError):
            is_unreported = True
        except NoReply as error:
            is_unreported = f"HTTP {HTTPStatus.BAD_REQUEST}" in str(error)
    tokenized = {"messages": sent, "add_generation_prompt": True}
    try:
        prompt = await _post(asking, f"{asking.root}/tokenize", tokenized)
        replies = [_post(asking, f"{asking.v1}/chat/completions", _continued(sent, option)) for option in options]
        readings = await asyncio.gather(*replies)
    except NoReply as error:
        raise asking.no_loglikelihoods(str(error)) from None
    try:
        found = [_read(prompt["tokens"], reply) for reply in readings]
        last = [reply["prompt_token_ids"] for reply in readings]
        is_single = all(ids[:-1] == prompt["tokens"] for ids in last) and len({ids[-1] for ids in last}) == len(last)
    except (LookupError, TypeError):
        msg = "its answer is not vLLM's"
        raise asking.no_loglikelihoods(msg) from None
    if not is_known:
        single[known] = tuple(ids[-1] for ids in last) if is_single else None
    elif is_unreported:  # this server never reports them, whatever the prompt
        single[known] = None
    return found


async def _at_once(asking: Asking, messages: Sequence[Mapping[str, str]], tokens: Sequence[int]) -> list[Loglikelihood]:
    # raises LookupError if the answer lacks one of the tokens
    body = {
        "messages": messages,
        "max_tokens": 1,
        "temperature": 0,
        "logprobs": True,
        "logprob_token_ids": list(tokens),
        "return_tokens_as_token_ids": True,
    }
    reply = await _post(asking, f"{asking.v1}/chat/completions", body)
    (place,) = reply["choices"][0]["logprobs"]["content"]
    nats = {each["token"]: float(each["logprob"]) for each in place["top_logprobs"]}
    return [Loglikelihood(nats[f"token_id:{token}"], 1) for token in tokens]


def _continued(messages: Sequence[Mapping[str, str]], option: str) -> dict[str, Any]:
    return {
        "messages": [*messages, {"role": "assistant", "content": option}],
        "add_generation_prompt": False,
        "continue_final_message": True,
        "max_tokens": 1,
        "temperature": 0,
        "prompt_logprobs": 0,
        "return_token_ids": True,
    }


def _read(prompt: Sequence[int], reply: Mapping[str, Any]) -> Loglikelihood:
    ids, logprobs = reply["prompt_token_ids"], reply["prompt_logprobs"]
    n_common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(prompt, ids, strict=False)))
    # by its id: the most likely token may stand beside it
    nats = sum(float(logprobs[place][str(ids[place])]["logprob"]) for place in range(n_common, len(ids)))
    return Loglikelihood(nats, len(ids) - n_common)


async def _post(asking: Asking, url: str, body: Mapping[str, Any]) -> dict[str, Any]:
    card = asking.card
    return await asking.post(url, {**card.extra_body, "model": card.model, **body})
