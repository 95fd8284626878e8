"""Writes the card of a task whose wording is the chosen one, beside the task's own card."""

from __future__ import annotations

from pathlib import Path

from promptaudit.flows.choice.choose import Choice
from promptaudit.models_registry.errors import UsageError
from promptaudit.models_registry.read_yaml import read_yaml
from promptaudit.models_registry.registry import SHIPPED, Registry, load_registry
from promptaudit.models_registry.write_yaml import write_cards

ENDING = "_chosen"


def write_card(registry: Registry, choice: Choice) -> Path | None:
    """Returns the file that is written; None where no wording is better than the original, so that there is nothing to write.

    Raises:
        UsageError: the task is a shipped one, or is no longer in the cards; the file is there already.
    """
    if not choice.chosen["is_better"]:
        return None
    entry = registry.entry("tasks", choice.task_id)
    if entry.root == SHIPPED:
        msg = f"task '{choice.task_id}' is shipped: a chosen wording is written beside a card of your own (promptaudit init)"
        raise UsageError(msg)
    name = choice.task_id + ENDING
    path = entry.root / "tasks" / f"{name}.yml"
    if path.exists():
        msg = f"{path} is there already: use it, or move it away"
        raise UsageError(msg)
    cards, *_ = read_yaml(entry.root / entry.file, entry.file)
    write_cards(path, {name: {**cards[choice.task_id], "instruction": choice.chosen["instruction"]}})
    load_registry([entry.root])
    return path
