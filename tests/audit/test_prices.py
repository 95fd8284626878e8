"""What a batch costs."""

from __future__ import annotations

import pytest

from flows.audit.prices import price_of
from models_registry.cards import ModelCard, Price

LISTED = Price(input_usd_per_mtok=0.15, output_usd_per_mtok=0.6)


def test_a_listed_price_is_halved_for_batches() -> None:
    assert price_of(ModelCard(engine="openai_api", model="gpt-4o-mini")) == LISTED
    for batching in (None, {"runner": "api"}):
        halved = price_of(ModelCard(engine="batch", model="gpt-4o-mini", batch=batching))
        assert halved is not None
        assert (halved.input_usd_per_mtok, halved.output_usd_per_mtok) == pytest.approx((0.075, 0.3))


def test_a_price_by_length_is_that_of_short_requests() -> None:
    listed = price_of(ModelCard(engine="openai_api", model="gemini-2.5-pro"))
    assert listed is not None
    assert (listed.input_usd_per_mtok, listed.output_usd_per_mtok) == pytest.approx((1.25, 10))


def test_a_price_that_is_written_is_taken_as_written() -> None:
    assert price_of(ModelCard(engine="batch", model="gpt-4o-mini", price=LISTED)) == LISTED
    assert price_of(ModelCard(engine="batch", model="a model no library knows")) is None


def test_what_this_machine_answers_is_free() -> None:
    free = Price(input_usd_per_mtok=0, output_usd_per_mtok=0)
    assert price_of(ModelCard(engine="batch", model="gpt-4o-mini", batch={"runner": "vllm"})) == free
    assert price_of(ModelCard(engine="vllm_server", model="gpt-4o-mini")) == free
    elsewhere = ModelCard(engine="vllm_server", model="gpt-4o-mini", base_url="http://10.0.0.7:8000/v1")
    assert price_of(elsewhere) is None
