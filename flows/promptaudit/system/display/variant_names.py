"""Names prompt variants for people: by number, temperature and, unless only their wording differs, their kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from promptaudit.registry.cards import WORDED_ALONE


def numbered(variant: Mapping[str, Any]) -> str:
    """Writes a variant's number as people say it: 3, 3 at 0.5, 7 (option order)."""
    temperature = variant["paraphrase_temperature"]
    number = str(variant["variant_index"]) if temperature is None else f"{variant['variant_index']} at {temperature:g}"
    kind = kind_of(variant)
    return number if kind is None else f"{number} ({kind})"


def named(variant: Mapping[str, Any]) -> str:
    """Names a variant: the original wording, wording 3 at 0.5, variant 7 (option order)."""
    if variant["is_original"]:
        return "the original wording"
    return f"{'wording' if kind_of(variant) is None else 'variant'} {numbered(variant)}"


def kind_of(variant: Mapping[str, Any]) -> str | None:
    """Names the respect in which a variant differs, in words; None for its wording or template."""
    variation: str | None = variant["variation"]
    return None if variation is None or variation in WORDED_ALONE else variation.replace("_", " ")


def word_for(variants: Iterable[Mapping[str, Any]]) -> str:
    """Chooses the word for a run's variants: wording, or prompt if some differ in another respect."""
    return "wording" if all(kind_of(variant) is None for variant in variants) else "prompt"
