"""Prompts of a grid: the messages of each prompt variant with their placeholders left open, and what each sample puts in."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from promptaudit.registry.placeholders import placeholders
from promptaudit.registry.template_cards import Template
from promptaudit.system.display.figures import shown
from promptaudit.warehouse import Row

_OPEN = re.compile(r"(\{[A-Za-z_][A-Za-z0-9_]*\})")
MOST_MESSAGES = 50


def visible(text: str, limit: int) -> str:
    """Returns at most `limit` characters of a text with its line breaks, everything else that is invisible escaped."""
    lines = text[:limit].replace("\r\n", "\n").split("\n")
    return "\n".join(map(shown, lines)) + ("…" if len(text) > limit else "")


def messages_of(variant: Row, limit: int) -> list[list[str]]:
    """Returns role and content of each message, the pieces between placeholders cut; nothing where no prompt is recorded."""
    messages = [each for each in _parsed(variant["prompt"]) if isinstance(each, dict)]
    return [
        [visible(str(each.get("role")), 40), "".join(_pieces(str(each.get("content")), limit))]
        for each in messages[:MOST_MESSAGES]
    ]


def _pieces(content: str, limit: int) -> Sequence[str]:
    return [piece if _OPEN.fullmatch(piece) else visible(piece, limit) for piece in _OPEN.split(content)]


def options_of(variant: Row, limit: int) -> dict[str, Any] | None:
    """Returns how a template writes the options of a question, with its columns; None for a prompt that is no template."""
    try:
        template = Template.model_validate_json(variant["template"] or "")
    except ValueError:  # what stands in a copy may be somebody else's
        return None
    written = {"option": visible(template.option, limit), "between": visible(template.between, limit)}
    return {"signs": template.signs, "columns": placeholders(template.text), **written}


def filled_with(sample: Row, limit: int) -> Mapping[str, str]:
    """Returns what a sample puts in for the placeholders of a prompt, by their names."""
    fields = _parsed(sample["fields"])
    texts = {**fields} if isinstance(fields, dict) else {}
    if sample["input"] is not None:
        texts |= {"input": sample["input"], "question": sample["input"]}
    return {name: visible(str(text), limit) for name, text in texts.items() if text is not None}


def _parsed(text: str | None) -> Any:
    """Returns the JSON of a column; nothing for what is none: what stands in a copy may be somebody else's."""
    try:
        return json.loads(text or "[]") or []
    except ValueError:
        return []
