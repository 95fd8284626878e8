"""Finds the kind of each prompt variant in files that say by dimension in what prompts vary, as rows of DOVE do.

The variant from which all others differ least is taken for the original. Another one has the kind in whose dimensions
alone it differs from the original, else it is crossed.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from promptaudit.exchange.recorded_runs.formats.answers import Answer
from promptaudit.registry.cards import Variation
from promptaudit.system.keys import as_json

PHRASING, DEMONSTRATIONS = "instruction_phrasing", "demonstrations"
KINDS: Mapping[str, Variation] = {
    PHRASING: "wording",
    "enumerator": "format",
    "separator": "format",
    "table_serialization": "format",
    "choices_order": "option_order",
    "shots": "examples",
    DEMONSTRATIONS: "examples",
    "table_perturbation": "input_noise",
}
OTHER: Variation = "format"
"""The kind of any other dimension. DOVE counts all of them as format."""

Dimensions = Mapping[str, str]
"""Dimension to the prompt's value, as JSON."""


def with_demonstrations(answers: Sequence[Answer]) -> list[Dimensions | None]:
    """Adds the demonstrations to the dimensions of each answer's prompt where they separate variants.

    Among prompts that are alike in all else, the demonstrations are a dimension as long as no more lists were shown
    than one sample was asked under. Otherwise each sample has its own lists: the first of each count as one, and so do
    the second ones and so on.
    """
    groups: dict[tuple[str | None, ...], dict[str, dict[str, None]]] = defaultdict(lambda: defaultdict(dict))
    for answer in answers:
        if answer.demonstrations is not None:
            groups[_alike(answer)][answer.sample_id].setdefault(answer.demonstrations)
    n_lists = {key: len({each for lists in of_sample.values() for each in lists}) for key, of_sample in groups.items()}
    found: list[Dimensions | None] = []
    for answer in answers:
        dimensions = answer.dimensions
        if dimensions is not None and answer.demonstrations is not None:
            key = _alike(answer)
            is_shared = n_lists[key] <= max(map(len, groups[key].values()))
            rank = list(groups[key][answer.sample_id]).index(answer.demonstrations)
            shown = answer.demonstrations if is_shared else as_json(f"draw {rank + 1}")
            dimensions = {**dimensions, DEMONSTRATIONS: shown}
        found.append(dimensions)
    return found


def _alike(answer: Answer) -> tuple[str | None, ...]:
    return (answer.task, answer.strategy, answer.instruction, key_of(answer.dimensions))


def key_of(dimensions: Dimensions | None) -> str | None:
    """Writes dimensions as a text that equal dimensions share."""
    return None if dimensions is None else as_json(dict(sorted(dimensions.items())))


def reference_of(variants: Sequence[Dimensions]) -> int:
    """Finds the variant that differs from all others in the fewest dimensions, summed; the first of several.

    Gives its place.
    """
    names = {name for variant in variants for name in variant}
    shares = {name: Counter(variant.get(name) for variant in variants) for name in names}
    return max(range(len(variants)), key=lambda n: sum(shares[name][variants[n].get(name)] for name in names))


def settings_of(variants: Sequence[Dimensions], texts: Sequence[str], reference: int) -> list[dict[str, Any]]:
    """Lists for each variant, by kind, what it has in place of the reference's, as in `raw.prompt_variants.setting`.

    For `wording` this is the number of its text, for `option_order` the name of the order, and otherwise an object by
    dimension.
    """
    own = variants[reference]
    numbers = {text: number for number, text in enumerate(dict.fromkeys((texts[reference], *texts)))}
    settings = []
    for place, (variant, text) in enumerate(zip(variants, texts, strict=True)):
        parts: dict[str, Any] = defaultdict(dict)
        for name in sorted({*own, *variant}):
            if variant.get(name) != own.get(name):
                parts[KINDS.get(name, OTHER)][name] = json.loads(variant.get(name, "null"))
        if "wording" in parts or (not parts and place != reference):
            parts["wording"] = numbers[text]
        if "option_order" in parts:
            (parts["option_order"],) = parts["option_order"].values()
        settings.append(dict(parts))
    return settings
