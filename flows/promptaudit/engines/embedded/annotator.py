"""What an annotator is: the completion of a request, from what the cell and the card say alone."""

from __future__ import annotations

import json
from collections.abc import Callable

from promptaudit.engines import Request

Annotate = Callable[[Request], str | None]
"""The completion of a request; None where there is nothing to say yet."""


def cell_parts(purpose: str, seed: int, request: Request) -> tuple[str | int, ...]:
    """Returns what a draw for one cell depends on; two cards of one seed still draw apart."""
    return (purpose, seed, request.model_id, request.sample_id, request.prompt_variant_id, request.repetition)


def in_its_field(completion: str | None, request: Request) -> str | None:
    """Returns a label inside of the JSON object that the reader of its task reads; anything else as it is."""
    field = None if request.question is None else request.question.json_field
    if field is None or completion not in request.labels:
        return completion
    value: object = completion
    for name in reversed(field.split(".")):
        value = {name: value}
    return json.dumps(value, ensure_ascii=False)
