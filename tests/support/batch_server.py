"""A real server of OpenAI's Files and Batch API on loopback, in its own process, that answers by rule and fails on demand.

    python -m tests.support.batch_server --behaviour '{"seconds": 2, "rates": {"expire": 0.5}}'

prints one line, `{"base_url": "http://127.0.0.1:40551/v1"}`, and serves until stdin ends. A completion is the label that
a hash of the last user message picks. A batch is validating, in_progress, finalizing and then completed, expired, failed or
cancelled; its requests are computed when it leaves in_progress, and `GET /batch_counters` says how often each was.

What becomes of a request: "expire", "status_500", "status_400" (too long), "refuse_cap" (max_tokens is not taken),
"stop" (no such model), by `rates` (name to probability, drawn from the custom id, so the same each time) or by `first`
(name to how many of a request's first computations), or because the last user message holds `<<name>>`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hashlib
import json
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
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


@dataclass
class Behaviour:
    """How the server behaves; every field may be given to `running_batch_server`."""

    seconds: float = 0.1  # in_progress
    key: str | None = None  # the only key taken; default: any
    rates: dict[str, float] = field(default_factory=dict)
    first: dict[str, int] = field(default_factory=dict)
    is_shuffled: bool = True
    n_malformed: int = 0  # lines of garbage in each output file
    n_doubled: int = 0  # results that come twice, with another completion the second time
    n_foreign: int = 0  # results of custom ids nobody sent
    n_output_bytes: int = 0  # of padding in each completion
    fails: str | None = None  # the code with which every batch fails as a whole
    max_running: int | None = None  # batches; one more fails with token_limit_exceeded
    create_delay_s: float = 0  # a batch is made at once and told of later
    lose_creates: int = 0  # so many first creations are made and answered with a 500
    lose_looks: int = 0  # so many first looks are answered with a 500
    page: int = 100  # batches a page of the list, at most
    content: str = "plain"  # or redirect, echo_500, gone, gzip, endless
    hostile_batch: bool = False  # fields of the wrong types, and the key in every text


class BatchServer:
    """Files, batches, and what is counted of them."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.start_over(behaviour)

    def start_over(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.started: dict[str, float] = {}
        self.tries: Counter[str] = Counter()  # of a request by custom id, and the times it was computed
        self.computed: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()
        self.bodies: list[dict[str, Any]] = []

    # ------------------------------------------------------------ files
    async def upload(self, request: web.Request) -> web.Response:
        if (wrong := self._wrong_key(request)) is not None:
            return wrong
        purpose, content, name = None, b"", ""
        async for part in await request.multipart():
            if part.name == "purpose":
                purpose = (await part.read()).decode()
            elif part.name == "file":
                name, content = part.filename, await part.read()
        if purpose != "batch" or not name.endswith(".jsonl"):
            return error_of(400, "Invalid file or purpose.", "invalid_request_error")
        file_id = self._keep(content)
        self.counts["uploads"] += 1
        return web.json_response(self._file(file_id, purpose))

    def _keep(self, content: bytes) -> str:
        file_id = f"file-{len(self.files) + 1:06d}"
        self.files[file_id] = content
        return file_id

    def _file(self, file_id: str, purpose: str) -> dict[str, Any]:
        size = len(self.files[file_id])
        return {"id": file_id, "object": "file", "bytes": size, "created_at": int(time.time()), "purpose": purpose}

    async def content(self, request: web.Request) -> web.StreamResponse:
        if (wrong := self._wrong_key(request)) is not None:
            return wrong
        self.counts["downloads"] += 1
        kept = self.files.get(request.match_info["file_id"])
        how = self.behaviour.content
        if how == "redirect":
            return web.Response(status=307, headers={"Location": "/batch_counters"})
        if how == "echo_500":
            return web.Response(status=500, text=f"{dict(request.headers)}", content_type="text/plain")
        if kept is None or how == "gone":
            return error_of(404, "No such File object.", None)
        if how == "endless":
            response = web.StreamResponse(headers={"Content-Type": "application/octet-stream"})
            await response.prepare(request)
            with contextlib.suppress(ConnectionError):
                while True:
                    await response.write(b"x" * 1_000_000)
        plain = web.Response(body=kept, content_type="application/octet-stream")
        if how == "gzip":
            plain.enable_compression(web.ContentCoding.gzip)
        return plain

    # ------------------------------------------------------------ batches
    async def create(self, request: web.Request) -> web.Response:
        if (wrong := self._wrong_key(request)) is not None:
            return wrong
        body = await request.json()
        if body.get("completion_window") != "24h" or body.get("endpoint") != "/v1/chat/completions":
            return error_of(400, "Invalid completion_window or endpoint.", "invalid_request_error")
        if body.get("input_file_id") not in self.files:
            return error_of(400, "Invalid input_file_id.", "invalid_request_error")
        batch_id = f"batch_{len(self.batches) + 1:06d}"
        created_at = int(time.time()) + len(self.batches)  # no two in one second, as it is where a batch takes minutes
        self.batches[batch_id] = {
            "id": batch_id,
            "object": "batch",
            "endpoint": body["endpoint"],
            "errors": None,
            "status": "validating",
            "input_file_id": body["input_file_id"],
            "completion_window": "24h",
            "output_file_id": None,
            "error_file_id": None,
            "created_at": created_at,
            "metadata": body.get("metadata"),
            "request_counts": {"total": 0, "completed": 0, "failed": 0},
        }
        self.started[batch_id] = time.monotonic()
        self.counts["creates"] += 1
        await asyncio.sleep(self.behaviour.create_delay_s)
        if self.counts["creates"] <= self.behaviour.lose_creates:
            return error_of(500, "The server had an error while processing your request.", "server_error")
        return web.json_response(self._shown(batch_id, request, is_new=True))

    async def retrieve(self, request: web.Request) -> web.Response:
        if (wrong := self._wrong_key(request)) is not None:
            return wrong
        self.counts["looks"] += 1
        if self.counts["looks"] <= self.behaviour.lose_looks:
            return error_of(500, "The server had an error while processing your request.", "server_error")
        batch_id = request.match_info["batch_id"]
        if batch_id not in self.batches:
            return error_of(404, f"No batch found with id '{batch_id}'.", None)
        return web.json_response(self._shown(batch_id, request))

    async def list(self, request: web.Request) -> web.Response:
        if (wrong := self._wrong_key(request)) is not None:
            return wrong
        self.counts["lists"] += 1
        names = list(reversed(self.batches))
        after, limit = request.query.get("after"), int(request.query.get("limit", "20"))
        names = names[names.index(after) + 1 :] if after else names
        page = names[: min(limit, self.behaviour.page)]
        shown = [self._shown(name, request) for name in page]
        return web.json_response({"object": "list", "data": shown, "has_more": len(page) < len(names)})

    async def cancel(self, request: web.Request) -> web.Response:
        batch = self.batches[request.match_info["batch_id"]]
        self._advance(batch)
        if batch["status"] in ("validating", "in_progress"):
            batch["status"] = "cancelled"
        return web.json_response(batch)

    def _shown(self, batch_id: str, request: web.Request, *, is_new: bool = False) -> dict[str, Any]:
        batch = self.batches[batch_id]
        if not is_new:
            self._advance(batch)
        if not self.behaviour.hostile_batch:
            return batch
        key = request.headers.get("Authorization", "")
        odd = {"status": f"{key} \x1b[31m", "errors": {"data": [{"code": key, "message": key}]}, "created_at": "x"}
        return {**batch, **odd, "request_counts": {"total": 10**30, "completed": -1, "failed": "x"}, "metadata": [key]}

    def _advance(self, batch: dict[str, Any]) -> None:
        if batch["status"] in ("completed", "failed", "expired", "cancelled"):
            return
        lines = [line for line in self.files[batch["input_file_id"]].split(b"\n") if line]
        age = time.monotonic() - self.started[batch["id"]]
        running = [b for b in self.batches.values() if b["status"] in ("in_progress", "finalizing")]
        if batch["status"] == "validating":
            limit = self.behaviour.max_running
            code = self.behaviour.fails
            if limit is not None and len(running) >= limit:
                code = "token_limit_exceeded"
            if code is not None:
                error = {"code": code, "message": f"The batch is refused: {code}.", "param": None, "line": 1}
                batch |= {"status": "failed", "errors": {"object": "list", "data": [error]}}
                return
            batch["status"] = "in_progress"
            batch["request_counts"] = {"total": len(lines), "completed": 0, "failed": 0}
        elif batch["status"] == "in_progress" and age > self.behaviour.seconds:
            self._compute(batch, [json.loads(line) for line in lines])
            batch["status"] = "finalizing"
        elif batch["status"] == "finalizing":
            batch["status"] = batch.pop("to_be")

    def _compute(self, batch: dict[str, Any], lines: list[dict[str, Any]]) -> None:
        output, errors, n_expired = [], [], 0
        for line in lines:
            self.bodies = [*self.bodies[-999:], line["body"]]
            fault = self._fault(line)
            if fault == "expire":
                n_expired += 1
                message = "This request could not be executed before the completion window expired."
                errors.append(_line(line, None, {"code": "batch_expired", "message": message}))
                continue
            self.computed[line["custom_id"]] += 1
            if fault is not None:
                errors.append(_line(line, *_FAULTS[fault]))
                continue
            content = _label(line["body"]) + "x" * self.behaviour.n_output_bytes
            output.append(_line(line, 200, completion_of(content)))
        output += [_line(line, 200, completion_of("twice")) for line in lines[: self.behaviour.n_doubled]]
        foreign = [{"custom_id": f"{n:032x}"} for n in range(self.behaviour.n_foreign)]
        output += [_line(line, 200, completion_of("foreign")) for line in foreign]
        if self.behaviour.is_shuffled:
            n_first = len(output) - self.behaviour.n_doubled - len(foreign)
            first = output[:n_first]
            random.Random(batch["id"]).shuffle(first)
            output[:n_first] = first
        garbage = ["", "{", "[]", '{"custom_id": 7}', '{"custom_id": null, "response": 3}', "\xff", "[" * 100_000]
        texts = [json.dumps(line) for line in output] + [garbage[n % 7] for n in range(self.behaviour.n_malformed)]
        batch["output_file_id"] = self._keep("\n".join(texts).encode("latin-1") + b"\n") if output else None
        wrong = "\n".join(json.dumps(line) for line in errors)
        batch["error_file_id"] = self._keep(wrong.encode() + b"\n") if errors else None
        counts = {"total": len(lines), "completed": len(lines) - len(errors), "failed": len(errors)}
        batch |= {"request_counts": counts, "to_be": "expired" if n_expired else "completed"}

    def _fault(self, line: dict[str, Any]) -> str | None:
        named = re.search(r"<<(\w+)>>", last_user(line["body"]))
        if named is not None:
            return named[1]
        if "refuse_cap" in self.behaviour.rates:
            return "refuse_cap" if "max_tokens" in line["body"] else None
        n_before = self.tries[line["custom_id"]]
        self.tries[line["custom_id"]] += 1
        return fault_of(self.behaviour.first, self.behaviour.rates, n_before, hash_of(line["custom_id"]) / 2**64)

    # ------------------------------------------------------------ the rest
    def _wrong_key(self, request: web.Request) -> web.Response | None:
        sent = request.headers.get("Authorization", "")
        if self.behaviour.key is None or sent == f"Bearer {self.behaviour.key}":
            return None
        return error_of(401, f"Incorrect API key provided: {sent}.", "invalid_api_key")

    async def counters(self, _: web.Request) -> web.Response:
        return web.json_response(
            {
                "computed": self.computed,
                "batches": list(self.batches.values()),
                "bodies": self.bodies,
                **self.counts,
                "bytes": {file_id: len(content) for file_id, content in self.files.items()},
            }
        )

    async def behave(self, request: web.Request) -> web.Response:
        for name, value in (await request.json()).items():
            setattr(self.behaviour, name, value)
        return web.json_response({})

    async def reset(self, request: web.Request) -> web.Response:
        self.start_over(Behaviour(**await request.json()))
        return web.json_response({})

    def app(self) -> web.Application:
        app = web.Application(client_max_size=2**30)
        app.router.add_post("/v1/files", self.upload)
        app.router.add_get("/v1/files/{file_id}/content", self.content)
        app.router.add_post("/v1/batches", self.create)
        app.router.add_get("/v1/batches", self.list)
        app.router.add_get("/v1/batches/{batch_id}", self.retrieve)
        app.router.add_post("/v1/batches/{batch_id}/cancel", self.cancel)
        app.router.add_get("/batch_counters", self.counters)
        app.router.add_post("/behave", self.behave)
        app.router.add_post("/reset", self.reset)
        return app


_FAULTS: dict[str, tuple[int, dict[str, Any]]] = {
    name: (status, {"error": {"message": message, "type": "error", "param": param, "code": code}})
    for name, status, message, code, param in (
        ("status_500", 500, "The server had an error.", "server_error", None),
        ("status_400", 400, "Your messages exceed the maximum context length.", "context_length_exceeded", "messages"),
        ("refuse_cap", 400, "Unsupported parameter: 'max_tokens'.", "unsupported_parameter", "max_tokens"),
        ("stop", 404, "The model `m` does not exist.", "model_not_found", None),
    )
}


def _line(line: dict[str, Any], status: int | None, body: dict[str, Any]) -> dict[str, Any]:
    made = {"id": f"batch_req_{line['custom_id'][:8]}", "custom_id": line["custom_id"]}
    if status is None:
        return {**made, "response": None, "error": body}
    response = {"status_code": status, "request_id": f"req_{line['custom_id'][:8]}", "body": body}
    return {**made, "response": response, "error": None}


def _label(body: dict[str, Any]) -> str:
    digest = hashlib.sha256(last_user(body).encode("utf-8", "surrogatepass")).digest()
    return LABELS[digest[0] % len(LABELS)]


class RunningBatchServer(ChildServer):
    """A started server as a test sees it."""

    def counters(self) -> dict[str, Any]:
        """`computed` by custom id, `batches`, `bodies` (the last 1,000), `bytes` by file; how many uploads, creates, looks."""
        counters: dict[str, Any] = self.json("batch_counters")
        return counters

    def behave(self, **behaviour: Any) -> None:
        """Changes fields of the behaviour from now on."""
        self.json("behave", "POST", behaviour)

    def reset(self, **behaviour: Any) -> None:
        """Forgets files, batches and counters, and behaves as if just started."""
        self.json("reset", "POST", behaviour)

    def cancel(self, batch_id: str) -> None:
        """Cancels a batch, as its owner may on the provider's page."""
        self.json(f"v1/batches/{batch_id}/cancel", "POST")


@contextlib.contextmanager
def running_batch_server(**behaviour: Any) -> Iterator[RunningBatchServer]:
    """A server in its own process on a free port of 127.0.0.1; takes the fields of `Behaviour`; ends with the block."""
    options = json.dumps(asdict(Behaviour(**behaviour)))
    with child_process(__name__, "--behaviour", options) as (base_url, process):
        yield RunningBatchServer(base_url, process)


async def _serve(behaviour: Behaviour) -> None:
    runner = web.AppRunner(BatchServer(behaviour).app(), access_log=None, shutdown_timeout=0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    say_base_url(runner.addresses[0][1])
    # stdin ends with whoever started this process, so a killed test run leaves no server behind
    await asyncio.to_thread(sys.stdin.read)
    await runner.cleanup()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--behaviour", default="{}", help="JSON with the fields of Behaviour")
    asyncio.run(_serve(Behaviour(**json.loads(parser.parse_args().behaviour))))
