"""What takes batches: an engine that is handed many requests at once and answers hours later, or after a restart."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from promptaudit.flows.engines import Answer, Request, ServedModel
from promptaudit.flows.engines.batches.lines import Draft
from promptaudit.flows.engines.openai_api.body import Body
from promptaudit.models_registry.cards import ModelCard
from promptaudit.models_registry.errors import EngineError
from promptaudit.models_registry.model_cards import Batching


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchStatus:
    """A batch at one look. `n_requests` is 0 until they are counted."""

    state: str
    is_ended: bool
    n_requests: int
    n_done: int
    error: str | None = None  # why the whole batch failed, or what is wrong with it
    is_full: bool = False  # it failed because too much of ours waits there already


class Batches(ABC):
    """Whoever takes a card's batches: a provider's API, or vLLM on this machine. Temporary files lie in `folder`."""

    served: ServedModel
    refused: EngineError | None = None  # after `answers`: a refusal among them that holds for every request

    def __init__(self, card: ModelCard, folder: Path) -> None:
        self._card, self._folder = card, folder
        self._body = Body(card)
        # by batch what it was sent as: its refusals are understood by that, and the next may be sent differently
        self._sent: dict[str, Body] = {}
        self._sent_first = copy.deepcopy(self._body)

    @property
    def notes(self) -> Sequence[str]:
        """Returns the parameters that were refused and are left out."""
        return self._body.learnt

    def draft(self) -> Draft:
        """Returns a new, empty file of requests, up to the card's `max_requests` and 200 MB."""
        batching = self._card.batch or Batching()
        return Draft(self._folder, self._body.of, batching.max_requests)

    def sent_as(self, batch_id: str, request: Request) -> str:
        """Returns JSON of the sampling parameters that a request of the batch was sent with."""
        return self._sent.get(batch_id, self._sent_first).sent_as(request)

    @abstractmethod
    async def submit(self, draft: Draft, metadata: Mapping[str, str]) -> str:
        """Hands a draft over; the batch's id."""

    @abstractmethod
    async def look(self, batch_id: str) -> BatchStatus | None:
        """Returns how a batch stands; None where that cannot be told for now."""

    @abstractmethod
    def answers(self, batch_id: str, sent: Sequence[str] = ()) -> AsyncIterator[tuple[str, Answer]]:
        """Yields (prediction_id, answer) of every result of an ended batch, in any order; "" for a line that is no result.

        `sent` are texts in which the key's value is no secret. A refusal that holds for every request is in `refused` at
        the end.
        """

    @abstractmethod
    async def find(self, metadata: Mapping[str, str]) -> list[str]:
        """Returns the ids of batches that were handed over with this metadata, oldest first."""

    @abstractmethod
    async def forget(self, batch_id: str) -> None:
        """Lets go of a batch whose answers have landed."""

    @abstractmethod
    async def wait(self, seconds: float) -> None:
        """Waits so long, or until a batch may have ended."""

    @abstractmethod
    async def close(self) -> None:
        """Lets go of connections and processes; a second call does nothing."""

    def _taken(self, batch_id: str) -> str:
        self._sent[batch_id] = copy.deepcopy(self._body)
        return batch_id

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
