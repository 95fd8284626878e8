"""The simulated annotator's planted weakness: by the wording where the pattern matches, gone with the text that mends it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import ValidationError

from promptaudit.engines.embedded.engine import open_annotator
from promptaudit.registry.cards import ModelCard
from tests.support.engine_requests import request_of

WEAK_ON = {
    "pattern": "(?i)\\byear\\b",
    "distribution": {"person": 0.5, "place": 0.4},
    "repaired_by": "A year is a number.",
}


def card(**weak_on: Any) -> ModelCard:
    simulated = {"distributions": [{"number": 1.0}], "weak_on": {**WEAK_ON, **weak_on}}
    return ModelCard.model_validate({"engine": "embedded", "model": "simulated", "seed": 5, "simulated": simulated})


def said(
    text: str, prompt: str = "Classify.", variant: str = "v", sample: str = "s", repetition: int = 1
) -> str | None:
    request = request_of(
        text, prompt=f"{prompt}\n\n", prompt_variant_id=variant, sample_id=sample, repetition=repetition
    )
    return asyncio.run(open_annotator(card()).answer(request)).completion


def test_it_is_weak_where_the_pattern_matches_and_nowhere_else() -> None:
    variants = [f"v{n}" for n in range(400)]
    given = [said("In what YEAR?", variant=variant) for variant in variants]
    assert 160 <= given.count("person") <= 240
    assert 120 <= given.count("place") <= 200
    assert 20 <= given.count("I cannot say.") <= 65  # what is missing to 1
    assert {said("How many yearlings?", variant=variant) for variant in variants} == {"number"}


def test_it_is_by_the_wording_and_never_by_the_repetition() -> None:
    for variant in ("v1", "v2", "v3"):
        assert len({said("Which year?", variant=variant, repetition=n) for n in range(1, 6)}) == 1


def test_the_text_mends_it() -> None:
    prompts = ("A year is a number.", "Classify. A year is a number. Reply with the label.")
    assert {said("Which year?", prompt, variant=f"v{n}") for prompt in prompts for n in range(50)} == {"number"}
    assert "person" in {said("Which year?", "a year is a number", variant=f"v{n}") for n in range(50)}


@pytest.mark.parametrize(
    ("weak_on", "message"),
    [
        ({"pattern": "("}, "not an RE2 pattern"),
        ({"distribution": {"a": 0.7, "b": 0.7}}, "distribution has a negative probability or sums to more than 1"),
        ({"repaired_by": ""}, "at least 1 character"),
    ],
)
def test_a_card_that_makes_no_sense(weak_on: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message.replace("(", "\\(")):
        card(**weak_on)
