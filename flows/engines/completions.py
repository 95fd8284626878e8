"""Reads the body of a chat completion into an `Answer`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from flows.engines import Answer
from flows.engines.faults import Failure, described, judged
from flows.engines.scrub import one_line, without_values

MAX_TOKENS = 2**31 - 1


def read_completion(
    body: bytes, request_id: str | None, secrets: Sequence[str], sent: Sequence[str]
) -> Answer | Failure:
    """The answer in a 200's body, or why it is none: no JSON, no choice, or an error reported with status 200.

    The completion is verbatim (lone surrogates and NULs too), but for the exact values of `secrets`; a value that stands
    in what was `sent` is no secret there and is kept. A null content is "" or the refusal's text.
    """
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        # the error's own text may quote the body, the type says enough
        return Failure(
            "again", f"an answer of {len(body)} bytes that is no JSON ({type(error).__name__})", HTTPStatus.OK
        )
    choices = found.get("choices") if isinstance(found, dict) else None
    if not isinstance(choices, list) or not choices:
        return _without_choices(found)
    choice = choices[0] if isinstance(choices[0], dict) else {}
    message = choice.get("message")
    content = _text(message.get("content")) if isinstance(message, dict) else None
    if content is None or not isinstance(message, dict):
        return Failure("again", "an answer whose first choice has no message of text", HTTPStatus.OK)
    hidden = [secret for secret in secrets if not any(secret in text for text in sent)]
    refusal = message.get("refusal")
    refusal = refusal if isinstance(refusal, str) else ""
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    usage = found.get("usage")
    count = _counter(usage if isinstance(usage, dict) else {})
    finish_reason = _short(choice.get("finish_reason"), secrets)
    return Answer(
        completion=without_values(content or refusal, hidden),
        reasoning=without_values(reasoning, hidden) if isinstance(reasoning, str) else None,
        finish_reason=finish_reason,
        is_refused=bool(refusal) or finish_reason == "content_filter",
        prompt_tokens=count("prompt_tokens"),
        completion_tokens=count("completion_tokens"),
        served_model=_short(found.get("model"), secrets),
        system_fingerprint=_short(found.get("system_fingerprint"), secrets),
        request_id=_short(request_id, secrets),
    )


def _without_choices(found: object) -> Failure:
    error = found.get("error") if isinstance(found, dict) else None
    if not isinstance(error, dict):
        return Failure("again", "an answer without choices", HTTPStatus.OK)
    # gateways report the error of the model behind them with status 200
    code = error.get("code")
    status = code if isinstance(code, int) and code >= HTTPStatus.BAD_REQUEST else HTTPStatus.INTERNAL_SERVER_ERROR
    return Failure(judged(status, error), described(error), HTTPStatus.OK)


def _text(content: object) -> str | None:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list) and all(isinstance(part, dict) for part in content):
        return "".join(part["text"] for part in content if isinstance(part.get("text"), str))
    return None


def _short(value: object, secrets: Sequence[str]) -> str | None:
    return one_line(value, secrets, 200) if isinstance(value, str) else None


def _counter(usage: Mapping[str, Any]) -> Callable[[str], int | None]:
    def count(name: str) -> int | None:
        value = usage.get(name)
        return value if type(value) is int and 0 <= value <= MAX_TOKENS else None

    return count
