"""Reads an error from a server's response in whatever form: OpenAI's, FastAPI's, a text, a page, one inside another."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from typing import Any

MAX_DEPTH = 6
_NO_ERROR = ("0", "200", "ok", "success", "null", "none")
MAX_PAGE = 20_000  # characters; a longer page is left as it is
_MESSAGES = (
    "error",
    "errors",
    "fault",
    "message",
    "msg",
    "error_message",
    "error_msg",
    "detail",
    "details",
    "description",
    "error_description",
    "title",
    "faultstring",
    "base_resp",
    "status_msg",
)
_FIELDS = {
    "code": ("code", "error_code", "errorcode"),
    "type": ("type", "error_type"),
    "param": ("param",),
    "status": ("status", "status_code", "statuscode"),
}


def error_of(body: str) -> dict[str, Any]:
    """Reads the error in a body, as `error_in` does; if there is none, the whole body is the `message`."""
    parsed = _parsed(body)
    error = {} if parsed is None else error_in(parsed)
    return {**error, "message": error.get("message") or readable(body)}


def error_in(value: object, depth: int = 0) -> dict[str, Any]:
    """Reads `code`, `type`, `param`, `status` and `message`, as far as given, from a parsed body or a part of one.

    The innermost value of a field wins, and messages of several layers are joined. In FastAPI's `detail` list the first
    field that is not permitted counts, else the first field: its place in the request is `param`, and stands in the
    message.
    """
    if depth > MAX_DEPTH:
        return {}
    if isinstance(value, list):
        return _of_list(value, depth) if value else {}
    if not isinstance(value, dict):
        text = str(value)
        inner = _parsed(text)
        return {"message": readable(text)} if inner is None else error_in(inner, depth + 1)
    lowered = {name.casefold(): item for name, item in value.items()}
    error: dict[str, Any] = {}
    for field, names in _FIELDS.items():
        for given in map(lowered.get, names):
            if isinstance(given, (str, int)) and not isinstance(given, bool):
                error[field] = given
    texts = []
    metadata = lowered.get("metadata")  # of OpenRouter: what the provider behind it said
    for inner in [*map(lowered.get, _MESSAGES), metadata.get("raw") if isinstance(metadata, dict) else None]:
        if inner and not isinstance(inner, bool):
            found = error_in(inner, depth + 1)
            if isinstance(inner, dict) and not found.get("message"):
                found |= _of_fields(inner)
            texts.append(str(found.pop("message", "")))
            error |= {field: each for field, each in found.items() if each != ""}
    return {**error, "message": ": ".join(dict.fromkeys(filter(None, texts)))}


def is_error(error: Mapping[str, Any]) -> bool:
    """Checks whether an error of `error_in` is one; `{"code": 0, "message": "success"}` is none."""
    message = str(error.get("message") or "").casefold()
    words = [message] if message else [str(error.get(name, "")).casefold() for name in ("code", "status", "type")]
    return any(each not in ("", *_NO_ERROR) for each in words)


def described(error: Mapping[str, Any]) -> str:
    """Writes an error as `code: message`, or as the one of the two that it has."""
    parts = [str(error[name]) for name in ("code", "message") if error.get(name) not in (None, "")]
    return ": ".join(dict.fromkeys(parts)) or "no reason is given"


def readable(text: str) -> str:
    """Strips the tags from a page or XML of at most MAX_PAGE characters; any other text stays as it is."""
    if len(text) > MAX_PAGE or not text.lstrip().startswith("<"):
        return text
    plain = re.sub(r"(?i)<(script|style)\b[^<>]*>[^<]*</\1>", " ", text)
    plain = re.sub(r"<!--[^<>]*-->|<[^<>]*>", " ", plain)
    return " ".join(html.unescape(plain).split()) or text


def _of_list(items: list[Any], depth: int) -> dict[str, Any]:
    places = [item for item in items if isinstance(item, dict) and isinstance(item.get("loc"), (list, str))]
    if not places:
        return error_in(items[0], depth + 1)
    chosen = next((item for item in places if "extra" in str(item.get("type"))), places[0])
    loc = chosen["loc"].split(".") if isinstance(chosen["loc"], str) else chosen["loc"]
    param = ".".join(str(part) for part in loc if part != "body")
    text = ": ".join(part for part in (param, str(chosen.get("msg") or "")) if part)
    return {"type": str(chosen.get("type") or ""), "param": param, "message": text}


def _of_fields(value: Mapping[str, Any]) -> dict[str, Any]:
    # errors by field, {"seed": ["unknown field"]}: the first
    for name, texts in value.items():
        if isinstance(texts, list) and texts and all(isinstance(text, str) for text in texts):
            return {"param": name, "message": f"{name}: {texts[0]}"}
    return {}


def _parsed(text: str) -> Any:  # noqa: ANN401 - whatever JSON holds
    # None for a text that is no list or object
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
