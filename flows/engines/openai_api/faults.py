"""What a failed try means: ask again, give this request up, or stop asking the model at all."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Literal

from promptaudit.flows.engines.openai_api.error_bodies import described
from promptaudit.flows.engines.pacing.retry import retry_after
from promptaudit.models_registry.cards import Sampling

Verdict = Literal["again", "never", "stop"]

MAX_READ = 10_000  # characters of a message
_OUT_OF_QUOTA = ("insufficient_quota", "billing")
_STOPPING_CODES = {
    "account_deactivated",
    "invalid_api_key",
    "model_not_found",
    "unknown_parameter",
    "unsupported_parameter",
    "unsupported_value",
    # FastAPI's: a field of ours is one too many, or one that we never send is missing
    "extra_forbidden",
    "value_error.extra",
    "missing",
    "value_error.missing",
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
_STATUS_OF_TYPE = {
    "notfound": HTTPStatus.NOT_FOUND,
    "authentication": HTTPStatus.UNAUTHORIZED,
    "unauth": HTTPStatus.UNAUTHORIZED,
    "permission": HTTPStatus.FORBIDDEN,
    "forbidden": HTTPStatus.FORBIDDEN,
    "ratelimit": HTTPStatus.TOO_MANY_REQUESTS,
    "invalidrequest": HTTPStatus.BAD_REQUEST,
    "badrequest": HTTPStatus.BAD_REQUEST,
    "invalidargument": HTTPStatus.BAD_REQUEST,
}
_WRONG_KEY = re.compile(
    r"\b(?:incorrect|invalid|missing|wrong|no|expired)[ _-](?:api[ _-]?key|credentials)\b|\bapi[ _-]?key not valid\b"
    r"|\bunauthori[sz]ed\b|\bnot authori[sz]ed\b|\bauthentication (?:error|fail\w*|required)\b"
    r"|\baccess[ _-]token (?:is )?(?:invalid|expired)\b|\bcarry the api secret key\b|\baccess denied\b|\bin arrears\b"
    r"|^\W*(?:403\W+)?forbidden\W*$"  # more words may be of what a prompt holds
)
_WRONG_ADDRESS = re.compile(
    r"\bnot found\b|\bno routes? matched\b|\bcannot post\b|\bapi-version\b|\bno models? (?:is |are )?(?:currently )?loaded\b"
    r"|\b(?:do(?:es)? not|doesn't|don't|not) exists?\b"
    r"|\b(?:unexpected|unknown|unsupported|invalid|no such|wrong|undefined) (?:endpoint|url|uri|path|route|method|model)\b"
    r"|\b(?:endpoint|url|path|route|method|model)\b.{0,80}?\b(?:unknown|not (?:loaded|allowed|supported|recogni[sz]ed))\b"
)
_MAY_PASS = re.compile(
    r"\b(?:429|50[0234]|too many requests|unavailable|bad gateway|timed? ?out|overloaded|busy|try again|maintenance)\b"
)


@dataclass(frozen=True, slots=True)
class Failure:
    """A try that brought no answer; `text` is not yet scrubbed."""

    verdict: Verdict
    text: str
    http_status: int | None = None
    retry_after: float | None = None
    is_unreachable: bool = False  # no connection was made
    is_learnt: bool = False  # over a parameter that the next try leaves out
    tokens: tuple[int, int] = (
        0,
        0,
    )  # of prompt and completion, of an answer that is not taken and is paid all the same
    refusal: tuple[int, Mapping[str, Any]] | None = None  # the status that is meant, and the error that the body tells

    @property
    def meant_status(self) -> int | None:
        """Returns the HTTP status that the failure stands for: of an error that came with status 200 the error's own."""
        return self.http_status if self.refusal is None else self.refusal[0]


def verdict_on(status: int, error: Mapping[str, Any]) -> Verdict:
    """Returns the verdict on an HTTP error of `status` with the `code`, `type`, `param` and `message` of its body.

    stop: key, quota, model, address, or a sampling parameter the model does not take: no other request would fare better.
    never: this request is too long, filtered or malformed. again: 408, 409, 425, 429 and every 5xx.
    """
    codes = {str(error.get(name) or "").casefold() for name in ("code", "type")}
    if any(mark in code for code in codes for mark in _OUT_OF_QUOTA) or codes & _STOPPING_CODES:
        return "stop"
    message = _message_of(error)
    words = " ".join([*codes, message])
    is_of_this_request = any(mark in words for mark in _OF_THIS_REQUEST)
    if status in _AGAIN or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return "again"
    if is_of_this_request and status in (HTTPStatus.BAD_REQUEST, HTTPStatus.FORBIDDEN):
        return "never"
    if (
        status in _STOP
        or status < HTTPStatus.BAD_REQUEST
        or _WRONG_KEY.search(message)
        or _WRONG_ADDRESS.search(message)
    ):
        return "stop"
    # a card's own temperature, cap or model that is refused is refused for every cell
    is_of_card = {"model", *Sampling.model_fields} & set(str(error.get("param") or "").split("."))
    return "stop" if is_of_card else "never"


def failure_of(status: int, error: Mapping[str, Any], headers: Mapping[str, str]) -> Failure:
    """Returns the failure that a response stands for which is no success; redirects are not followed."""
    text = described(error)
    if status < HTTPStatus.BAD_REQUEST:
        text = "a redirect, which is not followed; correct base_url"
    verdict = verdict_on(status, error)
    return Failure(verdict, f"HTTP {status}: {text}", status, retry_after(headers), refusal=(status, error))


def failure_in_success(error: Mapping[str, Any], text: str) -> Failure:
    """Returns the failure that an error stands for which came with status 200; `text` says it."""
    status = _meant_status(error)
    return Failure(verdict_on(status, error), text, HTTPStatus.OK, refusal=(status, error))


def failure_of_text(text: str, about: str, *, is_page: bool) -> Failure:
    """Returns the failure that a text or the words of a page stand for which came with status 200 in place of JSON.

    A page is of a wrong address, unless it says that the server is down or busy. `about` says what came.
    """
    error: dict[str, Any] = {"message": text}
    if (
        is_page
        and not _MAY_PASS.search(_message_of(error))
        and _meant_status(error) >= HTTPStatus.INTERNAL_SERVER_ERROR
    ):
        error["status"] = int(HTTPStatus.NOT_FOUND)
    return failure_in_success(error, about)


def _meant_status(error: Mapping[str, Any]) -> int:
    """The status of an error that has none of its own: as its fields say, else its words, else 500, which is asked again."""
    for name in ("status", "code"):
        told = str(error.get(name) or "")
        if re.fullmatch(r"[45]\d\d", told):
            return int(told)
    kinds = re.sub(
        r"[^a-z]", "", " ".join(str(error.get(name) or "") for name in ("type", "code", "status")).casefold()
    )
    of_type = next((status for kind, status in _STATUS_OF_TYPE.items() if kind in kinds), None)
    if of_type is not None:
        return of_type
    message = _message_of(error)
    if _WRONG_KEY.search(message):
        return HTTPStatus.UNAUTHORIZED
    return HTTPStatus.NOT_FOUND if _WRONG_ADDRESS.search(message) else HTTPStatus.INTERNAL_SERVER_ERROR


def _message_of(error: Mapping[str, Any]) -> str:
    return str(error.get("message") or "")[:MAX_READ].casefold()
