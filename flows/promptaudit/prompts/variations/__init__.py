"""In which respects a variant may differ from the original prompt, beside its wording: one module a kind.

A setting maps a kind to what the variant has in place of the original's. Some kinds change the prompt that a sample is
put into, the others change the sample.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from promptaudit.prompts.messages import ClassificationPrompt
from promptaudit.prompts.variations import (
    examples,
    formatting,
    input_noise,
    label_order,
    language,
    option_order,
    system,
)
from promptaudit.prompts.variations.original import Level, Original, PromptT
from promptaudit.registry.cards import Rephrasing, TaskCard, Template, Variation
from promptaudit.registry.samples import ChosenSamples

Setting = Mapping[str, Level]
"""Maps a kind of variation to what replaces the original's."""


def misfit(kind: Variation, task: TaskCard, template: Template | None, strategies: Sequence[str]) -> str | None:
    """Says why a kind has nothing to vary for a task, its first template and the audit's strategies; None if it has."""
    if kind == "examples":
        return examples.misfit(task, template, strategies)
    of_kind = {
        "format": formatting.misfit,
        "option_order": option_order.misfit,
        "label_order": label_order.misfit,
        "input_noise": input_noise.misfit,
        "system": system.misfit,
        "language": language.misfit,
    }
    return of_kind[kind](task)


def levels(kind: Variation, original: Original, n: int) -> list[Level]:
    """Lists up to n levels of a kind, the same on every machine; none if the original has nothing to vary."""
    fits = {"label_order": label_order.fits, "examples": examples.fits}
    if kind in fits and not fits[kind](original):
        return []
    of_kind = {
        "format": formatting.levels,
        "option_order": option_order.levels,
        "label_order": label_order.levels,
        "examples": examples.levels,
        "input_noise": input_noise.levels,
        "system": system.levels,
        "language": language.levels,
    }
    return of_kind[kind](original, n)


def settings(rephrasing: Rephrasing | None, original: Original) -> Iterator[tuple[int, Setting]]:
    """Yields the settings of the variants beside the original and its wordings, one kind at a time or crossed.

    The number of a setting, from 1, does not depend on whether other kinds have fewer levels than are wanted.
    """
    kinds = () if rephrasing is None else rephrasing.other_kinds
    if rephrasing is None or not kinds:
        return
    n_of = {kind: rephrasing.n_of(kind) for kind in kinds}
    found = {kind: dict(enumerate(levels(kind, original, n_of[kind] - 1), 1)) for kind in kinds}
    if not rephrasing.crossed:
        first = 0
        for kind in kinds:
            for place, level in found[kind].items():
                yield first + place, {kind: level}
            first += n_of[kind] - 1
        return
    for places in itertools.product(*([0, *found[kind]] for kind in kinds)):
        number = 0
        for kind, place in zip(kinds, places, strict=True):
            number = number * n_of[kind] + place
        if number:
            yield number, {kind: found[kind][place] for kind, place in zip(kinds, places, strict=True) if place}


def varied(prompt: PromptT, setting: Setting, task: TaskCard, chosen: ChosenSamples) -> PromptT:
    """Rewrites the prompt under a setting; an order of labels by the gold label is left for each sample."""
    if "language" in setting:
        prompt = language.apply(prompt, setting["language"], task)
    if "format" in setting:
        prompt = formatting.apply(prompt, setting["format"])
    if "examples" in setting:
        prompt = examples.apply(prompt, setting["examples"], chosen)
    order = setting.get("label_order")
    if order is not None and isinstance(prompt, ClassificationPrompt) and not label_order.is_of_gold(order):
        prompt = label_order.apply(prompt, order)
    if "system" in setting:
        prompt = system.apply(prompt, setting["system"])
    return prompt


def is_of_each_sample(setting: Setting) -> bool:
    """Checks whether a setting changes how each sample is shown, beyond filling it into the same messages."""
    return "input_noise" in setting or "option_order" in setting or label_order.is_of_gold(setting.get("label_order"))


def variation_of(setting: Setting) -> str:
    """Names the respect in which a variant with a setting differs from the original."""
    return "original" if not setting else next(iter(setting)) if len(setting) == 1 else "crossed"
