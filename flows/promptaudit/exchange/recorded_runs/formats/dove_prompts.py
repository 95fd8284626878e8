"""Reads what a row of DOVE says of its prompt: what was put in (`instance.raw_input`), and its dimensions in either spelling.

The schema calls what only multiple-choice prompts have `mc_enumerator`, `mc_separator` and `mc_choices_order`; the rows of the
dataset have these without `mc_`. Rows that `promptaudit export` wrote have our own columns beside them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from promptaudit.exchange.recorded_runs.formats.answers import text_of
from promptaudit.system.keys import as_json

OLDER = {"mc_enumerator": "enumerator", "mc_separator": "separator", "mc_choices_order": "choices_order"}
OURS = ("strategy", "paraphrase_temperature", "variant_index", "variation", "setting")
_OF_DEMONSTRATION = ("table", "choices", "answer")
"""Parts of a demonstration that follow the prompt's enumerator or form of a table, or its question."""


def dimensions_of(given: Mapping[str, Any]) -> dict[str, str]:
    """Returns the dimensions of a prompt by their older names, each as JSON: of one with a method or a text this alone.

    One that is null is none. What rows of ours add and the demonstrations are left to `demonstrations_of`. Raises ValueError for
    half a character, which is no text to a database.
    """
    found = {}
    for name, value in given.items():
        if value is not None and name not in (*OURS, "demonstrations"):
            found[OLDER.get(name, name)] = as_json(_told(value))
            f"{name}{found[OLDER.get(name, name)]}".encode()
    return found


def _told(value: Any) -> Any:  # noqa: ANN401 - whatever a dimension has
    if not isinstance(value, Mapping):
        return value
    for name in ("text", "method", "methods", "name"):
        if value.get(name) is not None:
            return value[name]
    return {name: each for name, each in value.items() if each is not None}


def variant_of(given: Mapping[str, Any]) -> str | None:
    """Returns what tells variants of ours apart beside their dimensions; None of rows of others."""
    told = {name: given[name] for name in OURS if name != "strategy" and given.get(name) is not None}
    return as_json(told) if told else None


def demonstrations_of(given: Mapping[str, Any]) -> str | None:
    """Returns what the demonstrations of a prompt are known by, as JSON: their questions in order; None where there are none."""
    shown = given.get("demonstrations")
    if not isinstance(shown, Sequence) or isinstance(shown, str) or not shown:
        return None
    return as_json([_known_by(each) for each in shown])


def _known_by(demonstration: Any) -> Any:  # noqa: ANN401
    if not isinstance(demonstration, Mapping):
        return demonstration
    told = {name: value for name, value in demonstration.items() if value is not None}
    return {name: value for name, value in told.items() if name not in _OF_DEMONSTRATION} or told.get("answer")


def input_of(raw: Any) -> str | None:  # noqa: ANN401 - a text, messages, or a table with a question
    """Returns what was put into a prompt: a text, the contents of messages in order, or a table and its question."""
    if isinstance(raw, Mapping):
        parts = [raw.get("table"), raw.get("question")]
    elif isinstance(raw, Sequence) and not isinstance(raw, str):
        parts = [message["content"] for message in raw]
    else:
        return text_of(raw)
    return "\n\n".join(text for part in parts if (text := text_of(part))) or None


def question_of(raw: Any) -> str | None:  # noqa: ANN401
    """Returns the question of a table; None where there is none."""
    return text_of(raw.get("question")) if isinstance(raw, Mapping) else None


def fields_of(raw: Any, question: str | None) -> dict[str, str]:  # noqa: ANN401
    """Returns the parts of the sample that stand in a prompt."""
    table = text_of(raw.get("table")) if isinstance(raw, Mapping) else None
    return {name: text for name, text in (("table", table), ("question", question)) if text}
