"""Defines an annotator: it completes a request from what the cell and the card say alone."""

from __future__ import annotations

import json
from collections.abc import Callable

from promptaudit.engines import Request

Annotate = Callable[[Request], str | None]
"""Completes a request; None if there is nothing to say yet."""


def cell_parts(purpose: str, seed: int, request: Request) -> tuple[str | int, ...]:
    """Lists what a draw for one cell depends on; two cards of one seed still draw apart, by their model ids."""
    return (purpose, seed, request.model_id, request.sample_id, request.prompt_variant_id, request.repetition)


def in_its_field(completion: str | None, request: Request) -> str | None:
    """Wraps a label in the JSON object that the task's reader reads; anything else stays as it is."""
    field = None if request.question is None else request.question.json_field
    if field is None or completion not in request.labels:
        return completion
    value: object = completion
    for name in reversed(field.split(".")):
        value = {name: value}
    return json.dumps(value, ensure_ascii=False)
