"""Checks cards, alone and together, and the data they name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flows.design import design_checks
from flows.estimate import check_data
from flows.prices import price_of
from models_registry.errors import CardError, UsageError, nearest
from models_registry.gates import parse_rule
from models_registry.registry import KINDS, Registry


def check_cards(registry: Registry, audit_id: str | None) -> dict[str, Any]:
    """Every audit (or one): its cards fit, its data can be read; raises the first error in one line."""
    audits = [audit_id] if audit_id is not None else sorted(registry.entries["audits"])
    notes: list[str] = []
    for name in audits:
        design_checks(registry, name)
        check_gate(registry, name)
        audit = registry.audit(name)
        check_prices(registry, registry.used_by(name)["models"], audit.budget.max_usd)
        notes += [note for task in audit.tasks if (note := check_data(registry, audit, task))]
    counts = {kind: len(registry.entries[kind]) for kind in KINDS}
    cards = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    fingerprints = {name: registry.fingerprint(name) for name in audits}
    summary = f"{len(audits)} audits are sound ({cards})" if audit_id is None else f"audit '{audit_id}' is sound"
    return {"summary": summary, "notes": list(dict.fromkeys(notes)), "fingerprints": fingerprints}


def check_gate(registry: Registry, audit_id: str) -> None:
    """Every name that a rule selects rows by is one that the audit asks; raises CardError with the nearest."""
    audit = registry.audit(audit_id)
    tasks = [registry.task(task) for task in audit.tasks]
    methods = {method for task in tasks for method in task.scoring_methods}
    judges = registry.used_by(audit_id)["judges"]  # the members of panels among them
    known: dict[str, set[str]] = {
        "model_id": set(registry.models_of(audit_id)),
        "task_id": set(audit.tasks),
        # a template is of no other strategy
        "strategy": {*audit.strategies, *("simple" for task in tasks if task.templates is not None)},
        "scoring_method": methods | {f"judge:{name}" for name in judges},
        "model_set": {"all", *audit.model_sets},
    }
    for index, text in enumerate(audit.gate):
        for condition in parse_rule(text).conditions:
            names = known.get(condition.column)
            if names is not None and condition.value not in names:
                where = registry.entry("audits", audit_id).where(audit_id, "gate", index)
                msg = (
                    f"{where}: gate.{index}: audit '{audit_id}' has no {condition.column} '{condition.value}'"
                    f"{nearest(str(condition.value), names)}"
                )
                raise CardError(msg)


def check_prices(registry: Registry, models: Iterable[str], max_usd: float | None) -> None:
    """A budget in dollars holds only where every price is known, those of rephrasers and judges too; raises UsageError."""
    if max_usd is None:
        return
    for name in models:
        if price_of(registry.model(name)) is None:
            msg = (
                f"a budget of {max_usd:g} USD, but no price of model '{name}' is known; put `price` in its card "
                f"({registry.entry('models', name).where(name)}), `price: free` for a machine of one's own"
            )
            raise UsageError(msg)
