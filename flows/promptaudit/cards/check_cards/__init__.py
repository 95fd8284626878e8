"""Checks an audit's cards and their data before anything is asked: what `validate`, `plan` and `run` refuse is one list.

A run is refused for two kinds of reasons. An error of a card is an error on every machine, and all three commands
refuse it. What this machine lacks (a key, vLLM, an extra, data that does not ship) is refused only by `run`. `validate`
and `plan` report it, since cards are checked and costs looked up where nothing is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from promptaudit.cards.check_cards.cards import (
    AuditCards,
    Errors,
    check_annotators,
    check_choices,
    check_gate,
    check_model_sets,
    check_perturbed,
    check_reached,
    check_rephraser,
    check_schemas,
    check_template_kinds,
)
from promptaudit.cards.check_cards.code import check_code, named_code
from promptaudit.cards.check_cards.data import (
    altered_templates,
    check_critical,
    check_data,
    check_panels,
    check_templates,
    data_lacking,
    lacking_extras,
    unlike_labels,
    unread_data,
)
from promptaudit.cards.check_cards.expectations import check_expectations
from promptaudit.cards.check_cards.judges import altered_rubrics, check_judges, check_unscored
from promptaudit.cards.check_cards.models import check_prices, check_recorded, lacking_engines
from promptaudit.cards.check_cards.rephrasings import (
    check_languages,
    check_rephrasings,
    refused_rephrasings,
    unreworded_templates,
)
from promptaudit.cards.check_cards.variations import check_variations, fewer_levels
from promptaudit.registry.errors import PromptauditError, raise_all
from promptaudit.registry.registry import KINDS, Entry, Registry

CHECKS: tuple[Callable[[AuditCards], Errors], ...] = (
    check_reached,
    check_perturbed,
    check_schemas,
    check_choices,
    check_annotators,
    check_rephraser,
    check_code,
    check_judges,
    check_unscored,
    check_model_sets,
    check_template_kinds,
    check_gate,
    check_expectations,
    check_prices,
    check_recorded,
    check_rephrasings,
    check_languages,
    check_data,
    check_templates,  # after the data
    check_critical,
    check_panels,
    check_variations,  # after the data too
)
"""The checks of an audit. Each yields every error it finds; a card's own errors are found when it is loaded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CardCheck:
    """An audit's cards, what is wrong with them, and what this machine lacks."""

    cards: AuditCards
    errors: tuple[PromptauditError, ...]
    lacking_data: tuple[PromptauditError, ...]  # on this machine
    lacking_extras: tuple[PromptauditError, ...]
    lacking_engines: tuple[PromptauditError, ...]
    notes: tuple[str, ...]

    @property
    def passed_over(self) -> list[str]:
        """Lists what is wrong with cards of the registry that the audit does not use, a line each."""
        reported = {str(error) for error in self.errors}
        lines = dict.fromkeys(map(str, self.cards.registry.errors))
        return [f"{line}; audit '{self.cards.audit_id}' does without it" for line in lines if line not in reported]

    @property
    def models(self) -> Mapping[str, Entry]:
        """Maps every model that is asked, also by rephrasers and judges, to its entry."""
        return self.cards.used["models"]

    @property
    def run_refuses(self) -> list[str]:
        """Lists what this machine lacks, as `run` says it when it begins."""
        return [str(error) for error in (*self.lacking_data, *self.lacking_extras, *self.lacking_engines)]


def check_audit(registry: Registry, audit_id: str, max_usd: float | None = None) -> CardCheck:
    """Runs all checks of an audit. Raises UnknownCard where there is none. `max_usd` goes before the card's."""
    used, unreached = registry.reached_by(audit_id)
    limit = registry.audit(audit_id).budget.max_usd if max_usd is None else max_usd
    cards = AuditCards(registry=registry, audit_id=audit_id, used=used, unreached=tuple(unreached), max_usd=limit)
    return CardCheck(
        cards=cards,
        errors=tuple(error for check in CHECKS for error in check(cards)),
        lacking_data=tuple(data_lacking(cards)),
        lacking_extras=tuple(lacking_extras(cards)),
        lacking_engines=tuple(lacking_engines(used["models"])),
        notes=(
            *registry.audit(audit_id).format.notes,
            *unread_data(cards),
            *unlike_labels(cards),
            *refused_rephrasings(cards),
            *unreworded_templates(cards),
            *fewer_levels(cards),
            *altered_rubrics(cards),
            *altered_templates(cards),
        ),
    )


def lines_of_refusals(reasons: Iterable[str]) -> list[str]:
    """Writes what keeps `run` from beginning on this machine, a line a reason."""
    return [f"`run` is refused here: {reason}" for reason in reasons]


def check_cards(registry: Registry, audit_id: str | None) -> dict[str, Any]:
    """Checks every card and audit, or one audit and what this machine lacks for it. Raises all errors at once."""
    audits = [audit_id] if audit_id is not None else sorted(registry.entries["audits"])
    checked = {name: check_audit(registry, name) for name in audits}
    faults = registry.errors if audit_id is None else []
    raise_all([*faults, *(error for each in checked.values() for error in each.errors)])
    counts = {kind: len(registry.entries[kind]) for kind in KINDS}
    cards = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    summary = f"{len(audits)} audits are sound ({cards})" if audit_id is None else f"audit '{audit_id}' is sound"
    notes = [note for each in checked.values() for note in (*named_code(each.cards), *each.notes, *each.passed_over)]
    return {
        "summary": summary,
        "notes": list(dict.fromkeys(notes)),
        "run_refuses": [] if audit_id is None else checked[audit_id].run_refuses,
        "fingerprints": {name: registry.fingerprint(name) for name in audits},
    }
