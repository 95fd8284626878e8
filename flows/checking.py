"""Checks cards, alone and together, and the data they name."""

from __future__ import annotations

from typing import Any

from flows.design import design_checks
from flows.estimate import check_data
from models_registry.registry import KINDS, Registry


def check_cards(registry: Registry, audit_id: str | None) -> dict[str, Any]:
    """Every audit (or one): its cards fit, its data can be read; raises the first error in one line."""
    audits = [audit_id] if audit_id is not None else sorted(registry.entries["audits"])
    notes: list[str] = []
    for name in audits:
        design_checks(registry, name)
        audit = registry.audit(name)
        notes += [note for task in audit.tasks if (note := check_data(registry, audit, task))]
    counts = {kind: len(registry.entries[kind]) for kind in KINDS}
    cards = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    fingerprints = {name: registry.fingerprint(name) for name in audits}
    summary = f"{len(audits)} audits are sound ({cards})" if audit_id is None else f"audit '{audit_id}' is sound"
    return {"summary": summary, "notes": list(dict.fromkeys(notes)), "fingerprints": fingerprints}
