"""Reads the body of a chat completion into an `Answer`."""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from promptaudit.engines import Answer, Attempt
from promptaudit.engines.openai_api.error_bodies import described, error_in, is_error, readable
from promptaudit.engines.openai_api.faults import Failure, failure_in_success, failure_of_text
from promptaudit.engines.openai_api.finish_reasons import end_of, is_failure, is_reason
from promptaudit.registry.errors import DataError
from promptaudit.registry.read_json import refuse_costly
from promptaudit.system.scrub import one_line, without_values

MAX_TOKENS = 2**31 - 1
MAX_SHORT_CHARS = 200
MAX_LOGPROBS_CHARS = 4_000_000  # 4,096 tokens with 20 others each
MAX_PARSED = 1 << 28  # bytes that a body may take once it is parsed: one of so many log-probabilities takes 80 MB
_PARTS = (None, "text", "output_text")  # of a content; others hold reasoning

_PLAIN_ID = re.compile(r"(?:req|chatcmpl|cmpl|gen)?[-_]?[0-9a-f-]{1,64}")


def read_completion(
    body: bytes,
    request_id: str | None,
    secrets: Sequence[str],
    sent: Sequence[str],
    *,
    latency_ms: float | None = None,
    sampling: str | None = None,
    attempts: Sequence[Attempt] = (),
) -> Answer | Failure:
    """Reads the answer in a 200's body, or makes a failure: no JSON, no choice, an error, or a choice without an end.

    A choice without an end has a `finish_reason` that is no word for one (`end_of`), or neither a text nor a reason. A
    text without a reason is an answer, because some servers never give a reason. The answer keeps OpenAI's word for the
    end.

    The completion is the message's content, else the arguments of its first function call, else its refusal. It is kept
    verbatim (lone surrogates and NULs too), except for the exact values of `secrets`; a value that also stands in what
    was `sent` is no secret there and is kept. A null content is "". Reasoning that the server returns in a field of its
    own stays separate; a `<think>` block in the content stays in the content.
    """
    parsed = _parsed(body)
    if isinstance(parsed, Failure):
        return parsed
    choices = parsed.get("choices") if isinstance(parsed, dict) else None
    if not isinstance(choices, list) or not choices:
        return _without_choices(parsed)
    choice = choices[0] if isinstance(choices[0], dict) else {}
    failure = _without_end(choice, _error_beside(parsed, choice))
    if failure is not None:
        return failure
    message = choice.get("message")
    if not isinstance(message, dict) and end_of(choice.get("finish_reason")) == "content_filter":
        message = {"content": None}  # Gemini's endpoint has none where it blocks a prompt
    content = _text(message.get("content")) if isinstance(message, dict) else None
    if content is None or not isinstance(message, dict):
        return Failure("again", "an answer whose first choice has no message of text", HTTPStatus.OK)
    hidden = [secret for secret in secrets if not any(secret in text for text in sent)]
    refusal = message.get("refusal")
    refusal = refusal if isinstance(refusal, str) else ""
    completion = content or _arguments(message.get("tool_calls")) or refusal
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    usage = parsed.get("usage")
    count = _counter(usage if isinstance(usage, dict) else {})
    finish_reason = end_of(choice.get("finish_reason"))
    if not completion and finish_reason is None:
        return Failure("again", "an answer with neither a text nor a finish_reason", HTTPStatus.OK)
    kept = without_values(completion, hidden)
    return Answer(
        completion=kept,
        reasoning=without_values(reasoning, hidden) if isinstance(reasoning, str) else None,
        finish_reason=finish_reason,
        is_refused=bool(refusal) or finish_reason == "content_filter",
        # a secret in the completion stands in the tokens too, cut into pieces
        token_logprobs=_token_logprobs(choice.get("logprobs")) if kept == completion else None,
        prompt_tokens=count("prompt_tokens"),
        completion_tokens=count("completion_tokens"),
        latency_ms=latency_ms,
        sampling=sampling,
        served_model=_short(parsed.get("model"), secrets),
        system_fingerprint=_short(parsed.get("system_fingerprint"), secrets),
        request_id=_id(request_id, secrets),
        attempts=attempts,
    )


def _parsed(body: bytes) -> Any:  # noqa: ANN401 - whatever JSON holds
    try:
        refuse_costly(body, "an answer", MAX_PARSED)
        return json.loads(body)
    except DataError as error:
        return Failure("never", error.args[0], HTTPStatus.OK)
    except (ValueError, RecursionError) as error:
        return _no_json(body, type(error).__name__)


def _no_json(body: bytes, kind: str) -> Failure:
    # the words of a page or a text go into the failure, never a part of a completion
    text = body.decode("utf-8", "replace").strip()
    about = f"an answer of {len(body)} bytes that is no JSON"
    if text.startswith(("data:", "event:")):
        about = f"{about} but a stream, which was not asked for"
    elif text and not text.startswith(("{", "[")):
        said = readable(text)
        return failure_of_text(said, f"{about}: {said} ({kind})", is_page=text.startswith("<"))
    return Failure("again", f"{about} ({kind})", HTTPStatus.OK)


