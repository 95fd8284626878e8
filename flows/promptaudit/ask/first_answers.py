"""Checks answers as they come in: the first ones, before the costs grow, and prompts with equal token counts."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from promptaudit.cards.trust.readers import trusted_readers
from promptaudit.engines import Answer, Request
from promptaudit.registry.errors import MeasureError
from promptaudit.udfs.readers.reading import OwnReaders, read_answer

Read = Callable[[Request, Answer], tuple[str | None, bool]]
"""Reads an answer: what it says, for people, and whether it could be read."""

FIRST = 50
SHOWN_CHARACTERS = 1000
LONG_H = 0.5


class Look:
    """Checks the first answers of one model or judge: shows one, and stops the run early if too many are unreadable.

    `name` is the model or judge, `noun` what is read from an answer, `read` returns that for people and whether it
    could be read, `mend` is advice for a stop. `advice` gives lines on what would read more of the answers, printed
    when the check is over, as is how long all `n_requests` take if that is half an hour or more.
    """

    def __init__(
        self,
        name: str,
        noun: str,
        read: Read,
        max_invalid_rate: float,
        say: Callable[[str], None],
        mend: str,
        advice: Callable[[], Iterable[str]] = tuple,
        n_requests: int = 0,
    ) -> None:
        self._advice, self._n_requests = advice, n_requests
        self._half_at = 0.0
        self._name, self._noun, self._read, self._say, self._mend = name, noun, read, say, mend
        self._max_invalid = max_invalid_rate * FIRST
        self._n_back = self._n_answers = self._n_invalid = 0
        self._is_over, self._places = asyncio.Event(), asyncio.Semaphore(FIRST)

    async def admit(self) -> None:
        """Lets a request pass; until the check is over at most 50 are out at once."""
        if not self._is_over.is_set():
            await self._places.acquire()
            if self._is_over.is_set():  # who waits behind it passes too
                self._places.release()

    def see(self, request: Request, answer: Answer) -> None:
        """Counts one answer; raises MeasureError when more than the allowed share of the first 50 are invalid."""
        if self._is_over.is_set():
            return
        self._places.release()
        self._n_back += 1
        if answer.is_landed:
            label, is_read = self._read(request, answer)
            if not self._n_answers:
                self._say(shown(request, answer, self._noun if label is not None or not is_read else None, label))
            self._n_answers += 1
            self._n_invalid += not is_read
        if self._n_invalid > self._max_invalid:
            self._pass_all()
            what = (
                f"{self._name}: {self._n_invalid} of its first {self._n_answers} answers are no {self._noun}, the last"
            )
            if answer.completion is None:
                msg = f"{what} an error: {answer.error}"
                raise MeasureError(msg)
            quoted = repr(answer.completion[:80])
            error = MeasureError(f"{what} is {quoted}; {'; '.join([*self._advice(), self._mend])}")
            error.quotes = (" ".join(quoted.split()),)
            raise error
        if self._n_back == FIRST // 2:
            self._half_at = time.monotonic()
        if self._n_back >= FIRST:
            self.end()
            self._say_how_long(time.monotonic() - self._half_at, FIRST - FIRST // 2)

    def end(self) -> None:
        """Lets waiting requests go on, and prints what would read more of the answers."""
        if not self._is_over.is_set():
            self._pass_all()
            for line in self._advice():
                self._say(line)

    def _pass_all(self) -> None:
        self._is_over.set()
        self._places.release()

    def _say_how_long(self, passed_s: float, n_answers: int) -> None:
        n_left = self._n_requests - self._n_back
        hours = n_left * passed_s / n_answers / 3600
        if hours >= LONG_H:
            a_minute = 60 * n_answers / max(passed_s, 1e-9)
            self._say(
                f"{self._name} gives {a_minute:.3g} answers a minute: the other {n_left:,} take {hours:.2g} hours at most"
            )


def own_readers_of(readers: Mapping[str, str]) -> OwnReaders:
    """Loads the functions of readers that are the user's own code; `readers` maps each reader to its place in words.

    Raises UntrustedCard or ChangedCode if the user does not trust one as it is, EngineError if it cannot be loaded.
    """
    trusted = trusted_readers(readers)
    if not trusted:
        return {}
    from promptaudit.engines.own_code import load_reader

    return {each["reader"]: load_reader(each, readers[each["reader"]]) for each in trusted}


def label_reader(readers: Mapping[str, str], own: OwnReaders | None = None) -> Read:
    """Makes a function that reads labels by the readers of the prompt variants; `own` has the user's functions."""

    def read(request: Request, answer: Answer) -> tuple[str | None, bool]:
        if answer.completion is None:
            return None, False
        reading = read_answer(answer.completion, readers[request.prompt_variant_id], request.labels, own=own)
        return reading.label, reading.is_read

    return read


def shown(request: Request, answer: Answer, noun: str | None, label: str | None) -> str:
    """Writes the first request of a model and its answer, for a terminal; without a noun nothing is read from it."""
    prompt = "\n".join(f"[{role}] {content}" for role, content in request.messages)
    reply = f"error: {answer.error}" if answer.completion is None else answer.completion
    lines = [f"first answer of '{request.model_id}', task '{request.task_id}', sample '{request.sample_id}'"]
    reading = [] if noun is None else [(noun, "none" if label is None else label)]
    for name, text in (("prompt", prompt), ("completion", reply), *reading):
        cut = text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]} … {len(text)} characters"
        lines.append(f"  {name:<11}" + cut.replace("\n", "\n" + " " * 13))
    return "\n".join(lines)


class Ceiling:
    """Detects servers that cut long prompts silently: prompts of different lengths all count the same most tokens."""

    MANY = 10
    RATIO = 1.5

    def __init__(self) -> None:
        self._tokens = self._n = self._shortest = self._longest = 0

    def see(self, messages: Sequence[tuple[str, str]], tokens: int | None) -> None:
        """Counts one prompt, with the tokens that the server counted."""
        if tokens is None or tokens < self._tokens:
            return
        length = sum(len(content) for _, content in messages)
        if tokens > self._tokens:
            self._tokens, self._n, self._shortest, self._longest = tokens, 0, length, length
        self._n += 1
        self._shortest, self._longest = min(self._shortest, length), max(self._longest, length)

    def note(self) -> str | None:
        """Writes the note, None if nothing was detected."""
        if self._n < self.MANY or self._longest < self.RATIO * self._shortest:
            return None
        return (
            f"counts {self._tokens} tokens for each of {self._n} prompts of {self._shortest} to {self._longest} characters: "
            "the server may cut long prompts"
        )
