"""Sends requests to a provider's Batch API and fetches the answers."""

from __future__ import annotations

import asyncio
import copy
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from promptaudit.engines import Answer, Request, ServedModel
from promptaudit.engines.batches.lines import ENDPOINT, Draft, Results
from promptaudit.engines.batches.provider import Provider
from promptaudit.engines.openai_api.body import Body
from promptaudit.engines.openai_api.error_bodies import described
from promptaudit.engines.openai_api.faults import Failure
from promptaudit.engines.pacing.retry import wait_before
from promptaudit.registry.cards import ModelCard
from promptaudit.registry.errors import EngineError
from promptaudit.registry.model_cards import Batching
from promptaudit.system.scrub import one_line, scrub

ENDED = ("completed", "failed", "expired", "cancelled")
FULL = "token_limit_exceeded"  # this organisation has more tokens waiting than it may
MAX_COUNT = 2**31 - 1
_ID = re.compile(r"[\w-][\w.:-]{0,199}")


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchStatus:
    """Describes a batch as it stands at one moment. `n_requests` is 0 until they are counted."""

    state: str
    is_ended: bool
    n_requests: int
    n_done: int
    error: str | None = None  # why the whole batch failed, or what is wrong with it
    is_full: bool = False  # it failed because too much of ours waits there already


