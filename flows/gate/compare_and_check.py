"""What the commands compare, check and accept do: find the runs by name, take the lock, say what was found."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from flows.display.progress import Progress
from flows.settings import Settings
from flows.warehouse import Warehouse
from flows.warehouse.run_names import resolve, resolve_pair
from models_registry.errors import MeasureError

if TYPE_CHECKING:
    from flows.comparison.result import RunComparison
    from flows.gate.outcome import Checked
    from models_registry.cards import AuditCard
    from models_registry.registry import Registry


def compare_runs(  # noqa: PLR0913 - an option each
    settings: Settings,
    registry: Registry,
    base: str,
    candidate: str,
    progress: Progress,
    *,
    min_effect: float | None = None,
    resamples: int | None = None,
) -> RunComparison:
    """Two runs, or two models, that names say, held against each other and published."""
    from flows.comparison.compare import SWAPS_A_TEST, compare, n_tests, pair_of
    from flows.comparison.result import run_comparison
    from flows.system.child_processes import guarded

    warehouse = Warehouse(settings.warehouse)
    with warehouse.published.connect():
        first, second = resolve_pair(warehouse, base, candidate)
        pair = pair_of(first.audit_run_id, second.audit_run_id, card_of(registry, second.audit_id))
        pair = replace(pair, base_model_id=first.model_id, candidate_model_id=second.model_id, n_resamples=resamples)
        if min_effect is not None or resamples is not None:
            pair = replace(pair, min_effect=pair.min_effect if min_effect is None else min_effect, is_trial=True)
        if resamples is not None and resamples < SWAPS_A_TEST * (n := n_tests(warehouse, pair)):
            progress.warn(
                f"{resamples} swaps are few for up to {n} tests: {SWAPS_A_TEST * n} can tell each from chance"
            )
    with guarded(), warehouse.hold(settings.lock_wait_s, progress.say):
        warehouse.apply_schema()
        progress.say(f"comparing {pair.base_run_id} with {pair.candidate_run_id}")
        (comparison_id,) = compare(warehouse, [pair])
    with warehouse.published.connect():
        return run_comparison(warehouse, comparison_id)


def check_named(settings: Settings, registry: Registry, run: str) -> Checked:
    """The gate of a run that a name says, by the rules its audit's card has today.

    Raises MeasureError where a name stands for the newest run of an audit and a newer one has failed or is not complete.
    """
    from flows.gate.check import check_run

    with Warehouse(settings.warehouse).published.connect():
        found = resolve(Warehouse(settings.warehouse), run)
        _refuse_older(settings, found.audit_id, found.audit_run_id, run)
        return check_run(Warehouse(settings.warehouse), found.audit_run_id, **rules_of(registry, found.audit_id))


def rules_of(registry: Registry, audit_id: str) -> dict[str, Any]:
    """The gate of an audit's card; nothing without one, and the run's own then holds."""
    card = card_of(registry, audit_id)
    return {} if card is None else {"rules": card.gate, "max_age": card.max_age}


def _refuse_older(settings: Settings, audit_id: str, audit_run_id: str, name: str) -> None:
    if audit_run_id.startswith(name):  # it is meant by its id
        return
    rows = Warehouse(settings.warehouse).published.read(
        "select audit_id, audit_run_id, state, started_at from raw.audit_runs where origin = 'run' order by started_at"
    )
    own = [row for row in rows if row["audit_id"] == audit_id]
    newest = own[-1] if own else None
    if newest and newest["audit_run_id"] != audit_run_id and newest["state"] != "complete" and "~" not in name:
        msg = (
            f"run {newest['audit_run_id']} of '{audit_id}' is newer than {audit_run_id} and {newest['state']}: "
            f"there is nothing of it to pass; `promptaudit nightly {audit_id}` goes on with it, "
            f"`promptaudit check {audit_run_id}` looks at the older"
        )
        raise MeasureError(msg)


def card_of(registry: Registry, audit_id: str) -> AuditCard | None:
    """The card of an audit; None for an import, or a card that is gone."""
    return registry.audit(audit_id) if audit_id in registry.entries.get("audits", {}) else None
