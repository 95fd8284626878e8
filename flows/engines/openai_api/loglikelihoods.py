"""How likely a model served by vLLM finds each of several replies: what the scoring method `option_loglikelihood` reads."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from itertools import takewhile
from typing import Any

import httpx2

from promptaudit.flows.engines.openai_api.bounded_http import BodyTooLarge
from promptaudit.flows.engines.openai_api.error_bodies import described, error_of
from promptaudit.flows.system.scrub import one_line
from promptaudit.models_registry.errors import EngineError


@dataclass(frozen=True, slots=True)
class Loglikelihood:
    """The log-probability of a reply's tokens, each given the prompt and the tokens before it."""

    nats: float  # their sum, 0 at most; divided by n_tokens it compares replies of unequal length
    n_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """A server to ask, and what goes with every request; `secrets` stand in no error."""

    http: httpx2.AsyncClient
    base_url: str  # with /v1
    headers: Mapping[str, str]
    secrets: Sequence[str]
    fields: Mapping[str, Any]  # of the body: the model, and what the card adds to it


SingleTokens = MutableMapping[tuple[str, ...], tuple[int, ...] | None]
"""By options, the token that each of them is as a reply; None of options that are not one token each."""


async def loglikelihoods(
    asking: Asking, messages: Sequence[tuple[str, str]], options: Sequence[str], single: SingleTokens
) -> list[Loglikelihood]:
    """Returns the log-likelihood of each option as the assistant's reply, in their order, without the token that ends a reply.

    The prompt's tokens, then each prompt with its option; the option's tokens are those after what both have in common.
    Where a tokenizer draws the end of the prompt and the beginning of an option into one token, that token counts for the
    option. Options that are one token each, letters among them, are weighed by one request from the second prompt on, which
    a cache of prefixes serves too: `single` keeps these tokens, as they follow whatever ends every prompt.
    Raises EngineError where the server refuses, a prompt that is too long among it; nothing is tried again.
    """
    sent = [{"role": role, "content": content} for role, content in messages]
    known = tuple(options)
    is_known, tokens, is_untold = known in single, single.get(known), False
    if tokens is not None:
        try:
            return await _at_once(asking, sent, tokens)
        except (LookupError, TypeError, ValueError):
            is_untold = True
        except EngineError as error:
            is_untold = f"HTTP {HTTPStatus.BAD_REQUEST}" in str(error)
    base = asking.base_url.rstrip("/")
    tokenized = {"messages": sent, "add_generation_prompt": True}
    prompt = await _post(asking, f"{base.removesuffix('/v1')}/tokenize", tokenized)
    replies = [_post(asking, f"{base}/chat/completions", _continued(sent, option)) for option in options]
    readings = await asyncio.gather(*replies)
    try:
        found = [_read(prompt["tokens"], reply) for reply in readings]
        last = [reply["prompt_token_ids"] for reply in readings]
        is_single = all(ids[:-1] == prompt["tokens"] for ids in last) and len({ids[-1] for ids in last}) == len(last)
    except (LookupError, TypeError):
        raise _refused(asking, "its answer is not vLLM's") from None
    if not is_known:
        single[known] = tuple(ids[-1] for ids in last) if is_single else None
    elif is_untold:  # by this server, whatever the prompt
        single[known] = None
    return found


async def _at_once(asking: Asking, messages: Sequence[Mapping[str, str]], tokens: Sequence[int]) -> list[Loglikelihood]:
    """Returns how likely each of these tokens is as the next one; raises LookupError where the answer lacks one."""
    body = {
        "messages": messages,
        "max_tokens": 1,
        "temperature": 0,
        "logprobs": True,
        "logprob_token_ids": list(tokens),
        "return_tokens_as_token_ids": True,
    }
    reply = await _post(asking, f"{asking.base_url.rstrip('/')}/chat/completions", body)
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
    try:
        reply = await asking.http.post(url, json={**asking.fields, **body}, headers=dict(asking.headers))
        if reply.status_code == HTTPStatus.OK:
            answer: dict[str, Any] = reply.json()
            if not (isinstance(answer, dict) and (answer.get("error") or answer.get("object") == "error")):
                return answer
        text = f"HTTP {reply.status_code}: {described(error_of(reply.text))}"
    except (httpx2.HTTPError, BodyTooLarge, ValueError) as error:
        text = f"{type(error).__name__}: {error}"
    raise _refused(asking, one_line(text, asking.secrets))


def _refused(asking: Asking, why: str) -> EngineError:
    return EngineError(f"model '{asking.fields['model']}' tells no log-likelihoods: {why}")
