"""Says by DOVE's dimensions how a prompt was made: its instruction, its examples, the signs, separator and order of options.

What a prompt varies in and DOVE has no dimension for stands in columns of ours beside them, of which `variation` and `setting`
are those of every export.
"""

from __future__ import annotations

import functools
import json
import string
from collections.abc import Mapping, Sequence
from typing import Any

from promptaudit.flows.query.dove_answer import DoveAnswer
from promptaudit.models_registry.cards import Template
from promptaudit.models_registry.template_cards import ROMAN

ENUMERATORS: Mapping[str, Sequence[str]] = {
    "capitals": string.ascii_uppercase,
    "lowercase": string.ascii_lowercase,
    "numbers": [str(number) for number in range(1, 27)],
    "roman": [sign.upper() for sign in ROMAN],
    "greek": "αβγδεζηθικλμνξοπρστυφχψω",
}
SEPARATORS = {" ": "\\s", **{each: each for each in ("\n", ", ", "; ", " | ", " OR ", " or ")}}
MOST_SHOTS = 10
_ONE_SHOT = "one_shot"
OF_THE_VARIANT = ("strategy", "paraphrase_temperature", "variant_index", "variation", "setting")


def dimensions(row: DoveAnswer, signs: Sequence[str], instruction: str) -> dict[str, Any]:
    """Returns the dimensions of an answer's prompt; `instruction` is the name of its instruction."""
    template = None if row.template is None else _template(row.template)
    setting = json.loads(row.setting or "{}")
    is_choice = row.kind == "multiple_choice"
    shown = (
        [] if template is None else [{"question": each.question, "answer": each.answer} for each in template.examples]
    )
    return {
        "instruction_phrasing": {"name": instruction, "text": row.instruction or "(recorded)"},
        "shots": min(MOST_SHOTS, len(shown) if template else _n_shots(row, setting.get("examples"))),
        "demonstrations": shown,
        "mc_enumerator": _enumerator(signs) if is_choice else None,
        "mc_separator": SEPARATORS.get(template.between) if template and is_choice else None,
        "mc_choices_order": _choices_order(row, setting) if is_choice else None,
        **{name: getattr(row, name) for name in OF_THE_VARIANT},
    }


@functools.lru_cache(maxsize=256)
def _template(text: str) -> Template:
    return Template.model_validate_json(text)


def _enumerator(signs: Sequence[str]) -> str | None:
    upper = [sign.upper() for sign in signs]
    if not upper:
        return None
    for name, known in ENUMERATORS.items():
        if list(known[: len(signs)]) == list(upper if name == "roman" else signs):
            return name
    return None


def _n_shots(row: DoveAnswer, level: Any) -> int:  # noqa: ANN401 - as JSON has it
    """Returns how many solved examples a prompt shows: one a label, of extraction one, or those that its setting names."""
    named = level if isinstance(level, dict) else {}
    shots = named.get("shots")  # of rows of DOVE that were imported
    if isinstance(shots, int):
        return max(0, shots)
    for name in ("rows", "order"):
        if isinstance(named.get(name), list):
            return len(named[name])
    return len(row.labels or ("of extraction",)) if row.strategy.startswith(_ONE_SHOT) else 0


def _choices_order(row: DoveAnswer, setting: Mapping[str, Any]) -> dict[str, str]:
    """Returns how the options of a variant were ordered, by the name that its setting has for it."""
    name = setting.get("option_order")
    if name is None and not row.option_order:
        return {"method": "none", "description": "Preserves the original order of choices as provided"}
    return {"method": str(name or "reordered"), "description": "Choices stand as they were shown, in this order"}