def _without_choices(parsed: object) -> Failure:
    # this is how a gateway reports a fault of the model behind it, and a server an address that it does not know
    error = error_in(parsed)
    has_message = isinstance(parsed, dict) and bool(error.get("message"))
    if not any(error.values()) and isinstance(parsed, dict) and _is_blocked(parsed):
        return Failure("refused", "an answer without choices to a prompt that was read: it is blocked", HTTPStatus.OK)
    text = described(error) if has_message else f"an answer without choices: {json.dumps(parsed, ensure_ascii=False)}"
    return failure_in_success(error, text)


def _is_blocked(parsed: Mapping[str, Any]) -> bool:
    # the prompt's tokens were counted and there are no choices, or the body says itself that the prompt is blocked
    feedback = parsed.get("promptFeedback") or parsed.get("prompt_feedback")
    if isinstance(feedback, dict) and (feedback.get("blockReason") or feedback.get("block_reason")):
        return True
    usage = parsed.get("usage")
    n_read, n_said = (usage.get(f"{of}_tokens") if isinstance(usage, dict) else None for of in ("prompt", "completion"))
    return parsed.get("choices") == [] and type(n_read) is int and n_read > 0 and not n_said


def _error_beside(parsed: Mapping[str, Any], choice: Mapping[str, Any]) -> Mapping[str, Any]:
    # an error in the body beside its choices, or in the first choice; {} if there is none
    message = choice.get("message")
    parts = [parsed.get("error"), parsed.get("errors"), parsed.get("base_resp"), choice.get("error")]
    parts.append(message.get("error") if isinstance(message, dict) else None)
    code = parsed.get("code")
    if re.fullmatch(r"[45]\d\d", str(code)):
        parts.append({"code": code, "message": parsed.get("message") or "no reason is given"})
    errors = (error_in(each) for each in parts if each)
    return next((error for error in errors if is_error(error)), {})


def _without_end(choice: Mapping[str, Any], error: Mapping[str, Any]) -> Failure | None:
    # a choice may have a text and still be no answer: it did not end, or an error stands beside it
    said = f": {described(error)}" if error else ""
    name, reason = "finish_reason", choice.get("finish_reason")
    if not is_reason(reason) and is_failure(choice.get("stop_reason")):
        name, reason = "stop_reason", choice["stop_reason"]
    elif is_failure(choice.get("native_finish_reason")) and not is_failure(reason):
        name, reason = "native_finish_reason", choice["native_finish_reason"]
    if is_reason(reason) and end_of(reason) is None:
        return Failure("again", f"an answer that did not end: its {name} is {reason!r}{said}", HTTPStatus.OK)
    return failure_in_success(error, f"an answer with an error{said}") if said else None


def _text(content: object) -> str | None:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list) and all(isinstance(part, dict) for part in content):
        return "".join(
            part["text"] for part in content if part.get("type") in _PARTS and isinstance(part.get("text"), str)
        )
    return None


def _arguments(calls: object) -> str:
    call = calls[0] if isinstance(calls, list) and calls else None
    function = call.get("function") if isinstance(call, dict) else None
    arguments = function.get("arguments") if isinstance(function, dict) else None
    return arguments if isinstance(arguments, str) else ""


def _token_logprobs(logprobs: object) -> str | None:
    # None also for more than 4 MB
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    if not isinstance(content, list) or not all(isinstance(token, dict) for token in content):
        return None
    tokens = []
    for token in content:
        top = token.get("top_logprobs")
        others = [_token(other) for other in top if isinstance(other, dict)] if isinstance(top, list) else []
        tokens.append({**_token(token), "top_logprobs": others})
    text = json.dumps(tokens, separators=(",", ":"))
    return text if len(text) <= MAX_LOGPROBS_CHARS else None


def _token(token: Mapping[str, Any]) -> dict[str, Any]:
    text, logprob = token.get("token"), token.get("logprob")
    is_number = isinstance(logprob, (int, float)) and math.isfinite(logprob)
    return {"token": text if isinstance(text, str) else None, "logprob": logprob if is_number else None}


def _id(value: str | None, secrets: Sequence[str]) -> str | None:
    # every request has another id, and scrubbing one takes 50 µs
    if value is not None and _PLAIN_ID.fullmatch(value) and not any(secret[:8] in value for secret in secrets):
        return value
    return _short(value, secrets)


def _short(value: object, secrets: Sequence[str]) -> str | None:
    if not isinstance(value, str):
        return None
    # only what is short is worth remembering
    return (
        _scrubbed(value, tuple(secrets)) if len(value) <= MAX_SHORT_CHARS else one_line(value, secrets, MAX_SHORT_CHARS)
    )


@functools.lru_cache(maxsize=256)
def _scrubbed(value: str, secrets: tuple[str, ...]) -> str:
    return one_line(value, secrets, MAX_SHORT_CHARS)


def _counter(usage: Mapping[str, Any]) -> Callable[[str], int | None]:
    def count(name: str) -> int | None:
        value = usage.get(name)
        return value if type(value) is int and 0 <= value <= MAX_TOKENS else None

    return count
