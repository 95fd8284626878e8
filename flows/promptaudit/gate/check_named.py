"""Checks a run, given by name, against the rules its audit's card has today."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptaudit.marts.comparison.compare_named import card_of
from promptaudit.registry.errors import MeasureError
from promptaudit.system.settings import Settings
from promptaudit.warehouse import Warehouse, rows_as
from promptaudit.warehouse.run_names import resolve

if TYPE_CHECKING:
    from promptaudit.gate.outcome import GateResult
    from promptaudit.registry.registry import Registry


def check_named(settings: Settings, registry: Registry, run: str) -> GateResult:
    """Checks the run that a name stands for against the rules its audit's card has today.

    Raises:
        MeasureError: the name stands for the newest run of an audit, and a newer one has failed or is not complete.
    """
    from promptaudit.gate.check import check_run

    with Warehouse(settings.warehouse).published.connect():
        named = resolve(Warehouse(settings.warehouse), run)
        _refuse_older(settings, named.audit_id, named.audit_run_id, run)
        return check_run(Warehouse(settings.warehouse), named.audit_run_id, **rules_of(registry, named.audit_id))


def rules_of(registry: Registry, audit_id: str) -> dict[str, Any]:
    """Takes the gate of an audit's card as options of `check_run`. Empty without a card: the run's own gate holds."""
    card = card_of(registry, audit_id)
    return {} if card is None else {"rules": card.gate, "max_age": card.max_age}


def _refuse_older(settings: Settings, audit_id: str, audit_run_id: str, name: str) -> None:
    if audit_run_id.startswith(name):  # it is meant by its id
        return
    from promptaudit.gate.source import RUN, GatedRun

    newest_first = f"{RUN} where origin = 'run' and audit_id = $audit_id order by started_at desc"
    runs = rows_as(GatedRun, Warehouse(settings.warehouse).published.read(newest_first, audit_id=audit_id))
    newest = next(iter(runs), None)
    if newest and newest.audit_run_id != audit_run_id and newest.state != "complete" and "~" not in name:
        msg = (
            f"run {newest.audit_run_id} of '{audit_id}' is newer than {audit_run_id} and {newest.state}: "
            f"there is nothing of it to pass; `promptaudit nightly {audit_id}` goes on with it, "
            f"`promptaudit check {audit_run_id}` looks at the older"
        )
        raise MeasureError(msg)
