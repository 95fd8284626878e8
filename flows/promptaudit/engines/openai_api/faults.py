"""Decides what a failed try means: ask again, give this request up, or stop asking the model at all."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Literal

from promptaudit.engines import Answer, Attempt
from promptaudit.engines.openai_api.error_bodies import described
from promptaudit.engines.pacing.retry import retry_after
from promptaudit.registry.cards import Sampling

Verdict = Literal["again", "never", "refused", "stop"]
"""Says what follows from a failed try.

again: this try failed. never: this request cannot be answered. refused: the provider blocks this prompt, which is its
answer. stop: no other request would fare better.
"""

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
_ABOUT_LENGTH = re.compile(
    r"context[ _](?:length|window|size)|string_above_max_length|\btoo (?:long|large|many tokens)\b|\bentity too large\b"
    r"|\bmaximum (?:number of )?tokens\b|\btoken count\b|\bmust have less than \d+ tokens\b|\binput length\b"
)
# words of the filters of Azure, OpenAI, LiteLLM, OpenRouter, DashScope, GLM and others for a prompt that they block
_BLOCKED = re.compile(
    r"content[ _-]?filter|content[ _-]?(?:management[ _-]?)?policy|contentpolicyviolation|responsible_?ai"
    r"|\b(?:prompt|input|request|content|text|message) (?:was |is |has been )?(?:flagged|blocked)\b|\bflagged by\b"
    r"|\bdata_?inspection_?failed|\b(?:inappropriate|unsafe|sensitive|harmful|prohibited) (?:content|information|words?)\b"
    r"|\bviolat\w+ (?:\w+ ){0,4}(?:polic|guideline|terms)|\b(?:usage|safety) polic|\bmoderation\b"
)
_BLOCKED_CODE = re.compile(r"content_?(?:filter|policy)|data_?inspection|responsible_?ai|moderation|safety")
_W = r"[^\W_]+"
# messages about a key, a budget, a region or a model: no request of this account gets past them
_OF_THE_ACCOUNT = re.compile(
    rf"\bbudget(?:[ _]{_W}){{0,6}}[ _](?:exceeded|used up|exhausted|reached)\b"
    r"|\bover budget\b|\bexceeded ?budget\b|budget_exceeded|\bout of (?:credits?|funds|balance)\b"
    r"|\bcredits?\b(?:\W+\w+){0,5}\W+(?:too low|insufficient|exhausted|depleted|used up)\b"
    r"|\b(?:insufficient|not enough) (?:account )?(?:credits?|balance|funds)\b|\bbalance (?:is )?(?:too low|insufficient)\b"
    r"|\b(?:spend(?:ing)?|monthly|billing) (?:limit|cap)\b(?:\W+\w+){0,4}\W+(?:reached|exceeded|hit)\b"
    r"|\b(?:location|region|country|territory) (?:is |was )?not (?:supported|available|allowed)\b"
    r"|\bnot (?:supported|available|allowed) in (?:your|this) (?:region|country|location|territory)\b"
    r"|\bon-demand throughput\b|\bapi[ _-]?key\b(?:\W+\w+){0,2}\W+(?:expired|revoked|disabled|deactivated|flagged)\b"
    r"|\b(?:model|engine|deployment)\b.{0,60}?\b(?:deprecated|decommissioned|discontinued|end[ -]of[ -]life)\b"
    r"|\b(?:model|engine|deployment)\b.{0,60}?\b(?:been retired|is retired|no longer (?:available|supported))\b"
    r"|\b(?:your|this) (?:account|organi[sz]ation|access|subscription|project|trial)\b(?:\W+\w+){0,4}\W+"
    r"(?:suspended|disabled|deactivated|terminated|flagged|expired|ended|past due|blocked|exhausted)\b"
    r"|\bfree (?:tier|quota)\b(?:\W+\w+){0,3}\W+(?:expired|ended|exhausted)\b|\baccept the\b.{0,30}\b(?:policy|terms|agreement)\b"
    r"|\bdoes not have access\b"
)
_OF_THE_BUDGET = re.compile(r"budget_exceeded|\bmax budget\b")
_THROTTLED = re.compile(
    r"throttl|\btoo many requests\b|\brate[ _-]?(?:limit (?:reached|exceeded)|exceeded)|\bmodelnotready"
)
_MAX_SAID = 300  # characters of a message that are searched: behind them a prompt may be quoted
# what a message quotes of a prompt or of the request's body
_QUOTED = re.compile(
    r"(?:(?<=[\s(\[{:=])|^)(?:'[^'\n]{3,}(?:'|$)|\"[^\"\n]{3,}(?:\"|$))"
    r"|\[[^\]]{20,}(?:\]|$)|\{[^}]{20,}(?:\}|$)"
)
_CONTEXT = re.compile(r"maximum context length (?:is|of) (\d{1,9})")
_CAP = re.compile(r"(\d{1,9}) in the completion|is too large: (\d{1,9})|max_(?:completion_)?tokens\W{1,3}(\d{1,9})")
_AGAIN = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS}
_STOP = {
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.PAYMENT_REQUIRED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.NOT_FOUND,
    HTTPStatus.METHOD_NOT_ALLOWED,
    HTTPStatus.GONE,
}
# statuses by which a provider may refuse one prompt because of its content
_OF_ONE_REQUEST = {HTTPStatus.BAD_REQUEST, HTTPStatus.FORBIDDEN, HTTPStatus.UNPROCESSABLE_ENTITY, 451}
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
    r"|^\W*(?:403\W+)?forbidden\W*$"  # a longer text may be about a prompt's content
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
    """Describes a try that brought no answer. `text` is not yet scrubbed."""

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
    refusal: tuple[int, Mapping[str, Any]] | None = None  # the status that is meant, and the error in the body

    @property
    def meant_status(self) -> int | None:
        """Reads the HTTP status that the failure means; for an error inside a 200 it is the error's own status."""
        return self.http_status if self.refusal is None else self.refusal[0]


