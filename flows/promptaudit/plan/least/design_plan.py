"""Describes a planned design, what it costs (by the cards' prices and a run's tokens and rate) and what it finds."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from promptaudit.cards.prices import known_usd, price_of
from promptaudit.plan.estimate import money
from promptaudit.plan.least.components import SourceRun
from promptaudit.registry.registry import Registry
from promptaudit.system.display.compared import OfUnit
from promptaudit.system.display.figures import number, plural
from promptaudit.udfs.designs.widths import Design
from promptaudit.warehouse import Warehouse, rows_as
from promptaudit.warehouse.sql import sql


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignCost:
    """Holds a design and what a night of it costs.

    `width` is the width of the widest interval expected of it.
    """

    n_samples: int
    n_wordings: int
    n_repetitions: int
    n_requests: int
    usd: float | None
    hours: float | None
    width: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPlan(OfUnit):
    """Holds what a group of answers varies by, and what the planned design is expected to find for it.

    `n_wordings_asked` includes wordings that break, without which the group is planned. `var_repetitions` is None if no
    cell was asked twice, and for sensitivity.
    """

    scoring_method: str | None
    n_samples: int
    n_wordings: int
    n_wordings_asked: int
    wordings_breaking: tuple[str, ...]
    mean: float
    var_samples: float
    var_wordings: float
    var_cells: float
    var_repetitions: float | None
    width: float
    detectable_difference: float
    bias: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignPlan:
    """Holds the least design of an audit that reaches the goal, what it was planned from, and what it costs.

    Attributes:
        audit_id: the audit.
        audit_run_id: the run whose answers the components are computed from.
        is_pilot: whether that run is not complete yet.
        measure: the measure whose interval or difference is planned.
        target_width: the widest interval that is wanted; None if a difference is wanted.
        detect: the difference that is to be detected; None if a width is wanted.
        design: the least design.
        detectable_difference: the smallest difference that two such nights detect, in the group that detects least.
        n_comparisons: how many differences are tested between two nights.
        min_effect: the smallest difference that the card counts as one.
        decided_by: the group that needs the most.
        n_requests_twice: of the design with a fifth of its cells asked twice, which separates noise from wording; None
            if all cells are asked twice or more.
        groups: every group of answers.
        notes: further remarks.
    """

    audit_id: str
    audit_run_id: str
    is_pilot: bool
    measure: str
    target_width: float | None
    detect: float | None
    design: DesignCost
    detectable_difference: float
    n_comparisons: int
    min_effect: float
    decided_by: str
    n_requests_twice: int | None
    groups: tuple[GroupPlan, ...]
    notes: tuple[str, ...]

    def lines(self) -> Iterator[str]:
        """Writes the design, what it costs, and the width and the difference that it reaches."""
        of = self.design
        hours = "in a time not known" if of.hours is None else f"{_duration(of.hours)} at that run's rate"
        usd = "USD unknown" if of.usd is None else f"{money(of.usd)} USD"
        least = f"{number(self.detectable_difference)} between two such nights is found in about 9 of 10 cases"
        yield f"{self.measure}, planned from {'pilot' if self.is_pilot else 'run'} {self.audit_run_id}"
        yield f"design     {of.n_samples:,} samples x {of.n_wordings} wordings x {plural(of.n_repetitions, 'ask')}"
        yield f"cost       {of.n_requests:,} requests a night, {usd}, {hours}"
        yield f"width      {number(of.width)} expected, of the 95 % interval"
        yield f"difference {least}, {self.n_comparisons} being tested"
        yield f"decided by {self.decided_by}"
        if self.measure == "sensitivity":
            bias = number(-min(each.bias for each in self.groups))
            yield f"bias       the plain figure is up to {bias} below that of endless wordings"
        if self.n_requests_twice is not None:
            twice = "with repetitions: {variants: 1, twice: 0.2} a fifth is asked twice"
            yield f"noise      {twice}: {self.n_requests_twice:,} requests"
        yield from self.notes


def _duration(hours: float) -> str:
    if hours >= 1:
        return f"{hours:,.1f} hours"
    minutes = math.ceil(hours * 60)
    return "about a minute" if minutes <= 1 else f"{minutes} minutes"


class _RequestCost(NamedTuple):
    model_id: str
    task_id: str
    strategy: str
    prompt_tokens: float | None
    completion_tokens: float | None
    answers_a_second: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestCosts:
    """Holds how many groups each model answers, what a request of each costs, and how many it answers a second.

    `usd` has the US dollars of one request, summed over the tasks and strategies of each model.
    """

    n_groups: dict[str, int]
    usd: dict[str, float | None]
    answers_a_second: dict[str, float | None]

    def of(self, design: Design, width: float) -> DesignCost:
        """Computes what a night of a design of this width costs.

        USD are unknown if the price or the tokens of some model are, hours if its rate is.
        """
        n, usd = design.n_requests, list(self.usd.values())
        hours = [
            None if rate is None else self.n_groups[name] * n / rate / 3600
            for name, rate in self.answers_a_second.items()
        ]
        return DesignCost(
            n_samples=design.n_samples,
            n_wordings=design.n_wordings,
            n_repetitions=design.n_repetitions,
            n_requests=n * sum(self.n_groups.values()),
            usd=None if any(each is None for each in usd) else n * sum(each for each in usd if each is not None),
            hours=None if any(each is None for each in hours) else max(each for each in hours if each is not None),
            width=width,
        )


def request_costs(
    warehouse: Warehouse, run: SourceRun, registry: Registry, groups: Collection[tuple[str, str, str]]
) -> RequestCosts:
    """Reads what requests of these groups (model, task, strategy) took in a run, at the prices of today's cards."""
    rows = run.place(warehouse).read(sql("plan", "request_costs"), run=run.audit_run_id)
    costs = RequestCosts(n_groups={}, usd={}, answers_a_second={})
    for row in rows_as(_RequestCost, rows):
        if (row.model_id, row.task_id, row.strategy) not in groups:
            continue
        name = row.model_id
        usd = known_usd(price_of(registry.model(name)), row.prompt_tokens, row.completion_tokens)
        costs.n_groups[name] = costs.n_groups.get(name, 0) + 1
        before = costs.usd.get(name, 0.0)
        costs.usd[name] = None if usd is None or before is None else before + usd
        costs.answers_a_second[name] = row.answers_a_second or None
    return costs
