"""Writes the card of a task with the chosen wording, beside the task's own card."""

from __future__ import annotations

from pathlib import Path

from promptaudit.query.choice.choose import Choice
from promptaudit.registry.errors import PromptauditError, UsageError
from promptaudit.registry.read_yaml import read_yaml
from promptaudit.registry.registry import SHIPPED, Registry, load_registry
from promptaudit.registry.write_yaml import write_cards

ENDING = "_chosen"
NOT_OF_IT = ("translations",)
"""Fields of the original's words, which the new card leaves out."""


def write_card(registry: Registry, choice: Choice) -> Path | None:
    """Writes the card and gives its file. None where no wording is better than the original, so nothing is written.

    Raises:
        UsageError: the task is a shipped one, has templates, asks otherwise by now, or is no longer in the cards; a card of
            that name is there already.
    """
    if not choice.chosen.is_better:
        return None
    entry, name = registry.entry("tasks", choice.task_id), choice.task_id + ENDING
    path = entry.root / "tasks" / f"{name}.yml"
    if reason := _why_not(registry, choice, name, path):
        raise UsageError(reason)
    cards, *_ = read_yaml(entry.root / entry.file, entry.file)
    card = {field: value for field, value in cards[choice.task_id].items() if field not in NOT_OF_IT}
    write_cards(path, {name: {**card, "instruction": choice.chosen.instruction}})
    try:
        load_registry([entry.root]).task(name)
    except PromptauditError:
        path.unlink()
        raise
    return path


def _why_not(registry: Registry, choice: Choice, name: str, path: Path) -> str | None:
    task = f"task '{choice.task_id}'"
    card = registry.task(choice.task_id)
    if card.templates is not None or not card.instruction:
        return f"{task} is asked by whole templates: put the chosen one into its own card"
    if registry.entry("tasks", choice.task_id).root == SHIPPED:
        return f"{task} is shipped: a chosen wording is written beside a card of your own (promptaudit init)"
    if registry.find("tasks", name) is not None or path.exists():
        return f"task '{name}' is there already ({path.name}): use it, or move it away"
    if card.instruction != choice.original.instruction:
        return f"{task}: its card asks otherwise than the run that chose; run the audit first"
    return None
