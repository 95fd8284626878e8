"""Requests as the tests of engines make them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from promptaudit.engines import Request

LABELS = ("number", "location", "person", "description", "entity", "abbreviation")
PROMPT = "Classify the question as number, location, person, description, entity or abbreviation.\n\n"


def request_of(text: str = "How many moons has Mars?", *, prompt: str = PROMPT, **fields: Any) -> Request:
    """A request of one user message, `prompt` then `text`; `fields` replaces any field."""
    made = Request(
        prediction_id="p",
        model_id="asked",
        task_id="question_type",
        strategy="simple",
        prompt_variant_id="v0",
        paraphrase_temperature=None,
        variant_index=0,
        sample_id="s0",
        repetition=1,
        messages=(("user", prompt + text),),
        labels=LABELS,
        text=text,
        request_sha256="0" * 64,
    )
    return replace(made, **fields)
