"""Says what goes on: lines and progress bars on stderr, so that stdout holds results alone."""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from flows.engines import Answer, Engine
from flows.plan import Design, Variant, count_landed
from flows.prices import price_of

if TYPE_CHECKING:
    from rich.progress import Progress as Bars

SECONDS_A_LINE = 10.0  # without a terminal, a line each so many seconds


class Progress:
    """Where a command says what it does; quiet says nothing but warnings."""

    def __init__(self, *, quiet: bool = False, may_ask: bool = False) -> None:
        self.quiet, self.may_ask = quiet, may_ask

    @property
    def can_ask(self) -> bool:
        """Whether a person is there to answer: never where a program reads the result, or without a terminal."""
        is_there = self.may_ask and not self.quiet and sys.stdin is not None
        return is_there and sys.stdin.isatty() and sys.stderr.isatty()

    def confirm(self, question: str) -> bool:
        """Asks a question; everything but y or yes is a no."""
        sys.stderr.write(f"{visible(question)} [y/N] ")
        sys.stderr.flush()
        if os.name == "posix":  # once polars is imported, a read goes on after Ctrl-C; this wait ends
            select.select([sys.stdin], [], [])
        answer = sys.stdin.readline()
        if not answer.endswith("\n"):  # the terminal was closed: what comes next is a line of its own
            sys.stderr.write("\n")
        return answer.strip().casefold() in ("y", "yes")

    def say(self, text: str) -> None:
        """One line of what goes on."""
        if not self.quiet:
            sys.stderr.write(f"{visible(text)}\n")
            sys.stderr.flush()

    def warn(self, text: str) -> None:
        """One line that should not be missed."""
        sys.stderr.write(f"warning: {visible(text)}\n")
        sys.stderr.flush()

    @contextmanager
    def asking(
        self, design: Design, variants: Sequence[Variant], warehouse: Path, audit_run_id: str
    ) -> Iterator[Callable[[str, Answer | None, Engine | None], None]]:
        """A bar a model with rate, remaining time and cost so far; yields what is told of every answer."""
        counts = count_landed(warehouse, audit_run_id)
        landed = {name: sum(n for (model, _), n in counts.items() if model == name) for name in design.models}
        wanted = sum(len(variant.repetitions) * design.n_samples(variant.task_id) for variant in variants)
        meters = {name: Meter(name, wanted, landed[name], design) for name in design.models}
        missing = sum(meter.wanted - meter.done for meter in meters.values())
        if missing:
            self.say(f"asking {missing} of {wanted * len(design.models)} cells")
        if self.quiet or not missing:
            yield lambda model, answer, engine: meters[model].count(answer, engine)
        elif sys.stderr.isatty():
            with _bars() as bars:
                tasks = {
                    name: bars.add_task(visible(name), total=wanted, completed=landed[name], cost="") for name in meters
                }

                def on_answer(model: str, answer: Answer | None, engine: Engine | None) -> None:
                    meters[model].count(answer, engine)
                    bars.update(tasks[model], completed=meters[model].done, cost=meters[model].cost())

                yield on_answer
        else:
            said = time.monotonic()

            def on_answer(model: str, answer: Answer | None, engine: Engine | None) -> None:
                nonlocal said
                meters[model].count(answer, engine)
                if time.monotonic() - said > SECONDS_A_LINE:
                    said = time.monotonic()
                    self.say("; ".join(meter.line() for meter in meters.values() if meter.done < meter.wanted))

            yield on_answer
        if missing:
            self.say("; ".join(meter.line() for meter in meters.values()))


class Meter:
    """How far one model is."""

    def __init__(self, name: str, wanted: int, done: int, design: Design) -> None:
        self.name, self.wanted, self.done, self.before = name, wanted, done, done
        self.price = price_of(design.models[name])
        self.usd: float | None = 0.0
        self.n_tries_failed = 0
        self.engine: Engine | None = None
        self.started: float | None = None

    def count(self, answer: Answer | None, engine: Engine | None) -> None:
        """Takes one answer in, or none, and the engine that is asked."""
        self.engine = engine
        if answer is None:
            return
        from flows.land import cost_of

        self.started = self.started or time.monotonic()
        self.done += answer.is_landed
        self.n_tries_failed += len(answer.attempts)
        cost = cost_of(answer, self.price)
        self.usd = None if cost is None or self.usd is None else self.usd + cost

    def cost(self) -> str:
        """What was spent in this execution, and what holds it back."""
        spent = "price unknown" if self.usd is None else f"{self.usd:.4f} USD"
        pressure = "" if self.engine is None else self.engine.pressure
        return f"{spent}, {pressure}" if pressure else spent

    def line(self) -> str:
        """The bar as text."""
        seconds = time.monotonic() - (self.started or time.monotonic())
        rate = (self.done - self.before) / max(seconds, 1e-3)
        left = (self.wanted - self.done) / rate if rate else 0.0
        remaining = f", {left:.0f} s left" if self.done < self.wanted else ""
        tries = f", {self.n_tries_failed} tries failed" if self.n_tries_failed else ""
        return f"{self.name}: {self.done}/{self.wanted} ({rate:.0f}/s{remaining}, {self.cost()}{tries})"


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
    """The text with control characters written out, so that no name or completion steers a terminal."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)