def verdict_on(status: int, error: Mapping[str, Any]) -> Verdict:
    """Judges an HTTP error by its `status` and by the `code`, `type`, `param` and `message` of its body.

    stop: key, quota, budget, region, model, address, a cap beyond the context, or a sampling parameter that the model
    does not take. refused: a filter blocks this prompt. never: this request is too long or malformed. again: 408, 409,
    425, 429, every 5xx, and throttling of any status.
    """
    codes = {str(error.get(name) or "").casefold() for name in ("code", "type")}
    message = _message_of(error)
    said = _QUOTED.sub(" ", message[:_MAX_SAID])
    code = " ".join(each[:100] for each in codes)
    is_of_one, is_short = status in _OF_ONE_REQUEST, not is_about_length(f"{code} {message}")
    is_of_address = _WRONG_KEY.search(message) or _WRONG_ADDRESS.search(message)
    of_account = _OF_THE_BUDGET if status in _AGAIN else _OF_THE_ACCOUNT
    # a card's own temperature, cap or model that is refused is refused for every cell
    is_of_card = {"model", *Sampling.model_fields} & set(str(error.get("param") or "").split("."))
    rules: Sequence[tuple[Verdict, object]] = (
        ("stop", any(mark in each for each in codes for mark in _OUT_OF_QUOTA) or codes & _STOPPING_CODES),
        ("refused", is_of_one and _BLOCKED_CODE.search(code)),
        ("stop", status < HTTPStatus.INTERNAL_SERVER_ERROR and of_account.search(f"{code} {said}")),
        ("again", status in _AGAIN or status >= HTTPStatus.INTERNAL_SERVER_ERROR),
        ("stop", is_of_one and _is_cap_too_large(message)),
        ("refused", is_of_one and is_short and _BLOCKED.search(said) and not _WRONG_ADDRESS.search(said)),
        ("again", status == HTTPStatus.BAD_REQUEST and _THROTTLED.search(f"{code} {said}")),
        ("never", is_of_one and not is_short),
        ("stop", status in _STOP or status < HTTPStatus.BAD_REQUEST),
        ("stop", is_of_address or is_of_card),
    )
    return next((verdict for verdict, holds in rules if holds), "never")


def _is_cap_too_large(message: str) -> bool:
    # a cap of the card that alone exceeds the model's context is refused in every request
    context, cap = _CONTEXT.search(message), _CAP.search(message)
    return bool(context and cap) and int(next(filter(None, cap.groups()))) >= int(context[1])  # type: ignore[union-attr, index]


def is_about_length(text: str) -> bool:
    """Checks whether an error is about the length of one prompt, which many prompts of a task may have."""
    return _ABOUT_LENGTH.search(text.casefold()) is not None


def settled(verdict: Verdict, text: str, attempts: Sequence[Attempt] = ()) -> Answer:
    """Makes the final answer of a request that is not asked again: an error, or a refusal if the provider blocks it."""
    if verdict == "refused":
        return Answer(
            completion="", error=text, finish_reason="content_filter", is_refused=True, attempts=tuple(attempts)
        )
    return Answer(error=text, attempts=tuple(attempts))


def failure_of(status: int, error: Mapping[str, Any], headers: Mapping[str, str]) -> Failure:
    """Makes a failure of a response that is no success. Redirects count as failures and are not followed."""
    text = described(error)
    if status < HTTPStatus.BAD_REQUEST:
        text = "a redirect, which is not followed; correct base_url"
    verdict = verdict_on(status, error)
    return Failure(verdict, f"HTTP {status}: {text}", status, retry_after(headers), refusal=(status, error))


def failure_in_success(error: Mapping[str, Any], text: str) -> Failure:
    """Makes a failure of an error that came with status 200; `text` describes it."""
    status = _meant_status(error)
    return Failure(verdict_on(status, error), text, HTTPStatus.OK, refusal=(status, error))


def failure_of_text(text: str, about: str, *, is_page: bool) -> Failure:
    """Makes a failure of a text, or of the words of a page, that came with status 200 in place of JSON.

    A page means a wrong address, unless it says that the server is down or busy. `about` describes what came.
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
    # for an error without a status of its own: by its fields, else by its words, else 500, which is asked again
    for name in ("status", "code"):
        given = str(error.get(name) or "")
        if re.fullmatch(r"[45]\d\d", given):
            return int(given)
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
