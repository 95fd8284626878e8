"""Measures the progress of each model and judge of a run, for progress displays."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from promptaudit.warehouse import Warehouse

if TYPE_CHECKING:
    from promptaudit.engines import Answer, Engine
    from promptaudit.plan.cells import Variant
    from promptaudit.plan.design import Design
    from promptaudit.registry.cards import Price


def meters_of_models(
    design: Design, variants: Sequence[Variant], warehouse: Warehouse, audit_run_id: str
) -> list[RequestMeter]:
    """Makes a meter for each model of a run."""
    from promptaudit.cards.prices import price_of
    from promptaudit.plan.cells import missing_by_model, n_planned_of

    missing = missing_by_model(warehouse, audit_run_id, design, variants)
    wanted = {name: n_planned_of(design, variants, name) for name in design.models}
    return [
        RequestMeter(name, wanted[name], wanted[name] - missing[name], price_of(card))
        for name, card in design.models.items()
    ]


def meters_of_judges(design: Design, missing: Mapping[str, int]) -> list[RequestMeter]:
    """Makes a meter for the rulings that each judge still has to make."""
    from promptaudit.cards.prices import price_of

    cards = {name: design.registry.model(design.judges[name].model or "") for name in missing}
    return [RequestMeter(name, n, 0, price_of(cards[name])) for name, n in missing.items()]


class RequestMeter:
    """Measures how far one model or judge is."""

    def __init__(self, name: str, wanted: int, done: int, price: Price | None) -> None:
        self.name, self.wanted, self.done, self.before = name, wanted, done, done
        self.price = price
        self.usd: float | None = 0.0
        self.n_tries_failed = 0
        self.engine: Engine | None = None
        self.started: float | None = None

    def count(self, answer: Answer | None, engine: Engine | None) -> None:
        """Counts one answer, or none, and keeps the engine that is asked."""
        self.engine = engine
        if answer is None:
            return
        from promptaudit.cards.prices import paid_for

        self.started = self.started or time.monotonic()
        self.done = min(self.wanted, self.done + answer.is_landed)  # a verdict may take several asks
        self.n_tries_failed += len(answer.attempts)
        cost = paid_for(answer, self.price)
        self.usd = None if cost is None or self.usd is None else self.usd + cost

    def cost(self) -> str:
        """Writes what was spent in this execution, and what slows it down."""
        spent = "price unknown" if self.usd is None else f"{self.usd:.4f} USD"
        pressure = "" if self.engine is None else self.engine.pressure
        return f"{spent}, {pressure}" if pressure else spent

    def line(self) -> str:
        """Writes the bar as text."""
        seconds = time.monotonic() - (self.started or time.monotonic())
        rate = (self.done - self.before) / max(seconds, 1e-3)
        left = f", {(self.wanted - self.done) / rate:.0f} s left" if rate and self.done < self.wanted else ""
        speed = f"{rate:.0f}/s" if rate >= 1 or not rate else f"{60 * rate:.0f}/min"
        tries = f", {self.n_tries_failed} tries failed" if self.n_tries_failed else ""
        return f"{self.name}: {self.done}/{self.wanted} ({speed}{left}, {self.cost()}{tries})"
