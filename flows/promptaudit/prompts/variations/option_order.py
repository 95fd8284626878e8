"""Varies the order of the options of a multiple-choice question, sample by sample.

Pezeshkpour and Hruschka (2024, Findings of NAACL, 2024.findings-naacl.130) reorder the options of each question and put
the right one in each place; Zheng et al. (2024, ICLR, "Large Language Models Are Not Robust Multiple Choice Selectors")
move the right one to each sign. The signs stay in their places, so that an answer "B" means the option that stands
there, and is read back to the option's own label.
"""

from __future__ import annotations

from dataclasses import replace

from promptaudit.prompts.variations.order import order_names, order_of
from promptaudit.prompts.variations.original import Level, Original
from promptaudit.registry.cards import TaskCard
from promptaudit.registry.samples import Sample


def misfit(task: TaskCard) -> str | None:
    """Says why a task cannot be varied so; None if it can."""
    return None if task.kind == "multiple_choice" else f"it is of multiple_choice, and the task is {task.kind}"


def levels(original: Original, n: int) -> list[Level]:
    """Lists the names of n orders; a smaller n gives the first of them."""
    return list(order_names(n, has_gold=original.has_gold))


def shown(sample: Sample, level: Level, task: TaskCard) -> tuple[Sample, tuple[int, ...]]:
    """Reorders a sample's options; its gold label becomes the label of the place where the right option now stands.

    The second value has, for each place as shown, the option's place in the data.
    """
    names = task.label_names
    gold = None if sample.gold_label is None else names.index(sample.gold_label)
    order = order_of(level, len(sample.options), gold, "option_order", sample.sample_id)
    options = tuple(sample.options[place] for place in order)
    label = None if gold is None else names[order.index(gold)]
    return replace(sample, options=options, gold_label=label), order
