"""What a failed try means: ask again, give this request up, or stop asking the model at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Literal

from flows.engines.pacing.retry import retry_after
from models_registry.cards import Sampling

Verdict = Literal["again", "never", "stop"]

_OUT_OF_QUOTA = ("insufficient_quota", "billing")
_STOPPING_CODES = {
    "account_deactivated",
    "invalid_api_key",
    "model_not_found",
    "unknown_parameter",
    "unsupported_parameter",
    "unsupported_value",
}
_OF_THIS_REQUEST = (
    "content_filter",
    "content policy",
    "content management policy",
    "context length",
    "context window",
    "context_length",
    "flagged",
    "moderation",
    "string_above_max_length",
    "too long",
)
_AGAIN = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS}
_STOP = {
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.PAYMENT_REQUIRED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.NOT_FOUND,
    HTTPStatus.METHOD_NOT_ALLOWED,
}


@dataclass(frozen=True, slots=True)
class Failure:
    """A try that brought no answer; `text` is not yet scrubbed."""

    verdict: Verdict
    text: str
    http_status: int | None = None
    retry_after: float | None = None
    is_unreachable: bool = False  # no connection was made
    is_learnt: bool = False  # over a parameter that the next try leaves out


def verdict_on(status: int, error: Mapping[str, Any]) -> Verdict:
    """Returns the verdict on an HTTP error of `status` with the `code`, `type`, `param` and `message` of its body.

    stop: key, quota, model, address, or a sampling parameter the model does not take: no other request would fare better.
    never: this request is too long, filtered or malformed. again: 408, 409, 425, 429 and every 5xx.
    """
    codes = {str(error.get(name) or "").casefold() for name in ("code", "type")}
    if any(mark in code for code in codes for mark in _OUT_OF_QUOTA) or codes & _STOPPING_CODES:
        return "stop"
    words = " ".join([*codes, str(error.get("message") or "").casefold()])
    is_of_this_request = any(mark in words for mark in _OF_THIS_REQUEST)
    if status in _AGAIN or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return "again"
    if is_of_this_request and status in (HTTPStatus.BAD_REQUEST, HTTPStatus.FORBIDDEN):
        return "never"
    if status in _STOP or status < HTTPStatus.BAD_REQUEST:
        return "stop"
    # a card's own temperature or cap that is refused is refused for every cell
    return "stop" if error.get("param") in Sampling.model_fields else "never"


def failure_of(status: int, error: Mapping[str, Any], headers: Mapping[str, str]) -> Failure:
    """Returns the failure that a response stands for which is no success; redirects are not followed."""
    text = described(error)
    if status < HTTPStatus.BAD_REQUEST:
        text = "a redirect, which is not followed; correct base_url"
    return Failure(verdict_on(status, error), f"HTTP {status}: {text}", status, retry_after(headers))


def error_of(body: str) -> dict[str, Any]:
    """Returns the error object of a body, wherever servers put it; a body that is no JSON object is its own `message`."""
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        return {"message": body}
    if isinstance(parsed, list) and parsed:
        parsed = parsed[0]
    error = parsed.get("error", parsed) if isinstance(parsed, dict) else body
    if isinstance(error, dict):
        return error
    return {"message": str(error)}


def described(error: Mapping[str, Any]) -> str:
    """Returns `code: message` of an error object, or what there is of it."""
    parts = [str(error[name]) for name in ("code", "message") if error.get(name) not in (None, "")]
    return ": ".join(parts) or json.dumps(dict(error), ensure_ascii=False)
