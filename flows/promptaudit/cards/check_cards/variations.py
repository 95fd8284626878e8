"""Checks whether the tasks of an audit can vary in the kinds that it names."""

from __future__ import annotations

from collections import Counter

from promptaudit.cards.check_cards.cards import AuditCards, Errors
from promptaudit.prompts.variations import levels, misfit
from promptaudit.prompts.variations.original import original_of
from promptaudit.registry.cards import TaskCard, Template, Variation
from promptaudit.registry.errors import CardError
from promptaudit.registry.placeholders import placeholders


def check_variations(cards: AuditCards) -> Errors:
    """Checks, after the data, that every task can vary in every kind that the audit's rephrasing names."""
    rephrasing = cards.audit.rephrasing
    for kind in () if rephrasing is None else rephrasing.other_kinds:
        for task_id, task in cards.tasks.items():
            templates = cards.templates_of(task)
            if task.templates is not None and templates is None:
                continue
            first = None if templates is None else templates.templates[0]
            why = misfit(kind, task, first, cards.audit.strategies) or _without_levels(cards, kind, task_id)
            if why is not None:
                where = cards.where("audits", cards.audit_id, "rephrasing", "kinds", _place(cards, kind))
                apart = "; leave it out, or give the task an audit of its own" if len(cards.tasks) > 1 else ""
                yield CardError(f"{where}: rephrasing.kinds: {kind} does not fit task '{task_id}': {why}{apart}")
            elif kind == "language" and first is not None:
                yield from _check_translations(cards, task_id, task, first)


def fewer_levels(cards: AuditCards) -> list[str]:
    """Notes which kinds have fewer variants of a task than are wanted, and how many."""
    rephrasing, notes = cards.audit.rephrasing, list[str]()
    for kind in () if rephrasing is None else rephrasing.other_kinds:
        for task_id in cards.tasks:
            wanted = 0 if rephrasing is None else rephrasing.n_of(kind) - 1
            found = _n_levels(cards, kind, task_id, wanted)
            if found and max(found.values()) < wanted:
                notes.append(
                    f"task '{task_id}': {max(found.values())} of {wanted} variants of kind {kind}: there are no more"
                )
    return notes


def _without_levels(cards: AuditCards, kind: Variation, task_id: str) -> str | None:
    # a kind that would fit the task may still make no variant of it under any strategy
    rephrasing = cards.audit.rephrasing
    wanted = 0 if rephrasing is None else rephrasing.n_of(kind) - 1
    found = _n_levels(cards, kind, task_id, wanted)
    if not wanted or not found or any(found.values()):
        return None
    return {
        "label_order": f"no strategy of the audit shows labels in an order that can change ({', '.join(found)})",
        "examples": "there is one example and no row that is not asked; give samples.limit",
        "system": "systems has the original's message alone",
    }.get(kind, "it changes nothing in the prompt")


def _n_levels(cards: AuditCards, kind: Variation, task_id: str, wanted: int) -> dict[str, int]:
    # by strategy; empty where the data is not here
    task = cards.tasks[task_id]
    templates = cards.templates_of(task)
    if task_id not in cards.samples or (task.templates is not None and templates is None):
        return {}
    strategies = cards.audit.strategies if task.templates is None else ("simple",)
    originals = {
        strategy: original_of(task, strategy, templates, cards.samples[task_id], cards.audit.rephrasing)
        for strategy in strategies
    }
    return {strategy: len(levels(kind, original, wanted)) for strategy, original in originals.items()}


def _check_translations(cards: AuditCards, task_id: str, task: TaskCard, first: Template) -> Errors:
    wanted = Counter(placeholders(first.text))
    for tag, translation in task.translations.items():
        if Counter(placeholders(translation.instruction)) != wanted:
            where = cards.where("tasks", task_id, "translations", tag)
            names = ", ".join(f"{{{name}}}" for name in wanted)
            yield CardError(f"{where}: translations.{tag} must use what the first template uses: {names}")


def _place(cards: AuditCards, kind: Variation) -> int:
    rephrasing = cards.audit.rephrasing
    return 0 if rephrasing is None else rephrasing.kinds.index(kind)
