"""Says what goes on: lines and progress bars on stderr, so that stdout holds results alone."""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from flows.warehouse import Warehouse

if TYPE_CHECKING:
    from rich.progress import Progress as Bars

    from flows.audit.ask import OnAnswer
    from flows.audit.design import Design
    from flows.audit.plan import Variant
    from flows.engines import Answer, Engine
    from models_registry.cards import Price

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

    def step(self, text: str) -> None:
        """What begins now, in words of our own and ids alone: it may go into the logs of others."""
        self.say(text)

    def warn(self, text: str) -> None:
        """One line that should not be missed."""
        sys.stderr.write(f"warning: {visible(text)}\n")
        sys.stderr.flush()

    @contextmanager
    def asking(self, what: str, meters: Sequence[Meter]) -> Iterator[OnAnswer]:
        """A bar a meter with rate, remaining time and cost so far; yields what is told of every answer."""
        named = {meter.name: meter for meter in meters}
        missing = sum(max(0, meter.wanted - meter.done) for meter in meters)
        if missing:
            self.say(f"asking {missing} of {sum(meter.wanted for meter in meters)} {what}")
        if self.quiet or not missing:
            yield lambda name, answer, engine: named[name].count(answer, engine)
        elif sys.stderr.isatty():
            with _bars() as bars:
                tasks = {
                    meter.name: bars.add_task(visible(meter.name), total=meter.wanted, completed=meter.done, cost="")
                    for meter in meters
                }

                def on_answer(name: str, answer: Answer | None, engine: Engine | None) -> None:
                    named[name].count(answer, engine)
                    bars.update(tasks[name], completed=named[name].done, cost=named[name].cost())

                yield on_answer
        else:
            said = time.monotonic()

            def on_answer(name: str, answer: Answer | None, engine: Engine | None) -> None:
                nonlocal said
                named[name].count(answer, engine)
                if time.monotonic() - said > SECONDS_A_LINE:
                    said = time.monotonic()
                    self.say("; ".join(meter.line() for meter in meters if meter.done < meter.wanted))

            yield on_answer
        if missing:
            self.say("; ".join(meter.line() for meter in meters))


def meters_of_models(
    design: Design, variants: Sequence[Variant], warehouse: Warehouse, audit_run_id: str
) -> list[Meter]:
    """How far each model of a run is."""
    from flows.audit.plan import count_landed
    from flows.audit.prices import price_of

    counts = count_landed(warehouse, audit_run_id)
    wanted = sum(len(variant.repetitions) * design.n_samples(variant.task_id) for variant in variants)
    return [
        Meter(name, wanted, sum(n for (model, _), n in counts.items() if model == name), price_of(card))
        for name, card in design.models.items()
    ]


def meters_of_judges(design: Design, missing: Mapping[str, int]) -> list[Meter]:
    """What each judge still has to rule on."""
    from flows.audit.prices import price_of

    cards = {name: design.registry.model(design.judges[name].model or "") for name in missing}
    return [Meter(name, n, 0, price_of(cards[name])) for name, n in missing.items()]


class Meter:
    """How far one model or judge is."""

    def __init__(self, name: str, wanted: int, done: int, price: Price | None) -> None:
        self.name, self.wanted, self.done, self.before = name, wanted, done, done
        self.price = price
        self.usd: float | None = 0.0
        self.n_tries_failed = 0
        self.engine: Engine | None = None
        self.started: float | None = None

    def count(self, answer: Answer | None, engine: Engine | None) -> None:
        """Takes one answer in, or none, and the engine that is asked."""
        self.engine = engine
        if answer is None:
            return
        from flows.audit.land import cost_of

        self.started = self.started or time.monotonic()
        self.done = min(self.wanted, self.done + answer.is_landed)  # a verdict may take several asks
        self.n_tries_failed += len(answer.attempts)
        cost = 0.0 if answer.completion is None else cost_of(answer, self.price)  # what fails is not paid
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
