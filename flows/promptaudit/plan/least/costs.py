"""Computes what a design costs: requests, USD by the cards' prices and a run's tokens, hours at that run's rate."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from promptaudit.cards.prices import price_of, usd_of
from promptaudit.plan.least.components import SourceRun
from promptaudit.registry.registry import Registry
from promptaudit.udfs.designs.widths import Design
from promptaudit.warehouse import Warehouse, rows_as
from promptaudit.warehouse.sql import sql


class _RequestCost(NamedTuple):
    model_id: str
    task_id: str
    strategy: str
    prompt_tokens: float | None
    completion_tokens: float | None
    answers_a_second: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Holds what one night of a design costs.

    Attributes:
        n_requests: of all models, tasks and strategies.
        usd: None if the price or the tokens of some model are unknown.
        hours: of the model that takes longest, as fast as it answered in the run; None if a model's rate is unknown.
    """

    n_requests: int
    usd: float | None
    hours: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestCosts:
    """Holds how many groups each model answers, what a request of each costs, and how many it answers a second.

    `usd` has the US dollars of one request, summed over the tasks and strategies of each model.
    """

    n_groups: dict[str, int]
    usd: dict[str, float | None]
    answers_a_second: dict[str, float | None]

    def of(self, design: Design) -> Cost:
        """Computes what a night of a design costs."""
        n, usd = design.n_requests, list(self.usd.values())
        hours = [
            None if rate is None else self.n_groups[name] * n / rate / 3600
            for name, rate in self.answers_a_second.items()
        ]
        return Cost(
            n_requests=n * sum(self.n_groups.values()),
            usd=None if any(each is None for each in usd) else n * sum(each for each in usd if each is not None),
            hours=None if any(each is None for each in hours) else max(each for each in hours if each is not None),
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
        name, usd = row.model_id, _usd(registry, row)
        costs.n_groups[name] = costs.n_groups.get(name, 0) + 1
        before = costs.usd.get(name, 0.0)
        costs.usd[name] = None if usd is None or before is None else before + usd
        costs.answers_a_second[name] = row.answers_a_second or None
    return costs


def _usd(registry: Registry, row: _RequestCost) -> float | None:
    price = price_of(registry.model(row.model_id))
    if price is None:
        return None
    if price.input_usd_per_mtok == 0 and price.output_usd_per_mtok == 0:
        return 0.0
    if row.prompt_tokens is None or row.completion_tokens is None:
        return None
    return usd_of(price, row.prompt_tokens, row.completion_tokens)
