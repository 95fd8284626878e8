"""What executes a model: an engine answers one request at a time.

An engine raises EngineError when the model cannot be asked at all (wrong key, unknown model, no quota), with the tries
that led to it: the run stops with one line and nothing landed is lost. Everything else is an `Answer`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from promptaudit.registry.cards import ModelCard
from promptaudit.registry.registry import Entry


@dataclass(frozen=True, slots=True)
class Question:
    """Describes what a request is about, for engines that answer without a model. It is never sent."""

    text: str
    options: tuple[str, ...] = ()
    signs: tuple[str, ...] = ()  # the options' enumerators, as the prompt shows them
    gold_index: int | None = None  # of the right option
    references: tuple[str, ...] = ()  # right answers
    completion: str | None = None  # of a judge's request: what is judged
    option_order: tuple[int, ...] = ()  # for each place as shown the option's place in the data; empty: as in the data
    json_field: str | None = None  # of the JSON object that the task's reader reads
    fields: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict
    )  # the fields to extract, each with the values it may have


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Describes one cell of the plan and exactly what is sent for it."""

    prediction_id: str
    model_id: str
    task_id: str
    strategy: str
    prompt_variant_id: str
    paraphrase_temperature: float | None
    variant_index: int
    sample_id: str
    repetition: int
    messages: tuple[tuple[str, str], ...]  # (role, content)
    labels: tuple[str, ...]
    text: str  # the sample's input alone
    request_sha256: str
    answer_schema: str | None = None  # JSON schema that the answer must follow; strategy `structured`, and verdicts
    question: Question | None = None
    setting: str | None = None  # JSON: kind of variation to what the prompt has in place of the original's
    replies: tuple[str, ...] = ()  # replies whose log-likelihoods are wanted, if the engine can weigh them


@dataclass(frozen=True, slots=True)
class Attempt:
    """Describes one failed try of a request that was tried again, or given up for now."""

    attempted_at: datetime
    http_status: int | None
    error: str
    waited_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Describes what became of a request.

    `completion` set: answered. `error` set: a permanent failure of this request alone, which lands as such; beside an
    empty completion it says why the provider blocked the prompt, which is a refusal. Neither: its tries are used up,
    the cell stays missing and the next run asks it again.
    """

    completion: str | None = None
    error: str | None = None
    reasoning: str | None = None
    finish_reason: str | None = None
    is_refused: bool = False  # the provider's own flag
    token_logprobs: str | None = None  # JSON
    option_loglikelihoods: str | None = None  # JSON: of the request's `replies`, in their order
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    discarded_tokens: tuple[int, int] = (0, 0)  # of prompt and completion, of answers before it that ignored the schema
    latency_ms: float | None = None
    sampling: str | None = None  # JSON: sampling parameters as they were sent
    served_model: str | None = None
    system_fingerprint: str | None = None
    request_id: str | None = None
    attempts: Sequence[Attempt] = ()

    @property
    def is_landed(self) -> bool:
        """Checks whether the cell is settled: a completion, or a permanent error."""
        return self.completion is not None or self.error is not None


@dataclass(frozen=True, slots=True)
class ServedModel:
    """Describes what serves a model, as the server itself reports when the engine is opened."""

    endpoint: str  # host and port, without credentials
    engine_version: str | None = None
    served_model: str | None = None
    context_length: int | None = None  # tokens of prompt and completion
    weights_sha256: str | None = None  # of the model's file, where this machine has it
    chat_template: str | None = None  # makes one text of a request's messages


class Engine(ABC):
    """Answers requests; up to `max_connections` workers call `answer` at once.

    The defaults fit an engine that asks no server: it opens at once and is never throttled.
    """

    max_connections: int
    least: int = 1  # it is asked so many at once from the first on
    served: ServedModel | None = None  # known once it is open
    notes: Sequence[str] = ()  # printed at the end of the run: parameters that were refused and left out

    @property
    def pressure(self) -> str:
        """Describes in a few words, for the progress line, how the server slows this engine down; "" if it does not."""
        return ""

    async def open(self) -> None:  # noqa: B027 - most have nothing to get ready
        """Starts or finds what serves the model. Raises EngineError if there is nothing to ask."""

    @abstractmethod
    async def answer(self, request: Request) -> Answer:
        """Answers one request, retries included."""

    def share(self, part: float) -> None:  # noqa: B027 - most have no limits
        """Keeps to this part, in (0, 1], of the card's limits a minute: others ask the same model meanwhile."""

    def give_up(self, reason: str) -> None:  # noqa: B027 - most have nobody waiting
        """Ends calls that wait for a further try, without an answer; what is in flight is still answered."""

    async def close(self) -> None:  # noqa: B027 - most hold nothing
        """Closes connections, files and processes; a second call does nothing."""


MayTry = Callable[[], bool]
"""Says before every further try of a request whether one more may be sent. False gives the request up for now."""


def always() -> bool:
    """Allows every further try: there is no budget."""
    return True


Say = Callable[[str], None]
"""Prints one line about something that takes a while, such as a server that starts."""


def silent(text: str) -> None:
    """Prints nothing."""
    del text


class LandedWithoutAnswer(Exception):
    """Signals that the requested cell has landed as a permanent error."""


LandedAnswers = Callable[[str, Request], str | None]
"""Maps (model_id, request) to the landed completion of the same cell by that model, or to None if none has landed yet.

The engine `noisy` perturbs that completion. Raises LandedWithoutAnswer for a permanent error.
"""


def open_engine(
    entry: Entry, landed: LandedAnswers | None = None, may_try: MayTry = always, say: Say = silent
) -> Engine:
    """Makes the engine of a model card; imports only what that card needs."""
    card: Any = entry.card
    if not isinstance(card, ModelCard):
        msg = f"not a model card: {type(card).__name__}"
        raise TypeError(msg)
    if card.engine == "openai_api":
        from promptaudit.engines.openai_api.engine import OpenAIEngine

        return OpenAIEngine(card, may_try)
    if card.engine == "vllm_server":
        from promptaudit.engines.vllm.engine import VllmServerEngine

        return VllmServerEngine(card, may_try, say)
    if card.engine == "llama_cpp":
        from promptaudit.engines.llama_cpp.engine import LlamaServerEngine

        return LlamaServerEngine(entry, card, may_try, say)
    if card.engine == "recorded":
        from promptaudit.engines.recorded import RecordedEngine

        return RecordedEngine(card, entry)
    if card.engine == "python":
        from promptaudit.engines.python_function import PythonEngine

        return PythonEngine(entry, may_try, say)
    from promptaudit.engines.embedded.engine import open_annotator

    return open_annotator(card, landed)
