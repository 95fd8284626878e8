"""Builds the request bodies of a model card, and adapts them to what a server refuses or ignores."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, get_args
from urllib.parse import urlsplit

from promptaudit.engines import Answer, Request
from promptaudit.engines.openai_api.addresses import base_urls
from promptaudit.engines.schema_in_prompt import IN_PROMPT, with_schema
from promptaudit.registry.cards import ModelCard, StructuredOutput
from promptaudit.udfs.reasoning import parted

ANSWER = "answer"  # the name of the schema, and of the function that is called with it
CAPS = ("max_tokens", "max_completion_tokens")
WAYS: tuple[StructuredOutput, ...] = ("function", "json_schema", "json_object", "text")
# a plain vLLM refuses tools, and may write white space up to the cap: without one in the card, VLLM_CAP is sent
VLLM_WAYS: tuple[StructuredOutput, ...] = ("structured_outputs", "json_schema", "json_object", "text")
# llama.cpp ignores tools that a model's chat template has no place for
LLAMA_WAYS: tuple[StructuredOutput, ...] = ("json_schema", "json_object", "text")
VLLM_CAP = 256
_FIELDS_OF_A_WAY = ("tools", "tool_choice", "response_format", "structured_outputs")
_NO_PARAMETERS = ("model", "messages", *_FIELDS_OF_A_WAY)
_REFUSING_CODES = ("unsupported_parameter", "unsupported_value", "unknown_parameter", "extra_forbidden")
_REFUSING_WORDS = (
    "requires",
    "unsupported",
    "not support",
    "unrecognized",
    "unknown",
    "unexpected keyword",
    "not permitted",
    "not allowed",
    "not available",
)

_IN_JSON = re.compile(r"\{\s*\"|^\s*\[")  # an object, whatever stands around it, or an array
MOST_VAIN = 2  # requests that got no object in any way; after them the first way stays
_SHOWN_BY = re.compile(r"(?:[\w-]+\.)*(?:openai|azure)\.com")  # hosts that show the schema to the model as well

assert {*WAYS, *VLLM_WAYS} == set(get_args(StructuredOutput))  # noqa: S101 - a new way needs its place in the order


class Body:
    """Builds the bodies of a card's requests. What one refusal taught holds for every later request.

    A schema is sent in the first of several ways that the server neither refuses nor ignores. A way counts as ignored
    if its first answer is no JSON and a later way brings JSON. Once an answer was JSON the way stays, and answers that
    are no JSON are the model's own.
    """

    def __init__(self, card: ModelCard) -> None:
        self._card = card
        self._sampling = {name: value for name, value in card.sampling if value is not None}
        self._cap = card.sampling.token_cap
        self._refused: set[str] = set()
        self._ways = [card.structured_output] if card.structured_output else list(_ways_of(card))
        self._is_followed = False  # whether an answer was an object since the schema is sent in this way
        self._ignored: list[tuple[StructuredOutput, str]] = []  # ways that were left, with the note on each
        self._n_vain = 0
        hosts = [urlsplit(url).hostname or "" for url in base_urls(card)]
        self._is_shown = card.engine in ("openai_api", "batch") and all(_SHOWN_BY.fullmatch(host) for host in hosts)
        self.learnt: list[str] = []

    @property
    def way(self) -> StructuredOutput:
        """Names the way in which a schema is sent now."""
        return self._ways[0]

    def sampling(self, request: Request) -> dict[str, Any]:
        """Collects the sampling parameters of a request: what the card sets and the server accepts.

        `seed` is the card's plus the repetition less 1, so that repetitions are different draws and each can be drawn
        again.
        """
        sent = dict(self._sampling)
        if "seed" in sent:
            sent["seed"] += request.repetition - 1
        if "stop" in sent:
            sent["stop"] = list(sent["stop"])
        return sent

    def of(self, request: Request) -> dict[str, Any]:
        """Builds the whole body of a chat completion."""
        shown, schema = request.messages, request.answer_schema
        if schema is not None and self._is_in_prompt():
            shown = with_schema(shown, schema)
        messages = [{"role": role, "content": content} for role, content in shown]
        body = {"model": self._card.model, "messages": messages, **self.sampling(request), **self._card.extra_body}
        if schema is not None:
            self._hold_to(body, schema)
        return body

    def sent_as(self, request: Request) -> str:
        """Writes the parameters as sent, and the way a schema was sent in, as JSON for the prediction's row."""
        sent = {name: value for name, value in self.of(request).items() if name not in _NO_PARAMETERS}
        if request.answer_schema is not None:
            sent["structured_output"] = self._ways[0]
            if self._is_in_prompt():
                sent[IN_PROMPT] = True
        return json.dumps(sent, sort_keys=True, ensure_ascii=False)

    def learn(self, status: int, error: Mapping[str, Any], body: Mapping[str, Any]) -> bool:
        """Drops or renames the parameter that `body` was refused for, and says if the request is worth another try.

        True also if another request has learnt it meanwhile.
        """
        if status not in (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY):
            return False
        name = _refused_name(error, body)
        if name is None:
            return False
        if name in _FIELDS_OF_A_WAY:
            return self._next_way(body)
        if name in self._sampling:
            return self._drop(name)
        return name in self._refused

    def _drop(self, name: str) -> bool:
        other = CAPS[1 - CAPS.index(name)] if name in CAPS else None
        if other in self._refused:
            return False  # without any cap nobody knows what an answer costs
        self._refused.add(name)
        del self._sampling[name]
        if other is not None:
            self._sampling[other] = self._cap
        self.learnt.append(f"takes no {name}: {f'{other} is sent instead' if other else 'it is left out'}")
        return True

    def is_ignored(self, body: Mapping[str, Any], answer: Answer) -> bool:
        """Checks whether the server ignored the schema in `body`, and moves on to the next way of sending it.

        True also if another request has learnt it meanwhile. False for an answer that proves nothing: refused, blank,
        or cut off in its JSON. If no way brings JSON the answer is the model's own, and the first way is used again.
        """
        way, text = _way_of(body), parted(answer.completion or "").answer.strip().removeprefix("\ufeff")
        if _IN_JSON.search(text) is not None:
            self._is_followed |= way == self._ways[0]
            return False
        if not text or text[0] in "{`" or answer.is_refused:
            return False
        if way != self._ways[0]:
            return True
        if self._is_followed or self._n_vain == MOST_VAIN:
            return False
        if len(self._ways) > 1:
            self._ignored.append((way, self._leave("its answers are no JSON where the schema is sent as")))
            return True
        for _, note in self._ignored:
            self.learnt.remove(note)
        self._ways = [*(left for left, _ in self._ignored), *self._ways]
        self._ignored, self._n_vain = [], self._n_vain + 1
        return False

    def _next_way(self, body: Mapping[str, Any]) -> bool:
        way = _way_of(body)
        if way == self._ways[0]:
            if len(self._ways) == 1:
                return False
            self._leave("takes no schema as")
        return True

    def _leave(self, why: str) -> str:
        way, self._is_followed = self._ways.pop(0), False
        self.learnt.append(f"{why} {way}: it is sent as {self._ways[0]}")
        return self.learnt[-1]

    def _hold_to(self, body: dict[str, Any], schema: str) -> None:
        way, parsed = self._ways[0], json.loads(schema)
        if way == "function":
            function = {"name": ANSWER, "description": "Gives the answer.", "parameters": parsed, "strict": True}
            body["tools"] = [{"type": "function", "function": function}]
            body["tool_choice"] = {"type": "function", "function": {"name": ANSWER}}
        elif way == "structured_outputs":
            body["structured_outputs"] = {"json": parsed}
            if self._cap is None:
                body["max_tokens"] = VLLM_CAP
        elif way == "json_schema":
            wanted = {"name": ANSWER, "strict": True, "schema": parsed}
            body["response_format"] = {"type": "json_schema", "json_schema": wanted}
        elif way == "json_object":
            body["response_format"] = {"type": "json_object"}

    def _is_in_prompt(self) -> bool:
        # a server may hold the model to a schema without showing it to the model
        way = self._ways[0]
        return way != "function" and not (way == "json_schema" and self._is_shown)


def _ways_of(card: ModelCard) -> tuple[StructuredOutput, ...]:
    if card.is_by_vllm:
        return VLLM_WAYS
    return LLAMA_WAYS if card.engine == "llama_cpp" else WAYS


def _way_of(body: Mapping[str, Any]) -> StructuredOutput:
    if "tools" in body:
        return "function"
    if "structured_outputs" in body:
        return "structured_outputs"
    way: StructuredOutput = body["response_format"]["type"] if "response_format" in body else "text"
    return way


def _refused_name(error: Mapping[str, Any], body: Mapping[str, Any]) -> str | None:
    names = [
        name for name in (*CAPS, "temperature", "top_p", "seed", "stop", "top_logprobs", "logprobs") if name in body
    ]
    names += [name for name in _FIELDS_OF_A_WAY if name in body]
    codes = {str(error.get(name) or "").casefold() for name in ("code", "type")}
    text = str(error.get("message") or "").casefold()
    if not codes.intersection(_REFUSING_CODES) and not any(words in text for words in _REFUSING_WORDS):
        return None
    if param := str(error.get("param") or ""):
        return next((part for part in param.split(".") if part in names), None)
    return next((name for name in names if re.search(rf"(?<!\w){name}(?!\w)", text)), None)
