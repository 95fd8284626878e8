"""Varies the order in which a classification's prompt names, describes or exemplifies its labels.

Lu et al. (2022, ACL, "Fantastically Ordered Prompts and Where to Find Them") and Zhao et al. (2021, ICML, "Calibrate
Before Use") show how much the order of labelled examples decides. One order holds for all samples, except the orders
that put the gold label first or last. Answers are read as before.
"""

from __future__ import annotations

from dataclasses import replace

from promptaudit.prompts.messages import ClassificationPrompt, shows_labels
from promptaudit.prompts.variations.order import OF_GOLD, order_names, order_of
from promptaudit.prompts.variations.original import Level, Original
from promptaudit.registry.cards import TaskCard

TRIES = 20  # orders that are tried for one that is new


def misfit(task: TaskCard) -> str | None:
    """Says why a task cannot be varied so; None if it can."""
    return None if task.kind == "classification" else f"it is of classification, and the task is {task.kind}"


def fits(original: Original) -> bool:
    """Checks whether the strategy's prompt shows labels."""
    return shows_labels(original.task, original.strategy)


def levels(original: Original, n: int) -> list[Level]:
    """Lists the names of up to n orders, no two alike; a smaller n gives the first of them."""
    n_labels = len(original.task.label_names)
    seen, names = {tuple(range(n_labels))}, list[Level]()
    for name in order_names(TRIES * n, has_gold=original.has_gold) if n else ():
        order = order_of(name, n_labels, None, "label_order")
        if is_of_gold(name) or order not in seen:
            names.append(name)
            seen.add(order)
    return names[:n]


def is_of_gold(level: Level) -> bool:
    """Checks whether an order depends on the sample's gold label."""
    return level in OF_GOLD


def apply(prompt: ClassificationPrompt, level: Level, gold_label: str | None = None) -> ClassificationPrompt:
    """Rewrites the prompt with its labels, and the examples of each, in another order."""
    names = prompt.card.label_names
    gold = None if gold_label is None else names.index(gold_label)
    order = order_of(level, len(names), gold, "label_order")
    ranks = {names[place]: rank for rank, place in enumerate(order)}
    return replace(
        prompt,
        card=prompt.card.model_copy(update={"labels": tuple(prompt.card.labels[place] for place in order)}),
        examples=tuple(sorted(prompt.examples, key=lambda example: ranks[example[1]])),
    )
