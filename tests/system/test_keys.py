"""Ids are content: the same on every machine and in every release."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from promptaudit.registry.cards import ModelCard
from promptaudit.system.keys import content_id, prediction_id, prompt_variant_id, request_sha256, sent_by


def test_golden_ids() -> None:
    variant = prompt_variant_id("question_type", "simple", None, 0, "Classify the question by the type of its answer.")
    assert variant == "0965677fa488fe194d67b9c33780ef26"
    reversed_options = prompt_variant_id(
        "general_knowledge", "simple", None, 12, "x", setting='{"option_order": "reversed"}'
    )
    assert reversed_options == "ad332aaa731020810ebe0279f3c023ca"
    request = request_sha256({"model": "m"}, (("user", "Who?"),), 1)
    assert request == "d9f3461e14ec44a06abe0fbb1d6ae5684b44655e798d02a0e070d1c00b023962"
    assert prediction_id("run", "m", variant, "qt-001", 1, request) == "ad776cecdb38ad5f9dc12ff31f9f537e"


def test_one_and_one_point_zero_are_one_temperature() -> None:
    assert prompt_variant_id("t", "s", 1, 0, "x") == prompt_variant_id("t", "s", 1.0, 0, "x")
    assert prompt_variant_id("t", "s", None, 0, "x") != prompt_variant_id("t", "s", 0.0, 0, "x")


@given(st.lists(st.none() | st.text()), st.lists(st.none() | st.text()))
def test_different_parts_have_different_ids(left: list[str | None], right: list[str | None]) -> None:
    assert (content_id(*left) == content_id(*right)) == (left == right)


def test_what_is_not_sent_does_not_count() -> None:
    def card(**more: object) -> ModelCard:
        return ModelCard.model_validate({"engine": "openai_api", "model": "m", **more})

    dear = card(
        price={"input_usd_per_mtok": 1, "output_usd_per_mtok": 2}, limits={"max_connections": 3}, base_url="http://h/v1"
    )
    assert sent_by(card()) == sent_by(dear)
    assert sent_by(card()) != sent_by(card(sampling={"temperature": 1}))
