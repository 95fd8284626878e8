"""Reads the prompt of a row of DOVE: the text put in (`instance.raw_input`), and its dimensions in either spelling.

The schema has `mc_enumerator`, `mc_separator` and `mc_choices_order` for multiple-choice prompts; the rows of the
dataset have them without `mc_`. Rows that `promptaudit export` wrote also have our own columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from promptaudit.exchange.recorded_runs.formats.answers import text_of
from promptaudit.system.keys import as_json

OLDER = {"mc_enumerator": "enumerator", "mc_separator": "separator", "mc_choices_order": "choices_order"}
OURS = ("strategy", "paraphrase_temperature", "variant_index", "variation", "setting")
# parts of a demonstration that follow the prompt's enumerator or form of a table, or its question
_OF_DEMONSTRATION = ("table", "choices", "answer")


def dimensions_of(given: Mapping[str, Any]) -> dict[str, str]:
    """Reads the dimensions of a prompt under their older names, each as JSON. One with a method or text is only this.

    Dimensions that are null, our own columns and the demonstrations are left out; `demonstrations_of` reads the last.
    Raises ValueError for half a character, which is no text to a database.
    """
    found = {}
    for name, value in given.items():
        if value is not None and name not in (*OURS, "demonstrations"):
            found[OLDER.get(name, name)] = as_json(_main_value(value))
            f"{name}{found[OLDER.get(name, name)]}".encode()
    return found


def _main_value(value: Any) -> Any:  # noqa: ANN401 - whatever a dimension has
    if not isinstance(value, Mapping):
        return value
    for name in ("text", "method", "methods", "name"):
        if value.get(name) is not None:
            return value[name]
    return {name: each for name, each in value.items() if each is not None}


def variant_of(given: Mapping[str, Any]) -> str | None:
    """Writes what separates our own variants beside their dimensions. None for rows of others."""
    ours = {name: given[name] for name in OURS if name != "strategy" and given.get(name) is not None}
    return as_json(ours) if ours else None


def demonstrations_of(given: Mapping[str, Any]) -> str | None:
    """Writes what identifies the demonstrations of a prompt, as JSON: their questions in order. None without any."""
    shown = given.get("demonstrations")
    if not isinstance(shown, Sequence) or isinstance(shown, str) or not shown:
        return None
    return as_json([_known_by(each) for each in shown])


def _known_by(demonstration: Any) -> Any:  # noqa: ANN401
    if not isinstance(demonstration, Mapping):
        return demonstration
    given = {name: value for name, value in demonstration.items() if value is not None}
    return {name: value for name, value in given.items() if name not in _OF_DEMONSTRATION} or given.get("answer")


def input_of(raw: Any) -> str | None:  # noqa: ANN401 - a text, messages, or a table with a question
    """Reads what was put into a prompt: a text, the contents of messages in order, or a table and its question."""
    if isinstance(raw, Mapping):
        parts = [raw.get("table"), raw.get("question")]
    elif isinstance(raw, Sequence) and not isinstance(raw, str):
        parts = [message["content"] for message in raw]
    else:
        return text_of(raw)
    return "\n\n".join(text for part in parts if (text := text_of(part))) or None


def question_of(raw: Any) -> str | None:  # noqa: ANN401
    """Reads the question about a table. None where there is none."""
    return text_of(raw.get("question")) if isinstance(raw, Mapping) else None


def fields_of(raw: Any, question: str | None) -> dict[str, str]:  # noqa: ANN401
    """Collects the parts of the sample that stand in a prompt."""
    table = text_of(raw.get("table")) if isinstance(raw, Mapping) else None
    return {name: text for name, text in (("table", table), ("question", question)) if text}
