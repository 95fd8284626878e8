"""A real OpenAI-compatible server on loopback, in its own process, that answers by rule and fails on demand.

    python -m tests.support.openai_server --port 0 --behaviour '{"latency_s": 0.05, "rates": {"status_500": 0.1}}'

prints one line, `{"base_url": "http://127.0.0.1:40551/v1"}`, and serves until it is ended.

An answer is the label a hash of the last user message picks: labels of the behaviour, or those of the default list that
the prompt names. With a temperature above 0 the hash takes the seed in too. A prompt with "rephras" or "reword" in it is
answered with rewordings; one with an answer between marks with a verdict, by whether a reference stands in the answer. A
fault strikes by `rates` (name to probability), by `first` (name to how many of each body's first tries), or because the
last user message holds `<<name>>`; the names are the methods of `Faults`.
`GET /counters` tells what happened, `GET /requests` the last 1,000 bodies with their headers, `POST /reset` forgets both.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gzip
import hashlib
import json
import math
import random
import re
import sys
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from email.utils import formatdate
from typing import Any

from aiohttp import web

from tests.support.loopback import (
    LABELS,
    ChildServer,
    child_process,
    completion_of,
    error_of,
    fault_of,
    hash_of,
    last_user,
    say_base_url,
)
from tests.support.provider_limits import Bucket, refusal_of, schema_of

HUGE = 10_000_000


@dataclass
class Behaviour:
    """How the server behaves; every field may be given to `running_server`."""

    labels: tuple[str, ...] = ()  # default: those of LABELS the prompt names, else LABELS
    latency_s: float = 0.0
    key: str | None = None  # the only key taken; default: any
    models: tuple[str, ...] = ()  # the only models known; default: any
    completion: str | None = None  # answered to everything
    rephrasings_as: str = "array"  # or object, fenced, numbered
    rates: dict[str, float] = field(default_factory=dict)
    first: dict[str, int] = field(default_factory=dict)
    retry_after: str = "0"  # of status_429
    refuses: tuple[str, ...] = ()  # parameters the model does not take, e.g. max_tokens, temperature, tools
    ignores: tuple[str, ...] = ()  # parameters without any effect: tools, response_format
    refuses_as: str = "openai"  # or vllm, whose errors name no parameter
    requests_per_second: float | None = None  # a token bucket; over it: 429
    burst: int | None = None  # that the bucket holds; default: a second's worth
    rate_headers: tuple[str, ...] = ()  # retry-after, retry-after-ms, x-ratelimit
    down_after: int | None = None  # after so many requests the socket closes,
    down_for_s: float = 0.0  # for so long
    prompt_tokens_cap: int | None = None  # the most that usage tells
    unreadable: int = 0  # how many asks for a verdict are answered in prose before one is ruled
    seed: int = 0


class Faults:
    """One method a fault: what is sent instead of a plain answer."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour

    async def status_500(self, _: web.Request) -> web.Response:
        return error_of(500, "The server had an error while processing your request.", "server_error")

    async def status_503(self, _: web.Request) -> web.Response:
        return error_of(503, "The engine is currently overloaded.", "overloaded")

    async def status_429(self, _: web.Request) -> web.Response:
        headers = {"Retry-After": self.behaviour.retry_after}
        return error_of(429, "Rate limit reached for requests per min.", "rate_limit_exceeded", headers)

    async def date_429(self, _: web.Request) -> web.Response:
        return error_of(429, "Rate limit reached.", "rate_limit_exceeded", {"Retry-After": formatdate(usegmt=True)})

    async def ms_429(self, _: web.Request) -> web.Response:
        return error_of(
            429, "Rate limit reached.", "rate_limit_exceeded", {"retry-after-ms": "150", "Retry-After": "60"}
        )

    async def insufficient_quota(self, _: web.Request) -> web.Response:
        message = "You exceeded your current quota, please check your plan and billing details."
        return error_of(429, message, "insufficient_quota")

    async def wrong_key(self, request: web.Request) -> web.Response:
        echoed = request.headers.get("Authorization", "")
        message = f"Incorrect API key provided: {echoed.removeprefix('Bearer ')}. You sent {echoed!r}."
        return error_of(401, message, "invalid_api_key")

    async def echo_500(self, request: web.Request) -> web.Response:
        return web.Response(status=500, text=f"x{'y' * 480} {dict(request.headers)}", content_type="text/plain")

    async def echo_reason(self, request: web.Request) -> web.Response:
        return web.Response(status=500, reason=request.headers.get("Authorization", ""))

    async def forbidden(self, _: web.Request) -> web.Response:
        return error_of(403, "Country, region, or territory not supported.", "unsupported_country_region_territory")

    async def unknown_model(self, _: web.Request) -> web.Response:
        return error_of(404, "The model `nope` does not exist or you do not have access to it.", "model_not_found")

    async def context_length(self, _: web.Request) -> web.Response:
        message = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens."
        return error_of(400, message, "context_length_exceeded", param="messages")

    async def unsupported_parameter(self, _: web.Request) -> web.Response:
        message = "Unsupported parameter: 'max_tokens' is not supported with this model."
        return error_of(400, message, "unsupported_parameter", param="max_tokens")

    async def filtered(self, _: web.Request) -> web.Response:
        return error_of(400, "The response was filtered due to the prompt triggering our policy.", "content_filter")

    async def unprocessable(self, _: web.Request) -> web.Response:
        return error_of(422, "Input should be a valid string", None)

    async def error_200(self, _: web.Request) -> web.Response:
        return web.json_response({"error": {"code": 502, "message": "Provider returned error"}})

    async def redirect(self, _: web.Request) -> web.Response:
        return web.Response(status=307, headers={"Location": "/counters"})

    async def html(self, _: web.Request) -> web.Response:
        return web.Response(text="<html><body>503 Service Unavailable</body></html>", content_type="text/html")

    async def truncated(self, _: web.Request) -> web.Response:
        return web.Response(text=json.dumps(completion_of("number"))[:40], content_type="application/json")

    async def no_choices(self, _: web.Request) -> web.Response:
        return web.json_response({"id": "x", "choices": []})

    async def bad_utf8(self, _: web.Request) -> web.Response:
        return web.Response(body=b'{"choices": "\xff\xfe\xfa"}', content_type="application/json")

    async def reset(self, request: web.Request) -> web.Response:
        if request.transport is not None:
            request.transport.abort()
        return web.Response()

    async def cut(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "5000", "Content-Type": "application/json"})
        await response.prepare(request)
        await response.write(b'{"choices": [')
        if request.transport is not None:
            request.transport.abort()
        return response

    async def hang(self, _: web.Request) -> web.Response:
        await asyncio.sleep(3600)
        return web.Response()

    async def drip(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        while True:
            await response.write(b" ")
            await asyncio.sleep(0.1)

    async def endless(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        while True:
            await response.write(b" " * 1_000_000)

    async def packed(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        response.enable_compression(web.ContentCoding.gzip)
        await response.prepare(request)
        for _ in range(200):
            await response.write(b" " * 1_000_000)
        await response.write(json.dumps(completion_of("number")).encode())
        return response

    async def zipped(self, _: web.Request) -> web.Response:
        response = web.json_response(completion_of("number"))
        response.enable_compression(web.ContentCoding.gzip)
        return response

    async def half_zipped(self, _: web.Request) -> web.Response:
        packed = gzip.compress(json.dumps(completion_of("number")).encode())
        return web.Response(body=packed[:-20], headers={"Content-Encoding": "gzip"})

    async def badly_zipped(self, _: web.Request) -> web.Response:
        return web.Response(body=b"number", headers={"Content-Encoding": "gzip"})

    async def otherwise_packed(self, _: web.Request) -> web.Response:
        return web.Response(body=b"number", headers={"Content-Encoding": "br"})

    async def refusal(self, _: web.Request) -> web.Response:
        return web.json_response(completion_of(None, refusal="I'm sorry, I can't help with that."))

    async def stopped_by_filter(self, _: web.Request) -> web.Response:
        return web.json_response(completion_of(None, finish_reason="content_filter"))

    async def null_content(self, _: web.Request) -> web.Response:
        return web.json_response(completion_of(None))

    async def parts(self, _: web.Request) -> web.Response:
        return web.json_response(completion_of([{"type": "text", "text": "num"}, {"type": "text", "text": "ber"}]))

    async def reasoning(self, _: web.Request) -> web.Response:
        return web.json_response(completion_of("number", reasoning_content="It asks how many."))

    async def huge(self, _: web.Request) -> web.Response:
        return web.json_response(completion_of("a" * HUGE))

    async def surrogate(self, _: web.Request) -> web.Response:
        return web.json_response(completion_of("lone \ud800 half"))

    async def nul(self, _: web.Request) -> web.Response:
        return web.json_response(completion_of("a\x00b"))

    async def key_in_completion(self, request: web.Request) -> web.Response:
        key = request.headers.get("Authorization", "").removeprefix("Bearer ")
        body = completion_of(f"number {key}", reasoning_content=f"the key is {key}", finish_reason="stop")
        body |= {"model": f"m {key}", "system_fingerprint": f"fp {key}"}
        return web.json_response(body, headers={"x-request-id": f"id {key}"})

    async def failed_midway(self, _: web.Request) -> web.Response:
        body = completion_of("num", finish_reason="error")
        body["choices"][0]["error"] = {"code": 502, "message": "upstream disconnected"}
        return web.json_response(body)

    async def key_in_reason(self, request: web.Request) -> web.Response:
        return web.json_response(completion_of("num", finish_reason=f"failed {request.headers.get('Authorization')}"))

    async def odd_types(self, _: web.Request) -> web.Response:
        body = completion_of("number") | {"model": 7, "system_fingerprint": ["x"]}
        body["usage"] = {"prompt_tokens": -1, "completion_tokens": 10**30}
        return web.json_response(body)


class Server:
    """The handlers, what they count, and the faults' dice."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self.faults = Faults(behaviour)
        self.dice = random.Random(behaviour.seed)
        rate = behaviour.requests_per_second
        self.bucket = Bucket(rate, behaviour.burst or math.ceil(rate), behaviour.rate_headers) if rate else None
        self.outage = asyncio.Event()
        self.forget()

    def forget(self) -> None:
        self.counts: Counter[str] = Counter()
        self.tries: Counter[str] = Counter()
        self.seen: deque[dict[str, Any]] = deque(maxlen=1000)
        self.in_flight = self.peak = 0

    async def chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)
        try:
            fits, headers = self.bucket.take() if self.bucket else (True, {})
            await asyncio.sleep(self.behaviour.latency_s)
            refusal = refusal_of(body, self.behaviour.refuses, self.behaviour.refuses_as)
            name = "over_limit" if not fits else "refused" if refusal else self._fault(request, body)
            self.counts[name or "answered"] += 1
            if self.counts.total() == self.behaviour.down_after:
                self.outage.set()
            self.seen.append({"body": body, "headers": dict(request.headers), "fault": name})
            if not fits:
                return error_of(429, "Rate limit reached for requests per s.", "rate_limit_exceeded", headers)
            if refusal is not None:
                return refusal
            if name is not None:
                response: web.StreamResponse = await getattr(self.faults, name)(request)
                return response
            headers["x-request-id"] = f"req-{len(self.seen)}"
            answer = web.json_response(self._completed(body), headers=headers)
        except ConnectionError:  # the client had enough
            return web.Response()
        finally:
            self.in_flight -= 1
        return answer

    def _completed(self, body: dict[str, Any]) -> dict[str, Any]:
        wanted = schema_of({name: value for name, value in body.items() if name not in self.behaviour.ignores})
        ruled = verdict_of(last_user(body), self.behaviour.unreadable)
        if ruled is not None or wanted is None or self.behaviour.completion is not None:
            answer = self._answer(body) if ruled is None else ruled
            completed = completion_of(answer)
        else:
            way, schema = wanted
            answer = json.dumps({name: self._value(body, field) for name, field in schema["properties"].items()})
            called = {"id": "call-1", "type": "function", "function": {"name": "answer", "arguments": answer}}
            completed = completion_of(None, tool_calls=[called]) if way == "function" else completion_of(answer)
        n_prompt = max(sum(len(str(message.get("content"))) for message in body["messages"]) // 4, 1)
        n_prompt = min(n_prompt, self.behaviour.prompt_tokens_cap or n_prompt)
        n_completion = max(len(answer) // 4, 1)
        total = n_prompt + n_completion
        completed["usage"] = {"prompt_tokens": n_prompt, "completion_tokens": n_completion, "total_tokens": total}
        if body.get("logprobs"):
            n_top = body.get("top_logprobs") or 0
            token = {"token": answer, "logprob": -0.25, "bytes": list(answer.encode())}
            completed["choices"][0]["logprobs"] = {"content": [{**token, "top_logprobs": [token] * n_top}]}
        return completed

    def _value(self, body: dict[str, Any], field: dict[str, Any]) -> str:
        return _drawn(body, field["enum"]) if field.get("enum") else self._answer(body)

    def _fault(self, request: web.Request, body: dict[str, Any]) -> str | None:
        if self.behaviour.key is not None and request.headers.get("Authorization") != f"Bearer {self.behaviour.key}":
            return "wrong_key"
        if self.behaviour.models and body.get("model") not in self.behaviour.models:
            return "unknown_model"
        named = re.search(r"<<(\w+)>>", last_user(body))
        if named is not None:
            return named[1]
        digest = _digest(body)
        self.tries[digest] += 1
        return fault_of(self.behaviour.first, self.behaviour.rates, self.tries[digest] - 1, self.dice.random())

    def _answer(self, body: dict[str, Any]) -> str:
        if self.behaviour.completion is not None:
            return self.behaviour.completion
        prompt = "\n".join(str(message.get("content")) for message in body["messages"])
        if re.search("rephras|reword", prompt, re.IGNORECASE):
            # as a model does: at a temperature the same question brings other wordings the next time
            draw = (body.get("seed"), self.tries[_digest(body)] if body.get("temperature") else 0)
            return rephrased(prompt, f"{_digest(body)} {draw}", self.behaviour.rephrasings_as)
        named = [label for label in LABELS if re.search(rf"\b{label}\b", prompt, re.IGNORECASE)]
        return _drawn(body, self.behaviour.labels or named or LABELS)

    async def counters(self, _: web.Request) -> web.Response:
        return web.json_response(
            {"requests": self.counts.total(), "peak_in_flight": self.peak, "by_outcome": self.counts}
        )

    async def requests(self, _: web.Request) -> web.Response:
        return web.json_response(list(self.seen))

    async def models(self, _: web.Request) -> web.Response:
        names = self.behaviour.models or ("loopback-model",)
        return web.json_response({"object": "list", "data": [{"id": name, "object": "model"} for name in names]})

    async def reset(self, _: web.Request) -> web.Response:
        self.forget()
        return web.json_response({})

    def app(self) -> web.Application:
        app = web.Application(client_max_size=2**28)
        app.router.add_post("/v1/chat/completions", self.chat)
        app.router.add_get("/v1/models", self.models)
        app.router.add_get("/counters", self.counters)
        app.router.add_get("/requests", self.requests)
        app.router.add_post("/reset", self.reset)
        return app


OPENINGS = (
    "",
    "Please do the following: ",
    "Your job: ",
    "Here is what to do. ",
    "In this exercise: ",
    "Read carefully. ",
)
ENDINGS = ("", " Think before you answer.", " Take the question as it stands.", " Be precise.", " Decide once.")


def verdict_of(prompt: str, unreadable: int) -> str | None:
    """The reply of a judge that looks for a reference in the answer: a sentence for the first asks; None where none is asked."""
    marked = re.search(r"(?s)(===== [0-9a-f]{16} =====)\n(.*)\n\1\n", prompt)
    if marked is None:
        return None
    ask = re.search(r"This is ask (\d+) ", prompt[marked.end() :])
    if int(ask[1] if ask else 1) <= unreadable:
        return "I would say that it matches."
    references = [line[2:] for line in prompt[: marked.start()].splitlines() if line.startswith("- ")]
    said = marked[2].strip().casefold()
    known = [reference.casefold() for reference in references]
    is_match = any(reference in said or said == reference.partition(". ")[0] for reference in known)
    return json.dumps({"reason": f"{len(references)} references", "match": is_match})


def rephrased(prompt: str, draw: str, shape: str) -> str:
    """As many distinct rewordings as the first whole number of the prompt says (default 5, at most 1,000).

    What is reworded stands in <instruction> tags, else it is the longest quoted passage, else the last line that is not
    blank; it is kept whole in each, so that labels and placeholders come through. `draw` picks which ones, in which order;
    `shape` is array, object, fenced or numbered.
    """
    number = re.search(r"\b\d{1,4}\b", prompt)
    n = min(int(number[0]) if number else 5, 1000)
    passages = re.findall(r"<instruction>(.+?)</instruction>", prompt, re.DOTALL) or re.findall(
        r'"([^"\n]{10,})"', prompt
    )
    instruction = (max(passages, key=len) if passages else prompt.strip().splitlines()[-1]).strip()
    made = [a + instruction + b + c for a in OPENINGS for b in ENDINGS for c in ENDINGS if a or b or c]
    made = list(dict.fromkeys(made))
    made += [f"{instruction} (wording {index})" for index in range(n - len(made))]
    texts = random.Random(draw).sample(made, n)
    if shape == "object":
        return json.dumps({"rephrasings": texts})
    if shape == "fenced":
        return f"Here they are:\n```json\n{json.dumps(texts, indent=1)}\n```"
    if shape == "numbered":
        return "\n".join(f"{index}. {text}" for index, text in enumerate(texts, 1))
    return json.dumps(texts)


def _digest(body: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def _drawn(body: dict[str, Any], labels: Sequence[str]) -> str:
    parts = [last_user(body), body.get("seed") if body.get("temperature") else None]
    return labels[hash_of(json.dumps(parts)) % len(labels)]


class RunningServer(ChildServer):
    """A started server as a test sees it."""

    def counters(self) -> dict[str, Any]:
        """`requests`, `peak_in_flight`, and `by_outcome`: "answered" or a fault's name to how often."""
        counters: dict[str, Any] = self.json("counters")
        return counters

    def requests(self) -> list[dict[str, Any]]:
        """`body`, `headers` and `fault` of the last 1,000 requests, oldest first."""
        requests: list[dict[str, Any]] = self.json("requests")
        return requests

    def reset(self) -> None:
        """Forgets counters, requests and tries."""
        self.json("reset", "POST")


@contextlib.contextmanager
def running_server(**behaviour: Any) -> Iterator[RunningServer]:
    """A server in its own process on a free port of 127.0.0.1; takes the fields of `Behaviour`; ends with the block."""
    options = json.dumps(asdict(Behaviour(**behaviour)))
    with child_process(__name__, "--child", "--behaviour", options) as (base_url, process):
        yield RunningServer(base_url, process)


async def _serve(port: int, behaviour: Behaviour, *, is_child: bool) -> None:
    served = Server(behaviour)
    runner = web.AppRunner(served.app(), access_log=None, shutdown_timeout=0)
    await runner.setup()
    assert runner.server is not None
    listening = await _listen(runner.server, port)
    bound = listening.sockets[0].getsockname()[1]
    say_base_url(bound)

    async def go_down() -> None:
        await served.outage.wait()
        listening.close()
        for connection in list(runner.server.connections) if runner.server else ():
            if connection.transport is not None:
                connection.transport.abort()
        await asyncio.sleep(behaviour.down_for_s)
        if runner.server:
            await _listen(runner.server, bound)

    outage = asyncio.create_task(go_down())
    if is_child:
        # stdin ends with whoever started this process, so a killed test run leaves no server behind
        await asyncio.to_thread(sys.stdin.read)
    else:
        await asyncio.Event().wait()
    outage.cancel()
    await runner.cleanup()


async def _listen(server: web.Server, port: int) -> asyncio.Server:
    loop = asyncio.get_running_loop()
    return await loop.create_server(server, "127.0.0.1", port, backlog=4096, reuse_address=True)


def main() -> None:
    """Starts the server from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--port", type=int, default=0, help="0: a free one")
    parser.add_argument("--behaviour", default="{}", help="JSON with the fields of Behaviour")
    parser.add_argument("--child", action="store_true", help="end when stdin does")
    options = parser.parse_args()
    given = json.loads(options.behaviour)
    given |= {
        name: tuple(given[name]) for name in ("labels", "models", "refuses", "ignores", "rate_headers") if name in given
    }
    import uvloop

    uvloop.run(_serve(options.port, Behaviour(**given), is_child=options.child))


if __name__ == "__main__":
    main()