class BatchApi:
    """Makes, watches and reads batches of an OpenAI-compatible endpoint, for one event loop.

    Temporary files lie in `folder`.

    Raises EngineError, in one line and without the key, if nothing can be sent or fetched: wrong key, unknown model or
    address, a redirect, or an endpoint that fails `limits.max_attempts` times.
    """

    def __init__(self, card: ModelCard, folder: Path) -> None:
        self._card, self._folder = card, folder
        self._provider = Provider(card)
        self.served = ServedModel(self._provider.host)
        self.refused: EngineError | None = None  # after `answers`: a refusal among them that holds for every request
        self._body = Body(card)
        # each batch's body as it was when the batch was sent: its refusals are about that one, the next may differ
        self._sent: dict[str, Body] = {}
        self._sent_first = copy.deepcopy(self._body)

    @property
    def notes(self) -> Sequence[str]:
        """Lists the parameters that were refused and are left out."""
        return self._body.learnt

    def draft(self) -> Draft:
        """Opens a new, empty file of requests that takes up to the card's `max_requests` and 200 MB."""
        batching = self._card.batch or Batching()
        return Draft(self._folder, self._body.of, batching.max_requests)

    def sent_as(self, batch_id: str, request: Request) -> str:
        """Writes the sampling parameters that a request of the batch was sent with, as JSON."""
        return self._sent.get(batch_id, self._sent_first).sent_as(request)

    async def submit(self, draft: Draft, metadata: Mapping[str, str]) -> str:
        """Uploads a draft, makes a batch of it and returns its id.

        If the provider fails while it makes the batch, its list of batches is read before the next try: a batch that
        was made in spite of the failure is used, so that none is made and paid twice.
        """
        file_id = (await self._provider.upload(draft.file)).get("id")
        if not isinstance(file_id, str) or not file_id:
            self._provider.fail("the upload of a batch", Failure("stop", "the file came back without an id"))
        outcome = await self._provider.create(file_id, ENDPOINT, metadata)
        for attempt in range(2, self._card.limits.max_attempts + 1):
            if not isinstance(outcome, Failure) or outcome.verdict != "again":
                break
            await asyncio.sleep(wait_before(attempt, outcome.retry_after))
            batches = [batch async for batch in self._provider.batches() if batch.get("input_file_id") == file_id]
            outcome = batches[0] if batches else await self._provider.create(file_id, ENDPOINT, metadata)
        if isinstance(outcome, Failure):
            self._provider.fail("the making of a batch", outcome)
        batch_id = _id_of(outcome)
        if scrub(batch_id, self._provider.secrets) != batch_id or not batch_id:
            self._provider.fail("the making of a batch", Failure("stop", "it came back without a usable id"))
        self._sent[batch_id] = copy.deepcopy(self._body)
        return batch_id

    async def look(self, batch_id: str) -> BatchStatus | None:
        """Looks up how a batch stands; None if the endpoint does not answer for now."""
        outcome = await self._provider.look(batch_id)
        if isinstance(outcome, Failure):
            if outcome.http_status == HTTPStatus.NOT_FOUND:
                # of another key, project or address, most likely: asking again elsewhere would pay for it twice
                advice = "correct base_url or the key, or ask everything anew with --new"
                outcome = replace(outcome, text=f"{outcome.text}; {advice}")
            if outcome.verdict != "again":
                self._provider.fail(f"batch {batch_id}", outcome)
            return None
        return self._seen(outcome)

    async def answers(self, batch_id: str, sent: Sequence[str] = ()) -> AsyncIterator[tuple[str, Answer]]:
        """Yields (prediction_id, answer) of each line of the output and error files; "" for a line that is no result.

        Both files are on disk before the first answer is yielded; a file that the provider no longer has counts as
        empty. The key's value is no secret in the texts in `sent`. A refusal that holds for every request is in
        `refused` at the end.
        """
        self.refused = None
        batch = await self._provider.batch(batch_id)
        at = datetime.fromtimestamp(_count(batch.get("created_at")), UTC)
        results = Results(self._provider.secrets, sent, at, lambda *refusal: self._learn(batch_id, *refusal))
        with ExitStack() as stack:
            files = []
            for name in ("output_file_id", "error_file_id"):
                file_id = batch.get(name)
                if isinstance(file_id, str) and file_id:
                    files.append(stack.enter_context(TemporaryFile(dir=self._folder)))
                    await self._provider.download(file_id, files[-1])
            for file in files:
                async for pair in results.of(file):
                    yield pair
        if results.stopped_by is not None:
            self.refused = self._provider.error(f"batch {batch_id}", results.stopped_by)

    async def find(self, metadata: Mapping[str, str]) -> list[str]:
        """Finds the provider's batches of the last 31 days with this metadata, and lists their ids, oldest first."""
        batch_ids = []
        async for batch in self._provider.batches():
            theirs = batch.get("metadata")
            if isinstance(theirs, dict) and all(theirs.get(name) == value for name, value in metadata.items()):
                batch_ids.append(_id_of(batch))
        return [batch_id for batch_id in reversed(batch_ids) if batch_id]

    def forget(self, batch_id: str) -> None:
        """Forgets how a batch was sent, once its answers have landed. The provider's files are left alone."""
        self._sent.pop(batch_id, None)

    async def close(self) -> None:
        """Closes the connections, and leaves the batches running; a second call does nothing."""
        await self._provider.close()

    def _learn(self, batch_id: str, status: int, error: Mapping[str, Any]) -> bool:
        # a result does not say what was sent, but every request of a batch was sent alike: so this one stands for all
        request = Request(
            prediction_id="",
            model_id="",
            task_id="",
            strategy="",
            prompt_variant_id="",
            paraphrase_temperature=None,
            variant_index=0,
            sample_id="",
            repetition=1,
            messages=(("user", ""),),
            labels=(),
            text="",
            request_sha256="",
            answer_schema="{}",
        )
        return self._body.learn(status, error, self._sent.get(batch_id, self._sent_first).of(request))

    def _seen(self, batch: Mapping[str, Any]) -> BatchStatus:
        counts = batch.get("request_counts")
        counts = counts if isinstance(counts, dict) else {}
        status = one_line(str(batch.get("status")), self._provider.secrets, 40)
        errors = batch.get("errors")
        listed = errors.get("data") if isinstance(errors, dict) else None
        first = listed[0] if isinstance(listed, list) and listed and isinstance(listed[0], dict) else {}
        line = f" (line {first['line']})" if isinstance(first.get("line"), int) else ""
        text = described(first) + line if first else "no reason is given"
        return BatchStatus(
            state=status,
            is_ended=status in ENDED,
            n_requests=_count(counts.get("total")),
            n_done=_count(counts.get("completed")) + _count(counts.get("failed")),
            error=one_line(text, self._provider.secrets) if first or status == "failed" else None,
            is_full=first.get("code") == FULL,
        )


def _id_of(batch: Mapping[str, Any]) -> str:
    # "" for an id that no path can hold
    batch_id = batch.get("id")
    return batch_id if isinstance(batch_id, str) and _ID.fullmatch(batch_id) else ""


def _count(value: object) -> int:
    return value if type(value) is int and 0 <= value <= MAX_COUNT else 0
