"""Writes the requests of a batch as lines of a file, and reads the lines of its results."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import IO, Any

from promptaudit.engines import Answer, Attempt, Request
from promptaudit.engines.openai_api.completions import MAX_PARSED, read_completion
from promptaudit.engines.openai_api.error_bodies import described, error_in
from promptaudit.engines.openai_api.faults import Failure, failure_of, settled
from promptaudit.registry.errors import DataError
from promptaudit.registry.read_json import refuse_costly
from promptaudit.system.scrub import one_line

ENDPOINT = "/v1/chat/completions"
MAX_FILE_BYTES = 200_000_000  # what the API takes
MAX_LINE_BYTES = 64 * 1024 * 1024
BREATH = 100  # lines until other tasks get their turn

Learn = Callable[[int, Mapping[str, Any]], bool]
"""Learns from the status and the error of a refusal, and says whether the next batch leaves out the parameter."""


class Draft(AbstractContextManager["Draft"]):
    """Collects requests in a file without a name, so that no kill leaves it behind."""

    def __init__(self, folder: Path, body: Callable[[Request], Mapping[str, Any]], max_requests: int) -> None:
        self.file: IO[bytes] = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed with the draft
        self._body = body
        self._max_requests = max_requests
        self.n_requests = 0
        self.n_bytes = 0

    def add(self, request: Request) -> bool:
        """Writes one request; if the draft is full, writes nothing and returns False.

        Raises ValueError, with the reason, for a request that no batch can carry.
        """
        line = {"custom_id": request.prediction_id, "method": "POST", "url": ENDPOINT, "body": self._body(request)}
        try:
            raw = json.dumps(line, ensure_ascii=False).encode() + b"\n"
        except UnicodeEncodeError:
            msg = "the prompt holds a lone surrogate, which no request can carry"
            raise ValueError(msg) from None
        if len(raw) > MAX_FILE_BYTES:
            msg = f"a request of {len(raw)} bytes; a batch holds {MAX_FILE_BYTES}"
            raise ValueError(msg)
        if self.n_requests == self._max_requests or self.n_bytes + len(raw) > MAX_FILE_BYTES:
            return False
        self.file.write(raw)
        self.n_requests += 1
        self.n_bytes += len(raw)
        return True

    def __exit__(self, *_: object) -> None:
        """Closes the file, which removes it."""
        self.file.close()


class Results:
    """Reads result lines; `stopped_by` is the first refusal among them that holds for every request.

    `at` is when the batch was made: a failed try is stamped with it, so that reading a batch again adds no try.
    """

    def __init__(self, secrets: Sequence[str], sent: Sequence[str], at: datetime, learn: Learn) -> None:
        self._secrets, self._sent, self._at, self._learn = secrets, sent, at, learn
        self.stopped_by: Failure | None = None

    async def of(self, file: IO[bytes]) -> AsyncIterator[tuple[str, Answer]]:
        """Yields (prediction_id, answer) of each line of a file; "" and an empty answer for a line that is no result."""
        n_lines = 0
        while line := file.readline(MAX_LINE_BYTES):
            n_lines += 1
            if n_lines % BREATH == 0:
                await asyncio.sleep(0)
            if len(line) == MAX_LINE_BYTES and not line.endswith(b"\n"):
                while line and not line.endswith(b"\n"):
                    line = file.readline(MAX_LINE_BYTES)
                yield "", Answer()
            elif line.strip():
                yield self.read(line)

    def read(self, line: bytes) -> tuple[str, Answer]:
        """Reads one line: a completion or permanent error is settled; what another batch may answer is a failed try."""
        try:
            refuse_costly(line, "a line", MAX_PARSED)
            result = json.loads(line)
        except (DataError, ValueError, RecursionError):
            result = None
        custom_id = result.get("custom_id") if isinstance(result, dict) else None
        if not isinstance(result, dict) or not isinstance(custom_id, str):
            return "", Answer()
        outcome = self._outcome(result)
        if isinstance(outcome, Answer):
            return custom_id, outcome
        text = one_line(outcome.text, self._secrets)
        if outcome.verdict in ("never", "refused"):
            return custom_id, settled(outcome.verdict, text)
        if outcome.verdict == "stop" and self.stopped_by is None:
            self.stopped_by = outcome
        return custom_id, Answer(attempts=(Attempt(self._at, outcome.http_status, text, 0.0),))

    def _outcome(self, result: Mapping[str, Any]) -> Answer | Failure:
        response = result.get("response")
        response = response if isinstance(response, dict) else {}
        status, body = response.get("status_code"), response.get("body")
        if status == HTTPStatus.OK and body is not None:
            request_id = response.get("request_id")
            request_id = request_id if isinstance(request_id, str) else None
            outcome = read_completion(json.dumps(body).encode(), request_id, self._secrets, self._sent)
            return self._learnt(outcome) if isinstance(outcome, Failure) else outcome
        # a request that was never made has an error and no body
        error = error_in(body or result.get("error") or {})
        if type(status) is not int or not HTTPStatus.BAD_REQUEST <= status < 600:  # noqa: PLR2004 - an error's status
            # not carried out: the batch expired or was cancelled first
            return Failure("again", described(error))
        return self._learnt(failure_of(status, error, {}))

    def _learnt(self, failure: Failure) -> Failure:
        is_learnt = failure.refusal is not None and self._learn(*failure.refusal)
        return replace(failure, verdict="again") if is_learnt else failure
