"""What a provider's server does beside answering: a rate limit with its headers, and refused parameters."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

from aiohttp import web

MEANT_INSTEAD = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}


class Bucket:
    """A token bucket of `burst` requests that fills at `per_second`; `headers` are the kinds of headers it sends.

    Kinds: `retry-after` (whole seconds, at least 1), `retry-after-ms` (exact), `x-ratelimit` (limit, remaining, reset).
    """

    def __init__(self, per_second: float, burst: int, headers: Sequence[str]) -> None:
        self.per_second, self.burst, self.kinds = per_second, burst, headers
        self.tokens, self.at = float(burst), time.monotonic()

    def take(self) -> tuple[bool, dict[str, str]]:
        """Whether one more request fits, and the headers that go with the answer."""
        now = time.monotonic()
        self.tokens, self.at = min(self.burst, self.tokens + (now - self.at) * self.per_second), now
        fits = self.tokens >= 1
        if fits:
            self.tokens -= 1
        headers = {}
        if "x-ratelimit" in self.kinds:
            headers = {
                "x-ratelimit-limit-requests": str(self.burst),
                "x-ratelimit-remaining-requests": str(int(self.tokens)),
                "x-ratelimit-reset-requests": f"{(self.burst - self.tokens) / self.per_second * 1000:.0f}ms",
            }
        wait_s = (1 - self.tokens) / self.per_second
        if not fits and "retry-after" in self.kinds:
            headers["Retry-After"] = str(max(math.ceil(wait_s), 1))
        if not fits and "retry-after-ms" in self.kinds:
            headers["retry-after-ms"] = f"{wait_s * 1000:.0f}"
        return fits, headers


def refusal_of(body: Mapping[str, Any], refuses: Sequence[str], shape: str) -> web.Response | None:
    """The 400 over the first parameter of `body` that is refused; `shape` is openai or vllm (which names no parameter)."""
    name = next((name for name in refuses if name in body), None)
    if name is None:
        return None
    if shape == "vllm":
        error = {"object": "error", "message": f"`{name}` is not supported by this model.", "type": "BadRequestError"}
        return web.json_response({**error, "param": None, "code": 400}, status=400)
    if name in MEANT_INSTEAD:
        message = (
            f"Unsupported parameter: '{name}' is not supported with this model. Use '{MEANT_INSTEAD[name]}' instead."
        )
        code = "unsupported_parameter"
    elif name == "temperature":
        message = f"Unsupported value: 'temperature' does not support {body[name]} with this model. Only 1 is."
        code = "unsupported_value"
    else:
        message = f"Unsupported parameter: '{name}' is not supported with this model."
        code = "unsupported_parameter"
    error = {"message": message, "type": "invalid_request_error", "param": name, "code": code}
    return web.json_response({"error": error}, status=400)


def schema_of(body: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """(way, JSON schema) that the answer is held to: as a function, by response_format, or in a line of the last message."""
    if body.get("tools"):
        return "function", body["tools"][0]["function"]["parameters"]
    wanted = body.get("response_format") or {}
    if wanted.get("type") == "json_schema":
        return "content", wanted["json_schema"]["schema"]
    lines = str(body["messages"][-1].get("content")).splitlines()
    shown = next((line for line in lines if '"properties"' in line), None)
    return None if shown is None else ("content", json.loads(shown))
