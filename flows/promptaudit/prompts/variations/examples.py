"""Varies the solved examples that a prompt shows: their order, which they are, and how many.

Lu et al. (2022, ACL, "Fantastically Ordered Prompts and Where to Find Them") permute the examples; Zhao et al. (2021,
ICML, "Calibrate Before Use") draw others too, and more of them. A classification takes other examples from rows that
are not asked, a template from its own examples.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

from promptaudit.prompts.messages import ONE_SHOT, ClassificationPrompt, dressing
from promptaudit.prompts.variations.order import SEEDED, order_of
from promptaudit.prompts.variations.original import Level, Original, PromptT
from promptaudit.registry.cards import TaskCard, Template
from promptaudit.registry.samples import ChosenSamples

MOST_ROWS = 12  # spare rows a label
MOST_A_LABEL = 4  # examples shown of a label
TRIES = 20  # orders that are tried for one that is new


def misfit(task: TaskCard, template: Template | None, strategies: Sequence[str]) -> str | None:
    """Says why a task's examples cannot be varied; None if they can."""
    if task.fields:
        return f"strategy one_shot shows one example of a task of kind {task.kind}, in no other order and number"
    if task.templates is None:
        return None if ONE_SHOT in strategies else "strategy one_shot shows examples, and the audit does not ask it"
    if template is not None and not template.examples:
        return "the first of its templates shows none"
    return None


def fits(original: Original) -> bool:
    """Checks whether the prompt shows examples."""
    if isinstance(original.prompt, ClassificationPrompt):
        return dressing(original.strategy) == ONE_SHOT
    return bool(original.prompt.examples)


def levels(original: Original, n: int) -> list[Level]:
    """Lists up to n choices of examples, no two alike: by turns another order, other rows, and more or fewer of them.

    In a classification `rows` lists the ids of the rows shown, or is None for the original's rows; in a template
    `places` lists which of its own examples are shown, from 0.
    """
    if isinstance(original.prompt, ClassificationPrompt):
        return _of_rows(original, n)
    return _of_template(original.prompt, n)


def _of_rows(original: Original, n: int) -> list[Level]:
    names = original.task.label_names
    spare = [[row.sample_id for row in original.chosen.spare if row.gold_label == name] for name in names]
    n_spare = min(len(rows) for rows in spare)
    orders = [{"rows": None, "order": list(order)} for order in _other_orders(len(names), n)]
    others = [{"rows": [rows[place] for rows in spare], "order": None} for place in range(n_spare)]
    more = [
        {"rows": [rows[place] for place in range(n_each) for rows in spare], "order": None}
        for n_each in range(2, min(MOST_A_LABEL, n_spare) + 1)
    ]
    turns = itertools.zip_longest(orders, others, more)
    return [level for turn in turns for level in turn if level is not None][:n]


def _other_orders(n_things: int, n: int) -> Iterator[tuple[int, ...]]:
    # no two alike, and none the original order
    seen = {tuple(range(n_things))}
    for seed in range(1, TRIES * n + 1):
        order = order_of(f"{SEEDED} {seed}", n_things, None, "examples")
        if order not in seen and len(seen) <= n:
            seen.add(order)
            yield order


def _of_template(template: Template, n: int) -> list[Level]:
    n_own = len(template.examples)
    chosen: list[Level] = []
    seen = {tuple(range(n_own))}
    for seed in range(1, TRIES * n + 1):
        order = order_of(f"{SEEDED} {seed}", n_own, None, "examples")
        for places in (order, order[: 1 + seed % max(1, n_own - 1)]):  # all of them in another order, then some
            if places not in seen:
                seen.add(places)
                chosen.append({"places": list(places)})
    return chosen[:n]


def labels_of(level: Level, names: Sequence[str]) -> list[str]:
    """Lists the label of each row that a level shows; rows are taken label by label, so as many of each."""
    return [names[place % len(names)] for place in range(len(level["rows"]))]


def apply(prompt: PromptT, level: Level, chosen: ChosenSamples) -> PromptT:
    """Rewrites the prompt with these examples, in this order."""
    if not isinstance(prompt, ClassificationPrompt):
        return prompt.model_copy(update={"examples": tuple(prompt.examples[place] for place in level["places"])})
    if level["rows"] is None:
        return replace(prompt, examples=tuple(prompt.examples[place] for place in level["order"]))
    rows = {row.sample_id: row for row in chosen.spare}
    shown = (rows[sample_id] for sample_id in level["rows"])
    return replace(prompt, examples=tuple((row.text, row.gold_label or "") for row in shown))
