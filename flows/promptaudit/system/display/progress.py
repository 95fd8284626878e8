"""Shows what a command is doing: lines and progress bars on stderr, so that stdout holds only results."""

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
"""A function that is called for every answer, with the name of its meter, the answer and the engine that is asked.

The answer and the engine may be None.
"""
SECONDS_A_LINE, MOST_SECONDS_A_LINE = 10.0, 600.0
"""Sets the seconds before the first line where there is no terminal, and the most; each wait is twice the one before."""
COUNTS, COUNT_MARK, SECONDS_A_COUNT = "PROMPTAUDIT_COUNTS", "\x02", 0.2
"""The variable that asks for lines of counts, for a program that draws bars; how they begin.

The seconds between them.
"""


class Meter(Protocol):
    """Counts the answers of one model or judge that is asked: `done` of `wanted`."""

    name: str
    wanted: int
    done: int

    def count(self, answer: Any, engine: Any) -> None:  # noqa: ANN401 - as `OnAnswer` gets them
        """Counts one answer, or none, and the engine that is asked."""

    def cost(self) -> str:
        """Describes what was spent in this execution, and what holds it back."""

    def line(self) -> str:
        """Writes the bar as text."""


def _answer(question: str) -> str:
    # the question is a line of its own
    sys.stderr.write(visible(question))
    sys.stderr.flush()
    if os.name == "posix":  # once polars is imported, a read goes on after Ctrl-C; this wait ends
        select.select([sys.stdin], [], [])
    answer = sys.stdin.readline()
    if not answer.endswith("\n"):  # the terminal was closed: what comes next is a line of its own
        sys.stderr.write("\n")
    return answer.strip()


class Progress:
    """Prints what a command is doing; quiet prints only warnings."""

    def __init__(self, *, quiet: bool = False, may_ask: bool = False) -> None:
        self.quiet, self.may_ask = quiet, may_ask
        self.listener: Callable[[str], None] | None = None
        """Another listener that hears what begins."""

    @property
    def can_ask(self) -> bool:
        """Checks whether a person is there to answer: never if a program reads the result, or without a terminal."""
        is_there = self.may_ask and not self.quiet and sys.stdin is not None
        return is_there and sys.stdin.isatty() and sys.stderr.isatty()

    def confirm(self, question: str) -> bool:
        """Asks a question; every answer but y or yes is a no."""
        return _answer(f"{question} [y/N] ").casefold() in ("y", "yes")

    def ask(self, question: str, usual: str) -> str:
        """Asks a question; no answer is the usual one."""
        return _answer(f"{question} [{usual}] ") or usual

    def choose_text(self, texts: Sequence[str]) -> str:
        """Asks which text of a prompt is reworded.

        Returns the numbered one, the first for no answer, else the answer itself.
        """
        for number, text in enumerate(texts, start=1):
            self.say(f"{number}  {' '.join(text.split())}")
        answer = _answer("which text is reworded, its number or another text of the prompt [1] ")
        return texts[int(answer or 1) - 1] if answer in ("", *map(str, range(1, len(texts) + 1))) else answer

    def say(self, text: str) -> None:
        """Prints one line about what is going on."""
        if not self.quiet:
            sys.stderr.write(f"{visible(text)}\n")
            sys.stderr.flush()

    def step(self, text: str) -> None:
        """Prints what begins now, in our own words and ids only: it may go into the logs of others."""
        self.say(text)
        self.heard(text)

    def heard(self, text: str) -> None:
        """Passes what begins to the listener."""
        if self.listener is not None:
            self.listener(text)

    def wait(self, text: str) -> None:
        """Prints what is waited for."""
        self.say(text)

    def warn(self, text: str) -> None:
        """Prints one line that should not be missed."""
        sys.stderr.write(f"warning: {visible(text)}\n")
        sys.stderr.flush()

    @contextmanager
    def asking(self, what: str, meters: Sequence[Meter]) -> Iterator[OnAnswer]:
        """Shows a bar per meter with rate, remaining time and cost so far.

        Yields the function to call for every answer.
        """
        named = {meter.name: meter for meter in meters}
        missing = sum(max(0, meter.wanted - meter.done) for meter in meters)
        if missing:
            self.say(f"asking {missing} of {sum(meter.wanted for meter in meters)} {what}")
        if self.quiet or not missing:
            yield lambda name, answer, engine: named[name].count(answer, engine)
        elif os.environ.get(COUNTS):
            with _counting(meters) as write_if_due:

                def on_answer(name: str, answer: object, engine: object) -> None:
                    named[name].count(answer, engine)
                    write_if_due()

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
            spoke_at, wait_s = time.monotonic(), SECONDS_A_LINE

            def on_answer(name: str, answer: object, engine: object) -> None:
                nonlocal spoke_at, wait_s
                named[name].count(answer, engine)
                if time.monotonic() - spoke_at > wait_s:
                    spoke_at, wait_s = time.monotonic(), min(2 * wait_s, MOST_SECONDS_A_LINE)
                    self.say("; ".join(meter.line() for meter in meters if meter.done < meter.wanted))

            yield on_answer
        if missing:
            self.say("; ".join(meter.line() for meter in meters))


@contextmanager
def _counting(meters: Sequence[Meter]) -> Iterator[Callable[[], None]]:
    # at most one line each `SECONDS_A_COUNT`, and a last one at the end
    wrote_at = 0.0

    def write() -> None:
        counts = [{"name": m.name, "done": m.done, "wanted": m.wanted, "cost": m.cost()} for m in meters]
        sys.stderr.write(f"{COUNT_MARK}{json.dumps(counts)}\n")
        sys.stderr.flush()

    def write_if_due() -> None:
        nonlocal wrote_at
        if time.monotonic() - wrote_at > SECONDS_A_COUNT:
            wrote_at = time.monotonic()
            write()

    try:
        yield write_if_due
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
    """Writes out control characters of a text, so that no name or completion can steer a terminal."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)
