"""What a batch costs."""

from __future__ import annotations

from pathlib import Path

import pytest

from flows.prices import price_of
from models_registry.cards import ModelCard, Price
from tests.shell import promptaudit

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


@pytest.mark.parametrize("command", ["validate", "plan", "run"])
def test_a_budget_without_a_price_is_refused_by_whatever_looks_at_the_card(tmp_path: Path, command: str) -> None:
    for kind in ("models", "audits"):
        (tmp_path / "registry" / kind).mkdir(parents=True)
    (tmp_path / "registry/models/m.yml").write_text("m:\n  engine: openai_api\n  model: one that no library knows\n")
    (tmp_path / "registry/audits/a.yml").write_text(
        "a:\n  tasks: [question_type]\n  models: [m]\n  budget: {max_usd: 1}\n"
    )
    ended = promptaudit(tmp_path, command, "a")
    assert ended.code == 2
    assert ended.one_line() == (
        "UsageError: a budget of 1 USD, but no price of model 'm' is known; put `price` in its card (models/m.yml line 1), "
        "`price: free` for a machine of one's own"
    )
