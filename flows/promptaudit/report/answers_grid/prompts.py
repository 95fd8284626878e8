"""Prepares the prompts of a grid: each variant's messages with open placeholders, and what each sample fills in."""

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
    """Cuts a text to `limit` characters and escapes what is invisible in it, except line breaks."""
    lines = text[:limit].replace("\r\n", "\n").split("\n")
    return "\n".join(map(shown, lines)) + ("…" if len(text) > limit else "")


def messages_of(variant: Row, limit: int) -> list[list[str]]:
    """Lists role and content of each message of a variant, cut between placeholders.

    Without a recorded prompt it is empty.
    """
    messages = [each for each in _parsed(variant["prompt"]) if isinstance(each, dict)]
    return [
        [visible(str(each.get("role")), 40), "".join(_pieces(str(each.get("content")), limit))]
        for each in messages[:MOST_MESSAGES]
    ]


def _pieces(content: str, limit: int) -> Sequence[str]:
    return [piece if _OPEN.fullmatch(piece) else visible(piece, limit) for piece in _OPEN.split(content)]


def options_of(variant: Row, limit: int) -> dict[str, Any] | None:
    """Describes how a template writes the options of a question, with its columns.

    None for a prompt without a template.
    """
    try:
        template = Template.model_validate_json(variant["template"] or "")
    except ValueError:  # a copy may be another person's
        return None
    written = {"option": visible(template.option, limit), "between": visible(template.between, limit)}
    return {"signs": template.signs, "columns": placeholders(template.text), **written}


def filled_with(sample: Row, limit: int) -> Mapping[str, str]:
    """Maps the names of a prompt's placeholders to what a sample fills in."""
    fields = _parsed(sample["fields"])
    texts = {**fields} if isinstance(fields, dict) else {}
    if sample["input"] is not None:
        texts |= {"input": sample["input"], "question": sample["input"]}
    return {name: visible(str(text), limit) for name, text in texts.items() if text is not None}


def _parsed(text: str | None) -> Any:
    # a copy may be another person's, so what is not JSON reads as empty
    try:
        return json.loads(text or "[]") or []
    except ValueError:
        return []
