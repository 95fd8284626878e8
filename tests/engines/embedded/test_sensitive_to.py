"""The simulated annotator that kinds of variation move: those that its card names, a share of the samples a setting."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest
from pydantic import ValidationError

from promptaudit.engines import Question
from promptaudit.engines.embedded.engine import open_annotator
from promptaudit.registry.cards import ModelCard
from tests.support.engine_requests import request_of

SAMPLES = [f"s{n}" for n in range(300)]


def card(*kinds: str, rate: float = 0.2) -> ModelCard:
    simulated = {"distributions": [{"person": 1.0}], "sensitive_to": kinds, "moved_rate": rate}
    return ModelCard.model_validate({"engine": "embedded", "model": "simulated", "seed": 5, "simulated": simulated})


def said(of: ModelCard, setting: dict[str, object] | None, *, repetition: int = 1) -> list[str | None]:
    engine = open_annotator(of)
    text = None if setting is None else json.dumps(setting)
    requests = [request_of(sample_id=sample, setting=text, repetition=repetition) for sample in SAMPLES]
    return [asyncio.run(engine.answer(request)).completion for request in requests]


def test_each_setting_moves_samples_of_its_own_the_same_every_time() -> None:
    one, other = (said(card("format"), {"format": {"case": case}}) for case in ("upper", "lower"))
    for answers in (one, other):
        # 300 at .2: 60, give or take 7
        assert 39 <= sum(answer != "person" for answer in answers) <= 81
        assert len(set(answers)) == 6  # to any other label
    assert one != other
    assert one == said(card("format"), {"format": {"case": "upper"}}, repetition=4)
    assert one == said(card("format"), {"wording": 3, "format": {"case": "upper"}})  # whatever else differs


def test_nothing_else_moves_it() -> None:
    still = ["person"] * len(SAMPLES)
    assert said(card("format"), None) == said(card("format"), {}) == still
    assert said(card("format"), {"option_order": "reversed"}) == still
    assert said(card(), {"format": {"case": "upper"}}) == still
    assert said(card("format", rate=0), {"format": {"case": "upper"}}) == still


def test_a_moved_option_is_named_as_the_prompt_shows_it() -> None:
    question = Question(text="Which?", options=("x", "y"), gold_index=0, option_order=(1, 0))
    asked = request_of(labels=("A", "B"), setting='{"option_order": "reversed"}', question=question)
    of = {"distributions": [{"A": 1.0}], "sensitive_to": ["option_order"], "moved_rate": 1}
    model = ModelCard.model_validate({"engine": "embedded", "model": "simulated", "simulated": of})
    assert asyncio.run(open_annotator(model).answer(asked)).completion == "A"  # means B, which stands first


@pytest.mark.parametrize(
    ("signs", "order", "answer"),
    [
        (("1", "2"), (), "1"),
        (("i", "ii"), (), "i"),
        (("1", "2"), (1, 0), "2"),  # A stands second
        (("A", "B"), (), "A"),
        ((), (), "A"),
        ((), (1, 0), "B"),
    ],
)
def test_an_option_is_named_by_the_sign_that_the_prompt_shows(
    signs: tuple[str, ...], order: tuple[int, ...], answer: str
) -> None:
    question = Question(text="Which?", options=("x", "y"), signs=signs, gold_index=0, option_order=order)
    asked = request_of(labels=("A", "B"), question=question)
    of = {"distributions": [{"A": 1.0}]}
    model = ModelCard.model_validate({"engine": "embedded", "model": "simulated", "simulated": of})
    assert asyncio.run(open_annotator(model).answer(asked)).completion == answer
    ruled = replace(asked, question=replace(question, completion="A"))
    assert asyncio.run(open_annotator(model).answer(ruled)).completion == "A"  # a verdict has no place


def test_a_kind_that_is_none_is_refused() -> None:
    with pytest.raises(ValidationError, match="option_order"):
        card("options")
