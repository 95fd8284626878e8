"""Says what goes on: lines and progress bars on stderr, so that stdout holds results alone."""

from __future__ import annotations

import json
import os
import select
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from rich.progress import Progress as Bars

OnAnswer = Callable[[str, Any, Any], None]
"""Is told of every answer: the name of its meter, the answer or None, and the engine that is asked or None."""
SECONDS_A_LINE = 10.0  # without a terminal, a line each so many seconds
COUNTS, COUNT_MARK, SECONDS_A_COUNT = "PROMPTAUDIT_COUNTS", "\x02", 0.2
"""The variable that has counts written for a program that draws bars, what its lines begin with, and how often they come."""


class Meter(Protocol):
    """How far one of those who are asked is: `done` of `wanted` answers."""

    name: str
    wanted: int
    done: int

    def count(self, answer: Any, engine: Any) -> None:  # noqa: ANN401 - what `OnAnswer` is told
        """Takes one answer in, or none, and the engine that is asked."""

    def cost(self) -> str:
        """Returns what was spent in this execution, and what holds it back."""

    def line(self) -> str:
        """Returns the bar as text."""


def _answer(question: str) -> str:
    """Asks a question in a line of its own; returns the answer without the white space around it."""
    sys.stderr.write(visible(question))
    sys.stderr.flush()
    if os.name == "posix":  # once polars is imported, a read goes on after Ctrl-C; this wait ends
        select.select([sys.stdin], [], [])
    answer = sys.stdin.readline()
    if not answer.endswith("\n"):  # the terminal was closed: what comes next is a line of its own
        sys.stderr.write("\n")
    return answer.strip()


class Progress:
    """Where a command says what it does; quiet says nothing but warnings."""

    def __init__(self, *, quiet: bool = False, may_ask: bool = False) -> None:
        self.quiet, self.may_ask = quiet, may_ask
        self.listener: Callable[[str], None] | None = None
        """Whoever else hears what begins."""

    @property
    def can_ask(self) -> bool:
        """Returns whether a person is there to answer: never where a program reads the result, or without a terminal."""
        is_there = self.may_ask and not self.quiet and sys.stdin is not None
        return is_there and sys.stdin.isatty() and sys.stderr.isatty()

    def confirm(self, question: str) -> bool:
        """Asks a question; everything but y or yes is a no."""
        return _answer(f"{question} [y/N] ").casefold() in ("y", "yes")

    def choose_text(self, texts: Sequence[str]) -> str:
        """Asks which text of a prompt is reworded; returns the one of the number given, the first for none, else the answer."""
        for number, text in enumerate(texts, start=1):
            self.say(f"{number}  {' '.join(text.split())}")
        answer = _answer("which text is reworded, its number or another text of the prompt [1] ")
        return texts[int(answer or 1) - 1] if answer in ("", *map(str, range(1, len(texts) + 1))) else answer

    def say(self, text: str) -> None:
        """Says one line of what goes on."""
        if not self.quiet:
            sys.stderr.write(f"{visible(text)}\n")
            sys.stderr.flush()

    def step(self, text: str) -> None:
        """Says what begins now, in words of our own and ids alone: it may go into the logs of others."""
        self.say(text)
        self.heard(text)

    def heard(self, text: str) -> None:
        """Has the listener hear what begins."""
        if self.listener is not None:
            self.listener(text)

    def warn(self, text: str) -> None:
        """Says one line that should not be missed."""
        sys.stderr.write(f"warning: {visible(text)}\n")
        sys.stderr.flush()

    @contextmanager
    def asking(self, what: str, meters: Sequence[Meter]) -> Iterator[OnAnswer]:
        """Shows a bar a meter with rate, remaining time and cost so far; yields what is told of every answer."""
        named = {meter.name: meter for meter in meters}
        missing = sum(max(0, meter.wanted - meter.done) for meter in meters)
        if missing:
            self.say(f"asking {missing} of {sum(meter.wanted for meter in meters)} {what}")
        if self.quiet or not missing:
            yield lambda name, answer, engine: named[name].count(answer, engine)
        elif os.environ.get(COUNTS):
            with _counting(meters) as tell:

                def on_answer(name: str, answer: object, engine: object) -> None:
                    named[name].count(answer, engine)
                    tell()

                yield on_answer
        elif sys.stderr.isatty():
            with _bars() as bars:
                tasks = {
                    meter.name: bars.add_task(visible(meter.name), total=meter.wanted, completed=meter.done, cost="")
                    for meter in meters
                }

                def on_answer(name: str, answer: object, engine: object) -> None:
                    named[name].count(answer, engine)
                    bars.update(tasks[name], completed=named[name].done, cost=named[name].cost())

                yield on_answer
        else:
            spoke_at = time.monotonic()

            def on_answer(name: str, answer: object, engine: object) -> None:
                nonlocal spoke_at
                named[name].count(answer, engine)
                if time.monotonic() - spoke_at > SECONDS_A_LINE:
                    spoke_at = time.monotonic()
                    self.say("; ".join(meter.line() for meter in meters if meter.done < meter.wanted))

            yield on_answer
        if missing:
            self.say("; ".join(meter.line() for meter in meters))


@contextmanager
def _counting(meters: Sequence[Meter]) -> Iterator[Callable[[], None]]:
    """Yields what writes a line of counts, at most one each `SECONDS_A_COUNT`; the last one comes at the end."""
    wrote_at = 0.0

    def write() -> None:
        counts = [{"name": m.name, "done": m.done, "wanted": m.wanted, "cost": m.cost()} for m in meters]
        sys.stderr.write(f"{COUNT_MARK}{json.dumps(counts)}\n")
        sys.stderr.flush()

    def tell() -> None:
        nonlocal wrote_at
        if time.monotonic() - wrote_at > SECONDS_A_COUNT:
            wrote_at = time.monotonic()
            write()

    try:
        yield tell
    finally:
        write()


def _bars() -> Bars:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    return Bars(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[cost]}", markup=False),
        console=Console(stderr=True),
    )


def visible(text: str) -> str:
    """Returns the text with control characters written out, so that no name or completion steers a terminal."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)
