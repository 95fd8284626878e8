"""Compares two runs, two models or two strategies by their names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from promptaudit.system.display.progress import Progress
from promptaudit.system.settings import Settings
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.run_names import resolve_pair

if TYPE_CHECKING:
    from promptaudit.marts.comparison.result import RunComparison
    from promptaudit.registry.cards import AuditCard
    from promptaudit.registry.registry import Registry


def compare_runs(
    settings: Settings,
    registry: Registry,
    base: str,
    candidate: str,
    progress: Progress,
    *,
    min_effect: float | None = None,
) -> RunComparison:
    """Compares and publishes two runs, models or strategies by their names; returns what is published about them."""
    from promptaudit.marts.comparison.compare import compare, pair_of
    from promptaudit.marts.comparison.result import run_comparison
    from promptaudit.system.child_processes import guarded

    warehouse = Warehouse(settings.warehouse)
    with warehouse.published.connect():
        first, second = resolve_pair(warehouse, base, candidate)
        pair = pair_of(first.audit_run_id, second.audit_run_id, card_of(registry, second.audit_id))
        pair = replace(
            pair,
            base_model_id=first.model_id,
            candidate_model_id=second.model_id,
            base_strategy=first.strategy,
            candidate_strategy=second.strategy,
        )
        if min_effect is not None:
            pair = replace(pair, min_effect=min_effect, is_trial=True)

    @contextmanager
    def held() -> Iterator[None]:
        with guarded(), warehouse.hold(settings.lock_wait_s, progress.say, by="a comparison"):
            warehouse.apply_schema()
            progress.say(f"comparing {pair.base_run_id} with {pair.candidate_run_id}")
            yield

    (comparison_id,) = compare(warehouse, [pair], held)
    with warehouse.published.connect():
        return run_comparison(warehouse, comparison_id)


def card_of(registry: Registry, audit_id: str) -> AuditCard | None:
    """Looks up the card of an audit; None for an import, or if the card is gone. Raises the errors of a faulty card."""
    return None if registry.find("audits", audit_id) is None else registry.audit(audit_id)
