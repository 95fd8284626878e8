"""Asks a function of the user's own, `annotate(text, prompt)`, in threads of this process."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import time
from collections.abc import Callable
from datetime import UTC, datetime

from promptaudit.engines import Answer, Attempt, Engine, MayTry, Request, Say, always, silent
from promptaudit.engines.own_code import load, long_secrets, raised
from promptaudit.engines.pacing.retry import wait_before
from promptaudit.engines.pacing.spacing import Spacing
from promptaudit.registry.cards import ModelCard
from promptaudit.registry.errors import EngineError
from promptaudit.registry.registry import Entry
from promptaudit.system.daemon_threads import DaemonThreads
from promptaudit.system.scrub import without_values

OF_THIS_CELL = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, AssertionError)
"""Lists what Python raises for an input that the code cannot handle, and would raise again."""
OF_EVERY_CELL = (ImportError, NameError, NotImplementedError, MemoryError)


class PythonEngine(Engine):
    """Calls a function; `limits.max_connections` calls at once if the card sets it, else one after the other.

    A ValueError, TypeError, LookupError, ArithmeticError, AttributeError or AssertionError of the function is a
    permanent error of that cell. An ImportError, NameError, NotImplementedError or MemoryError stops the run. Any other
    exception, and each that is an OSError too (of a network, a file, a provider's library), is a failed try: the call
    is made again, up to `limits.max_attempts` times, then the cell stays missing.
    """

    def __init__(self, entry: Entry, may_try: MayTry = always, say: Say = silent) -> None:
        card, code = entry.card, entry.code
        if not isinstance(card, ModelCard) or code is None:
            msg = f"not the card of a function: {type(card).__name__}"
            raise TypeError(msg)
        is_written = "max_connections" in card.limits.model_fields_set
        self.max_connections = card.limits.max_connections if is_written else 1
        self._card, self._file, self._code = card, entry.file, code
        self._may_try, self._say = may_try, say
        self._spacing = Spacing(card.limits)
        self._threads = DaemonThreads(self.max_connections)
        self._function: Callable[[str, str], object] | None = None
        self._kinds_reported: set[str] = set()
        self._stopped_by: str | None = None
        self._stopping = asyncio.Event()

    async def open(self) -> None:
        """Loads the function; raises EngineError if that fails."""
        self._function = await self._threads.run(lambda: load(self._code, self._file))

    async def answer(self, request: Request) -> Answer:
        """Calls the function: None becomes an empty answer, anything else becomes text."""
        if self._function is None:
            await self.open()
        failed: list[Attempt] = []
        call = functools.partial(self._said, request.text, prompt_of(request))
        while self._stopped_by is None:
            if self._spacing.is_set:
                await self._spacing.take(sum(len(content) for _, content in request.messages) // 4)
            attempted_at, started = datetime.now(UTC), time.perf_counter()
            try:
                completion = await self._threads.run(call)
            except Exception as error:  # noqa: BLE001 - whatever a person's function raises
                text = raised(self._code.name, error)
                self._report_once(request, error, text)
                if isinstance(error, OF_EVERY_CELL):
                    self._stop(request, text)
                if isinstance(error, OF_THIS_CELL) and not isinstance(error, OSError):
                    return Answer(error=text, attempts=tuple(failed))
                failed.append(Attempt(attempted_at, None, text, 0.0))
            else:
                latency_ms = (time.perf_counter() - started) * 1000
                return Answer(
                    completion=without_values(completion, long_secrets()),
                    finish_reason="stop",
                    latency_ms=latency_ms,
                    served_model=self._card.model,
                    attempts=tuple(failed),
                )
            if len(failed) == self._card.limits.max_attempts or not self._may_try():
                break
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), wait_before(len(failed) + 1))
        if self._stopped_by is not None and not failed:
            raise EngineError(self._stopped_by)
        return Answer(attempts=tuple(failed))

    def share(self, part: float) -> None:
        """Keeps to this part, in (0, 1], of the card's limits a minute."""
        self._spacing.part = part

    def give_up(self, reason: str) -> None:
        """Ends calls that wait for a further try, without an answer, and refuses new ones."""
        self._stopped_by = self._stopped_by or reason
        self._stopping.set()

    async def close(self) -> None:
        """Ends the threads; a call that hangs is not waited for."""
        self._threads.end()

    def _said(self, text: str, prompt: str) -> str:
        assert self._function is not None  # noqa: S101 - it is open
        said = self._function(text, prompt)
        return "" if said is None else str(said)

    def _report_once(self, request: Request, error: Exception, text: str) -> None:
        # the first error of each kind: others are like it
        kind = type(error).__name__
        if kind not in self._kinds_reported:
            self._kinds_reported.add(kind)
            self._say(f"model '{request.model_id}', sample '{request.sample_id}': {text}")

    def _stop(self, request: Request, text: str) -> None:
        msg = f"model '{request.model_id}': {text}"
        self.give_up(msg)
        raise EngineError(msg)


def prompt_of(request: Request) -> str:
    """Joins the contents of a request's messages by blank lines, without a message that is the sample's text alone."""
    return "\n\n".join(content for _, content in request.messages if content != request.text)
